"""The expressions of Relay: immutable, slotted nodes compared by identity.

What is a program, if parts of it are shared and nothing changes? A graph of these nodes, not a tree: a node that occurs
twice is shared, and computed once. `let` binds a variable, and says when a value with an effect is computed.

      add          x = relay.var("x", shape=(2,))
      | |          e = relay.exp(x)
      exp          relay.add(e, e): one node `exp`, two uses
       |
       x

    >>> from passlab import relay
    >>> x = relay.var("x", shape=(2,))
    >>> e = relay.exp(x)
    >>> node = relay.add(e, e)
    >>> node.args[0] is node.args[1], relay.exp(x) == e
    (True, False)

`==` is identity, so that nodes can be keys of dictionaries: what a pass, a recording or a view knows of a node is a
dictionary from nodes. `equal.structural_equal` says whether two programs have equal structure.

Nodes do not change, so programs share parts and recordings keep every state for the price of what changed. A changed
node is a copy, made by `with_fields`, which returns the node itself if it is given the same objects:

    >>> node.args = ()
    Traceback (most recent call last):
    AttributeError: Call is immutable; make a changed copy instead of setting `args`
    >>> node.with_fields(args=[e, x]).args[1] is x, node.with_fields(args=node.args) is node
    (True, True)

`checked_type` is a cache that inference fills, once. Traversals are in `walk`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from typing import TypeVar as TypingTypeVar

import numpy as np

from passlab.arguments import checked
from passlab.errors import Diagnostic, NodeTypeError, TypeInferenceError
from passlab.ir.attrs import Attrs, DictAttrs, attribute
from passlab.ir.dtypes import dtype_name
from passlab.ir.immutable import Immutable, draft_class
from passlab.ir.node_errors import check_all, check_index, not_a_node_error
from passlab.ir.released_arrays import Array, Released
from passlab.ir.span import Span
from passlab.ir.types import TensorType, Type, TypeVar
from passlab.lazy import CLAUSES, OPERATORS, PRINTER, late, notebook_forms

if TYPE_CHECKING:
    from passlab.ir.adt import Clause


_new, _set = object.__new__, object.__setattr__
_TYPE_HINT = 'a type is, say, `relay.TensorType((2, 3), "float32")`'


ExprT = TypingTypeVar("ExprT", bound="Expr")  # the class of a node


class Expr(Immutable):
    """Base class of all expressions.

    `field_names` lists the fields of a node, in order; `with_fields` and laws over all nodes read it. `span` is the
    source location of the node, or None. The constructors raise `NodeTypeError` for a part of the wrong kind.

    >>> isinstance(relay.const(1.0), relay.Expr), isinstance(relay.TensorType(()), relay.Expr)
    (True, False)
    """

    _repr_mimebundle_ = notebook_forms

    __slots__ = ("span", "_checked_type", "_digest", "_type_dependency", "__weakref__")
    field_names: ClassVar[tuple[str, ...]] = ()
    is_operator: ClassVar[bool] = False
    # NumPy then leaves `array + expr` to the expression's operator, instead of calling it for each element.
    __array_ufunc__ = None
    span: Span | None
    _checked_type: Type | None
    _digest: int
    _type_dependency: Any  # the signatures that the type depends on, if the node refers to functions or data types
    _draft: ClassVar[Any]  # the class of a node while its constructor fills it

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__setattr__" not in vars(cls):  # a draft has no draft
            cls._draft = draft_class(cls)

    @property
    def checked_type(self) -> Type:
        """The inferred type. Raises `TypeInferenceError` before inference has run."""
        if self._checked_type is None:
            raise TypeInferenceError(
                Diagnostic(
                    f"this {type(self).__name__} has no type yet",
                    self.span,
                    hint="run `relay.transform.InferType()` on the module that holds it",
                )
            )
        return self._checked_type

    @property
    def checked_type_(self) -> Type | None:
        """The inferred type, or None before inference has run."""
        return self._checked_type

    def with_fields(self: ExprT, **changes: Any) -> ExprT:
        """Return an untyped copy with other fields and the same span; `self` if each value is the very one it holds."""
        if _has_fields(self, changes):
            return self
        values = {name: getattr(self, name) for name in self.field_names}
        values["span"] = self.span
        values.update(changes)
        return type(self)(**values)

    @checked
    def astext(self, show_meta_data: bool = True, annotate: Any = None, spans: bool = False) -> str:
        """Return the expression as Relay text with its version line; `spans` adds the origin of each node."""
        text: str = late(PRINTER, "astext")(self, show_meta_data=show_meta_data, annotate=annotate, spans=spans)
        return text

    def __str__(self) -> str:
        text: str = late(PRINTER, "pretty")(self)
        return text

    __repr__ = __str__

    def __call__(self, *args: Expr) -> Call:
        return Call(self, args)

    # ------------------------------------------------------------ Python's operators: `x + y` is the call `add(x, y)`
    def __add__(self, other: Any) -> Call:
        return _call("add", self, other)

    def __radd__(self, other: Any) -> Call:
        return _call("add", other, self)

    def __sub__(self, other: Any) -> Call:
        return _call("subtract", self, other)

    def __rsub__(self, other: Any) -> Call:
        return _call("subtract", other, self)

    def __mul__(self, other: Any) -> Call:
        return _call("multiply", self, other)

    def __rmul__(self, other: Any) -> Call:
        return _call("multiply", other, self)

    def __truediv__(self, other: Any) -> Call:
        return _call("divide", self, other)

    def __rtruediv__(self, other: Any) -> Call:
        return _call("divide", other, self)

    def __neg__(self) -> Call:
        return _call("negative", self)

    def __lt__(self, other: Any) -> Call:
        return _call("less", self, other)

    def __gt__(self, other: Any) -> Call:
        return _call("greater", self, other)

    def __le__(self, other: Any) -> Call:
        return _call("less_equal", self, other)

    def __ge__(self, other: Any) -> Call:
        return _call("greater_equal", self, other)

    def astype(self, dtype: Any) -> Call:
        """Return a cast of this expression to `dtype`."""
        call: Call = late(OPERATORS, "make")("cast", self, dtype=dtype_name(dtype))
        return call


def _call(name: str, *args: Any) -> Call:
    for arg in args:
        if not isinstance(arg, Expr):
            raise not_a_node_error(arg, f"an expression as operand of `{name}`")
    call: Call = late(OPERATORS, "make")(name, *args)
    return call


RelayExpr = Expr


# The setters of two slots, for inference and whoever knows the type of a node just made: an assignment raises an error.
# `set_checked_type(expr, type)` fills the type cache of a node: its callers set a type once.
# `set_type_dependency(expr, dependency)` stores the signatures that a node's type depends on.
set_checked_type: Callable[[Expr, Type], None] = vars(Expr)["_checked_type"].__set__
set_type_dependency: Callable[[Expr, object], None] = vars(Expr)["_type_dependency"].__set__


def set_span(expr: Expr, span: Span | None) -> None:
    """Give a new node without a span the span of the node that it replaces."""
    if expr.span is None:
        _set(expr, "span", span)


def unwrap(value: Any) -> Expr:
    """Return an expression: for a `TupleWrapper`, the tuple in it. Raises `NodeTypeError` for anything else."""
    if isinstance(value, Expr):
        return value
    inside = getattr(value, "tuple_value", None)  # the class of such values imports this module
    if isinstance(inside, Expr):
        return inside
    raise not_a_node_error(value)


def _unwrap_all(values: Sequence[Expr]) -> tuple[Expr, ...]:
    parts = values if type(values) is tuple else _as_tuple(values)
    for part in parts:
        if not isinstance(part, Expr):
            return tuple(map(unwrap, parts))
    return parts


def _has_fields(node: Expr, fields: Mapping[str, Any]) -> bool:
    """Whether fields of a node are these very objects."""
    for name, value in fields.items():  # noqa: SIM110  a generator takes three times as long
        if getattr(node, name) is not value:
            return False
    return True


def _as_tuple(values: Any) -> tuple[Any, ...]:
    """Return several parts of a node as a tuple. A single expression in place of a list is rejected."""
    if isinstance(values, Expr) and not isinstance(values, Tuple):
        raise NodeTypeError(Diagnostic("a list of expressions is needed, not one", hint="write `[...]` around it"))
    try:
        return tuple(values)
    except TypeError:
        raise not_a_node_error(values, "a list of expressions") from None


# ---------------------------------------------------------------- the nodes
# Passes make the nodes of large programs again and again, so constructors are as quick as they can be. An assignment to
# a node raises an error, and a call of `object.__setattr__` for each field would take most of their time. So a
# constructor fills an object of a class that can be assigned to, the *draft* (`immutable.draft_class`), and makes it a
# node by setting its `__class__`. `new_nodes` has constructors without checks, for passes.


def node_of_draft(draft: ExprT, cls: type[ExprT], span: Span | None) -> ExprT:
    """Return a draft with its fields set as a node without a type: it cannot be assigned to any more."""
    draft.span, draft._checked_type, draft._type_dependency = span, None, None
    draft.__class__ = cls
    return draft


def is_frozen(array: Array) -> bool:
    """Whether nobody writes to an array: it is read-only, and so is what it is a view of.

    A view of a part, or in another order of memory, does not count: a constant that is such a view is copied, or the
    whole array would stay in memory.
    """
    base: Any = array.base
    if array.flags.writeable or base is None:
        return not array.flags.writeable
    if not (array.flags.c_contiguous and array.flags.aligned):
        return False
    whole = base
    if type(base) is np.ndarray:
        if base.flags.writeable:
            return False
        whole = base.base
    return isinstance(whole, bytes) or (whole is None and base.nbytes == array.nbytes)


class Constant(Expr):
    """A tensor known at compile time. `data` is a read-only NumPy array (a writable one is copied).

    >>> relay.Constant(np.float32([1, 2])).data.shape
    (2,)
    """

    __slots__ = ("_data",)
    field_names = ("data",)
    _data: Array | Released

    def __new__(cls, data: Any, span: Span | None = None) -> Constant:
        array = np.asarray(data)
        if not is_frozen(array):  # weights of gigabytes are not copied, if nobody can change them
            array = array.copy(order="C")
            array.flags.writeable = False
        dtype_name(array.dtype)  # raises an error for arrays of objects, strings and complex numbers
        node: Constant = _new(cls._draft)
        node._data = array
        return node_of_draft(node, cls, span)

    @property
    def data(self) -> Array:
        """The read-only array; one that was released is computed again, and kept."""
        data = self._data
        if isinstance(data, Released):
            data = data.compute()
            _set(self, "_data", data)
        return data

    @property
    def tensor_type(self) -> TensorType:
        """The type of the data."""
        data = self._data
        return data.type if isinstance(data, Released) else TensorType(data.shape, data.dtype)


@dataclass(frozen=True)
class Id:
    """The identity of a variable as Relay's `var.vid`: compared by its name, and with `same_as` by the variable."""

    name_hint: str
    var: Any = field(default=None, compare=False, repr=False)

    def same_as(self, other: object) -> bool:
        """Whether the other is the identity of the same variable."""
        return self is other or (isinstance(other, Id) and self.var is not None and self.var is other.var)


