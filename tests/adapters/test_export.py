"""`write_onnx`, and what importing the adapters' room brings along."""

import subprocess
import sys

import numpy as np
import pytest

from belote_env.envs.adapters.export import write_onnx
from belote_env.observation import SIZE

pytest.importorskip("onnx")
torch = pytest.importorskip("torch")


def test_layers_compute_what_they_did(tmp_path):
    pytest.importorskip("onnxruntime")
    from belote_env.players import Policy

    torch.manual_seed(1)
    net = torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Sequential(torch.nn.Linear(SIZE, 32), torch.nn.LayerNorm(32), torch.nn.ReLU(), torch.nn.Dropout()),
        torch.nn.Linear(32, 16),
        torch.nn.Tanh(),
        torch.nn.Linear(16, 41),
    ).eval()
    policy = Policy(write_onnx(tmp_path / "a" / "net.onnx", [net]))
    bits = np.random.default_rng(1).integers(0, 2, (50, SIZE)).astype(np.float32)
    logits, _ = policy(bits, np.ones((50, 41)))
    assert np.abs(logits - net(torch.tensor(bits)).detach().numpy()).max() < 1e-5
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["net.onnx"]


@pytest.mark.parametrize(
    "layers",
    [
        [torch.nn.Linear(SIZE, 41, bias=False)],
        [torch.nn.Sequential(), torch.nn.Linear(SIZE, 41)],
        [torch.nn.Linear(SIZE, 41), torch.nn.ELU(0.3)],
        [torch.nn.Linear(SIZE, 8), torch.nn.LayerNorm(8, bias=False), torch.nn.Linear(8, 41)],
        [torch.nn.LayerNorm(SIZE, elementwise_affine=False, eps=0.1), torch.nn.Linear(SIZE, 41)],
        [torch.nn.Linear(SIZE, 41, dtype=torch.bfloat16)],
        [torch.nn.Linear(SIZE, 41, dtype=torch.float64)],
    ],
    ids=str,
)
def test_layers_with_other_arguments(layers, tmp_path):
    pytest.importorskip("onnxruntime")
    from belote_env.players import Policy

    bits = np.random.default_rng(1).integers(0, 2, (20, SIZE)).astype(np.float32)
    logits, _ = Policy(write_onnx(tmp_path / "net.onnx", layers))(bits, np.ones((20, 41)))
    net = torch.nn.Sequential(*layers).float().eval()
    assert np.abs(logits - net(torch.tensor(bits)).detach().numpy()).max() < 1e-5


def with_weight(value):
    layer = torch.nn.Linear(SIZE, 8)
    layer.weight.data[3, 4] = value
    return layer


def test_what_cannot_be_written_is_refused(tmp_path):
    for layers, words in (
        ([torch.nn.Linear(SIZE, 8), torch.nn.Softplus()], "Softplus"),
        ([torch.nn.Linear(9, 8)], "is given 768"),
        ([torch.nn.Conv1d(SIZE, 8, 1)], "weights of shape"),
        ([torch.nn.Identity()], "no layer"),
        ([torch.nn.Sequential()], "no layer"),
        ([torch.nn.Linear(SIZE, 8), torch.nn.LayerNorm(4)], "is given 8"),
        ([torch.nn.Linear(SIZE, 8), torch.nn.BatchNorm1d(8)], "BatchNorm1d"),
        ([torch.nn.Linear(SIZE, 8), torch.nn.PReLU()], "PReLU"),
        ([torch.nn.Linear(SIZE, 8), torch.nn.RMSNorm(8)], "RMSNorm"),
        ([with_weight(float("nan"))], "no finite numbers"),
        ([with_weight(float("inf"))], "no finite numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            write_onnx(tmp_path / "net.onnx", layers)
    assert not list(tmp_path.iterdir())


def test_no_framework_comes_along():
    code = """if True:
        import sys
        import belote_env.envs, belote_env.envs.adapters, belote_env.envs.adapters.export
        heavy = ("torch", "ray", "tianshou", "onnxruntime", "onnx", "pyspiel", "agilerl", "pufferlib", "torchrl",
                 "stable_baselines3")
        print([name for name in heavy if name in sys.modules])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("module", "hidden", "extra"),
    [
        ("sb3", "stable_baselines3", "sb3"),
        ("torchrl", "torchrl", "torchrl"),
        ("openspiel", "pyspiel", "openspiel"),
        ("pufferlib", "pufferlib", "pufferlib"),
        ("rllib", "ray", "rllib"),
    ],
)
def test_a_missing_framework_is_named(module, hidden, extra):
    code = f"""if True:
        import sys
        sys.modules["{hidden}"] = None
        try:
            import belote_env.envs.adapters.{module}
        except ImportError as error:
            print(error)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith(f"pip install 'belote-env[{extra}]'")
