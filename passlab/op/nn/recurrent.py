"""Recurrent layers as one operator: LSTM, GRU and simple RNN over a whole sequence.

    data (time, batch, input) --weight--> gates of all steps, one product
                                               |
    state (batch, hidden) --recurrent_weight--> gates of one step --> the next state, which is the output of this step

The kernel is that loop over time. `unrolled` writes the same steps as calls of other operators, for `UnrollRecurrent`
and for the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab import limits
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Constant, Expr, Tuple, TupleGetItem
from passlab.ir.op import Reporter
from passlab.ir.types import Dim, TensorType, TupleType, Type
from passlab.op.attr_fields import attrs, boolean, text
from passlab.op.autodiff import by_definition
from passlab.op.declare import Python, call, field_of, operator
from passlab.op.dtypes import Array, array_dtype, guard_size, is_float_name
from passlab.op.nn.accumulation import working_dtype
from passlab.op.nn.blas import multiply
from passlab.op.relations import join_dim, refuse, same_dtype, tensor, tensor_fields, times

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}  # whether each runs backwards

RECURRENT = attrs(
    "RecurrentAttrs",
    text("mode", "lstm", "the kind of cell", choices=tuple(GATES)),
    text(
        "direction",
        "forward",
        "the order of the steps; both orders have weights of their own",
        choices=tuple(DIRECTIONS),
    ),
    boolean("linear_before_reset", False, "whether a GRU resets the product with the state, not the state"),
    boolean("has_bias", False, "whether `optional` begins with the biases"),
    boolean(
        "has_state", False, "whether `optional` goes on with the first state, for an LSTM also the first cell state"
    ),
    boolean("has_lengths", False, "whether `optional` ends with the length of each sequence"),
)


def optional_names(attrs: Attrs) -> list[str]:
    """Return the names of the tensors in the input `optional`."""
    states = ["state", "cell"] if attrs.mode == "lstm" else ["state"]
    return [*["bias"] * attrs.has_bias, *states * attrs.has_state, *["lengths"] * attrs.has_lengths]


# ---------------------------------------------------------------- types
def _recurrent_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data, weight, recurrent = (
        tensor(types, at, name) for at, name in enumerate(("data", "weight", "recurrent_weight"))
    )
    fields = tensor_fields(types, "optional", 3)
    if data is None or weight is None or recurrent is None or fields is None:
        return None
    names = optional_names(attrs)
    if len(fields) != len(names):
        expected = f"({', '.join(names)})" if names else "no tensor"
        refuse("contrib.recurrent: the attributes say what `optional` holds", 3, expected=expected, found=types[3])
    if not is_float_name(data.dtype):
        refuse("contrib.recurrent computes real numbers", 0, expected="a floating-point dtype", found=data)
    if len(data.shape) != 3 or len(recurrent.shape) != 3:
        at, wrong = (0, data) if len(data.shape) != 3 else (2, recurrent)
        refuse("contrib.recurrent takes a sequence and weights of three dimensions", at, expected=_SHAPES, found=wrong)
    count, gates = len(DIRECTIONS[attrs.direction]), GATES[attrs.mode]
    given = dict(zip(names, fields, strict=True))
    batch, hidden = data.shape[1], recurrent.shape[2]
    state = given.get("state")
    if state is not None and len(state.shape) == 3:
        batch, hidden = join_dim(batch, state.shape[1]) or batch, join_dim(hidden, state.shape[2]) or hidden
    rows = times(hidden, gates)
    sizes: dict[str, tuple[int, TensorType, tuple[Dim, ...]]] = {
        "weight": (1, weight, (count, rows, data.shape[2])),
        "recurrent_weight": (2, recurrent, (count, rows, hidden)),
    }
    own = {"bias": (count, times(rows, 2)), "lengths": (batch,)}
    sizes |= {name: (3, ty, own.get(name, (count, batch, hidden))) for name, ty in given.items()}
    for name, (at, ty, expected_shape) in sizes.items():
        pairs = zip(ty.shape, expected_shape, strict=False)
        if len(ty.shape) != len(expected_shape) or any(join_dim(a, b) is None for a, b in pairs):
            refuse(f"contrib.recurrent: the {name} has another shape", at, expected=expected_shape, found=ty)
        if name != "lengths":
            same_dtype(data, ty, at)
        elif "int" not in ty.dtype:
            refuse("contrib.recurrent: lengths are whole numbers", at, expected="integers", found=ty)
    last = TensorType((count, batch, hidden), data.dtype)
    return TupleType([TensorType((data.shape[0], count, batch, hidden), data.dtype), *[last] * _states(attrs)])


def _states(attrs: Attrs) -> int:
    return 2 if attrs.mode == "lstm" else 1


# ---------------------------------------------------------------- the kernel
Step = Callable[[Array], None]  # takes the gates that the data of a step give, and changes the states in place


def _sigmoid(x: Array) -> None:
    """Replace elements by their logistic function."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


