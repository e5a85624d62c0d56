"""`write_onnx`: a policy as one ONNX file that plays without torch.

    inputs   observations (n, SIZE) float32, in the canonical frame; mask (n, A) bool
    outputs  logits (n, A) float32, `FILL` where the mask forbids; values (n,) float32
    metadata layout digest, rules digests, frame, unit of a value in points: what `belote_env.players.Policy` checks

The graph is written node by node: standard operators, the same bytes for the same weights, no tracing.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper
from torch import Tensor

from belote_env.envs.adapters.export import write_graph
from belote_env.observation import LAYOUT_DIGEST, SIZE
from belote_env.state import N_CARDS
from models.network import FILL, TOWERS, PolicyNet, Tower
from models.ordered import RANKED, OrderedInputs


class _Graph:
    """Nodes and constants as they come; what a node makes is named by its operator and number."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """The name of a constant; equal ones that are not arrays are one."""
        array = value.detach().cpu().numpy() if isinstance(value, Tensor) else np.array(value, dtype)
        name = f"constant_{len(self.constants)}" if array.size > 8 else f"{array.dtype}_{array.tolist()}"
        self.constants[name] = array
        return name

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Append a node of one output; its name."""
        name = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def columns(self, source: str, begin: int, end: int, axis: int = 1) -> str:
        """source[:, begin:end]"""
        return self.add("Slice", source, *(self.constant([k], np.int64) for k in (begin, end, axis)))

    def number(self, source: str) -> str:
        """A bool as 0 or 1."""
        return self.add("Cast", source, to=TensorProto.FLOAT)

    def positive(self, source: str) -> str:
        """(…) bool, where above 0."""
        return self.add("Greater", source, self.constant(0.0))

    def linear(self, layer: Any, source: str) -> str:
        """What a layer of torch makes of a source."""
        return self.add("Gemm", source, self.constant(layer.weight), self.constant(layer.bias), transB=1)


def write_onnx(path: str | Path, policy: PolicyNet, rules_digests: list[str], unit: float) -> None:
    """Write `policy`; a kill at any moment leaves the old file or the new one.

    Args:
        rules_digests: of the rules it may play.
        unit: points that a value of 1 stands for.
    """
    graph = _Graph()
    (cards, cards_value), (calls, calls_value) = (_tower(graph, getattr(policy, name)) for name in TOWERS)
    graph.add("Where", "mask", graph.add("Concat", cards, calls, axis=1), graph.constant(FILL), name="logits")
    playable = graph.number(graph.columns("mask", 0, N_CARDS))
    playing = graph.positive(graph.add("ReduceMax", playable, axes=[1], keepdims=1))
    value = graph.add("Where", playing, cards_value, calls_value)
    graph.add("Reshape", value, graph.constant([-1], np.int64), name="values")
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
    write_graph(Path(path), graph.nodes, inputs, outputs, graph.constants, texts)


def _tower(graph: _Graph, tower: Tower) -> tuple[str, str]:
    """A tower's nodes, from observations to logits (n, actions) and values (n, 1)."""
    source = graph.add("Gather", "observations", graph.constant(tower.columns), axis=1)
    places = ""
    if tower.order is not None:
        source, places = _ordered(graph, tower.order, source)
    for layer in list(tower.trunk)[::2]:
        source = graph.add("Relu", graph.linear(layer, source))
    logits = graph.linear(tower.policy, source)
    if places:
        within = graph.add("Min", places, graph.constant(N_CARDS - 1, np.int64))
        logits = graph.add("GatherElements", logits, within, axis=1)
    return logits, graph.linear(tower.value, source)