class Var(Expr):
    """A local variable, compared by identity; `name_hint` is a hint. `type_annotation` is a type or None.

    Raises `NodeTypeError` for an annotation of another kind.

    >>> x = relay.Var("x", relay.TensorType((2,), "float32"))
    >>> x.name_hint, x == relay.Var("x", x.type_annotation)  # variables are compared by identity
    ('x', False)
    """

    __slots__ = ("name_hint", "type_annotation", "virtual_device")
    field_names = ("name_hint", "type_annotation", "virtual_device")
    name_hint: str
    type_annotation: Type | None
    virtual_device: Any

    @property
    def vid(self) -> Id:
        """Relay's identity of a variable, whose only content is the name."""
        return Id(self.name_hint, self)

    def __new__(
        cls, name_hint: str, type_annotation: Type | None = None, span: Span | None = None, virtual_device: Any = None
    ) -> Var:
        if type_annotation is not None and not isinstance(type_annotation, Type):
            raise not_a_node_error(type_annotation, "a type as annotation", _TYPE_HINT)
        node: Var = _new(cls._draft)
        node.name_hint = name_hint
        node.type_annotation = type_annotation
        node.virtual_device = virtual_device
        return node_of_draft(node, cls, span)


class GlobalVar(Expr):
    """The name of a function of a module. A module has one object per name and looks functions up by name.

    >>> relay.GlobalVar("main").name_hint
    'main'
    """

    __slots__ = ("name_hint",)
    field_names = ("name_hint",)
    name_hint: str

    def __new__(cls, name_hint: str, span: Span | None = None) -> GlobalVar:
        node: GlobalVar = _new(cls._draft)
        node.name_hint = name_hint
        return node_of_draft(node, cls, span)

    def __str__(self) -> str:
        return f"@{self.name_hint}"

    __repr__ = __str__


