"""Recurrent layers: `contrib.recurrent` for cells with the usual activations.

Other cells (peepholes, clipped gates, other activations) are unrolled; a loop where the length of the sequence is not
known. The products with the inputs of all steps are one product; each step has only the product with the state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from passlab import limits
from passlab.frontend.formulas import softplus_of
from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import Capture, OnnxNode
from passlab.frontend.onnx.operators.activations import exponential
from passlab.frontend.onnx.operators.control_flow import Iteration, Loop
from passlab.frontend.onnx.operators.quantized import dynamic_quantize
from passlab.frontend.sizes import as_vector, size_of
from passlab.ir.expr import Expr

Activation = Callable[[Expr], Expr]
_DIRECTIONS = {"forward": ("forward",), "reverse": ("reverse",), "bidirectional": ("forward", "reverse")}


# ---------------------------------------------------------------- activations
def _activation(n: OnnxNode, name: str, alpha: float | None, beta: float | None) -> Activation:
    """Return one of ONNX's activations with its two parameters, or their defaults."""
    a, b = alpha, beta
    table: dict[str, Activation] = {
        "tanh": lambda x: n("tanh", x),
        "sigmoid": lambda x: n("sigmoid", x),
        "relu": lambda x: n("nn.relu", x),
        "affine": lambda x: n("add", n("multiply", x, 1.0 if a is None else a), 0.0 if b is None else b),
        "leakyrelu": lambda x: n("nn.leaky_relu", x, alpha=0.01 if a is None else a),
        "thresholdedrelu": lambda x: n("where", n("greater", x, 1.0 if a is None else a), x, n.constant(0, x)),
        "scaledtanh": lambda x: n("multiply", n("tanh", n("multiply", x, 1.0 if b is None else b)), a or 1.0),
        "hardsigmoid": lambda x: n(
            "clip", n("add", n("multiply", x, 0.2 if a is None else a), 0.5 if b is None else b), a_min=0.0, a_max=1.0
        ),
        "elu": lambda x: exponential(n, x, 1.0 if a is None else a, 1.0),
        "softsign": lambda x: n("divide", x, n("add", n("abs", x), 1)),
        "softplus": lambda x: softplus_of(n, x),
    }
    if name.lower() not in table:
        n.refuse("has an unknown activation", f"one of {', '.join(table)}", name)
    return table[name.lower()]


_PARAMETERS = {"affine": 2, "leakyrelu": 1, "thresholdedrelu": 1, "scaledtanh": 2, "hardsigmoid": 2, "elu": 1}


def _activations(n: OnnxNode, defaults: Sequence[str], directions: int) -> list[list[Activation]]:
    """Return the activations of each direction. The lists of parameters skip activations without any."""
    names = n.texts("activations", None) or list(defaults) * directions
    if len(names) != len(defaults) * directions:
        n.refuse("has a wrong number of activations", str(len(defaults) * directions), str(len(names)))
    alphas, betas = iter(n.numbers("activation_alpha", [])), iter(n.numbers("activation_beta", []))
    results = []
    for name in names:
        parameters = _PARAMETERS.get(name.lower(), 0)
        alpha = next(alphas, None) if parameters >= 1 else None
        results.append(_activation(n, name, alpha, next(betas, None) if parameters >= 2 else None))
    return [results[at * len(defaults) : (at + 1) * len(defaults)] for at in range(directions)]


# ---------------------------------------------------------------- one direction
@dataclass
class Layer:
    """One direction of a recurrent layer: its weights, and the activations of its gates."""

    w: Expr
    r: Expr
    w_bias: Expr | None
    r_bias: Expr | None
    peepholes: Expr | None
    activations: list[Activation]
    hidden: int


Step = Callable[[OnnxNode, Layer, Expr, list[Expr]], list[Expr]]  # (node, layer, gate inputs, states) -> new states


def _clip_to(n: OnnxNode, x: Expr) -> Expr:
    return n("clip", x, a_min=-n.number("clip"), a_max=n.number("clip")) if n.has("clip") else x


def _gates(n: OnnxNode, x: Expr, count: int) -> list[Expr]:
    return n.fields(n("split", x, indices_or_sections=count, axis=1), count)


def _kept(n: OnnxNode, state: Expr) -> Expr:
    """Return the state that a step multiplies: its 8 bits, of all sequences at once, where the node says so.

    That is what onnxruntime's `DynamicQuantizeLSTM` multiplies.
    """
    if not n.flag("quantized_state"):
        return state
    quantized, scale, zero = dynamic_quantize(n, state)
    difference = n("subtract", n.cast(quantized, "int32"), n.cast(zero, "int32"))
    return n("multiply", n.cast(difference, n.dtype(state)), scale)


