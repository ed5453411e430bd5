"""Conditions and loops.

The file begins with loops, which Relay lacks: translated to a recursive function, or unrolled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from passlab.frontend.building import CallBuilder, tensor_type
from passlab.frontend.modules import erase_symbols
from passlab.frontend.onnx.entries import onnx_operator
from passlab.frontend.onnx.node import Capture, OnnxNode
from passlab.frontend.onnx.sequences import Kind, fields_of, flattened, is_sequence, item_type, joined, regrouped
from passlab.frontend.sizes import as_vector, reshape_to, size_of, sizes_of
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, Var
from passlab.ir.types import ANY, TensorType, TupleType

MOST_UNROLLED = 32  # iterations that are unrolled
LEAST_BLOCK = 64  # iterations whose collected values are appended together


@dataclass
class Iteration:
    """The results of one iteration: the condition for another (None: no condition), states, and collected values."""

    condition: Expr | None
    states: list[Expr]
    collected: list[Expr]


Body = Callable[
    [Expr, Expr, list[Expr], Capture], Iteration
]  # of the number of the iteration, the condition, the states


@dataclass
class Loop:
    """A loop that runs while `condition` holds (None: always), at most `limit` times (None: without limit)."""

    n: OnnxNode
    body: Body
    limit: Expr | None
    condition: Expr | None
    states: list[Expr]

    def results(self) -> list[Expr]:
        """Return the last states, then the collected values, stacked along a new first axis."""
        return self.unrolled() or self.rolled()

    # ------------------------------------------------------------ unrolling
    def unrolled(self) -> list[Expr] | None:
        """Return the results of the unrolled loop; None if the number of iterations is unknown."""
        limit = None if self.limit is None else self.n.value(self.limit)
        condition = True if self.condition is None else self._truth(self.condition)
        if limit is None or limit.size != 1 or not limit.reshape(-1)[0] <= MOST_UNROLLED or condition is None:
            return None
        states, collected = list(self.states), list[list[Expr]]()
        for number in range(int(limit.reshape(-1)[0])):
            if not condition:
                break
            # `lambda`: an unrolled body may use outer values as they are.
            result = self.body(self.n.constant(number, "int64"), self.n.constant(True, "bool"), states, lambda e: e)
            states = result.states
            collected.append(result.collected)
            condition = True if result.condition is None else self._truth(result.condition)
            if condition is None:
                return None
        if not collected:  # without an iteration, the shapes of collected values are unknown
            return None
        return [
            *states,
            *(self.n("stack", self.n.builder.tuple(parts), axis=0) for parts in zip(*collected, strict=True)),
        ]

    def _truth(self, condition: Expr) -> bool | None:
        value = self.n.value(condition)
        return None if value is None else bool(value.any())

    # ------------------------------------------------------------ recursion
    def rolled(self) -> list[Expr]:
        """Return the results of a recursive function, whose state types are a fixed point of the iteration.

        Each attempt translates the body anew; an unknown dimension stays unknown, so there are few attempts.
        """
        types = [self._type(state) for state in self.states]
        while True:
            captures = _Captures(self.n.builder)
            number, condition = Var("i", TensorType((), "int64")), Var("cond", TensorType((), "bool"))
            variables = [Var(f"state{at}", ty) for at, ty in enumerate(types)]
            for var in (number, condition, *variables):
                self.n.builder.finish(var)
            result = self.body(number, condition, list(variables), captures.capture)
            if len(result.states) != len(types):
                self.n.refuse("has a body that gives another number of states than it takes")
            wider = [join_types(self.n, ty, self._type(state)) for ty, state in zip(types, result.states, strict=True)]
            if wider == types:
                return self._call_function(number, condition, variables, result, captures)
            types = wider

    def _type(self, x: Expr) -> TensorType:
        ty = x.checked_type
        if not isinstance(ty, TensorType):
            self.n.refuse("carries something that is not a tensor", found=str(ty))
        return erase_symbols(ty)

    def _call_function(
        self, number: Var, condition: Var, variables: list[Var], iteration: Iteration, captures: _Captures
    ) -> list[Expr]:
        """Define and call the recursive function; return the fields of its result."""
        n = self.n
        lists = [self._variable(f"out{at}", self._list_type(part)) for at, part in enumerate(iteration.collected)]
        limit = None if self.limit is None else captures.capture(self.limit)
        carried = _Carried(number, condition, variables, lists)
        first = n.constant(True, "bool") if self.condition is None else self.condition
        start = [n.constant(0, "int64"), first, *self.states, *map(self._empty_list, lists)]
        if lists and self._may_be_long():
            program = self._in_blocks(carried, iteration, limit, start)
        else:
            loop = Var("loop")
            step = Call(loop, self._following(carried, iteration))
            function = self._function(carried.variables, carried, limit, step, carried.result)
            program = Let(loop, function, Call(loop, start, span=n.span))
        for captured, value in reversed(captures.bindings):  # the first binding becomes the outermost let
            program = Let(captured, value, program)
        return n.fields(n.builder.finish(program), len(variables) + len(lists))

    def _in_blocks(self, carried: _Carried, iteration: Iteration, limit: Expr | None, start: list[Expr]) -> Expr:
        """Return the call of a function that runs blocks of iterations, by another function.

        To append a value copies all that was collected before. A block collects its own values, which are appended
        together. It has 64 iterations and the root of those before it, so that n iterations copy n ** 1.5 values.
        """
        n, loop, block = self.n, Var("loop"), Var("block")
        end = self._variable("end", TensorType((), "int64"))
        params = [*carried.variables, end]
        one = Call(block, [*self._following(carried, iteration), end])
        by_one = self._function(params, carried, end, one, carried.variables)

        outer = carried.renamed(n.builder)
        root = n.cast(n("sqrt", n.cast(outer.number, "float64")), "int64")
        stop = n("add", n("add", outer.number, n.constant(LEAST_BLOCK, "int64")), root)
        stop = stop if limit is None else n("minimum", stop, limit)
        empty = map(self._empty_list, outer.lists)
        done = Var("done", by_one.ret_type)
        n.builder.finish(done)
        parts = [n.builder.field(done, at) for at in range(len(carried.variables))]
        before = len(parts) - len(outer.lists)
        longer = [self._append(var, part) for var, part in zip(outer.lists, parts[before:], strict=True)]
        run = Call(block, [outer.number, outer.condition, *outer.states, *empty, stop], span=n.span)
        step = Let(done, run, Call(loop, [*parts[:before], *longer]))
        by_block = self._function(outer.variables, outer, limit, step, outer.result)
        return Let(block, by_one, Let(loop, by_block, Call(loop, start, span=n.span)))

    def _following(self, carried: _Carried, iteration: Iteration) -> list[Expr]:
        """Return the values of the variables after an iteration."""
        n = self.n
        longer = [
            self._append(var, n("expand_dims", part, axis=0))
            for var, part in zip(carried.lists, iteration.collected, strict=True)
        ]
        again = carried.condition if iteration.condition is None else iteration.condition
        return [n("add", carried.number, 1), again, *iteration.states, *longer]

    def _function(
        self, params: list[Var], carried: _Carried, limit: Expr | None, step: Expr, result: list[Var]
    ) -> Function:
        """Return a function that takes a step while the condition holds, below the limit, and then returns `result`."""
        n = self.n
        continues: Expr = carried.condition
        if limit is not None:
            continues = n("logical_and", n("less", carried.number, limit), continues)
        kind = TupleType([self._type(var) for var in result])
        return Function(params, If(continues, step, Tuple(list(result))), kind)

    def _may_be_long(self) -> bool:
        limit = None if self.limit is None else self.n.value(self.limit)
        return limit is None or int(limit.reshape(-1)[0]) > 4 * LEAST_BLOCK

    def _variable(self, name: str, ty: TensorType) -> Var:
        var = Var(name, ty)
        self.n.builder.finish(var)
        return var

    def _list_type(self, part: Expr) -> TensorType:
        ty = self._type(part)
        return TensorType((ANY, *ty.shape), ty.dtype)

    def _append(self, collected: Var, rows: Expr) -> Expr:
        """Return the collected values with more rows appended.

        An empty collection has 0 for unknown dimensions, so the first rows replace it.
        """
        n = self.n
        longer = n.concat([collected, rows])
        if all(isinstance(dim, int) for dim in n.shape(rows)[1:]):
            return longer
        is_empty = n("equal", n("squeeze", as_vector(n, [size_of(n, collected, 0)])), 0)
        return n.builder.finish(If(is_empty, forget_dimensions(n, rows, self._type(collected)), longer))

    def _empty_list(self, collected: Var) -> Expr:
        ty = collected.type_annotation
        assert isinstance(ty, TensorType)
        return self.n("zeros", shape=[dim if isinstance(dim, int) else 0 for dim in ty.shape], dtype=ty.dtype)


@dataclass
class _Carried:
    """The variables of a loop: the number of the iteration, the condition, the states, and what is collected."""

    number: Var
    condition: Var
    states: list[Var]
    lists: list[Var]

    @property
    def variables(self) -> list[Var]:
        """All of them, in the order of the parameters."""
        return [self.number, self.condition, *self.result]

    @property
    def result(self) -> list[Var]:
        """Those that the loop returns."""
        return [*self.states, *self.lists]

    def renamed(self, builder: CallBuilder) -> _Carried:
        """Return other variables with the same names and types."""
        number, condition, *others = [Var(var.name_hint, var.type_annotation) for var in self.variables]
        for var in (number, condition, *others):
            builder.finish(var)
        return _Carried(number, condition, others[: len(self.states)], others[len(self.states) :])


class _Captures:
    """Values from outside a loop, bound to variables so that no iteration recomputes them."""

    def __init__(self, builder: CallBuilder) -> None:
        self._builder = builder
        self._variables: dict[Expr, Var] = {}

    @property
    def bindings(self) -> list[tuple[Var, Expr]]:
        """The variables and their values, in the order of first use."""
        return [(var, value) for value, var in self._variables.items()]

    def capture(self, value: Expr) -> Expr:
        """Return the variable for an outer value inside the loop; constants and variables are returned unchanged."""
        if isinstance(value, (Constant, Var)):
            return value
        if value not in self._variables:
            var = Var("outer", erase_symbols(tensor_type(value)))
            self._builder.finish(var)
            self._variables[value] = var
        return self._variables[value]


def join_types(n: OnnxNode, a: TensorType, b: TensorType) -> TensorType:
    """Return the common type of two tensors, with `?` where sizes differ.

    Raises `ModelError` for different dtypes or ranks.
    """
    if a.dtype != b.dtype or len(a.shape) != len(b.shape):
        n.refuse("has tensors of different dtypes or ranks for one value", str(a), str(b))
    dims = [p if p == q else ANY for p, q in zip(a.shape, b.shape, strict=True)]
    return a if a == b else erase_symbols(TensorType(dims, a.dtype))


def forget_dimensions(n: OnnxNode, value: Expr, ty: TensorType) -> Expr:
    """Return a tensor as one of a type that knows fewer of its dimensions."""
    if value.checked_type == ty:
        return value
    var = Var("weak", ty)
    return n.builder.finish(Let(var, value, var))  # the annotation of the variable hides the known sizes


@onnx_operator("If", 1, 11, 13, 16, 19, 21, 23, 24, 25)
def if_(n: OnnxNode, condition: Expr) -> list[Expr]:
    """`if`; of a constant condition, the branch that is taken."""
    value = n.value(condition)
    branches = ("then_branch", "else_branch")
    if value is not None:
        return n.subgraph(n.graph(branches[0] if value.any() else branches[1]), [])
    condition = n.scalar(condition)
    # Branches without parameters: they use the names around them.
    true_values, false_values = (n.subgraph(n.graph(branch), []) for branch in branches)
    if len(true_values) != len(false_values):
        n.refuse("has branches with different numbers of results", str(len(true_values)), str(len(false_values)))
    true_values, false_values, kinds = _of_one_kind(n, true_values, false_values)
    pairs = [_of_one_rank(n, at, *pair) for at, pair in enumerate(zip(true_values, false_values, strict=True))]
    true_values, false_values = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    types = [_common_type(n, a, b) for a, b in pairs]
    true_values, false_values = (
        [forget_dimensions(n, v, ty) for v, ty in zip(values, types, strict=True)]
        for values in (true_values, false_values)
    )
    if len(true_values) == 1:
        return regrouped(n, [n.builder.finish(If(condition, true_values[0], false_values[0]))], kinds)
    result = n.builder.finish(If(condition, n.builder.tuple(true_values), n.builder.tuple(false_values)))
    return regrouped(n, n.fields(result, len(true_values)), kinds)


def _of_one_kind(n: OnnxNode, a: list[Expr], b: list[Expr]) -> tuple[list[Expr], list[Expr], list[Kind]]:
    """Return the tensors of the values of two branches, and the kinds of the values."""
    kinds: list[Kind] = []
    for left, right in zip(a, b, strict=True):
        if is_sequence(left) != is_sequence(right):
            n.refuse("chooses between a tensor and a sequence")
        lengths = [fields_of(n, value) if is_sequence(value) else None for value in (left, right)]
        if not is_sequence(left):
            kinds.append(None)
        elif lengths[0] is not None and lengths[1] is not None and len(lengths[0]) == len(lengths[1]):
            kinds.append(len(lengths[0]))
        else:
            kinds.append(joined(n, item_type(n, left), item_type(n, right)))
    return flattened(n, a, kinds), flattened(n, b, kinds), kinds


def _of_one_rank(n: OnnxNode, output: int, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Return the values of two branches in one rank: the rank that the model states, or else the lower one.

    `If(size == 1) Squeeze else Identity` is how PyTorch writes a `squeeze`; a model goes on with one of the ranks. The
    branch of the other one fails when it is taken. Raises `ModelError` if the model states no rank and the ranks differ
    by more than one.
    """
    ranks = [len(tensor_type(value).shape) for value in (a, b)]
    if ranks[0] == ranks[1]:
        return a, b
    stated = n.stated_rank(output)
    if stated not in ranks and abs(ranks[0] - ranks[1]) != 1:
        hint = "fix the condition (`values={...}` of from_onnx), or state the dimensions of the output in the model"
        n.refuse("chooses between tensors of different ranks", str(ranks[0]), str(ranks[1]), hint=hint)
    rank = stated if stated in ranks else min(ranks)
    return (a, _never(n, b, rank)) if ranks[0] == rank else (_never(n, a, rank), b)