class Tuple(Expr):
    """A tuple of expressions.

    >>> pair = relay.Tuple([relay.const(1.0), relay.const(2.0)])
    >>> print(pair, len(pair.fields))
    (1f, 2f) 2
    """

    __slots__ = ("fields",)
    field_names = ("fields",)
    fields: tuple[Expr, ...]

    def __new__(cls, fields: Sequence[Expr], span: Span | None = None) -> Tuple:
        node: Tuple = _new(cls._draft)
        node.fields = _unwrap_all(fields)
        return node_of_draft(node, cls, span)

    def __getitem__(self, index: int) -> Expr:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.fields)


class TupleGetItem(Expr):
    """Element `index` of a tuple.

    >>> pair = relay.Tuple([relay.const(1.0), relay.const(2.0)])
    >>> print(relay.TupleGetItem(pair, 1))
    %0 = (1f, 2f);
    %0.1
    """

    __slots__ = ("tuple_value", "index")
    field_names = ("tuple_value", "index")
    tuple_value: Expr
    index: int

    def __new__(cls, tuple_value: Expr, index: int, span: Span | None = None) -> TupleGetItem:
        node: TupleGetItem = _new(cls._draft)
        node.tuple_value = unwrap(tuple_value)
        node.index = check_index(index)
        return node_of_draft(node, cls, span)