def _lstm(weight: Array, hidden: int, state: Array, cell: Array) -> Step:
    gates, fresh = np.empty((len(state), 4 * hidden), state.dtype), np.empty_like(state)
    sigmoids, new = gates[:, : 3 * hidden], gates[:, 3 * hidden :]
    into, output, forget = (gates[:, at * hidden : (at + 1) * hidden] for at in range(3))

    def step(x: Array) -> None:
        np.matmul(state, weight, out=gates)
        np.add(gates, x, out=gates)
        _sigmoid(sigmoids)
        np.tanh(new, out=new)
        np.multiply(into, new, out=fresh)
        np.multiply(cell, forget, out=cell)
        np.add(cell, fresh, out=cell)
        np.tanh(cell, out=state)
        np.multiply(state, output, out=state)

    return step


def _gru(weight: Array, hidden: int, state: Array, bias: Array | None, before: bool) -> Step:
    """`bias` belongs to the product with the state that makes the new state, where that is reset afterwards."""
    size = 3 * hidden if before else 2 * hidden
    gates, new = np.empty((len(state), size), state.dtype), np.empty_like(state)
    first, last = weight[:, :size], weight[:, 2 * hidden :]
    both = gates[:, : 2 * hidden]
    update, reset, past = (gates[:, at * hidden : (at + 1) * hidden] for at in range(3))

    def step(x: Array) -> None:
        np.matmul(state, first, out=gates)
        np.add(both, x[:, : 2 * hidden], out=both)
        _sigmoid(both)
        if before:
            np.multiply(past if bias is None else np.add(past, bias, out=past), reset, out=new)
        else:
            np.matmul(np.multiply(reset, state, out=reset), last, out=new)
        np.add(new, x[:, 2 * hidden :], out=new)
        np.tanh(new, out=new)
        # the update gate says how much of the state stays, and how little of the new one comes in
        np.multiply(state, update, out=state)
        np.subtract(1, update, out=update)
        np.add(state, np.multiply(new, update, out=new), out=state)

    return step


def _rnn(weight: Array, state: Array, activation: Callable[..., Any]) -> Step:
    def step(x: Array) -> None:
        np.add(np.matmul(state, weight), x, out=state)
        activation(state, out=state)

    return step


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, x.dtype.type(0), out=out)


def _step_of(attrs: Attrs, weight: Array, bias: Array | None, states: Sequence[Array]) -> Step:
    hidden = states[0].shape[1]
    if attrs.mode == "lstm":
        return _lstm(weight, hidden, *states)
    if attrs.mode == "gru":
        own = None if bias is None else bias[2 * hidden :]
        return _gru(weight, hidden, states[0], own, attrs.linear_before_reset)
    return _rnn(weight, states[0], np.tanh if attrs.mode == "rnn_tanh" else _relu)


def _run(
    attrs: Attrs, products: Array, step: Step, states: Sequence[Array], lengths: Array | None, back: bool, output: Array
) -> None:
    """Run the steps of one direction. A sequence that has ended keeps its states, and its outputs are zeros."""
    for time in reversed(range(len(products))) if back else range(len(products)):
        if lengths is None:
            step(products[time])
            output[time] = states[0]
            continue
        ended = lengths <= time
        before = [state[ended] for state in states]
        step(products[time])
        output[time] = states[0]
        output[time, ended] = 0
        for state, old in zip(states, before, strict=True):
            state[ended] = old


_SHAPES = "data (time, batch, input), weights (directions, gates * hidden, input or hidden)"


def _define(attrs: Attrs, *inputs: Expr) -> Expr:
    return unrolled(attrs, [value.checked_type for value in inputs], *inputs)


