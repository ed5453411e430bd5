"""Converting convolutions, and everything around them, to other layouts: the engine of the layout passes.

Where an operator cannot adapt, `layout_transform` restores the original layout. Each value is transformed once to each
layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from passlab.analysis.purity import LocalPurity
from passlab.errors import PasslabError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op, OpCall, is_op_call
from passlab.ir.types import TupleType
from passlab.ir.walk import may_rewrite, note_rewrite, outside_kernels, post_order, rebuild
from passlab.op import make
from passlab.op.layout_change import LayoutChange, Result
from passlab.op.layout_names import LayoutName
from passlab.op.layout_rules import TwoLayouts, in_layout, replacement_in_layouts, with_layouts
from passlab.passes.layout.legalization import check
from passlab.rewriting.node_types import NodeTypes
from passlab.transform.registering import InferCorrectLayoutOutput

Convert = Callable[[OpCall], Attrs | None]
Replace = Callable[[OpCall, list[Expr]], Any]


def in_other_layouts(function: Function, convert: Convert, replace: Replace | None = None) -> Function:
    """Return a typed function with calls converted to other layouts; the same object if none is.

    `convert(call)` gets calls of operators that name layouts and returns the attributes with the new layouts, or None.
    `replace(call, args)` is tried first, for any operator: it returns an expression in terms of the original arguments,
    or None. If that is a call, and both calls name layouts, the arguments they share are transformed to the new
    layouts. Raises `PassError` if the replacement has another type.
    """
    rewriting = _Rewriting(convert, replace)
    for node in post_order(function.body, enter=outside_kernels):
        rewriting.visit(node)
    return function.with_fields(body=rewriting.original(function.body))


class _Rewriting:
    """The state of one run: the new form of each node, and its current layout."""

    def __init__(self, convert: Convert, replace: Replace | None) -> None:
        self._convert = convert
        self._replace = replace
        self._types = NodeTypes()
        self._purity = LocalPurity()
        self._now: dict[Expr, Expr] = {}
        self._changes: dict[Expr, LayoutChange] = {}
        self._field_changes: dict[Expr, list[LayoutChange | None]] = {}  # of values that are tuples
        self._transforms: dict[tuple[Expr, str, str], Expr] = {}  # by expression, source and target layout
        self._name = ""  # the name of the rewrite of the current node

    # ------------------------------------------------------------ the interface of rules
    def change_of(self, expr: Expr) -> LayoutChange | None:
        """Return the change of layout that a tensor has undergone, or None."""
        return self._changes.get(expr)

    def current(self, expr: Expr) -> Expr:
        """Return the current form of a tensor."""
        return self._now.get(expr, expr)

    def original(self, expr: Expr) -> Expr:
        """Return a value in its original layout."""
        current = self.current(expr)
        change = self._changes.get(expr)
        if change is not None:
            return self._transform(current, change.new, change.old)
        changes = self._field_changes.get(expr)
        if changes is None or not any(changes):
            return current
        key = (current, "", "")
        if key not in self._transforms:
            parts = [TupleGetItem(current, i) for i in range(len(changes))]
            fields = [p if a is None else self._transform(p, a.new, a.old) for p, a in zip(parts, changes, strict=True)]
            self._transforms[key] = Tuple(fields)
        return self._transforms[key]

    def in_layout(self, expr: Expr, target: LayoutChange) -> Expr | None:
        """Return a tensor in another layout, or None if its size does not fit."""
        change = self._changes.get(expr)
        if change is None:
            return self._transform(self.current(expr), target.old, target.new) if _fits(expr, target) else None
        named = change.with_letters(target.old)
        return self._transform(self.current(expr), named.new, target.new) if named is not None else None

    def _transform(self, current: Expr, source: str, target: str) -> Expr:
        if source == target:
            return current
        key = (current, source, target)
        if key not in self._transforms:
            self._transforms[key] = make("layout_transform", current, src_layout=source, dst_layout=target)
        return self._transforms[key]

    # ------------------------------------------------------------ nodes
    def visit(self, node: Expr) -> None:
        """Convert one node after its children."""
        if isinstance(node, Function) and node.is_primitive:
            return
        self._name = ""
        result = self._call(node) if is_op_call(node) else None
        if result is None and isinstance(node, TupleGetItem):
            result = self._projection(node)
        new_expr, change = result if result is not None else (rebuild(node, self.original), None)
        if new_expr is not node:
            self._now[node] = new_expr
            note_rewrite(node, new_expr, self._name)
        if isinstance(change, list):
            self._field_changes[node] = change
        elif change is not None:
            self._changes[node] = change

    def _call(self, call: OpCall) -> Result | None:
        assert isinstance(call.op, Op)
        if self._replace is not None and (replacement := self._replacement_of(call)) is not None:
            return replacement
        rule = call.op.spec.layout
        hook = call.op.spec.extra.get("FInferCorrectLayout")
        if hook is not None and not isinstance(rule, TwoLayouts):
            return self._by_hook(call, hook) if self._is_moved(call) else None
        if isinstance(rule, TwoLayouts):
            attrs = self._new_attrs(call)
            new_call = with_layouts(call, self, attrs or call.attrs)
            return new_call if attrs is None else _use_blocked_conv2d(new_call)
        if rule is None:
            return None
        layout = self._new_attrs(call) if hasattr(call.attrs, "layout") else None
        if layout is not None:
            return in_layout(call, self, layout.layout, bool(getattr(layout, "out_layout", "")))
        result: Result | None = rule(call, self) if self._is_moved(call) else None
        return result

    def _by_hook(self, call: OpCall, hook: Callable[..., Any]) -> Result | None:
        """Return a call in the layouts that the user's function chooses, or None if a tensor does not fit them.

        The function is called twice: with the original layouts of the call, and with the layouts it is to have now.
        """
        changes = [self._changes.get(arg) for arg in call.args]
        old = [LayoutName(a.old if a is not None else "") for a in changes]
        new = [LayoutName(a.new if a is not None else "") for a in changes]
        types = [arg.checked_type for arg in call.args]
        before = _as_result(hook(call.attrs, [], old, types), call)
        after = _as_result(hook(call.attrs, new, old, types), call)
        args = []
        for arg, source, target in zip(call.args, before.input_layouts, after.input_layouts, strict=True):
            current = (
                self.in_layout(arg, LayoutChange(str(source), str(target))) if source and target else self.original(arg)
            )
            if current is None:
                return None
            args.append(current)
        ends = zip(before.output_layouts, after.output_layouts, strict=True)
        results = [LayoutChange(str(o), str(n)) if o and n else None for o, n in ends]
        result = call.with_fields(args=tuple(args), attrs=after.new_attrs)
        if isinstance(call.checked_type, TupleType):
            return result, results
        original = result if results[0] is None else self._transform(result, results[0].new, results[0].old)
        check(original, call, call.checked_type, self._types)
        return result, results[0]

    def _new_attrs(self, call: OpCall) -> Attrs | None:
        """Return the new attributes of a call, or None if none exist or an instrument rejects the rewrite."""
        attrs = self._convert(call)
        if attrs is None or attrs == call.attrs:
            return attrs
        self._name = f"{call.op} in another layout"
        if may_rewrite(self._name):
            return attrs
        self._name = ""
        return None

    def _replacement_of(self, call: OpCall) -> Result | None:
        """Return the caller's replacement of a call, or None if it has none or a tensor does not fit its layout."""
        assert self._replace is not None
        args = [self.original(a) for a in call.args]
        output = self._replace(call, args)
        output = output.astuple() if hasattr(output, "astuple") else output
        if output is None or (
            is_op_call(output) and output.op is call.op and output.attrs == call.attrs and list(output.args) == args
        ):
            return None
        result: Result | None = (output, None)
        if is_op_call(output) and _names_layouts(output) and _names_layouts(call):
            origin = dict(zip(args, call.args, strict=True))
            origins = {i: origin[arg] for i, arg in enumerate(output.args) if arg in origin}
            result = replacement_in_layouts(call, self, output, output.attrs, origins)
        if result is not None:
            change: Any = result[1]
            original = result[0] if change is None else self._transform(result[0], change.new, change.old)
            check(original, call, call.checked_type, self._types)
        return result

    def _is_moved(self, call: OpCall) -> bool:
        """Return whether any argument, or a field of one, has changed its layout."""
        lookup = self._changes
        return any(a in lookup or (type(a) is Tuple and any(f in lookup for f in a.fields)) for a in call.args)

    def _projection(self, node: TupleGetItem) -> tuple[Any, LayoutChange | None] | None:
        whole = node.tuple_value
        if isinstance(whole, Tuple):
            field = whole.fields[node.index]
            if field in self._changes and all(self._purity.of(f) for f in whole.fields if f is not field):
                return self.current(field), self._changes[field]
        changes = self._field_changes.get(whole)
        if changes is None:
            return None
        return node.with_fields(tuple_value=self.current(whole)), changes[node.index]


