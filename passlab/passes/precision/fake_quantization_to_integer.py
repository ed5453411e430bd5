"""Compute a quantized network on its integers instead of the real numbers they represent.

before:
    def @main(%x: Tensor[(2, 4), int8]) {
      %0 = qnn.dequantize(%x, 2f, 0, out_dtype="float32");
      qnn.quantize(nn.batch_flatten(%0), 2f, 0, out_dtype="int8")
    }
after:
    def @main(%x: Tensor[(2, 4), int8]) { nn.batch_flatten(%x) }

before:
    def @main(%x: Tensor[(4), uint8]) {
      %0 = qnn.dequantize(%x, 2f, 114, out_dtype="float32");
      qnn.quantize(clip(%0, a_min=0f, a_max=6f), 2f, 114, out_dtype="uint8")
    }
after:
    def @main(%x: Tensor[(4), uint8]) { clip(%x, a_min=114f, a_max=117f) }

keep:
    def @main(%x: Tensor[(4), uint8]) {
      %0 = qnn.dequantize(%x, 2f, 114, out_dtype="float32");
      qnn.quantize(cos(%0), 2f, 114, out_dtype="uint8")
    }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.errors import Diagnostic, PassError, PasslabError
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpCall, is_call_of, is_op_call, op_name
from passlab.ir.walk import CHILDREN, post_order, rebuild, rewrite
from passlab.op import make
from passlab.passes.precision.integer_rules import OPTIONAL, commutes, rule_of
from passlab.passes.precision.quantized_region import NoIntegerFormError, QuantizedRegion, QuantParams, QuantParamsTuple
from passlab.rewriting.node_types import NodeTypes
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=0, required=("InferType", "DivToMul"), contract=None, acts_on=("qnn.dequantize",))
class FakeQuantizationToInteger(FunctionPass):
    """Rewrite the regions between `qnn.dequantize` and `qnn.quantize` to integer arithmetic.

    Each operator between them needs a rule; a region with an operator without a rule stays as it is, or raises
    `PassError` with `hard_fail`. With `use_qat`, single operators whose arguments are all dequantized are rewritten
    as well, and their results dequantized. `optional_qnn_ops` names operators whose less exact rules may be used
    (nn.softmax).
    """

    hard_fail: bool = False
    use_qat: bool = False
    optional_qnn_ops: Sequence[str] | None = None

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        types = NodeTypes()
        result = rewrite(func, lambda pre, post: self._region(post, types), only=(Call,))
        if self.use_qat:
            result = rewrite(result, lambda pre, post: self._alone(post, types), only=(Call,))
        return result

    def _rule(self, call: OpCall) -> Callable[[OpCall, QuantizedRegion], Any] | None:
        name = op_name(call)
        if not name:
            return None
        registered = call.op.spec.extra.get("FTVMFakeQuantizationToInteger")
        if registered is not None:
            return registered  # type: ignore[no-any-return]
        return rule_of(call) or (OPTIONAL.get(name) if name in (self.optional_qnn_ops or ()) else None)

    def _region(self, post: Expr, types: NodeTypes) -> Expr:
        """Return the integer form of a quantized region, or the region itself."""
        if op_name(post) != "qnn.quantize":
            return post
        assert is_op_call(post)
        inside = _dataflow(post.args[0])
        if inside is None or not any(op_name(n) == "qnn.dequantize" for n in inside):
            return post
        attrs: Any = post.attrs
        region = QuantizedRegion(QuantParams(post.args[1], post.args[2], attrs.out_dtype, attrs.axis))
        return self._on_integers(post, [*inside, post], region, types) or post

    def _alone(self, post: Expr, types: NodeTypes) -> Expr:
        """Return the integer form of a single call, dequantized afterwards, or the call itself."""
        if not is_op_call(post) or rule_of(post, alone=True) is None:
            return post
        if any(op_name(a) != "qnn.dequantize" and type(a) is not Constant for a in post.args):
            return post
        if not any(op_name(a) == "qnn.dequantize" for a in post.args):
            return post
        region = QuantizedRegion(None)
        result = self._on_integers(post, [*post.args, post], region, types)
        if result is None:
            return post
        params = region.quantization.get(result)
        if not isinstance(params, QuantParams):
            return post
        dtype = next(a.attrs.out_dtype for a in post.args if is_call_of(a, "qnn.dequantize"))
        return make("qnn.dequantize", result, params.scale, params.zero_point, out_dtype=dtype, axis=params.axis)

    def _on_integers(
        self, root: OpCall, order: Sequence[Expr], region: QuantizedRegion, types: NodeTypes
    ) -> Expr | None:
        """Return the integer form of `root`, None if an operator has none; `order` has its nodes, children first."""
        result: dict[Expr, Expr] = {}
        inner = _inner(order)
        try:
            for node in order:
                region.is_last = node not in inner
                output = self._step(node, result, region, types)
                if output is not node:
                    result[node] = output
            if types.of(result.get(root, root)) is None:
                raise NoIntegerFormError("its integers have no type")
        except PasslabError as error:
            if self.hard_fail:
                raise PassError(
                    Diagnostic(f"the region that ends in `{root.op}` has no integer form: {error}", root.span)
                ) from error
            return None
        return result.get(root, root)

    def _step(self, node: Expr, result: dict[Expr, Expr], region: QuantizedRegion, types: NodeTypes) -> Expr:
        def new(expr: Expr) -> Expr:
            return result.get(expr, expr)

        if type(node) is Tuple:
            output = rebuild(node, new)
            region.quantization[output] = QuantParamsTuple(tuple(region.of(f) for f in output.fields))
            return output
        if type(node) is TupleGetItem:
            part = rebuild(node, new)
            whole = region.quantization.get(part.tuple_value)
            if not isinstance(whole, QuantParamsTuple):
                raise NoIntegerFormError("a projection of a tuple that is not quantized")
            region.quantization[part] = whole.fields[node.index]
            return part
        if not is_op_call(node):
            return node
        if is_call_of(node, "qnn.dequantize"):
            ty = types.tensor(node.args[0])
            if ty is None:
                raise NoIntegerFormError("the type of a quantized tensor is not known")
            params = QuantParams(node.args[1], node.args[2], ty.dtype, node.attrs.axis)
            if region.quantization.setdefault(node.args[0], params) != params:
                raise NoIntegerFormError("a tensor is dequantized in two different ways")
            return node.args[0]
        return self._call(node, new, region)

    def _call(self, call: OpCall, new: Callable[[Expr], Expr], region: QuantizedRegion) -> Expr:
        rule = self._rule(call)
        if rule is None:
            raise NoIntegerFormError(f"there is no rule for `{call.op}`")
        result = (
            call.with_fields(args=(new(call.args[0]), *call.args[1:]))
            if op_name(call) == "qnn.quantize"
            else rebuild(call, new)
        )
        try:
            out, params = rule(result, region)
        except NotImplementedError as error:  # raised by a user's rule for a call that it does not cover
            raise NoIntegerFormError(f"the rule for `{call.op}` does not cover it: {error}") from error
        region.quantization[out] = params
        return out  # type: ignore[no-any-return]


def _inner(order: Sequence[Expr]) -> set[Expr]:
    """Return the nodes that are read by operators that do not commute with quantizing; `order` lists children first."""
    inner: set[Expr] = set()
    for node in reversed(order):
        if node in inner or not commutes(node):
            inner.update(CHILDREN[type(node)](node))
    return inner


def _dataflow(root: Expr) -> list[Expr] | None:
    """Return the nodes of an expression down to `qnn.dequantize`, children first; None unless all are dataflow."""
    order = post_order(root, enter=lambda n: op_name(n) != "qnn.dequantize")
    kinds = (Call, Tuple, TupleGetItem, Constant, Op)
    if any(type(n) not in kinds or (type(n) is Call and type(n.op) is not Op) for n in order):
        return None
    return [n for n in order if CHILDREN[type(n)](n)]
