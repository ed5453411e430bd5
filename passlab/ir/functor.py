"""Visitors and mutators with Relay's method names, for passes that are written as classes.

Override `visit_call`, `visit_let`, ... for the nodes that matter; the default methods visit the children. Each node is
visited once: results are stored in `memo_map`, where a method may also store results in advance. A mutator returns the
same node if nothing below it changed.

Nodes whose method is not overridden are walked by a loop. Overridden methods call each other as written, and continue
on a fresh stack if they get deep, so programs of any depth work. A method with a misspelt name is rejected when its
class is created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar, cast

from passlab.errors import Diagnostic, PassTypeError, did_you_mean, type_in_words
from passlab.ir.adt import Constructor, TypeData
from passlab.ir.deep_recursion import call_on_fresh_stack, stack_nearly_full
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    set_span,
)
from passlab.ir.node_errors import not_a_node_error
from passlab.ir.op import Op
from passlab.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    rebuild_type,
    type_children,
)
from passlab.ir.types import TypeVar as TypeParameter
from passlab.ir.walk import CHILDREN, limits_unnamed, may_rewrite, note_rewrite, rebuild, rewrite

EXPR_METHODS: dict[type, str] = {
    Var: "var", GlobalVar: "global_var", Constant: "constant", Op: "op", Constructor: "constructor", Call: "call",
    Tuple: "tuple", TupleGetItem: "tuple_getitem", Let: "let", Function: "function", If: "if", Match: "match",
    RefCreate: "ref_create", RefRead: "ref_read", RefWrite: "ref_write",
}  # fmt: skip
TYPE_METHODS: dict[type, str] = {
    TensorType: "tensor_type",
    TupleType: "tuple_type",
    FuncType: "func_type",
    RefType: "ref_type",
    TypeParameter: "type_var",
    GlobalTypeVar: "global_type_var",
    TypeCall: "type_call",
    TypeData: "type_data",
    IncompleteType: "incomplete_type",
    TypeRelation: "type_relation",
}
DATAFLOW = (Call, Tuple, TupleGetItem)
Method = TypeVar("Method", bound=Callable[..., Any])


def _visits_children(method: Method) -> Method:
    """Mark a default method that only visits the children in order, so that a loop may visit them first."""
    method.visits_children = True  # type: ignore[attr-defined]
    return method


def _check_names(cls: type, names: list[str]) -> None:
    """Raise `PassTypeError` for a method of a new class whose name matches no method to override."""
    prefixes = tuple({f"{name.partition('_')[0]}_" for name in names})
    for name, value in vars(cls).items():
        if names and name.startswith(prefixes) and callable(value) and name not in names:
            raise PassTypeError(
                Diagnostic(
                    f"{cls.__name__}.{name} would never be called: there is no such method to override",
                    hint=did_you_mean(name, names) or f"methods: {', '.join(names)}",
                )
            )


F = TypeVar("F", bound="_Functor")


class _Functor:
    """The loop behind all visitors.

    `_methods` maps each class of nodes to its method, `_hooks` lists further methods to override; `_open` are the
    classes of nodes to loop over.
    """

    _methods: ClassVar[dict[type, str]] = {}
    _hooks: ClassVar[tuple[str, ...]] = ()
    _always_open: ClassVar[tuple[type, ...]] = ()
    _open: ClassVar[frozenset[type]] = frozenset()
    memo_map: dict[Any, Any]
    _level: int

    def __new__(cls: type[F], *args: Any, **kwargs: Any) -> F:
        self = object.__new__(cls)  # subclasses need not call __init__
        self.memo_map = {}
        self._level = 0
        return self

    def __init__(self) -> None:
        self.memo_map = {}  # so that a visitor that is initialised again has seen nothing

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_names(cls, [*(f"visit_{name}" for name in cls._methods.values()), *cls._hooks])
        if hasattr(cls.visit, "visits_children"):
            names = cls._methods.items()
            open_kinds = (
                kind for kind, name in names if hasattr(getattr(cls, f"visit_{name}", None), "visits_children")
            )
            cls._open = frozenset((*open_kinds, *cls._always_open))
        else:
            cls._open = frozenset()  # every step must call the method `visit` of the subclass

    @_visits_children
    def visit(self, node: Any) -> Any:
        """Return the result for a node, computed by its method on the first visit."""
        memo = self.memo_map
        try:
            if node in memo:
                return memo[node]
        except TypeError:  # a list, say
            raise not_a_node_error(node) from None
        open_kinds = self._open
        if type(node) not in open_kinds:
            return self._call_method(node)
        stack: list[Any] = [node]
        while stack:
            current = stack.pop()
            if current is None:  # the children of the node below this mark have their results
                current = stack.pop()
                if current not in memo:
                    self._call_method(current)
            elif current in memo:
                continue
            elif type(current) in open_kinds:
                stack += (current, None)
                stack.extend(self._children(current)[::-1])
            else:
                self._call_method(current)
        return memo[node]

    def _children(self, node: Any) -> tuple[Any, ...]:
        raise NotImplementedError

    def _call_method(self, node: Any) -> Any:
        name = self._methods.get(type(node))
        if name is None:
            raise PassTypeError(Diagnostic(f"{type(self).__name__} cannot visit {type_in_words(node)}"))
        method = getattr(self, f"visit_{name}")
        self._level += 1
        try:
            if self._level % 8 == 0 and stack_nearly_full():
                result = call_on_fresh_stack(method, node)
            else:
                result = method(node)
        finally:
            self._level -= 1
        result = self._finish(node, result)
        self.memo_map[node] = result
        return result

    def _finish(self, node: Any, result: Any) -> Any:
        return result


def _no_visitor(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, node: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no method visit_{name}")

    method.__name__ = f"visit_{name}"
    method.__doc__ = f"Handle a {name.replace('_', ' ')}."
    return method


class ExprFunctor(_Functor):
    """A function on expressions by cases: the subclass defines one `visit_*` method for each class of nodes.

    >>> class Depth(relay.ExprFunctor):
    ...     def visit_constant(self, constant):
    ...         return 1
    ...     def visit_call(self, call):
    ...         return 1 + max(self.visit(arg) for arg in call.args)
    >>> Depth().visit(passlab.parse_expr("exp(1f) + 2f"))
    3
    """

    _methods = EXPR_METHODS

    def _children(self, node: Expr) -> tuple[Expr, ...]:
        return CHILDREN[type(node)](node)

    visit_var = _no_visitor("var")
    visit_global_var = _no_visitor("global_var")
    visit_constant = _no_visitor("constant")
    visit_op = _no_visitor("op")
    visit_constructor = _no_visitor("constructor")
    visit_call = _no_visitor("call")
    visit_tuple = _no_visitor("tuple")
    visit_tuple_getitem = _no_visitor("tuple_getitem")
    visit_let = _no_visitor("let")
    visit_function = _no_visitor("function")
    visit_if = _no_visitor("if")
    visit_match = _no_visitor("match")
    visit_ref_create = _no_visitor("ref_create")
    visit_ref_read = _no_visitor("ref_read")
    visit_ref_write = _no_visitor("ref_write")


class ExprVisitor(ExprFunctor):
    """Visits every node once, children after the node's own method has been entered; the methods return nothing.

    Call `super().visit_call(call)` (or `self.visit(...)` on parts) to continue below an overridden method.

    >>> class Names(relay.ExprVisitor):
    ...     def visit_call(self, call):
    ...         super().visit_call(call)
    ...         print(call.op)
    >>> Names().visit(passlab.parse_expr("exp(1f) + 2f"))
    exp
    add
    """

    @_visits_children
    def _visit_children(self, node: Any) -> None:
        for child in CHILDREN[type(node)](node):
            self.visit(child)

    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = visit_call = _visit_children
    visit_tuple = visit_tuple_getitem = visit_let = visit_function = visit_if = visit_match = _visit_children
    visit_ref_create = visit_ref_read = visit_ref_write = _visit_children


class ExprMutator(ExprFunctor):
    """Rebuilds a program from the results of its methods; unchanged nodes stay the same objects.

    >>> class Doubled(relay.ExprMutator):
    ...     def visit_constant(self, constant):
    ...         return relay.const(constant.data * 2)
    >>> print(Doubled().visit(passlab.parse_expr("1f + 2f")))
    add(2f, 4f)
    """

    @_visits_children
    def _rebuild(self, node: Any) -> Any:
        if isinstance(node, (Let, Function)):
            self._check_binders(node)
        return rebuild(node, self.visit)

    def _check_binders(self, node: Let | Function) -> None:
        """Raise `PassTypeError` if something other than a variable replaces one that `node` binds."""
        for binder in node.params if isinstance(node, Function) else (node.var,):
            result = self.visit(binder)
            if not isinstance(result, Var):
                raise PassTypeError(
                    Diagnostic(
                        "the place that binds a variable was given something else",
                        node.span,
                        expected="a variable",
                        found=type(result).__name__,
                        hint=f"override visit_{EXPR_METHODS[type(node)]} to drop or move the binding",
                    )
                )

    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = visit_call = _rebuild
    visit_tuple = visit_tuple_getitem = visit_let = visit_function = visit_if = visit_match = _rebuild
    visit_ref_create = visit_ref_read = visit_ref_write = _rebuild

    def _finish(self, node: Expr, result: Any) -> Any:
        if result is not node:
            if not isinstance(result, Expr):
                raise PassTypeError(
                    Diagnostic(
                        f"{type(self).__name__}.visit_{EXPR_METHODS[type(node)]} must return an expression",
                        node.span,
                        found=type(result).__name__,
                    )
                )
            if limits_unnamed() and (result := self._apply_permit(node, result)) is node:
                return node
            set_span(result, node.span)
            note_rewrite(node, result)
        return result

    def _apply_permit(self, node: Expr, result: Expr) -> Expr:
        """Return the result of a method; if its rewrite is not permitted, the node with the results of its children."""
        if type(node) is Var or hasattr(getattr(type(self), f"visit_{EXPR_METHODS[type(node)]}"), "visits_children"):
            return result
        rebuilt = rebuild(node, lambda part: self.memo_map.get(part, part))
        return result if _same_children(result, rebuilt) or may_rewrite("") else rebuilt


def _same_children(one: Expr, other: Expr) -> bool:
    """Whether two nodes have the same children, by identity."""
    if one is other or type(one) is not type(other):
        return one is other
    names = [name for name in one.field_names if name != "span"]
    return all(_same_field(getattr(one, name), getattr(other, name)) for name in names)


def _same_field(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
    return one is other or (not isinstance(one, Expr) and bool(one == other))


class MixedModeVisitor(ExprVisitor):
    """A visitor whose `visit_call`, `visit_tuple` and `visit_tuple_getitem` run after their inputs have been visited.

    They need not visit the inputs themselves. A node is visited up to `visit_limit` times (1 to 9). Raises
    `PassTypeError` for another limit.

    >>> class Names(relay.MixedModeVisitor):
    ...     def visit_call(self, call):
    ...         print(call.op)
    >>> Names().visit(passlab.parse_expr("exp(1f) + 2f"))
    exp
    add
    """

    _always_open = DATAFLOW

    def __init__(self, visit_limit: int = 1) -> None:
        super().__init__()
        if not 1 <= visit_limit <= 9:
            raise PassTypeError(Diagnostic("visit_limit is a number from 1 to 9", found=repr(visit_limit)))
        self.visit_limit = visit_limit
        self.visit_counter: dict[Expr, int] = {}

    @_visits_children
    def visit_call(self, call: Call) -> None:
        """Visit a call after its callee and arguments."""

    @_visits_children
    def visit_tuple(self, tup: Tuple) -> None:
        """Visit a tuple after its fields."""

    @_visits_children
    def visit_tuple_getitem(self, item: TupleGetItem) -> None:
        """Visit a projection after its tuple."""

    @_visits_children
    def visit(self, node: Any) -> Any:
        """Visit a node unless it has been visited `visit_limit` times."""
        if getattr(self, "visit_limit", 1) == 1:
            return super().visit(node)
        return self._visit_again(node)

    def _visit_again(self, root: Expr) -> None:
        """Visit nodes as often as they occur, up to the limit, inputs first."""
        counts, limit = self.visit_counter, self.visit_limit
        stack: list[Any] = [root]
        while stack:
            current = stack.pop()
            ready = current is None
            if ready:
                current = stack.pop()
            visits = counts.get(current, 0)
            if visits >= limit:
                counts[current] = visits + 1
            elif ready or type(current) not in DATAFLOW:
                counts[current] = visits + 1
                self._call_method(current)
            else:
                stack += (current, None)
                stack.extend(self._children(current)[::-1])


class MixedModeMutator(ExprMutator):
    """A mutator whose calls, tuples and projections are rebuilt bottom-up by a loop, and given to `rewrite_*` hooks.

    `rewrite_call(pre, post)` gets the original call and the one with its inputs rewritten, and returns its replacement;
    so do `rewrite_tuple` and `rewrite_tuple_getitem`. Other nodes go through their `visit_*` methods.

    >>> class Minus(relay.MixedModeMutator):
    ...     def rewrite_call(self, pre, post):
    ...         return relay.subtract(*post.args)
    >>> print(Minus().visit(passlab.parse_expr("1f + 2f")))
    subtract(1f, 2f)
    """

    _hooks = ("rewrite_call", "rewrite_tuple", "rewrite_tuple_getitem")

    def rewrite_call(self, pre: Call, post: Expr) -> Expr:
        """Return the replacement of a call."""
        return post

    def rewrite_tuple(self, pre: Tuple, post: Expr) -> Expr:
        """Return the replacement of a tuple."""
        return post

    def rewrite_tuple_getitem(self, pre: TupleGetItem, post: Expr) -> Expr:
        """Return the replacement of a projection."""
        return post

    @_visits_children
    def visit_call(self, call: Call) -> Expr:
        """Rebuild a call and pass it to `rewrite_call`."""
        return self.rewrite_call(call, rebuild(call, self.visit))

    @_visits_children
    def visit_tuple(self, tup: Tuple) -> Expr:
        """Rebuild a tuple and pass it to `rewrite_tuple`."""
        return self.rewrite_tuple(tup, rebuild(tup, self.visit))

    @_visits_children
    def visit_tuple_getitem(self, item: TupleGetItem) -> Expr:
        """Rebuild a projection and pass it to `rewrite_tuple_getitem`."""
        return self.rewrite_tuple_getitem(item, rebuild(item, self.visit))


class ExprRewriter:
    """Hooks `rewrite_call(pre, post)`, `rewrite_let(pre, post)`, ... for a bottom-up rewrite of every node by a loop.

    Each gets the original node and the one with its children rewritten, and returns the replacement.

    >>> class Minus(relay.ExprRewriter):
    ...     def rewrite_call(self, pre, post):
    ...         return relay.subtract(*post.args)
    >>> print(Minus().rewrite(passlab.parse_expr("1f + 2f")))
    subtract(1f, 2f)
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_names(cls, [f"rewrite_{name}" for name in EXPR_METHODS.values()])

    def rewrite(self, expr: Expr) -> Expr:
        """Return `expr` rewritten by the hooks, the same object if they changed nothing."""
        hooks = {kind: getattr(self, f"rewrite_{name}", None) for kind, name in EXPR_METHODS.items()}
        table = {kind: hook for kind, hook in hooks.items() if hook is not None}
        return rewrite(expr, lambda pre, post: table[type(pre)](pre, post), only=tuple(table))