class Call(Expr):
    """`op` applied to `args`: an operator, a function, a constructor or any expression of function type.

    `type_args` are the arguments for the callee's type parameters. Those of a typed call of an operator are always the
    types of its arguments, as in Relay.

    >>> x = relay.var("x", shape=(2,))
    >>> call = relay.Call(relay.op.get("exp"), [x])
    >>> call.op.name, call.args[0] is x, passlab.structural_equal(call, relay.exp(x))
    ('exp', True, True)
    """

    __slots__ = ("op", "args", "attrs", "_type_args")
    field_names = ("op", "args", "attrs", "type_args")
    op: Expr
    args: tuple[Expr, ...]
    attrs: Attrs | None
    _type_args: tuple[Type, ...]

    def __new__(
        cls,
        op: Expr,
        args: Sequence[Expr],
        attrs: Attrs | None = None,
        type_args: Sequence[Type] | None = None,
        span: Span | None = None,
    ) -> Call:
        node: Call = _new(cls._draft)
        node.op = unwrap(op)
        node.args = _unwrap_all(args)
        node.attrs = attrs
        node._type_args = check_all(type_args, Type, "a type") if type_args else ()
        return node_of_draft(node, cls, span)

    @property
    def type_args(self) -> tuple[Type, ...]:
        """The arguments for the callee's type parameters; for an operator, the types of a typed call's arguments."""
        if not self.op.is_operator or self._checked_type is None:
            return self._type_args
        types = tuple([arg._checked_type for arg in self.args if arg._checked_type is not None])
        return types if len(types) == len(self.args) else self._type_args

    def with_fields(self, **changes: Any) -> Call:
        if _has_fields(self, changes):
            return self
        # `_type_args`, since `type_args` of an operator's call follow from the types, which the copy does not have yet
        values: dict[str, Any] = {"op": self.op, "args": self.args, "attrs": self.attrs, "type_args": self._type_args}
        values["span"] = self.span
        values.update(changes)
        return type(self)(**values)