def _with_state(n: OnnxNode, layer: Layer, x: Expr, state: Expr) -> Expr:
    result = n("add", x, n("nn.dense", state, layer.r))
    return result if layer.r_bias is None else n("add", result, layer.r_bias)


def _rnn_step(n: OnnxNode, layer: Layer, x: Expr, states: list[Expr]) -> list[Expr]:
    return [layer.activations[0](_clip_to(n, _with_state(n, layer, x, states[0])))]


def _gru_step(n: OnnxNode, layer: Layer, x: Expr, states: list[Expr]) -> list[Expr]:
    f, g = layer.activations
    (state,), hidden = states, layer.hidden
    x_update, x_reset, x_new = _gates(n, x, 3)
    r_gates = n("split", layer.r, indices_or_sections=[2 * hidden], axis=0)
    r_first, r_new = n.fields(r_gates, 2)
    first = n("nn.dense", state, r_first)
    bias_new = None
    if layer.r_bias is not None:
        bias_first, bias_new = n.fields(n("split", layer.r_bias, indices_or_sections=[2 * hidden], axis=0), 2)
        first = n("add", first, bias_first)
    h_update, h_reset = _gates(n, first, 2)
    update, reset = f(_clip_to(n, n("add", x_update, h_update))), f(_clip_to(n, n("add", x_reset, h_reset)))
    # Two definitions: the state is reset before the product with it, or the product is.
    before = n.flag("linear_before_reset")
    past = n("nn.dense", state if before else n("multiply", reset, state), r_new)
    past = past if bias_new is None else n("add", past, bias_new)
    new = g(_clip_to(n, n("add", x_new, n("multiply", reset, past) if before else past)))
    kept = n("multiply", update, state)
    return [n("add", n("multiply", n("subtract", n.constant(1, update), update), new), kept)]


def _lstm_step(n: OnnxNode, layer: Layer, x: Expr, states: list[Expr]) -> list[Expr]:
    f, g, h = layer.activations
    state, cell = states
    # ONNX's order of the gates: input, output, forget, cell.
    into, out, forget, new = _gates(n, _with_state(n, layer, x, _kept(n, state)), 4)
    peep: list[Expr | None] = [None] * 3
    if layer.peepholes is not None:
        peep = list(n.fields(n("split", layer.peepholes, indices_or_sections=3, axis=0), 3))

    def add_peephole(gate: Expr, weight: Expr | None, cell_state: Expr) -> Expr:
        return gate if weight is None else n("add", gate, n("multiply", weight, cell_state))

    i = f(_clip_to(n, add_peephole(into, peep[0], cell)))
    if n.flag("input_forget"):
        kept = n("subtract", n.constant(1, i), i)  # coupled gates: as much is forgotten as comes in
    else:
        kept = f(_clip_to(n, add_peephole(forget, peep[2], cell)))
    cell = n("add", n("multiply", kept, cell), n("multiply", i, g(_clip_to(n, new))))
    o = f(_clip_to(n, add_peephole(out, peep[1], cell)))
    return [n("multiply", o, h(cell)), cell]


# ---------------------------------------------------------------- a sequence
def _run(
    n: OnnxNode, step: Step, layer: Layer, x: Expr, states: list[Expr], lengths: Expr | None, back: bool
) -> tuple[Expr, list[Expr]]:
    """Return the outputs of all steps (time, batch, hidden), and the last states."""
    count = size_of(n, x, 0)
    if not isinstance(count, int):
        return _run_loop(n, step, layer, x, states, lengths, back, n.scalar(count))
    if count < 1:
        n.refuse("runs over an empty sequence")
    limits.check("model_nodes", count, "a recurrent layer, written out step by step,")
    products = n("nn.dense", x, layer.w)
    products = products if layer.w_bias is None else n("add", products, layer.w_bias)
    parts = n.fields(n("split", products, indices_or_sections=count, axis=0), count) if count > 1 else [products]
    outputs: list[Expr] = []
    for time in reversed(range(count)) if back else range(count):
        new = step(n, layer, n("squeeze", parts[time], axis=[0]), states)
        output, states = _active(n, new, states, lengths, None if lengths is None else n.constant(time, lengths))
        outputs.append(output)
    # Backwards, the first output is that of the last step.
    return n("stack", n.builder.tuple(outputs[::-1] if back else outputs), axis=0), states


def _active(
    n: OnnxNode, new: list[Expr], states: list[Expr], lengths: Expr | None, time: Expr | None
) -> tuple[Expr, list[Expr]]:
    """Return the output of a step and its states; shorter sequences keep their last state, and have zeros as output."""
    output = new[0]
    if lengths is None or time is None:
        return output, new
    is_active = n("expand_dims", n("greater", lengths, time), axis=1)
    kept = [n("where", is_active, after, before) for after, before in zip(new, states, strict=True)]
    return n("where", is_active, output, n.constant(0, output)), kept


