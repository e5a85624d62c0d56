"""`Policy`: a policy in an ONNX file, played by ONNX Runtime without torch."""

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belote_env.frames import real_actions
from belote_env.observation import LAYOUT_DIGEST, SIZE, observe_batch
from belote_env.players.player import Actions, Player, States
from belote_env.rules import PRESETS, Rules, as_rules
from belote_env.rulings import shown, whole_number

#: Logit of an illegal action.
FILL = np.float32(-1e9)

#: Where released policies lie: in the installed package, else in the checkout it is run from.
_PLACES = (Path(__file__).parents[1] / "released", Path(__file__).parents[2] / "models" / "released")


def released_policies() -> dict[str, Path]:
    """The ONNX files of the released policies by name."""
    found: dict[str, Path] = {}
    for place in reversed(_PLACES):
        found |= {path.parent.name: path for path in sorted(place.glob("*/policy.onnx"))}
    return found


class Policy(Player):
    """Plays an ONNX file: its likeliest legal action, the first of equals.

    A file that this project wrote says for which observation layout and rules it was made.  Any other one plays too
    when its shapes fit: input (n, 768) float32 observations in the suits' own order, and if it has a second one (n, A)
    mask; first output (n, A) logits or probabilities.

    Args:
        name_or_path: the name of a released policy, or a file.
        sample: draw from the policy instead; its output must be logits then, not probabilities.
        seed: of the draws.
        threads: of ONNX Runtime.

    Attributes:
        unit: points that a value of 1 stands for; 0 where the file has no values.

    Raises:
        ImportError: ONNX Runtime is not installed; the extra `[onnx]` brings it.
        ValueError: no such policy, or a file that is no policy of this game.
    """

    def __init__(self, name_or_path: str | Path, sample: bool = False, seed: int = 0, threads: int = 1) -> None:
        known = released_policies()
        path = known.get(str(name_or_path), Path(name_or_path))
        if not path.is_file():
            names = ", ".join(known) or "none here"
            raise ValueError(f"{shown(str(name_or_path))} is neither a file nor a released policy; there are {names}")
        self.name = str(name_or_path) if str(name_or_path) in known else path.stem
        self._path, self._threads = path, threads
        self._load()
        self._generator = np.random.default_rng(seed) if sample else None
        self._read_shapes()
        self._read_metadata()

    def _load(self) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise ImportError("a Policy needs ONNX Runtime: pip install 'belote-env[onnx]'") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = whole_number("threads", self._threads, 1, 1024)
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(str(self._path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has a class of its own for every kind of damage
            raise ValueError(f"{self._path} is not an ONNX file that ONNX Runtime can load") from error

    # a session cannot be copied: a copy reads the file again

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._load()

    def _read_shapes(self) -> None:
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        shapes = [list(x.shape) for x in inputs]
        fits = len(inputs) in (1, 2) and shapes[0][1:] == [SIZE]
        fits = fits and all(len(shape) == 2 and not isinstance(shape[0], int) for shape in shapes)
        if not fits or inputs[0].type != "tensor(float)":
            raise ValueError(f"{self._path} reads {shapes}, not float32 observations (n, {SIZE}) and at most a mask")
        actions = outputs[0].shape[-1] if len(outputs[0].shape) == 2 else None
        if not isinstance(actions, int) or (len(shapes) == 2 and shapes[1][1] != actions):
            raise ValueError(f"{self._path}: its first output is {outputs[0].shape}, not (n, actions)")
        self.actions = actions
        self._inputs = [x.name for x in inputs]
        self._mask_type = {"tensor(bool)": np.bool_, "tensor(float)": np.float32, "tensor(int8)": np.int8}.get(
            inputs[1].type if len(inputs) == 2 else "tensor(bool)"
        )
        if self._mask_type is None:
            raise ValueError(f"{self._path} reads a mask of {inputs[1].type}, not of bool, int8 or float")

    def _read_metadata(self) -> None:
        metadata = self._session.get_modelmeta().custom_metadata_map
        self._digests: list[str] | None = None
        self.unit, self._canonical = 0.0, False
        if "layout" not in metadata:
            return
        try:
            fields = {key: json.loads(metadata[key]) for key in ("layout", "rules_digests", "frame", "unit")}
            self._digests, self.unit = fields["rules_digests"], float(fields["unit"])
            self._canonical = fields["frame"] == "canonical"
            named = isinstance(self._digests, list) and all(isinstance(digest, str) for digest in self._digests)
            if not (named and self._canonical and 0 <= self.unit < math.inf):
                raise ValueError("a digest, a frame or a unit of another kind")
        except (KeyError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"{self._path} has metadata that do not say what it was made for") from error
        if fields["layout"] != LAYOUT_DIGEST:
            raise ValueError(
                f"{self._path} was made for observation layout {fields['layout']}, here it is {LAYOUT_DIGEST}"
            )

    @property
    def presets(self) -> list[str]:
        """The presets it was made for; none where the file does not say, or names other rules."""
        found = []
        for name in PRESETS:
            with suppress(ValueError):  # one that is not played yet
                if Rules.preset(name).digest in (self._digests or ()):
                    found.append(name)
        return found

    def start(self, rules: Rules | str) -> None:
        """Take a seat; ValueError at a table of rules the policy was not made for."""
        rules = as_rules(rules)
        if self._digests is not None and rules.digest not in self._digests:
            made = ", ".join(map(repr, self.presets)) or ", ".join(self._digests)
            raise ValueError(f"{self.name} was made for rules {made}, not for {rules.name!r} ({rules.digest})")
        if rules.n_actions != self.actions:
            raise ValueError(f"{self.name} has {self.actions} actions, {rules.name!r} has {rules.n_actions}")
        super().start(rules)

    def __call__(
        self, observations: NDArray[Any], mask: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Masked logits (n, A) float32 and values (n,) float32 (zeros where the file has none).

        Args:
            observations: (n, SIZE) of any dtype, in the frame the policy was made for.
            mask: (n, A), nonzero where legal.
        """
        legal = np.asarray(mask) != 0
        feed = {self._inputs[0]: np.ascontiguousarray(observations, np.float32)}
        if len(self._inputs) == 2:
            feed[self._inputs[1]] = legal.astype(self._mask_type)
        outputs = self._session.run(None, feed)
        # above every illegal one, also what a log-softmax has put at -inf
        logits = np.where(legal, np.maximum(np.asarray(outputs[0], np.float32), FILL / 2), FILL)
        has_values = self.unit > 0 and len(outputs) > 1
        values = np.asarray(outputs[1], np.float32).reshape(-1) if has_values else np.zeros(len(logits), np.float32)
        return logits, values

    def act(self, states: States, seats: NDArray[np.integer[Any]]) -> Actions:
        observations, masks, frames = observe_batch(states, seats, self.rules, canonical=self._canonical)
        logits, _ = self(observations, masks)
        if self._generator is not None:
            # Gumbel's trick: the largest of logit + noise is drawn from the policy
            logits = np.where(masks != 0, logits + self._generator.gumbel(size=logits.shape), FILL)
        chosen = logits.argmax(1).astype(np.int64)
        return real_actions(chosen, frames) if self._canonical else chosen