NO_ATTRS = DictAttrs()  # of nearly all functions: one object, found equal without a comparison


class Function(Expr):
    """A function literal or global function.

    `ret_type` is a type or None; `type_params` its type parameters; `attrs` is always a `DictAttrs`, possibly empty.
    Raises `NodeTypeError` for a parameter that is not a variable.

    >>> x = relay.var("x", shape=(2,))
    >>> print(relay.Function([x], relay.exp(x)))
    fn (%x: Tensor[(2), float32]) {
      exp(%x)
    }
    """

    __slots__ = ("params", "body", "ret_type", "type_params", "attrs", "virtual_device")
    field_names = ("params", "body", "ret_type", "type_params", "attrs", "virtual_device")
    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None
    type_params: tuple[TypeVar, ...]
    attrs: DictAttrs
    virtual_device: Any

    def __new__(
        cls,
        params: Sequence[Var],
        body: Expr,
        ret_type: Type | None = None,
        type_params: Sequence[TypeVar] | None = None,
        attrs: DictAttrs | dict[str, Any] | None = None,
        span: Span | None = None,
        virtual_device: Any = None,
    ) -> Function:
        node: Function = _new(cls._draft)
        variables = params if type(params) is tuple else _as_tuple(params)
        for variable in variables:
            if not isinstance(variable, Var):
                raise not_a_node_error(variable, "a variable")
        node.params = variables
        node.body = unwrap(body)
        if ret_type is not None and not isinstance(ret_type, Type):
            raise not_a_node_error(ret_type, "a type as result type", _TYPE_HINT)
        node.ret_type = ret_type
        node.type_params = check_all(type_params, TypeVar, "a type variable") if type_params else ()
        node.attrs = attrs if isinstance(attrs, DictAttrs) else DictAttrs(attrs) if attrs else NO_ATTRS
        node.virtual_device = virtual_device
        return node_of_draft(node, cls, span)

    def with_attr(self, key: str | dict[str, Any], value: Any = None) -> Function:
        """Return a copy with one attribute (or a dict of them) set; the same object if nothing changes."""
        return self.with_attrs(key if isinstance(key, dict) else attribute(key, value))

    @checked
    def with_attrs(self, changes: Mapping[str, Any]) -> Function:
        """Return a copy with several attributes set; the same object if nothing changes."""
        attrs = self.attrs.with_values(changes)
        return self if attrs == self.attrs else self.with_fields(attrs=attrs)

    @checked
    def without_attr(self, *keys: str) -> Function:
        """Return a copy without some attributes; the same object if none was set."""
        return self.with_fields(attrs=self.attrs.without(*keys)) if any(k in self.attrs for k in keys) else self

    @property
    def is_primitive(self) -> bool:
        """Whether this is a fused kernel, opaque to most passes."""
        return bool(self.attrs.get("Primitive", 0))


class Let(Expr):
    """Bind `var` to `value` in `body`. A function bound to a variable may call itself through it.

    Raises `NodeTypeError` if `var` is not a variable.

    >>> x, y = relay.var("x", "float32"), relay.var("y")
    >>> print(relay.Function([x], relay.Let(y, relay.exp(x), y + y)))
    fn (%x: float32) {
      let %y = exp(%x);
      add(%y, %y)
    }
    """

    __slots__ = ("var", "value", "body")
    field_names = ("var", "value", "body")
    var: Var
    value: Expr
    body: Expr

    def __new__(cls, var: Var, value: Expr, body: Expr, span: Span | None = None) -> Let:
        if not isinstance(var, Var):
            raise not_a_node_error(var, "a variable")
        node: Let = _new(cls._draft)
        node.var = var
        node.value = unwrap(value)
        node.body = unwrap(body)
        return node_of_draft(node, cls, span)


