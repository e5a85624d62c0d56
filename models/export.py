"""`write_onnx`: a policy as one ONNX file that plays without torch.

    inputs   observations (n, SIZE) float32, in the canonical frame; mask (n, A) bool
    outputs  logits (n, A) float32, `FILL` where the mask forbids; values (n,) float32
    metadata layout digest, rules digests, frame, unit of a value in points: what `belote_env.players.Policy` checks

The graph is written node by node: a dozen standard operators, the same bytes for the same weights, no tracing.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from belote_env.envs.adapters.export import write_graph
from belote_env.observation import LAYOUT_DIGEST, SIZE
from belote_env.state import N_CARDS
from models.network import FILL, TOWERS, PolicyNet, Tower


def write_onnx(path: str | Path, policy: PolicyNet, rules_digests: list[str], unit: float) -> None:
    """Write `policy`; a kill at any moment leaves the old file or the new one.

    Args:
        rules_digests: of the rules it may play.
        unit: points that a value of 1 stands for.
    """
    nodes: list[Any] = []
    constants: dict[str, np.ndarray] = {"fill": np.array(FILL, np.float32), "last": np.array([-1], np.int64)}
    for name in TOWERS:
        _tower(name, getattr(policy, name), nodes, constants)
    constants |= {"zero": np.array([0], np.int64), "one": np.array([1], np.int64)}
    constants |= {"cards": np.array([N_CARDS], np.int64), "most": np.array([0.5], np.float32)}
    nodes += [
        helper.make_node("Concat", ["play_logits", "bid_logits"], ["all_logits"], axis=1),
        helper.make_node("Where", ["mask", "all_logits", "fill"], ["logits"]),
        helper.make_node("Slice", ["mask", "zero", "cards", "one"], ["playable"]),
        helper.make_node("Cast", ["playable"], ["playable_numbers"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["playable_numbers"], ["playing_number"], axes=[1], keepdims=1),
        helper.make_node("Greater", ["playing_number", "most"], ["playing"]),
        helper.make_node("Where", ["playing", "play_value", "bid_value"], ["value"]),
        helper.make_node("Reshape", ["value", "last"], ["values"]),
    ]
    inputs = [
        helper.make_tensor_value_info("observations", TensorProto.FLOAT, ["n", SIZE]),
        helper.make_tensor_value_info("mask", TensorProto.BOOL, ["n", policy.actions]),
    ]
    outputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", policy.actions]),
        helper.make_tensor_value_info("values", TensorProto.FLOAT, ["n"]),
    ]
    metadata = {"layout": LAYOUT_DIGEST, "rules_digests": rules_digests, "frame": "canonical", "unit": unit}
    texts = {key: json.dumps(value) for key, value in metadata.items()}
    write_graph(Path(path), nodes, inputs, outputs, constants, texts)


def _tower(name: str, tower: Tower, nodes: list[Any], constants: dict[str, np.ndarray]) -> None:
    """Append a tower's nodes, from observations to `name_logits` and `name_value` (n, 1)."""

    def linear(layer: Any, label: str, source: str, result: str) -> None:
        constants[f"{label}_weight"] = layer.weight.detach().cpu().numpy()
        constants[f"{label}_bias"] = layer.bias.detach().cpu().numpy()
        nodes.append(helper.make_node("Gemm", [source, f"{label}_weight", f"{label}_bias"], [result], transB=1))

    constants[f"{name}_columns"] = tower.columns.cpu().numpy()
    source = f"{name}_bits"
    nodes.append(helper.make_node("Gather", ["observations", f"{name}_columns"], [source], axis=1))
    for k, layer in enumerate(list(tower.trunk)[::2]):
        linear(layer, f"{name}_{k}", source, f"{name}_{k}_sums")
        source = f"{name}_{k}_features"
        nodes.append(helper.make_node("Relu", [f"{name}_{k}_sums"], [source]))
    linear(tower.policy, f"{name}_policy", source, f"{name}_logits")
    linear(tower.value, f"{name}_value", source, f"{name}_value")
