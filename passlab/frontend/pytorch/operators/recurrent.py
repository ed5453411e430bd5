"""Recurrent layers: `contrib.recurrent`, once for each layer of a stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.frontend.pytorch.entries import aten
from passlab.frontend.pytorch.node import TorchNode
from passlab.ir.expr import Expr

# PyTorch's place of each gate, in the order of `contrib.recurrent`: a GRU has reset, update, new here.
_GATES = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}


def _add(mode: str) -> None:
    @aten(mode)
    def layers(
        n: TorchNode,
        x: Expr,
        hx: Any,
        params: Sequence[Expr],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> list[Expr]:
        """`contrib.recurrent`, for each layer, on weights with the gates in its order."""
        firsts = hx if mode == "lstm" else [hx]  # an LSTM has two states
        return _stack(n, mode, x, firsts, params, has_biases, num_layers, dropout * train, bidirectional, batch_first)


for _mode in _GATES:
    _add(_mode)


def _stack(
    n: TorchNode,
    mode: str,
    x: Expr,
    firsts: Sequence[Expr],
    params: Sequence[Expr],
    has_biases: bool,
    layers: int,
    dropout: float,
    is_bidirectional: bool,
    batch_first: bool,
) -> list[Expr]:
    """Return the outputs of the last layer, and the last states of all layers."""
    directions, each = 1 + is_bidirectional, 4 if has_biases else 2
    if dropout > 0:
        n.refuse("drops elements by chance", hint="export the model for inference: model.eval()")
    if n.overload != "input" or len(params) != layers * directions * each:
        n.refuse("is not supported for packed sequences or projected states")
    x = n("transpose", x, axes=[1, 0, 2]) if batch_first else x
    lasts: list[list[Expr]] = []
    for layer in range(layers):
        first = layer * directions
        own = [params[at * each : (at + 1) * each] for at in range(first, first + directions)]
        weights = [n("stack", n.builder.tuple([_ordered(n, mode, part[at]) for part in own]), axis=0) for at in (0, 1)]
        optional: list[Expr] = []
        if has_biases:
            biases = [n.concat([_ordered(n, mode, part[at]) for at in (2, 3)], 0) for part in own]
            optional.append(n("stack", n.builder.tuple(biases), axis=0))
        optional += [
            n("strided_slice", state, begin=[first], end=[first + directions], strides=[1], axes=[0])
            if layers > 1
            else state
            for state in firsts
        ]
        result = n(
            "contrib.recurrent",
            x,
            *weights,
            n.builder.tuple(optional),
            mode=mode,
            direction="bidirectional" if is_bidirectional else "forward",
            linear_before_reset=mode == "gru",
            has_bias=has_biases,
            has_state=True,
        )
        outputs, *states = n.fields(result, 1 + len(firsts))
        lasts.append(states)
        if is_bidirectional:  # (time, direction, batch, hidden): both directions are the input of the next layer
            x = n("reshape", n("transpose", outputs, axes=[0, 2, 1, 3]), newshape=[0, 0, -1])
        else:
            x = n("squeeze", outputs, axis=[1])
    x = n("transpose", x, axes=[1, 0, 2]) if batch_first else x
    return [x, *(n.concat(list(states), 0) if layers > 1 else states[0] for states in zip(*lasts, strict=True))]


def _ordered(n: TorchNode, mode: str, weight: Expr) -> Expr:
    """Return a weight with its gates in the order of `contrib.recurrent`."""
    order = _GATES[mode]
    if len(order) == 1:
        return weight
    gates = n.fields(n("split", weight, indices_or_sections=len(order), axis=0), len(order))
    return n.concat([gates[at] for at in order], 0)
