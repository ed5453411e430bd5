"""Mark the operators that each external compiler supports.

before: targets=["toy"]
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p: Tensor[(2), float32], Composite="toy.relu") -> Tensor[(2), float32] { nn.relu(%p) };
      exp(%0(%x))
    }
after:
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p: Tensor[(2), float32], Composite="toy.relu") -> Tensor[(2), float32] { nn.relu(%p) };
      %1 = %0(annotation.compiler_begin(%x, compiler="toy"));
      %2 = annotation.compiler_begin(annotation.compiler_end(%1, compiler="toy"), compiler="default");
      annotation.compiler_end(exp(%2), compiler="default")
    }

keep: targets=["toy"]
    def @main(%x: Tensor[(2), float32]) {
      %0 = annotation.compiler_begin(%x, compiler="other");
      annotation.compiler_end(exp(%0), compiler="other")
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.analysis.regions import BEGIN, DEFAULT, END, compiler_of, enter, is_begin, is_end
from passlab.analysis.stated_types import states_type
from passlab.errors import Diagnostic, PassTypeError
from passlab.ir.expr import Call, Expr, Function, If, Let, Match, RefCreate, RefRead, RefWrite, Tuple, TupleGetItem, Var
from passlab.ir.kept_types import set_type
from passlab.ir.module import IRModule
from passlab.ir.new_nodes import new_call
from passlab.ir.op import Op, op_name
from passlab.ir.types import RefType, TensorType, TupleType, Type
from passlab.ir.walk import CHILDREN, rebuild_typed, rewrite, with_children
from passlab.op import make
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT)
class AnnotateTarget(FunctionPass):
    """Put `compiler_begin` before and `compiler_end` after each call, with the name of its compiler.

    The compiler of a call is the first of `targets` (a name, or a list of names) that supports it. A compiler supports
    a call of an operator if the predicate registered as `target.<compiler>` returns true (`relay.op.register_op_attr(
    "exp", "target.toy", predicate)`), and a call of a function with the attribute `Composite="<compiler>.<name>"`.
    Unsupported calls are marked `default`. Tuples and projections get the compiler of their arguments if all arguments
    agree. Nodes that create, read or write references stay with the default compiler (Relay moves them along). With
    `include_non_call_ops` off, tuples, projections and calls of variables are not marked. Values other than tensors,
    tuples of tensors and references to them are not marked, nor are calls without arguments; a call that is already
    marked for a compiler other than `default` keeps its mark. Raises `PassTypeError` unless `targets` is a name or a
    list of names.
    """

    targets: Any
    include_non_call_ops: bool = True

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        if func.is_primitive or "Composite" in func.attrs:
            return func
        annotation = _Annotation(_target_names(self.targets), self.include_non_call_ops)
        return rewrite(func, annotation.rule, enter=enter, only=(Call, *_USERS_OF_RESULTS))


def _target_names(targets: Any) -> list[str]:
    names = [targets] if isinstance(targets, str) else targets
    if isinstance(names, Sequence) and all(isinstance(n, str) for n in names):
        return list(names)
    raise PassTypeError(
        Diagnostic("targets are the names of compilers", expected="str or list[str]", found=repr(names))
    )


def compiler_for(call: Call, targets: Sequence[str]) -> str:
    """Return the first target that supports a call, or "default"."""
    if type(call.op) is Op:
        facts = call.op.spec.extra
        for target in targets if facts else ():
            predicate = facts.get(f"target.{target}")
            if predicate is not None and predicate(call):
                return target
        return DEFAULT
    if type(call.op) is Function:
        owner, dot, _ = str(call.op.attrs.get("Composite", "")).partition(".")
        return owner if dot and owner in targets else DEFAULT
    return DEFAULT


_STRUCTURES = (Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)
_USERS_OF_RESULTS = (Function, If, Let, Match, *_STRUCTURES)  # unmarked nodes, before which regions end


class _Annotation:
    """Marks one function from its leaves up; `compiler[node]` is the compiler of a marked node."""

    def __init__(self, targets: list[str], non_calls: bool) -> None:
        self.targets = targets
        self.non_calls = non_calls
        self.compiler: dict[Expr, str] = {}
        self.tensors: dict[Type, bool] = {}
        self.marks: dict[tuple[str, str], Call] = {}

    def _mark_use(self, mark: str, expr: Expr, compiler: str) -> Call:
        """Return a new mark around an expression; all marks share one attributes object."""
        first = self.marks.get((mark, compiler))
        if first is None:
            first = self.marks[mark, compiler] = make(mark, expr, compiler=compiler)
        if expr._checked_type is None or expr._type_dependency is None:
            return new_call(first.op, (expr,), first.attrs, ty=expr._checked_type)
        result = new_call(first.op, (expr,), first.attrs)
        set_type(result, expr._checked_type, (expr,))
        return result

    def rule(self, pre: Expr, post: Expr) -> Expr:
        """Return a node with marks around its arguments."""
        if type(post) is Call:
            marked = self._is_data(pre) and (self.non_calls or type(post.op) is not Var)
            return self._mark(pre, post) if marked else self._end_regions(post)
        if type(post) in _STRUCTURES:
            return self._mark_structure(post) if self.non_calls and self._is_data(pre) else self._end_regions(post)
        return self._end_regions(post) if type(post) in _USERS_OF_RESULTS and enter(post) else post

    def _is_data(self, node: Expr) -> bool:
        """Return whether a value consists of tensors only: functions and other data stay with this compiler.

        Results of a match without arms stay as well: a mark around them would hide their type.
        """
        parts = node.args if type(node) is Call else CHILDREN[type(node)](node)
        for part in (node, *parts):
            if type(part._checked_type) is not TensorType and not self._holds_tensors(part.checked_type):
                return False
        return all(map(states_type, parts))

    def _holds_tensors(self, ty: Type) -> bool:
        result = self.tensors.get(ty)
        if result is None:
            stack = [ty]
            while stack and isinstance(at := stack[-1], (TupleType, TensorType, RefType)):
                stack.pop()
                stack.extend(at.fields if isinstance(at, TupleType) else (at.value,) if isinstance(at, RefType) else ())
            result = self.tensors[ty] = not stack
        return result

    def _mark(self, pre: Expr, call: Call) -> Expr:
        assert type(pre) is Call
        mark = op_name(call)
        if mark == BEGIN:
            return call
        if mark == END:
            compiler = self.compiler.setdefault(call.args[0], compiler_of(call))
            return call if compiler == compiler_of(call) else self._mark_use(END, call.args[0], compiler)
        first = call.args[0] if call.args else None
        if first is not None and is_begin(first) and compiler_of(first) != DEFAULT:
            self.compiler[call] = compiler_of(first)
            return call
        return self._assign(call, compiler_for(pre, self.targets)) if call.args else call

    def _assign(self, node: Expr, compiler: str) -> Expr:
        """Return a call, tuple or projection assigned to a compiler, with marks around its arguments."""
        callee = node.op if type(node) is Call else None
        parts = CHILDREN[type(node)](node)
        marked = tuple([part if part is callee else self._begin(part, compiler) for part in parts])
        result = with_children(node, parts, marked)
        self.compiler[result] = compiler
        return result

    def _mark_structure(self, node: Expr) -> Expr:
        """Mark a tuple or projection with the common compiler of its operands, and nodes with effects as default."""
        if type(node) not in (Tuple, TupleGetItem):
            return self._assign(node, DEFAULT)
        compilers = {self._compiler_of_operand(part) for part in CHILDREN[type(node)](node)}
        return self._assign(node, compilers.pop() if len(compilers) == 1 else DEFAULT) if compilers else node

    def _compiler_of_operand(self, part: Expr) -> str:
        source = part.args[0] if is_begin(part) else part
        if is_end(source):
            return compiler_of(source)
        return self.compiler.get(source, DEFAULT)

    def _begin(self, part: Expr, compiler: str) -> Expr:
        """Return an argument marked as an input of a region."""
        if not is_begin(part):
            return self._mark_use(BEGIN, self._end(part), compiler)
        return part if compiler_of(part) == compiler else self._mark_use(BEGIN, part.args[0], compiler)

    def _end(self, expr: Expr) -> Expr:
        compiler = self.compiler.get(expr)
        return expr if compiler is None or is_end(expr) else self._mark_use(END, expr, compiler)

    def _end_regions(self, node: Expr) -> Expr:
        """Return a node whose parts are marked as outputs of their regions."""
        return rebuild_typed(node, self._end)
