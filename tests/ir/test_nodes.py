"""Laws of nodes, over every class of expressions, patterns, types and attributes."""

from __future__ import annotations

import copy
import inspect

import numpy as np
import pytest

from passlab.errors import AttrsError, DiagnosticError, TypeInferenceError
from passlab.ir import (
    ANY,
    Any,
    Attrs,
    Call,
    Clause,
    Constant,
    Constructor,
    DictAttrs,
    Expr,
    Function,
    FuncType,
    GlobalTypeVar,
    GlobalVar,
    If,
    IncompleteType,
    Kind,
    Let,
    Match,
    Op,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    SizeVar,
    Source,
    Span,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeRelation,
    TypeVar,
    Var,
)  # fmt: skip
from passlab.ir.attrs import REQUIRED, as_value, same_values, value_hash
from passlab.ir.expr import set_checked_type
from passlab.ir.types import Immutable, is_dynamic, map_type, scalar_type, type_nodes
from passlab.ir.walk import CHILDREN, LEAVES, WITH_CHILDREN, children, rebuild
from tests.each import each

SPAN = Span(Source("t", "abc"), 0, 1)
F32 = TensorType((3,), "float32")
x, y, f = Var("x", F32), Var("y"), GlobalVar("f")
BOX = GlobalTypeVar("Box")
CTOR = Constructor("Box", (F32,), BOX)
CLAUSE = Clause(PatternConstructor(CTOR, (PatternVar(y),)), y)

NODES: dict[type[Expr], Expr] = {
    type(node): node
    for node in (
        Var("v", F32, SPAN), Constant(np.float32(1), SPAN), GlobalVar("g", SPAN), Op.get("add"), CTOR, Tuple((x, y), SPAN),
        TupleGetItem(x, 1, SPAN), Call(f, (x, y), DictAttrs(a=1), (F32,), SPAN), Function((x,), y, F32, (TypeVar("A"),), {"k": 1}, SPAN),
        Let(x, y, x, SPAN), If(x, y, x, SPAN), RefCreate(x, SPAN), RefRead(x, SPAN), RefWrite(x, y, SPAN), Match(x, (CLAUSE,), True, SPAN),
    )
}  # fmt: skip
OTHERS: list[Immutable] = [
    CLAUSE, PatternWildcard(), PatternVar(x), PatternTuple((PatternWildcard(),)), CLAUSE.lhs, ANY, SizeVar("n"), F32, TupleType((F32,)),
    FuncType((F32,), F32), RefType(F32), TypeVar("A"), BOX, TypeCall(BOX, (F32,)), IncompleteType(), TypeRelation("r", (F32,), 1),
    TypeData(BOX, (), (CTOR,)), DictAttrs(a=1),
]  # fmt: skip


def test_every_class_of_expressions_is_here() -> None:
    classes = {c for c in Expr.__subclasses__() if c.__module__.startswith("passlab.ir.")}
    assert classes == set(NODES) == set(CHILDREN) == set(WITH_CHILDREN) | set(LEAVES)


@each("node", [*NODES.values(), *OTHERS], ids=lambda n: type(n).__name__)
def test_nothing_can_be_set_or_deleted(node: Immutable) -> None:
    names = [n for cls in type(node).__mro__ for n in getattr(cls, "__slots__", ()) if n != "__weakref__"]
    for name in [*names, "something_new"]:
        with pytest.raises(AttributeError, match=r"immutable|no attribute"):
            setattr(node, name, None)
        with pytest.raises(AttributeError, match=r"immutable|no attribute"):
            delattr(node, name)
    assert not hasattr(node, "__dict__")
    assert copy.copy(node) is node
    assert copy.deepcopy(node) is node


@pytest.mark.parametrize("node", NODES.values(), ids=lambda n: type(n).__name__)
def test_expressions_are_compared_by_identity(node: Expr) -> None:
    assert node == node
    assert hash(node) == hash(node)
    assert (node == x) is (node is x)
    assert {node: 1}[node] == 1


CHANGEABLE = [node for node in NODES.values() if not isinstance(node, Op)]