def _never(n: OnnxNode, x: Expr, rank: int) -> Expr:
    """Return a tensor of another rank than `x`, which fails when it is computed: its number of elements is another."""
    count = n("add", n.cast(n("ndarray_size", x, dtype="int64"), "int64"), 1)
    sizes = [n("reshape", count, newshape=[1]), *[n.constant([1], "int64")] * (rank - 1)]
    if not rank:
        return n(
            "squeeze",
            n("reshape", n("concatenate", n.builder.tuple([n("reshape", x, newshape=[-1])] * 2), axis=0), newshape=[1]),
        )
    return n("reshape", x, newshape=n.concat(sizes), allowzero=True)


def _common_type(n: OnnxNode, a: Expr, b: Expr) -> TensorType:
    left, right = a.checked_type, b.checked_type
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        n.refuse("chooses between values that are not tensors")
    return join_types(n, left, right)


@onnx_operator("Loop", 1, 11, 13, 16, 19, 21, 23, 24, 25)
def loop(n: OnnxNode, limit: Expr | None = None, condition: Expr | None = None, *states: Expr) -> list[Expr]:
    """A recursive function; a loop of few known iterations is unrolled."""
    graph = n.graph("body")
    count = len(states)

    def body(number: Expr, condition_value: Expr, values: list[Expr], capture: Capture) -> Iteration:
        result = n.subgraph(graph, [number, condition_value, *values], capture)
        return Iteration(n.scalar(result[0]), result[1 : 1 + count], result[1 + count :])

    first = None if condition is None else n.scalar(condition)
    max_iterations = None if limit is None else n.cast(n.scalar(limit), "int64")
    whole = Loop(n, body, max_iterations, first, list(states))
    return _loop_of_sequences(whole) if any(map(is_sequence, states)) else whole.results()