class If(Expr):
    """`true_branch` if `cond` (a scalar bool) is true, else `false_branch`; only one is evaluated.

    >>> c, x = relay.var("c", "bool"), relay.var("x", "float32")
    >>> branch = relay.If(c, relay.exp(x), x)
    >>> branch.true_branch.op.name, branch.false_branch is x
    ('exp', True)
    """

    __slots__ = ("cond", "true_branch", "false_branch")
    field_names = ("cond", "true_branch", "false_branch")
    cond: Expr
    true_branch: Expr
    false_branch: Expr

    def __new__(cls, cond: Expr, true_branch: Expr, false_branch: Expr, span: Span | None = None) -> If:
        node: If = _new(cls._draft)
        node.cond = unwrap(cond)
        node.true_branch = unwrap(true_branch)
        node.false_branch = unwrap(false_branch)
        return node_of_draft(node, cls, span)


class RefCreate(Expr):
    """A new mutable cell holding `value`.

    >>> cell = relay.var("cell")
    >>> print(relay.Let(cell, relay.RefCreate(relay.const(1.0)), relay.RefRead(cell)))
    let %cell = ref(1f);
    ref_read(%cell)
    """

    __slots__ = ("value",)
    field_names = ("value",)
    value: Expr

    def __new__(cls, value: Expr, span: Span | None = None) -> RefCreate:
        node: RefCreate = _new(cls._draft)
        node.value = unwrap(value)
        return node_of_draft(node, cls, span)


class RefRead(Expr):
    """The content of the cell `ref`.

    >>> cell = relay.var("cell")
    >>> print(relay.Let(cell, relay.RefCreate(relay.const(1.0)), relay.RefRead(cell)))
    let %cell = ref(1f);
    ref_read(%cell)
    """

    __slots__ = ("ref",)
    field_names = ("ref",)
    ref: Expr

    def __new__(cls, ref: Expr, span: Span | None = None) -> RefRead:
        node: RefRead = _new(cls._draft)
        node.ref = unwrap(ref)
        return node_of_draft(node, cls, span)


class RefWrite(Expr):
    """Store `value` in the cell `ref`; the result is the empty tuple.

    >>> cell = relay.var("cell")
    >>> print(relay.RefWrite(cell, relay.const(2.0)))
    free_var %cell;
    ref_write(%cell, 2f)
    """

    __slots__ = ("ref", "value")
    field_names = ("ref", "value")
    ref: Expr
    value: Expr

    def __new__(cls, ref: Expr, value: Expr, span: Span | None = None) -> RefWrite:
        node: RefWrite = _new(cls._draft)
        node.ref = unwrap(ref)
        node.value = unwrap(value)
        return node_of_draft(node, cls, span)


class Match(Expr):
    """Select the first of `clauses` whose pattern matches `data`; `complete` requires that every value is covered.

    >>> mod = passlab.parse("type B { T, F } def @main(%b: B) { match (%b) { T => 1, F => 0 } }")
    >>> match = mod["main"].body
    >>> match.complete, [clause.lhs.constructor.name_hint for clause in match.clauses]
    (True, ['T', 'F'])
    """

    __slots__ = ("data", "clauses", "complete")
    field_names = ("data", "clauses", "complete")
    data: Expr
    clauses: tuple[Clause, ...]
    complete: bool

    def __new__(cls, data: Expr, clauses: Sequence[Clause], complete: bool = True, span: Span | None = None) -> Match:
        node: Match = _new(cls._draft)
        node.data = unwrap(data)
        node.clauses = check_all(clauses, late(CLAUSES, "Clause"), "a clause")
        node.complete = bool(complete)
        return node_of_draft(node, cls, span)