@pytest.mark.parametrize("node", CHANGEABLE, ids=lambda n: type(n).__name__)
def test_fields_are_those_of_the_constructor(node: Expr) -> None:
    parameters = list(inspect.signature(type(node)).parameters)
    assert [p for p in parameters if p != "span"] == list(node.field_names)


@pytest.mark.parametrize("node", CHANGEABLE, ids=lambda n: type(n).__name__)
def test_with_fields(node: Expr) -> None:
    fields = {name: getattr(node, name) for name in node.field_names}
    assert node.with_fields() is node
    assert node.with_fields(**fields) is node
    assert node.with_fields(span=node.span) is node
    set_checked_type(node, F32)
    other = node.with_fields(span=None) if node.span else node.with_fields(span=SPAN)
    assert other is not node
    assert other.checked_type_ is None
    assert {name: getattr(other, name) for name in node.field_names} == fields
    kept = type(node)(**fields, span=SPAN).with_fields(**{node.field_names[0]: getattr(other, node.field_names[0])})
    assert kept.span is SPAN


@pytest.mark.parametrize("node", NODES.values(), ids=lambda n: type(n).__name__)
def test_children_are_the_expressions_in_the_fields(node: Expr) -> None:
    results: list[Expr] = []
    for name in node.field_names:
        value = getattr(node, name)
        if name == "clauses":
            value = [e for clause in value for e in (y, clause.rhs)]
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, Expr):
                results.append(part)
    assert list(children(node)) == results


@pytest.mark.parametrize("node", NODES.values(), ids=lambda n: type(n).__name__)
def test_rebuild(node: Expr) -> None:
    assert rebuild(node, lambda child: child) is node
    if not children(node):
        return
    new: dict[Expr, Expr] = {child: Var("new") for child in children(node)}
    result = rebuild(node, new.__getitem__)
    assert list(children(result)) == [new[child] for child in children(node)]
    assert type(result) is type(node)
    assert result.span is node.span
    assert {n: getattr(result, n) for n in node.field_names if not _holds_nodes(getattr(node, n))} == {
        n: getattr(node, n) for n in node.field_names if not _holds_nodes(getattr(node, n))
    }


def _holds_nodes(value: object) -> bool:
    return isinstance(value, (Expr, Clause)) or (isinstance(value, tuple) and any(map(_holds_nodes, value)))


def test_types_are_missing_until_inference() -> None:
    with pytest.raises(TypeInferenceError, match="has no type yet"):
        Tuple(()).checked_type  # noqa: B018


def test_constants_own_their_data() -> None:
    data = np.ones(3, "float32")
    constant = Constant(data)
    data[0] = 5
    assert constant.data[0] == 1
    assert not constant.data.flags.writeable
    assert Constant(constant.data).data is constant.data
    with pytest.raises(DiagnosticError, match="unknown dtype"):
        Constant("text")
    with pytest.raises(DiagnosticError, match="the dtype of a tensor is missing"):
        TensorType((2,), "")


def test_function_attributes() -> None:
    fn = Function((x,), x)
    assert fn.with_attr("Primitive", 1).is_primitive
    assert not fn.is_primitive
    assert fn.with_attr({"a": 1, "b": 2}).attrs == DictAttrs(b=2, a=1)
    kept = fn.with_attr("a", 1)
    assert kept.with_attr("a", 1) is kept
    assert kept.without_attr("b") is kept
    assert "a" not in kept.without_attr("a").attrs


# ---------------------------------------------------------------- types
A = TypeVar("A")
N = SizeVar("n")
MAKE = [
    lambda: TensorType((1, 2), "int8"), lambda: TensorType([np.int64(1), ANY, N], np.float16), lambda: scalar_type("bool"),
    lambda: TupleType((F32, A)), lambda: TupleType([]), lambda: FuncType((A,), F32, (A,)), lambda: RefType(A), lambda: GlobalTypeVar("T"),
    lambda: TypeCall(BOX, [A]), lambda: BOX(F32), lambda: TypeRelation("r", [A], 1, DictAttrs(k=1)),
]  # fmt: skip