def _loop_of_sequences(loop: Loop) -> list[Expr]:
    """Return the results of a loop that carries sequences: packed ones unless it is unrolled.

    The type of their tensors is a fixed point as well: an empty sequence tells none, and an iteration may widen it.
    """
    n, states = loop.n, loop.states
    if (unrolled := loop.unrolled()) is not None:
        return unrolled
    kinds: list[Kind] = [(item_type(n, state) or 0) if is_sequence(state) else None for state in states]
    while True:
        found = list(kinds)

        def body(number: Expr, condition: Expr, values: list[Expr], capture: Capture) -> Iteration:
            result = loop.body(number, condition, regrouped(n, values, kinds), capture)  # noqa: B023 - called below
            for at, (kind, state) in enumerate(zip(kinds, result.states, strict=True)):  # noqa: B023
                if is_sequence(state) != (kind is not None):
                    n.refuse("has a body that gives a sequence for a tensor, or a tensor for a sequence")
                if kind is not None:
                    found[at] = joined(n, kind or None, item_type(n, state)) or 0  # type: ignore[arg-type]  # noqa: B023
            if found != kinds:  # noqa: B023 - this result is thrown away
                return Iteration(result.condition, values, result.collected)
            return Iteration(result.condition, flattened(n, result.states, kinds), result.collected)  # noqa: B023

        results = Loop(n, body, loop.limit, loop.condition, flattened(n, states, kinds)).rolled()
        if found == kinds:
            count = len(flattened(n, states, kinds))
            return [*regrouped(n, results[:count], kinds), *results[count:]]
        kinds = found