def _run_loop(
    n: OnnxNode,
    step: Step,
    layer: Layer,
    x: Expr,
    states: list[Expr],
    lengths: Expr | None,
    back: bool,
    count: Expr,
) -> tuple[Expr, list[Expr]]:
    """Return the same for a number of steps that is known only at run time, as a loop."""
    products = n("nn.dense", x, layer.w)
    products = products if layer.w_bias is None else n("add", products, layer.w_bias)
    last = n("subtract", count, 1)

    def body(number: Expr, condition: Expr, carried: list[Expr], capture: Capture) -> Iteration:
        def inside(weight: Expr | None) -> Expr | None:
            return None if weight is None else capture(weight)

        own = replace(layer, r=capture(layer.r), r_bias=inside(layer.r_bias), peepholes=inside(layer.peepholes))
        time = n("subtract", capture(last), number) if back else number
        new = step(n, own, n("take", capture(products), time, axis=0), carried)
        position = None if lengths is None else n.cast(time, n.dtype(lengths))
        output, kept = _active(n, new, carried, inside(lengths), position)
        return Iteration(None, kept, [output])

    *lasts, outputs = Loop(n, body, count, None, states).results()
    return n("reverse", outputs, axis=0) if back else outputs, lasts


def _take_direction(n: OnnxNode, x: Expr | None, direction: int) -> Expr | None:
    """Return the slice of a weight, a bias or an initial state for one direction."""
    return None if x is None else n("take", x, n.constant(direction, "int64"), axis=0)


def _with_known_sizes(
    n: OnnxNode, directions: int, gates: int, weights: Sequence[Expr | None]
) -> tuple[int, list[Expr | None]]:
    """Return the size of the state, and the weights in the sizes that the attributes of the node say.

    Raises `ModelError` for weights of other sizes.
    """
    r = weights[1]
    assert r is not None
    hidden = n.integer("hidden_size", None) or n.static_shape(r, [2])[0]
    rows = gates * hidden
    sizes = ([directions, rows, -1], [directions, rows, hidden], [directions, 2 * rows], [directions, 3 * hidden])
    results: list[Expr | None] = []
    for weight, expected in zip(weights, sizes, strict=True):
        dims = expected if weight is None else n.shape(weight)
        if len(dims) != len(expected) or any(
            isinstance(dim, int) and size not in (dim, -1) for dim, size in zip(dims, expected, strict=True)
        ):
            n.refuse("has weights that do not fit its hidden size", str(tuple(expected)), str(tuple(dims)))
        is_open = weight is not None and not all(isinstance(dim, int) for dim in dims)
        results.append(n("reshape", weight, newshape=expected) if is_open else weight)
    return hidden, results


def _layer(
    n: OnnxNode, direction: int, hidden: int, weights: Sequence[Expr | None], activations: list[Activation]
) -> Layer:
    w, r, bias, peepholes = (_take_direction(n, weight, direction) for weight in weights)
    assert w is not None
    assert r is not None
    biases: list[Expr | None] = [None, None]
    if bias is not None:
        biases = list(n.fields(n("split", bias, indices_or_sections=2, axis=0), 2))
    return Layer(w, r, biases[0], biases[1], peepholes, activations, hidden)


DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}  # activations


def mode_of(op_type: str, attributes: Mapping[str, Any], has_peepholes: bool) -> str | None:
    """Return the kind of cell of `contrib.recurrent` that a node with these attributes has, None for another cell."""
    if has_peepholes or "clip" in attributes or attributes.get("input_forget") or attributes.get("quantized_state"):
        return None
    names = [str(name).lower() for name in attributes.get("activations") or ()]
    defaults = [name.lower() for name in DEFAULTS[op_type]]
    if op_type == "RNN":
        return next((f"rnn_{name}" for name in ("tanh", "relu") if set(names or defaults) == {name}), None)
    groups = {tuple(names[at : at + len(defaults)]) for at in range(0, len(names), len(defaults))}
    return op_type.lower() if groups <= {tuple(defaults)} else None