@pytest.mark.parametrize("make", MAKE)
def test_equal_types_are_one_object(make: object) -> None:
    assert make() is make()  # type: ignore[operator]


def test_variables_and_unknowns_are_their_own() -> None:
    assert TypeVar("A") is not TypeVar("A")
    assert IncompleteType() is not IncompleteType()
    assert SizeVar("n") is not SizeVar("n")
    assert Any() is ANY


@pytest.mark.parametrize("bad", [(1.5,), ("n",), (None,), ([],)])
def test_dimensions_are_checked(bad: tuple[object, ...]) -> None:
    with pytest.raises(DiagnosticError, match="is not a dimension"):
        TensorType(bad)


def test_dynamic_types() -> None:
    assert not is_dynamic(TupleType((F32,)))
    assert is_dynamic(TupleType((F32, TensorType((ANY,)))))
    assert TensorType((N,)).dynamic
    with pytest.raises(DiagnosticError, match="no concrete shape"):
        TensorType((ANY,)).concrete_shape  # noqa: B018


def test_deep_types() -> None:
    ty: Type = A
    for _ in range(20_000):
        ty = TupleType((ty, ty))
    assert len(type_nodes(ty)) == 20_001
    assert map_type(ty, lambda leaf: None) is ty
    swapped = map_type(ty, lambda leaf: F32 if leaf is A else None)
    assert type_nodes(swapped)[0] is F32


# ---------------------------------------------------------------- attributes
RECORDS = [Op.get(name).spec for name in Op.list_op_names() if Op.get(name).spec.attrs not in (None, DictAttrs)]


@each("spec", RECORDS, ids=lambda s: s.name)
def test_attribute_records(spec: object) -> None:
    cls: type[Attrs] = spec.attrs  # type: ignore[attr-defined]
    assert not hasattr(cls, "__dict__") or "__slots__" in vars(cls)
    assert len({field.name for field in cls.schema}) == len(cls.schema)
    needed = {field.name for field in cls.schema if field.default is REQUIRED is field.fallback}
    if needed:
        with pytest.raises(AttrsError, match="is required"):
            cls()
        return
    record = cls()
    assert record == cls()
    assert hash(record) == hash(cls())
    assert record.with_fields() == record
    assert [name for name, _ in record.items()] == record.keys() == [field.name for field in cls.schema]
    with pytest.raises(AttrsError, match="no_such_field"):
        cls(no_such_field=1)
    with pytest.raises(AttrsError, match="no_such_field"):
        record["no_such_field"]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1, True), (1, 1.0, False), (1, True, False), (0.0, -0.0, False), (float("nan"), float("nan"), True),
        ((1, (2, "a")), (1, (2, "a")), True), ((1, 2), (1, 2, 3), False), ("a", "b", False), (None, None, True), (None, 0, False),
        ({"p": 1, "q": 2}, {"q": 2, "p": 1}, True), ({"p": 1}, {"p": 2}, False),
    ],
)  # fmt: skip
def test_values_compare_by_type_and_value(a: object, b: object, same: bool) -> None:
    assert same_values(a, b) == same_values(b, a) == same
    assert DictAttrs(v=a) == DictAttrs(v=a)
    assert (DictAttrs(v=a) == DictAttrs(v=b)) == same
    if same:
        assert value_hash(a) == value_hash(b)
        assert hash(DictAttrs(v=a)) == hash(DictAttrs(v=b))


def test_dict_attrs() -> None:
    attrs = DictAttrs({"a": [1, [2]]}, b=np.int64(3))
    assert attrs.a == (1, (2,))
    assert type(attrs["b"]) is int
    assert attrs.get("c", 7) == 7
    assert attrs.without("a") == DictAttrs(b=3)
    assert len(attrs) == 2
    assert DictAttrs(a=1, b=2) == DictAttrs(b=2, a=1)
    with pytest.raises(AttrsError, match="no attribute `aa`"):
        attrs["aa"]
    assert as_value(np.array(2.5)) == 2.5


def test_kinds_are_numbered_as_in_relay() -> None:
    assert [int(kind) for kind in Kind] == [0, 1, 2, 4, 5, 6]