@onnx_operator("Scan", 8, 9, 11, 16, 19, 21, 23, 24, 25)
def scan(n: OnnxNode, *values: Expr | None) -> list[Expr]:
    """A loop over the slices of tensors; a loop of few known iterations is unrolled."""
    scanned = n.integer("num_scan_inputs")
    lengths, given = (values[0], values[1:]) if n.version == 8 else (None, values)
    operands = [value for value in given if value is not None]
    if not 1 <= scanned <= len(operands) or len(operands) < len(given):
        n.refuse("scans an impossible number of inputs", f"1 to {len(operands)}", str(scanned))
    states, inputs = operands[: len(operands) - scanned], operands[len(operands) - scanned :]
    if n.version == 8:
        return _scan_of_samples(n, lengths, states, inputs)
    axes = [n.axis(a, n.rank(x)) for a, x in zip(n.integers("scan_input_axes", [0] * scanned), inputs, strict=True)]
    output = _scan_slices(n, states, inputs, axes, n.integers("scan_input_directions", [0] * scanned))
    return [*output[: len(states)], *_place_iteration_axes(n, output[len(states) :])]


def _scan_of_samples(n: OnnxNode, lengths: Expr | None, states: list[Expr], inputs: list[Expr]) -> list[Expr]:
    """Return the results of a scan for each sample of a batch, by the first definition of Scan.

    Samples may be shorter than the batch: what follows their last step is zero in the collected values.
    """
    batch, back = size_of(n, inputs[0], 0), n.integers("directions", [0] * len(inputs))
    longest = size_of(n, inputs[0], 1)

    def body(sample: Expr, condition: Expr, carried: list[Expr], capture: Capture) -> Iteration:
        own = [n("take", capture(value), sample, axis=0) for value in (*states, *inputs)]
        count = None if lengths is None else n.cast(n("take", capture(lengths), sample, axis=0), "int64")
        parts = _scan_slices(n, own[: len(states)], own[len(states) :], [0] * len(inputs), back, count, capture)
        if count is not None:
            rest = n("subtract", as_vector(n, [longest]), n("reshape", count, newshape=[1]))
            for at in range(len(states), len(parts)):
                sizes = as_vector(n, [rest, *sizes_of(n, parts[at])[1:]])
                filled = n.concat([parts[at], n("zeros", shape=sizes, dtype=n.dtype(parts[at]))])
                whole = [longest, *sizes_of(n, parts[at])[1:]]
                parts[at] = reshape_to(n, filled, whole) if isinstance(longest, int) else filled
        return Iteration(None, [], parts)

    count = n.constant(batch, "int64") if isinstance(batch, int) else n.scalar(batch)
    return Loop(n, body, count, None, []).results()