@operator(
    "contrib.recurrent",
    ("data", "weight", "recurrent_weight", "optional"),
    attrs=RECURRENT,
    relation=_recurrent_type,
    results=lambda attrs: 1 + _states(attrs),
    silenced=True,
    python=Python(
        "data, weight, recurrent_weight, optional=(), mode='lstm', direction='forward', linear_before_reset=False, "
        "has_bias=False, has_state=False, has_lengths=False"
    ),
    gradient=by_definition(_define),
    shapes=(
        "data (T, N, I), weights (D, G H, I) and (D, G H, H), optional bias (D, 2 G H), states (D, N, H), lengths (N) "
        "-> (T, D, N, H), (D, N, H) for each state; D directions, G gates of H elements"
    ),
    source="ONNX's LSTM, GRU and RNN; Hochreiter and Schmidhuber (1997), Cho et al. (2014)",
    edge_cases=(
        "contrib.recurrent(%x: (2, 2, 3), %w: (1, 8, 3), %r: (1, 8, 2), ())",
        (
            "contrib.recurrent(%x: (3, 2, 1), %w: (2, 8, 1), %r: (2, 8, 2), (%b: (2, 16), %h: (2, 2, 2), "
            '%c: (2, 2, 2), %l: (2) int32 = [3, 1]), direction="bidirectional", has_bias=True, has_state=True, '
            "has_lengths=True)"
        ),
        (
            "contrib.recurrent(%x: (2, 1, 2), %w: (1, 6, 2), %r: (1, 6, 2), (%b: (1, 12), %h: (1, 1, 2)), "
            'mode="gru", direction="reverse", linear_before_reset=True, has_bias=True, has_state=True)'
        ),
        (
            "contrib.recurrent(%x: (2, 2, 1), %w: (2, 3, 1), %r: (2, 3, 1), (%b: (2, 6), %l: (2) int64 = [0, 2]), "
            'mode="gru", direction="bidirectional", has_bias=True, has_lengths=True)'
        ),
        'contrib.recurrent(%x: (2, 1, 2), %w: (1, 3, 2), %r: (1, 3, 3), (%b: (1, 6),), mode="rnn_tanh", has_bias=True)',
        (
            "contrib.recurrent(%x: (0, 1, 2), %w: (1, 3, 2), %r: (1, 3, 3), (%h: (1, 1, 3),), "
            'mode="rnn_relu", has_state=True)'
        ),
        'contrib.recurrent(%x: (3, 0, 2), %w: (1, 2, 2), %r: (1, 2, 2), (), mode="rnn_relu")',
    ),
)
def recurrent(attrs: Attrs, data: Array, weight: Array, recurrent_weight: Array, optional: tuple[Array, ...]) -> Any:
    """A recurrent layer over a sequence: the outputs of all steps, and the last state (an LSTM's cell state too).

    The gates are ordered as in ONNX: input, output, forget, cell of an LSTM; update, reset, new state of a GRU. The
    gates have the logistic function, new states tanh (`rnn_relu`: relu). `optional` has the tensors that the attributes
    name: biases of both products, first states (zeros without them), the length of each sequence. After its length, the
    outputs of a sequence are zeros and its states stay. An output of the reverse direction stands at the step that made
    it.
    """
    given = dict(zip(optional_names(attrs), optional, strict=True))
    steps, batch, _ = data.shape
    count, rows, hidden = recurrent_weight.shape
    guard_size((steps, count, batch, max(rows, hidden)), data.dtype, "contrib.recurrent")
    work = working_dtype(data.dtype)
    x = data.astype(work, copy=False)
    output = np.empty((steps, count, batch, hidden), data.dtype)
    lasts = [np.zeros((count, batch, hidden), work) for _ in range(_states(attrs))]
    for last, name in zip(lasts, ("state", "cell"), strict=False):
        if name in given:
            last[...] = given[name]
    for at, back in enumerate(DIRECTIONS[attrs.direction]):
        products = multiply(x, weight[at].T.astype(work, copy=False))
        bias = given["bias"][at].astype(work) if "bias" in given else None
        if bias is not None:
            of_state = bias[rows:].copy()
            if attrs.mode == "gru" and attrs.linear_before_reset:
                of_state[2 * hidden :] = 0  # added to the product before the reset
            products += bias[:rows] + of_state
        states = [last[at] for last in lasts]
        turned = np.ascontiguousarray(recurrent_weight[at].T, work)
        step = _step_of(attrs, turned, None if bias is None else bias[rows:], states)
        _run(attrs, products, step, states, given.get("lengths"), back, output[:, at])
    return (output, *(last.astype(data.dtype, copy=False) for last in lasts))