def _as_one(
    n: OnnxNode,
    mode: str,
    x: Expr,
    weights: Sequence[Expr | None],
    lengths: Expr | None,
    firsts: Sequence[Expr | None],
    count: int,
    hidden: int,
) -> list[Expr]:
    """Return the results of a layer, which is one call of `contrib.recurrent`."""
    w, r, bias, _ = weights
    states: list[Expr] = []
    if any(firsts):
        batch = size_of(n, x, 1)
        shape = [count, batch, hidden]
        sizes = shape if isinstance(batch, int) else as_vector(n, shape)
        states = [first or n("zeros", shape=sizes, dtype=n.dtype(x)) for first in firsts]
    optional = n.builder.tuple([value for value in (bias, *states, lengths) if value is not None])
    result = n(
        "contrib.recurrent",
        x,
        w,
        r,
        optional,
        mode=mode,
        direction=n.text("direction", "forward"),
        linear_before_reset=mode == "gru" and n.flag("linear_before_reset"),
        has_bias=bias is not None,
        has_state=bool(states),
        has_lengths=lengths is not None,
    )
    return n.fields(result, 1 + len(firsts))


def recurrent(
    n: OnnxNode,
    step: Step,
    gates: int,
    x: Expr,
    weights: Sequence[Expr | None],
    lengths: Expr | None,
    firsts: Sequence[Expr | None],
) -> list[Expr]:
    """Return the outputs of a recurrent layer: all steps, then the last of each state.

    `weights` are the weights of the inputs and of the state, the biases and the peepholes; `firsts` the initial states.
    """
    directions = _DIRECTIONS[n.choice("direction", "forward", tuple(_DIRECTIONS))]
    by_batch = n.version >= 14 and n.flag("layout")
    if by_batch:
        x = n("transpose", x, axes=[1, 0, 2])
        firsts = [None if first is None else n("transpose", first, axes=[1, 0, 2]) for first in firsts]
    activations = _activations(n, DEFAULTS[n.op_type], len(directions))
    hidden, weights = _with_known_sizes(n, len(directions), gates, weights)
    mode = mode_of(n.op_type, n.attributes, weights[3] is not None)
    if mode is not None:
        sequence, *last_states = _as_one(n, mode, x, weights, lengths, firsts, len(directions), hidden)
    else:
        sequence, *last_states = _step_by_step(n, step, x, weights, lengths, firsts, directions, activations, hidden)
    if by_batch:
        sequence = n("transpose", sequence, axes=[2, 0, 1, 3])  # to (batch, time, direction, hidden)
        last_states = [n("transpose", state, axes=[1, 0, 2]) for state in last_states]
    return [sequence, *last_states]


def _step_by_step(
    n: OnnxNode,
    step: Step,
    x: Expr,
    weights: Sequence[Expr | None],
    lengths: Expr | None,
    firsts: Sequence[Expr | None],
    directions: Sequence[str],
    activations: Sequence[list[Activation]],
    hidden: int,
) -> list[Expr]:
    outputs, lasts = [], []
    for at, direction in enumerate(directions):
        layer = _layer(n, at, hidden, weights, activations[at])
        batch = size_of(n, x, 1)
        shape = [batch, layer.hidden] if isinstance(batch, int) else as_vector(n, [batch, layer.hidden])
        zeros = n("zeros", shape=shape, dtype=n.dtype(x))
        states = [_take_direction(n, first, at) or zeros for first in firsts]
        result, last = _run(n, step, layer, x, states, lengths, direction == "reverse")
        outputs.append(result)
        lasts.append(last)
    sequence = n("stack", n.builder.tuple(outputs), axis=1)
    return [sequence, *(n("stack", n.builder.tuple(list(state)), axis=0) for state in zip(*lasts, strict=True))]


@onnx_operator("RNN", 1, 7, 14, 22)
def rnn(
    n: OnnxNode,
    x: Expr,
    w: Expr,
    r: Expr,
    bias: Expr | None = None,
    lengths: Expr | None = None,
    first: Expr | None = None,
) -> list[Expr]:
    """The steps of a simple recurrent layer."""
    return recurrent(n, _rnn_step, 1, x, (w, r, bias, None), lengths, [first])


@onnx_operator("GRU", 1, 3, 7, 14, 22)
def gru(
    n: OnnxNode,
    x: Expr,
    w: Expr,
    r: Expr,
    bias: Expr | None = None,
    lengths: Expr | None = None,
    first: Expr | None = None,
) -> list[Expr]:
    """The steps of a layer of gated recurrent units (Cho et al., 2014)."""
    return recurrent(n, _gru_step, 3, x, (w, r, bias, None), lengths, [first])


@onnx_operator("LSTM", 1, 7, 14, 22)
def lstm(
    n: OnnxNode,
    x: Expr,
    w: Expr,
    r: Expr,
    bias: Expr | None = None,
    lengths: Expr | None = None,
    first: Expr | None = None,
    first_cell: Expr | None = None,
    peepholes: Expr | None = None,
) -> list[Expr]:
    """The steps of a layer of long short-term memory (Hochreiter and Schmidhuber, 1997)."""
    return recurrent(n, _lstm_step, 4, x, (w, r, bias, peepholes), lengths, [first, first_cell])
