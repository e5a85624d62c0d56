"""`write_onnx`: the layers of any framework's policy as an ONNX file that `belote_env.players.Policy` plays.

    input    observations (n, SIZE) float32, suits in the order S H D C
    output   logits (n, n_actions) float32; the player masks them

The graph is written node by node from weights: no tracing, no exporter, and torch is not imported here.  The file has
no metadata: `Policy` checks it by its shapes.  Needs the package `onnx`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from belote_env.files import write_whole
from belote_env.observation import SIZE

OPSET, IR_VERSION = 17, 9
#: What layers without weights become, by the name of their class; None: nothing.
_NODES = {
    "ReLU": "Relu",
    "Tanh": "Tanh",
    "Sigmoid": "Sigmoid",
    "ELU": "Elu",
    "Identity": None,
    "Flatten": None,
    "Dropout": None,
}


def write_onnx(path: str | Path, layers: Iterable[Any]) -> Path:
    """Write a stack of layers; returns the path.

    Args:
        layers: modules of torch, in order: `Linear` (or the like: `weight` (out, in) and `bias` (out,)), `LayerNorm`,
            `ReLU`, `Tanh`, `Sigmoid`, `ELU`, `Flatten`, `Dropout`, `Identity`, and whatever holds them in order, as
            `Sequential` does. The first reads (n, SIZE) bits, the last gives a logit or a value for every action.

    Raises:
        ImportError: `onnx` is not installed.
        ValueError: a layer of another kind, a first one that does not read SIZE bits, or weights that
            are no finite numbers. Nothing is written then.
    """
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        raise ImportError("writing an ONNX file needs onnx: pip install onnx") from error
    nodes: list[Any] = []
    constants: dict[str, Any] = {}
    source, width = "observations", SIZE
    for k, layer in enumerate(_flat(layers)):
        kind, result = type(layer).__name__, f"layer_{k}"
        inputs = [source]
        if hasattr(layer, "weight"):
            weight = np.ones(layer.normalized_shape, np.float32) if layer.weight is None else _array(layer.weight)
            if weight.shape != ((width,) if kind == "LayerNorm" else (*weight.shape[:1], width)):
                raise ValueError(f"layer {k}, {kind}, has weights of shape {weight.shape} and is given {width} numbers")
            width = weight.shape[0]
            bias = np.zeros(width, np.float32) if getattr(layer, "bias", None) is None else _array(layer.bias)
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise ValueError(f"layer {k}, {kind}, has weights that are no finite numbers")
            constants[f"{result}_weight"], constants[f"{result}_bias"] = weight, bias
            inputs += [f"{result}_weight", f"{result}_bias"]
        if kind == "LayerNorm":
            nodes.append(helper.make_node("LayerNormalization", inputs, [result], axis=-1, epsilon=float(layer.eps)))
        elif hasattr(layer, "weight"):
            nodes.append(helper.make_node("Gemm", inputs, [result], transB=1))
        elif kind not in _NODES:
            raise ValueError(f"layer {k} is a {kind}, which is not written; there are Linear, LayerNorm, {_KINDS}")
        elif _NODES[kind] is None:
            continue  # in a policy's use: a Dropout drops nothing then
        else:
            alpha = {"alpha": float(layer.alpha)} if kind == "ELU" else {}
            nodes.append(helper.make_node(_NODES[kind], inputs, [result], **alpha))
        source = result
    if not nodes:
        raise ValueError("no layer has anything to compute")
    nodes.append(helper.make_node("Identity", [source], ["logits"]))
    inputs = [helper.make_tensor_value_info("observations", TensorProto.FLOAT, ["n", SIZE])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", width])]
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_graph(file, nodes, inputs, outputs, constants)
    return file


def write_graph(
    path: Path,
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    constants: dict[str, Any],
    metadata: dict[str, str] | None = None,
) -> None:
    """Check a graph and write it as one ONNX file, the same bytes for the same graph, whole or not at all.

    Args:
        nodes, inputs, outputs: as `onnx.helper` makes them.
        constants: arrays by name.
        metadata: of the model.
    """
    import onnx
    from onnx import helper, numpy_helper

    initial = [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "policy", inputs, outputs, initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="belote-env")
    model.ir_version = IR_VERSION
    if metadata:
        helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    write_whole(path, model.SerializeToString(deterministic=True))


_KINDS = ", ".join(_NODES)


def _flat(layers: Iterable[Any]) -> Iterable[Any]:
    """Layers that compute, in order; what holds others is opened."""
    for layer in layers:
        inner = list(layer.children()) if hasattr(layer, "children") else []
        if inner or type(layer).__name__ == "Sequential":  # an empty one computes nothing
            yield from _flat(inner)
        else:
            yield layer


def _array(parameter: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A parameter of torch, or an array, as float32."""
    if hasattr(parameter, "detach"):
        parameter = parameter.detach().cpu().float().numpy()  # NumPy has no bfloat16
    return np.ascontiguousarray(parameter, np.float32)
