"""Tail-recursive functions, exported as `Loop`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passlab.frontend.onnx.export.names import Names, element_type, flat, refill, tensor_types
from passlab.frontend.onnx.package import onnx
from passlab.ir.expr import Call, Expr, Function, If, Let

if TYPE_CHECKING:
    from passlab.frontend.onnx.export.emitter import GraphEmitter


class TailLoop:
    """A function that ends in an `if` with a recursive call in one branch and a result in the other."""

    def __init__(self, function: Function, branch: If, step: Call, repeats_if: bool) -> None:
        self.function = function
        self.branch = branch
        self.step = step
        self.repeats_if = repeats_if

    @staticmethod
    def of(function: Function, callee: Expr) -> TailLoop | None:
        """Return a function as a loop, or None if it is not tail-recursive; `callee` is how its body calls it."""
        branch = _after_lets(function.body)
        if not isinstance(branch, If):
            return None
        for repeats_if, body in ((True, branch.true_branch), (False, branch.false_branch)):
            step = _after_lets(body)
            if isinstance(step, Call) and step.op == callee:
                return TailLoop(function, branch, step, repeats_if)
        return None

    def _condition(self, e: GraphEmitter) -> str:
        """Emit the condition for another iteration, in terms of the current parameters."""
        name: str = e.value(_emit_lets(e, self.function.body, self.branch.cond))
        return name if self.repeats_if else e.node("Not", [name])

    def write(self, e: GraphEmitter, args: list[Names]) -> Names:
        """Emit the loop, with `args` as initial values, and return the function's result."""
        params = self.function.params
        if any(arg is None for arg in args):
            e.refuse("a loop carries a function")
        with e.scope():  # the condition before the first iteration
            first = self._condition(e)
        shapes = list(args)
        states = flat(shapes)
        helper = onnx().helper
        with e.subgraph() as nodes:
            inner = [e.fresh("state") for _ in states]
            body = self.branch.true_branch if self.repeats_if else self.branch.false_branch
            with e.scope():  # expressions that depend on the parameters are emitted again for other values
                for param, names in zip(params, refill(shapes, iter(inner)), strict=True):
                    e.values[param] = names
                following = [_next_argument(e, self.function.body, body, arg) for arg in self.step.args]
            with e.scope():
                for param, names in zip(params, following, strict=True):
                    e.values[param] = names
                next_condition = self._condition(e)  # a Loop of ONNX tests at the end of its body
            inputs = [helper.make_tensor_value_info(e.fresh("round"), element_type("int64"), [])]
            inputs.append(helper.make_tensor_value_info(e.fresh("again"), element_type("bool"), []))
            kinds = [leaf for param in params for leaf in tensor_types(param.checked_type)]
            inputs += [
                helper.make_tensor_value_info(name, element_type(ty.dtype), [None] * len(ty.shape))
                for name, ty in zip(inner, kinds, strict=True)
            ]
            graph = e.graph(nodes, inputs, [next_condition, *flat(following)], "body")
        # "": no limit of iterations.
        results = e.node_with(max(len(states), 1), "Loop", ["", first, *states], body=graph)
        last = refill(shapes, iter(results))
        with e.scope():
            for param, names in zip(params, last, strict=True):
                e.values[param] = names
            rest = self.branch.false_branch if self.repeats_if else self.branch.true_branch
            return e.value(_emit_lets(e, self.function.body, rest))


def _after_lets(body: Expr) -> Expr:
    while isinstance(body, Let):
        body = body.body
    return body


def _emit_lets(e: GraphEmitter, body: Expr, tail: Expr) -> Expr:
    """Emit the lets before the end of a body; return `tail`, which is emitted in place of that end."""
    while isinstance(body, Let):
        if isinstance(body.value, Function):
            e.functions[body.var] = body.value
        else:
            e.values[body.var] = e.value(body.value)
        body = body.body
    return tail


def _next_argument(e: GraphEmitter, body: Expr, branch: Expr, arg: Expr) -> Names:
    """Return the names of an argument of the next iteration, after the lets of the function and of the branch."""
    _emit_lets(e, body, arg)
    return e.value(_emit_lets(e, branch, arg))
