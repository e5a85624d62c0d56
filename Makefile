# Everything runs in .venv, which is made on first use.
#   PYTHON=python3.12   the Python to make it with (3.11 or newer)
#   TORCH_INDEX=URL     a further package index for torch, e.g. https://download.pytorch.org/whl/cpu
#   ARGS="-k scoring"   more arguments for `make test`, `make oracle` or, as in ARGS=--quick, `belote bench`
#   WORKERS=2           processes that share the tests of `make test`; 0 for none

PYTHON ?= python3
TORCH_INDEX ?=
ARGS ?=
WORKERS ?= 2

VENV := .venv
PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
UNFINISHED := $(VENV)/.unfinished
ORACLE := $(VENV)/.oracle

# Frameworks that fit together share an environment in .venv-examples; each group has its versions in examples/constraints.
GROUPS := torch agilerl rllib pufferlib
extras_torch := sb3,torchrl,tianshou,openspiel,test
examples_torch := cleanrl_ppo sb3_maskable_ppo torchrl_pg tianshou_dqn openspiel_ismcts
extras_agilerl := agilerl,test
examples_agilerl := agilerl_dqn
extras_rllib := rllib,test
examples_rllib := rllib_ppo
extras_pufferlib := pufferlib,test
examples_pufferlib := pufferlib_ppo

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup train test oracle bench lint docs wheel-test adapters examples clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED) ## make .venv and install the project into it

train: $(INSTALLED) ## train a small policy and measure it (two cores, minutes)
	$(PY) -m training.train configs/quick.toml

test: $(INSTALLED) ## run the test suite
	$(PY) -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

oracle: $(ORACLE) ## compare engine, observation and solver with outside engines and slow twins at length (an hour)
	BELOTE_ORACLE_LONG=1 $(PY) -m pytest -s tests/oracle tests/test_observation.py tests/test_solver.py $(ARGS)

bench: $(INSTALLED) ## measure every door, then those peers that are installed; into runs/ (ten minutes)
	@mkdir -p runs
	$(PY) -m belote_env bench --json runs/bench.json --plot runs/bench.png $(ARGS)
	$(PY) benchmarks/peers.py --json runs/peers.json --plot runs/peers.png

lint: $(INSTALLED) ## ruff, mypy and the import contracts; changes nothing
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

docs: $(INSTALLED) ## build the documentation into site/, strictly; it fetches nothing from anywhere
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@! grep -rnoE '<(script|link|img|iframe)[^>]*(src|href)="?(https?:)?//[^"> ]+' site --include='*.html' \
		|| { echo "the site fetches from elsewhere"; exit 1; }

wheel-test: $(INSTALLED) ## build the wheel, install it in a clean environment, check a typed program and play from there
	@set -eu; here=$$(pwd); tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; export BELOTE_ENV_CACHE="$$tmp/cache"; \
	$(PY) -m build --outdir "$$tmp/dist" .; wheel=$$(echo "$$tmp"/dist/*.whl); \
	"$$here/$(PY)" -m venv "$$tmp/venv"; clean="$$tmp/venv/bin/python"; cp tests/user_program.py "$$tmp"; \
	"$$clean" -m pip install --quiet -c constraints.txt "$$wheel"; \
	cd "$$tmp"; "$$clean" -I "$$here/tests/wheel_check.py"; \
	"$$here/$(PY)" -m mypy --strict --python-executable "$$clean" user_program.py; "$$clean" -I user_program.py; \
	"$$clean" -m pip install --quiet -c "$$here/constraints.txt" "$$wheel[onnx]"; "$$clean" -I "$$here/tests/wheel_check.py" onnx

adapters: .venv-examples/torch/.installed ## test the adapters for SB3, TorchRL, Tianshou and OpenSpiel
	OMP_NUM_THREADS=1 .venv-examples/torch/bin/python -m pytest tests/adapters $(ARGS)

examples: $(GROUPS:%=examples-%) ## test the other adapters, train with every framework and measure it (a quarter of an hour)

examples-%: .venv-examples/%/.installed
	@set -e; if [ -f tests/adapters/test_$*.py ]; then OMP_NUM_THREADS=1 .venv-examples/$*/bin/python -m pytest tests/adapters/test_$*.py; fi; \
	for name in $(examples_$*); do echo "== $$name"; OMP_NUM_THREADS=1 .venv-examples/$*/bin/python examples/$$name.py; done

clean: ## remove what builds and tests leave behind; .venv and runs stay
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +

# An installation that was interrupted leaves $(UNFINISHED) behind; the next one then starts from an empty .venv.
$(INSTALLED): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
		echo "No '$(PYTHON)' here. Belote Env needs Python 3.11 or newer; name one: make PYTHON=/path/to/python"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Belote Env needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name another: make PYTHON=python3.12"; exit 1; }
	@if [ -e $(UNFINISHED) ] || ! $(PY) -m pip --version >/dev/null 2>&1; then $(PYTHON) -m venv --clear $(VENV); fi
	@touch $(UNFINISHED)
	$(PY) -m pip install --disable-pip-version-check -c constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -e ".[train,test,dev]"
	@rm -f $(UNFINISHED)
	@touch $@

.PRECIOUS: .venv-examples/%/.installed
.venv-examples/%/.installed: pyproject.toml examples/constraints/%.txt
	$(PYTHON) -m venv --clear .venv-examples/$*
	.venv-examples/$*/bin/python -m pip install --disable-pip-version-check --no-compile -c examples/constraints/$*.txt \
		$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch -e ".[$(extras_$*)]"
	@touch $@

# belote-cli lives in a folder of its own: it would install its `belote` command over ours.
$(ORACLE): $(INSTALLED)
	$(PY) -m pip install --disable-pip-version-check -c constraints.txt -e ".[oracle]"
	rm -rf .oracle/belote-cli
	$(PY) -m pip install --disable-pip-version-check --no-deps --target .oracle/belote-cli belote-cli==4.9.6
	@touch $@