def post_order_rewrite(expr: Expr, rewriter: ExprRewriter) -> Expr:
    """Return `expr` rewritten by a rewriter's hooks."""
    return rewriter.rewrite(expr)


class TypeFunctor(_Functor):
    """A function on types by cases: the subclass defines one `visit_*` method for each class of types."""

    _methods = TYPE_METHODS

    def _children(self, node: Type) -> tuple[Type, ...]:
        return type_parts(node)

    visit_tensor_type = _no_visitor("tensor_type")
    visit_tuple_type = _no_visitor("tuple_type")
    visit_func_type = _no_visitor("func_type")
    visit_ref_type = _no_visitor("ref_type")
    visit_type_var = _no_visitor("type_var")
    visit_global_type_var = _no_visitor("global_type_var")
    visit_type_call = _no_visitor("type_call")
    visit_type_data = _no_visitor("type_data")
    visit_incomplete_type = _no_visitor("incomplete_type")
    visit_type_relation = _no_visitor("type_relation")


def type_parts(ty: Type) -> tuple[Type, ...]:
    """Return the types in a type, including those in the definition of a data type."""
    if not isinstance(ty, TypeData):
        return type_children(ty)
    inputs: Iterable[Type] = (t for constructor in ty.constructors for t in constructor.inputs)
    return (ty.header, *ty.type_vars, *inputs)