_BLOCKED = (re.compile(r"NCHW\d+c\Z"), re.compile(r"OIHW(\d+i)?\d+o(\d+i)?\Z"))


def _use_blocked_conv2d(result: Result | None) -> Result | None:
    """Return the result of a rule, with Relay's own operator for convolutions in blocked layouts."""
    if result is None or not isinstance(conv := result[0], Call) or conv.op is not Op.get("nn.conv2d"):
        return result
    attrs: Any = conv.attrs
    data, kernel = _BLOCKED
    if attrs.groups != 1 or not data.match(attrs.data_layout) or not kernel.match(attrs.kernel_layout):
        return result
    op = Op.get("nn.contrib_conv2d_NCHWc")
    assert op.spec.attrs is not None
    return conv.with_fields(op=op, attrs=op.spec.attrs(**dict(attrs.items()))), result[1]


def _as_result(answer: Any, call: OpCall) -> InferCorrectLayoutOutput:
    """Return the result of a function of `register_infer_correct_layout`: an output, or the two lists of layouts."""
    if not isinstance(answer, InferCorrectLayoutOutput):
        inputs, outputs = answer
        answer = InferCorrectLayoutOutput(inputs, outputs, call.attrs)
    inputs, outputs = ([LayoutName(name) for name in names] for names in (answer.input_layouts, answer.output_layouts))
    return InferCorrectLayoutOutput(inputs, outputs, answer.new_attrs)


def _names_layouts(call: OpCall) -> bool:
    return hasattr(call.attrs, "kernel_layout") or hasattr(call.attrs, "layout")


def _fits(expr: Expr, target: LayoutChange) -> bool:
    """Return True if a tensor can be transformed to a layout: split axes must be multiples of the size of a block."""
    if target.old == target.new:
        return True
    transform: Any = make("layout_transform", expr, src_layout=target.old, dst_layout=target.new)
    try:
        return transform.op.spec.relation([expr.checked_type], transform.attrs, None) is not None
    except PasslabError:
        return False