def _ordered(graph: _Graph, order: OrderedInputs, bits: str) -> tuple[str, str]:
    """`OrderedInputs.forward`, step by step: names of inputs and places."""
    add, columns, number = graph.add, graph.columns, graph.number
    strains = [(strain, columns(bits, place, place + 1)) for strain, place in order.strains]

    def by_strain(name: str, of: str = "") -> str:
        def product(table: str) -> str:
            return add("MatMul", of, table) if of else table

        result = product(graph.constant(getattr(order, f"{name}_0")))
        for strain, bit in strains:
            more = product(graph.constant(getattr(order, f"{name}_{strain}")))
            result = add("Add", result, add("Mul", bit, more))
        return result

    def at_least(source: str, steps: Tensor) -> str:
        return number(add("GreaterOrEqual", source, graph.constant(steps)))

    sums = add("MatMul", bits, graph.constant(order.sums))
    out = number(graph.positive(columns(sums, 0, N_CARDS)))
    above = by_strain("above", out)
    hand, table, hidden = (columns(bits, span.start, span.stop) for span in (order.HAND, order.TABLE, order.HIDDEN))

    def by_seat(source: str) -> str:
        return add("Reshape", source, graph.constant([-1, 3, N_CARDS], np.int64))

    def of_seat(first: int) -> str:
        """The card on the table of the seat, one of the three, that a field names."""
        chosen = add("Unsqueeze", columns(bits, first + 1, first + 4), graph.constant([2], np.int64))
        return add("ReduceSum", add("Mul", by_seat(table), chosen), graph.constant([1], np.int64), keepdims=0)

    def of_suit(source: str) -> str:
        parts = add("Reshape", source, graph.constant([-1, 4, 8], np.int64))
        return add("ReduceSum", parts, graph.constant([2], np.int64), keepdims=0)

    weight = add("Pow", graph.constant(2.0), add("Sub", graph.constant(7.0), above))
    weighed = add("Add", add("Mul", weight, graph.constant(order.OWN)), graph.constant(order.COUNT))
    unseen = add("ReduceMax", by_seat(hidden), axes=[1], keepdims=0)
    key = of_suit(add("Add", add("Mul", hand, weighed), add("Mul", unseen, weight)))
    key = add("Add", key, add("Mul", of_suit(of_seat(order.leader)), graph.constant(order.LED)))
    trump = graph.constant(1.0)
    for _, bit in strains:
        trump = add("Sub", trump, bit)
    key = add("Add", key, add("Mul", trump, graph.constant(np.array([order.TRUMP, 0, 0, 0], np.float32))))
    mine, other = (add("Unsqueeze", key, graph.constant([axis], np.int64)) for axis in (2, 1))
    tied = add("Where", add("Equal", other, mine), graph.constant(order.earlier), graph.constant(0.0))
    before = add("Max", number(add("Greater", other, mine)), tied)
    before = add("ReduceSum", before, graph.constant([2], np.int64), keepdims=0)
    suits = add("Unsqueeze", add("Cast", before, to=TensorProto.INT64), graph.constant([2], np.int64))
    slots = add("Expand", add("Mul", suits, graph.constant(8, np.int64)), graph.constant([1, 1, 8], np.int64))
    slots = add("Reshape", slots, graph.constant([-1, N_CARDS], np.int64))
    within = add("Add", add("Cast", above, to=TensorProto.INT64), slots)
    places = add("Where", graph.positive(out), within, graph.constant(N_CARDS, np.int64))

    best = of_seat(order.winner)
    led = graph.positive(add("ReduceSum", best, graph.constant([1], np.int64), keepdims=1))
    takes = add("Mul", add("Where", led, by_strain("takes", best), graph.constant(1.0)), hand)
    points = add("Div", add("Mul", by_strain("points"), out), graph.constant(10.0))
    rows = add("Concat", hand, table, hidden, points, takes, best, axis=1)
    rows = add("Reshape", rows, graph.constant([-1, RANKED, N_CARDS], np.int64))
    to = add("Unsqueeze", places, graph.constant([1], np.int64))
    to = add("Expand", to, graph.constant([1, RANKED, 1], np.int64))
    count = graph.columns(add("Shape", bits), 0, 1, axis=0)
    shape = add("Concat", count, graph.constant([RANKED, N_CARDS + 1], np.int64), axis=0)
    zeros = add("ConstantOfShape", shape, value=helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0]))
    ranked = columns(add("ScatterElements", zeros, to, rows, axis=2), 0, N_CARDS, axis=2)
    ranked = add("Reshape", ranked, graph.constant([-1, RANKED * N_CARDS], np.int64))

    per = order.by_slot.shape[1]
    own = add("Gather", bits, graph.constant(order.by_slot.flatten()), axis=1)
    own = add("Reshape", own, graph.constant([-1, 4, per], np.int64))
    to = add("Expand", suits, graph.constant([1, 1, per], np.int64))
    by_suit = add("ScatterElements", own, to, own, axis=1)
    by_suit = add("Reshape", by_suit, graph.constant([-1, 4 * per], np.int64))

    first = N_CARDS + len(order.levels)
    bids = number(graph.positive(columns(sums, N_CARDS, first)))
    numbers = [columns(sums, first + k, first + k + 1) for k in range(7 + 2 * len(strains))]
    us, them, belote_us, belote_them, ours, now, made = numbers[:7]
    for k, (_, bit) in enumerate(strains):
        now = add("Add", now, add("Mul", bit, numbers[7 + 2 * k]))
        made = add("Add", made, add("Mul", bit, numbers[8 + 2 * k]))
    rest, most = add("Sub", made, them), graph.constant(order.STEP - 1.0)
    low, high = add("Max", us, add("Sub", rest, most)), add("Min", add("Add", us, most), rest)
    us = add("Div", add("Add", low, high), graph.constant(2.0))
    bid = add("ReduceMax", add("Mul", bids, graph.constant(order.levels)), axes=[1], keepdims=1)
    bid = add("Where", graph.positive(bid), bid, graph.constant(order.MORE_THAN_HALF))
    theirs = add("Add", add("Sub", made, us), belote_them)
    want = add("Sub", bid, add("Where", graph.positive(ours), add("Add", us, belote_us), theirs))
    left = add("Sub", graph.constant(order.ALL_POINTS), made)
    wanted = at_least(want, order.wanted)
    other = add("Mul", wanted, add("Sub", graph.constant(1.0), ours))
    distances = [add("Sub", wanted, other), other, at_least(add("Sub", left, want), order.wanted)]
    distances += [at_least(now, order.on_table)]
    distances += [add("Div", add("Concat", want, left, now, axis=1), graph.constant(order.units))]
    rest = add("Gather", bits, graph.constant(order.rest), axis=1)
    return add("Concat", ranked, by_suit, rest, *distances, axis=1), places