class TypeVisitor(TypeFunctor):
    """Visits every part of a type once.

    >>> class Ranks(relay.TypeVisitor):
    ...     def visit_tensor_type(self, ty):
    ...         print(len(ty.shape))
    >>> Ranks().visit(relay.TensorType((2, 3), "float32"))
    2
    """

    @_visits_children
    def _visit_parts(self, node: Any) -> None:
        for part in type_parts(node):
            self.visit(part)

    visit_tensor_type = visit_tuple_type = visit_func_type = visit_ref_type = visit_type_var = _visit_parts
    visit_global_type_var = visit_type_call = visit_type_data = visit_incomplete_type = _visit_parts
    visit_type_relation = _visit_parts


class TypeMutator(TypeFunctor):
    """Rebuilds a type from the results of its methods; unchanged types stay the same objects.

    >>> class Halves(relay.TypeMutator):
    ...     def visit_tensor_type(self, ty):
    ...         return relay.TensorType(ty.shape, "float16")
    >>> print(Halves().visit(relay.TensorType((2,), "float32")))
    Tensor[(2), float16]
    """

    @_visits_children
    def _rebuild(self, node: Any) -> Any:
        return rebuild_type(node, self.visit)

    visit_tensor_type = visit_tuple_type = visit_func_type = visit_ref_type = visit_type_var = _rebuild
    visit_global_type_var = visit_type_call = visit_incomplete_type = visit_type_relation = _rebuild

    @_visits_children
    def visit_type_data(self, data: TypeData) -> TypeData:
        """Rebuild the definition of a data type; a constructor is created again if one of its inputs changed."""
        header, type_vars = self.visit(data.header), tuple(self.visit(v) for v in data.type_vars)
        constructors = tuple(c.with_fields(inputs=tuple(map(self.visit, c.inputs))) for c in data.constructors)
        same = header is data.header and type_vars == data.type_vars
        if same and all(a.inputs == b.inputs for a, b in zip(constructors, data.constructors, strict=True)):
            return data
        return TypeData(cast(GlobalTypeVar, header), type_vars, constructors, data.extern)


__all__ = [
    "ExprFunctor",
    "ExprMutator",
    "ExprRewriter",
    "ExprVisitor",
    "MixedModeMutator",
    "MixedModeVisitor",
    "TypeFunctor",
    "TypeMutator",
    "TypeVisitor",
    "post_order_rewrite",
    "type_parts",
]
