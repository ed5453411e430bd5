"""A recurrent network of unrolled LSTM cells (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Call, Expr, Function, Let, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType, TupleType, Type
from passlab.ir.variables import free_vars
from passlab.testing import layers
from passlab.testing.init import create_workload
from passlab.testing.layers import op


class _LetChain:
    """A chain of let bindings under construction."""

    def __init__(self) -> None:
        self._bindings: list[tuple[Var, Expr]] = []

    def let(self, name: str, ty: Type, value: Expr) -> Var:
        """Bind a new variable to `value` and return it."""
        self._bindings.append((Var(name, ty), value))
        return self._bindings[-1][0]

    def close(self, result: Expr) -> Expr:
        """Return the chain ending in `result`."""
        for variable, value in reversed(self._bindings):
            result = Let(variable, value, result)
        return result


def _types(num_hidden: int, batch_size: int, dtype: str) -> tuple[TensorType, TensorType, TensorType]:
    """Return the types of a state, of a weight and of a bias."""
    weight = TensorType((4 * num_hidden, num_hidden), dtype)
    return TensorType((batch_size, num_hidden), dtype), weight, TensorType((4 * num_hidden,), dtype)


def lstm_cell(num_hidden: int, batch_size: int = 1, dtype: str = "float32", name: str = "") -> Function:
    """Return one cell: a function of the input, the pair of states, and a weight and bias for each of the two.

    It returns the output and the pair of new states.
    """
    state, weight, bias = _types(num_hidden, batch_size, dtype)
    gates_type = TensorType((batch_size, 4 * num_hidden), dtype)
    pair = TupleType([state, state])
    inputs, states = Var("inputs", state), Var("states", pair)
    weights = [Var("i2h_weight", weight), Var("i2h_bias", bias), Var("h2h_weight", weight), Var("h2h_bias", bias)]
    scope = _LetChain()

    def dense(data: Expr, first: int, part: str) -> Var:
        result = layers.dense_add_bias(data, weights[first], weights[first + 1], num_hidden * 4, name=f"{name}{part}")
        return scope.let(part, gates_type, result)

    i2h = dense(inputs, 0, "i2h")
    h2h = dense(TupleGetItem(states, 0), 2, "h2h")
    gates = scope.let("gates", gates_type, op("add", i2h, h2h))
    parts = layers.fields_of("split", gates, indices_or_sections=4, axis=1).astuple()
    sliced = scope.let("slice_gates", TupleType([state] * 4), parts)
    in_gate = scope.let("in_gate", state, op("sigmoid", TupleGetItem(sliced, 0)))
    forget_gate = scope.let("forget_gate", state, op("sigmoid", TupleGetItem(sliced, 1)))
    in_transform = scope.let("in_transform", state, op("tanh", TupleGetItem(sliced, 2)))
    out_gate = scope.let("out_gate", state, op("sigmoid", TupleGetItem(sliced, 3)))
    remembered = op("multiply", forget_gate, TupleGetItem(states, 1))
    next_c = scope.let("next_c", state, op("add", remembered, op("multiply", in_gate, in_transform)))
    next_h = scope.let("next_h", state, op("multiply", out_gate, op("tanh", next_c)))
    result_type = TupleType([state, pair])
    result = scope.let("ret", result_type, Tuple([next_h, Tuple([next_h, next_c])]))
    return Function([inputs, states, *weights], scope.close(result), result_type)


def get_net(iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32") -> Function:
    """Return `iterations` cells in a row, each with an input and weights of its own; the result is the last output."""
    state, weight, bias = _types(num_hidden, batch_size, dtype)
    pair = TupleType([state, state])
    scope = _LetChain()
    zeros = scope.let("zeros", state, op("zeros", (batch_size, num_hidden), dtype))
    states = scope.let("init_states", pair, Tuple([zeros, zeros]))
    out: Expr = zeros
    for i in range(iterations):
        args = [Var("data", state), states, Var(f"i2h_{i}_weight", weight), Var(f"i2h_{i}_bias", bias)]
        args += [Var(f"h2h_{i}_weight", weight), Var(f"h2h_{i}_bias", bias)]
        cell = lstm_cell(num_hidden, batch_size, dtype, f"lstm_{i}")
        call = scope.let(f"call_{i}", TupleType([state, pair]), Call(cell, args))
        out = scope.let(f"out_{i}", state, TupleGetItem(call, 0))
        states = scope.let(f"states_{i}", pair, TupleGetItem(call, 1))
    body = scope.close(out)
    return Function(free_vars(body), body, state)


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> tuple[IRModule, dict[str, Any]]:
    """Return the typed module and the parameters."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