def _scan_slices(
    n: OnnxNode,
    states: list[Expr],
    inputs: list[Expr],
    axes: list[int],
    back: list[int],
    length: Expr | None = None,
    around: Capture | None = None,
) -> list[Expr]:
    """Return the last states, and the collected values along a new first axis, of `length` steps (None: all).

    `around` captures what the body uses of the graphs around the loop where that is in a loop itself.
    """
    graph = n.graph("body")
    size = size_of(n, inputs[0], axes[0])
    if length is None:
        length = n.constant(size, "int64") if isinstance(size, int) else n.scalar(size)
    end = n("subtract", length, 1)

    def body(number: Expr, condition_value: Expr, carried: list[Expr], capture: Capture) -> Iteration:
        slices = [
            n("take", capture(x), n("subtract", capture(end), number) if backwards else number, axis=axis)
            for x, axis, backwards in zip(inputs, axes, back, strict=True)
        ]
        outer = capture if around is None else lambda value: capture(around(value))
        result = n.subgraph(graph, [*carried, *slices], outer)
        return Iteration(None, result[: len(states)], result[len(states) :])

    return Loop(n, body, length, None, states).results()


def _place_iteration_axes(n: OnnxNode, outputs: list[Expr]) -> list[Expr]:
    """Return collected values with the axis of iterations moved to its position, reversed where requested."""
    axes = n.integers("scan_output_axes", [0] * len(outputs))
    back = n.integers("scan_output_directions", [0] * len(outputs))
    result = []
    for output, named, backwards in zip(outputs, axes, back, strict=True):
        output = n("reverse", output, axis=0) if backwards else output
        axis = n.axis(named, n.rank(output))
        # `order` has the old axis for each new place; the axis of iterations was 0.
        order = list(range(1, n.rank(output)))
        order.insert(axis, 0)
        result.append(n("transpose", output, axes=order) if axis else output)
    return result