# ---------------------------------------------------------------- the same in other operators
def unrolled(
    attrs: Attrs, types: Sequence[Type], data: Expr, weight: Expr, recurrent_weight: Expr, optional: Expr
) -> Tuple:
    """Return the results of `contrib.recurrent` as a tuple of calls of other operators, step by step.

    `types` has the type of each input. Raises `RelationError` where the sizes of the data or of the state are not
    known, and `LimitError` beyond `limits.model_nodes` steps.
    """
    steps, batch, _ = _sizes(types[0])
    _, rows, hidden = _sizes(types[2])
    dtype = types[0].dtype  # type: ignore[attr-defined]
    limits.check("model_nodes", steps, "a recurrent layer, written out step by step,")
    given = {name: field_of(optional, at) for at, name in enumerate(optional_names(attrs))}
    outputs, lasts = [], []
    for at, back in enumerate(DIRECTIONS[attrs.direction]):
        part = {name: _at(value, at) for name, value in given.items() if name != "lengths"}
        zeros = call("zeros", shape=(batch, hidden), dtype=dtype)
        layer = _Unrolled(attrs, hidden, dtype, _at(recurrent_weight, at), *_halves(part.get("bias"), rows))
        states = [part.get(name, zeros) for name in ("state", "cell")[: _states(attrs)]]
        products = call("nn.dense", data, _at(weight, at))
        results: list[Expr] = []
        for time in reversed(range(steps)) if back else range(steps):
            new = layer.step(_at(products, time), states)
            output = new[0]
            if "lengths" in given:
                lengths = given["lengths"]
                number = Constant(np.asarray(time, array_dtype(types[3].fields[-1].dtype)))  # type: ignore[attr-defined]
                active = call("expand_dims", call("greater", lengths, number), axis=1)
                output = call("where", active, output, call("zeros_like", output))
                new = [call("where", active, after, old) for after, old in zip(new, states, strict=True)]
            states = new
            results.append(output)
        outputs.append(
            call("stack", Tuple(results[::-1] if back else results), axis=0)
            if results
            else call("zeros", shape=(0, batch, hidden), dtype=dtype)
        )
        lasts.append(states)
    sequence = call("stack", Tuple(outputs), axis=1)
    return Tuple([sequence, *(call("stack", Tuple(list(state)), axis=0) for state in zip(*lasts, strict=True))])


def _sizes(ty: Type) -> tuple[int, ...]:
    if not isinstance(ty, TensorType) or ty.dynamic:
        refuse("contrib.recurrent is written out for known sizes only", 0, found=ty, hint="bind the shape first")
    return ty.concrete_shape


def _at(value: Expr, index: int) -> Expr:
    """Return one element along the first axis."""
    return call("take", value, Constant(np.int32(index)), axis=0)


def _halves(bias: Expr | None, rows: int) -> tuple[Expr | None, Expr | None]:
    if bias is None:
        return None, None
    of_data, of_state = _parts(bias, [rows], 0)
    return of_data, of_state


def _parts(value: Expr, borders: Sequence[int], axis: int) -> list[Expr]:
    """Return the parts of a tensor between borders along an axis."""
    parts = call("split", value, indices_or_sections=list(borders), axis=axis)
    return [TupleGetItem(parts, at) for at in range(len(borders) + 1)]


class _Unrolled:
    """The steps of one direction of a layer, as expressions."""

    def __init__(
        self, attrs: Attrs, hidden: int, dtype: str, weight: Expr, bias: Expr | None, state_bias: Expr | None
    ) -> None:
        self._attrs = attrs
        self._hidden = hidden
        self._one = Constant(np.asarray(1, array_dtype(dtype)))
        self._weight = weight
        self._bias, self._state_bias = bias, state_bias
        borders = [2 * hidden]
        if attrs.mode == "gru":
            self._weights = _parts(weight, borders, 0)
            self._biases = [None, None] if state_bias is None else _parts(state_bias, borders, 0)

    def step(self, x: Expr, states: list[Expr]) -> list[Expr]:
        """Return the states after a step whose data give the gates `x`."""
        x = _plus(x, self._bias)
        if self._attrs.mode == "lstm":
            return self._lstm(x, *states)
        if self._attrs.mode == "gru":
            return [self._gru(x, *states)]
        activation = "tanh" if self._attrs.mode == "rnn_tanh" else "nn.relu"
        return [call(activation, call("add", x, _product(states[0], self._weight, self._state_bias)))]

    def _lstm(self, x: Expr, state: Expr, cell: Expr) -> list[Expr]:
        gates = call("add", x, _product(state, self._weight, self._state_bias))
        hidden = self._hidden
        into, output, forget, new = _parts(gates, [hidden, 2 * hidden, 3 * hidden], 1)
        kept = call("multiply", call("sigmoid", forget), cell)
        cell = call("add", kept, call("multiply", call("sigmoid", into), call("tanh", new)))
        return [call("multiply", call("sigmoid", output), call("tanh", cell)), cell]

    def _gru(self, x: Expr, state: Expr) -> Expr:
        x_first, x_new = _parts(x, [2 * self._hidden], 1)
        past: Expr
        gates = call("sigmoid", call("add", x_first, _product(state, self._weights[0], self._biases[0])))
        update, reset = _parts(gates, [self._hidden], 1)
        if self._attrs.linear_before_reset:
            past = call("multiply", reset, _product(state, self._weights[1], self._biases[1]))
        else:
            past = _product(call("multiply", reset, state), self._weights[1], self._biases[1])
        new = call("tanh", call("add", x_new, past))
        kept = call("multiply", update, state)
        return call("add", call("multiply", call("subtract", self._one, update), new), kept)


def _plus(value: Expr, bias: Expr | None) -> Expr:
    return value if bias is None else call("add", value, bias)


def _product(state: Expr, weight: Expr, bias: Expr | None) -> Expr:
    return _plus(call("nn.dense", state, weight), bias)
