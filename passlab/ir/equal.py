"""Structural equality of programs, functions, types and modules.

`structural_equal` returns True or False, `assert_structural_equal` raises an error with the first difference, and
`find_mismatch` returns it. `StructuralComparison` has the rules, and walks over two structures side by side;
`structural_hash` agrees with them: equal structures have one hash. Modules are compared name by name, each function
separately, so sharing between functions is ignored.

As in Relay, floats in attributes are equal within 1e-9. Code that decides whether one program may replace another
passes `exact=True`, which compares them bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import Diagnostic, StructureError, type_in_words
from passlab.ir.adt import (
    Clause,
    Constructor,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from passlab.ir.attrs import Attrs, DictAttrs, same_values, value_kind
from passlab.ir.canonical_forms import type_form
from passlab.ir.digest import node_digest, structural_hash
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
)
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import FuncType, SizeVar, TensorType, TupleType, Type, type_nodes
from passlab.ir.walk import post_order

# The path to a pair: (link of the parent, field, index or -1). It becomes text only for a mismatch.
Link = tuple[Any, str, int] | None


@dataclass(frozen=True)
class Mismatch:
    """The first difference, in evaluation order, between two structures.

    `path` is its path from either root, for example `.body.args[0]`; `left` and `right` are what stands there. Where
    lists differ in length, or the values of constants differ, they are the nodes that have these.
    """

    path: str
    left: Any
    right: Any
    reason: str


TOLERANCE = 1e-9  # floats in attributes that differ by less are equal, as in Relay


def _path_text(link: Link) -> str:
    steps: list[str] = []
    while link is not None:
        link, field, index = link
        steps.append(f".{field}" if index < 0 else f".{field}[{index}]" if field else f"[{index}]")
    return "".join(reversed(steps))


class StructuralComparison:
    """One comparison. `left` and `right` pair nodes and variables; `fixed` has the nodes paired with themselves.

    With `shortcut`, parts that both sides share are recorded in `fixed` and not walked. A walk with the shortcut
    decides equality; a walk without it yields the exact path of a mismatch.
    """

    def __init__(self, map_free_vars: bool, by_name: bool, shortcut: bool, exact: bool = False) -> None:
        self.map_free_vars = map_free_vars
        self.by_name = by_name
        self.shortcut = shortcut
        self.exact = exact
        self.left: dict[Any, Any] = {}
        self.right: dict[Any, Any] = {}
        self.fixed: set[Expr] = set()
        self.fixed_types: set[Any] | None = None  # variables of the types in `fixed`, once variables were renamed
        self.projections: tuple[dict[Any, TupleGetItem], ...] = ({}, {})
        self.stack: list[tuple[Any, Any, Link]] = []
        self.mismatch: Mismatch | None = None

    def fail(self, link: Link, left: Any, right: Any, reason: str) -> bool:
        self.mismatch = Mismatch(_path_text(link), left, right, reason)
        return False

    def run(self, root_left: Any, root_right: Any, link: Link = None) -> bool:
        """Return whether two structures are equal; if not, `mismatch` is the first difference."""
        stack, paired_left, paired_right, fixed = self.stack, self.left, self.right, self.fixed
        stack.append((root_left, root_right, link))
        pop = stack.pop
        while stack:
            a, b, link = pop()
            if a is b and self.shortcut and self.fixed_types is None and isinstance(a, Expr):
                if a not in fixed and not self._fix(a):
                    return self.fail(link, a, b, "shared differently")
                continue
            kind = type(a)
            if kind is not type(b) and {kind, type(b)} != {list, tuple} and value_kind(a) is not value_kind(b):
                return self.fail(link, a, b, "different kinds")
            if kind is TupleGetItem:
                a, b = self._projection(a, 0), self._projection(b, 1)
            if kind not in _COMPARE:
                if not (self.attrs if isinstance(a, Attrs) else self.value)(a, b, link):
                    return False
                continue
            cached = paired_left.get(a)
            if cached is b:
                continue
            if kind in _SHARED_KINDS and (kind is not Tuple or a.fields):
                if cached is not None or b in paired_right or (fixed and (a in fixed or b in fixed)):
                    return self.fail(link, a, b, "shared with another node on one side only")
                paired_left[a] = b
                paired_right[b] = a
            elif kind is TupleGetItem and type(a.tuple_value) in _SHARED_KINDS:
                # equal projections count as one node: `_projection` has replaced them by their representative
                if cached is not None or b in paired_right:
                    return self.fail(link, a, b, "different projections")
                paired_left[a] = b
                paired_right[b] = a
            if not _COMPARE[kind](self, a, b, link):
                return False
        return True

    # ------------------------------------------------------------ sharing
    def _fix(self, root: Expr) -> bool:
        """Pair every node under `root` with itself; False if one is already paired with another."""
        left, right = self.left, self.right
        added = post_order(root, seen=self.fixed)
        if not left:
            return True
        return all(
            left.get(node, node) is node and right.get(node, node) is node
            for node in added
            if type(node) is not TupleGetItem
        )

    def _projection(self, node: TupleGetItem, side: int) -> TupleGetItem:
        """Return the representative of all equal projections on its side."""
        chain = [node]
        while type(chain[-1].tuple_value) is TupleGetItem and chain[-1] not in self.projections[side]:
            chain.append(chain[-1].tuple_value)
        table = self.projections[side]
        result: Any = table.get(chain[-1])
        if result is None:
            result = chain[-1].tuple_value
        else:
            chain.pop()
        for link in reversed(chain):
            result = table[link] = table.setdefault((result, link.index), link)
        return result  # type: ignore[no-any-return]

    # ------------------------------------------------------------ variables and types
    def bind(self, a: Any, b: Any, define: bool) -> bool:
        """Pair two variables. Unless `define`, different ones pair only if free variables may be mapped."""
        cached = self.left.get(a)
        if cached is not None or b in self.right:
            return cached is b
        if a is not b:
            if not (define or self.map_free_vars) or a in self.fixed or b in self.fixed:
                return False
            if not isinstance(a, Expr):
                self.fixed_types = self._types_of_fixed() if self.fixed_types is None else self.fixed_types
                if a in self.fixed_types or b in self.fixed_types:
                    return False
        self.left[a] = b
        self.right[b] = a
        return True

    def _types_of_fixed(self) -> set[Any]:
        """Return the type variables and symbolic dimensions that occur in nodes recorded as shared."""
        types: set[Type] = set()
        for node in self.fixed:
            if isinstance(node, Var):
                types |= {node.type_annotation} if node.type_annotation else set()
            elif isinstance(node, Call):
                types.update(node.type_args)
            elif isinstance(node, Function):
                types.update(node.type_params)
                types |= {node.ret_type} if node.ret_type else set()
        return {variable for ty in types for variable in _variables(ty)}

    def same_type(self, a: Type | None, b: Type | None, define: bool = False) -> bool:
        """Whether two types (or None) are equal under the current pairing of variables."""
        if a is b and (a is None or (type(a) is TensorType and not a.dynamic)):
            return True
        if a is None or b is None:
            return False
        one, two = type_form(a), type_form(b)
        if one.skeleton is not two.skeleton and one.skeleton != two.skeleton:
            return False
        if len(one.free) != len(two.free):
            return False
        return all(self.bind(x, y, define) for x, y in zip(one.free, two.free, strict=True))

    def var(self, a: Var, b: Var, link: Link, define: bool) -> bool:
        """Pair two variables and compare their annotations."""
        if not self.bind(a, b, define):
            what = (
                "bound to different variables"
                if define or a in self.left or b in self.right
                else "different free variables"
            )
            return self.fail(link, a, b, what)
        if not self.same_type(a.type_annotation, b.type_annotation, define):
            return self.fail((link, "type_annotation", -1), a.type_annotation, b.type_annotation, "different types")
        if a.virtual_device is not b.virtual_device and a.virtual_device != b.virtual_device:
            return self.fail((link, "virtual_device", -1), a.virtual_device, b.virtual_device, "different devices")
        return True

    # ------------------------------------------------------------ attributes
    def attrs(self, a: Attrs | None, b: Attrs | None, link: Link) -> bool:
        """Compare attributes by value; expressions in them as part of the program."""
        if a is None or b is None or type(a) is not type(b):
            return a is b or self.fail(link, a, b, "different attributes")
        if not _may_contain_nodes(a) and not _may_contain_nodes(b):
            if a is b or a == b:
                return True
        if set(a.keys()) != set(b.keys()):
            return self.fail(link, a, b, "different attributes")
        return all(self.value(value, b[name], (link, name, -1)) for name, value in a.items())

    def value(self, a: Any, b: Any, link: Link) -> bool:
        """Compare two attribute values, or other objects that are not nodes; nodes in them are pushed on the stack."""
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            if len(a) != len(b):
                return self.fail(link, a, b, f"{len(a)} against {len(b)}")
            self.stack += [(a[i], b[i], (link, "", i)) for i in range(len(a) - 1, -1, -1)]
            return True
        if isinstance(a, dict) and isinstance(b, dict):
            partners = {key: self.left.get(key, key) if isinstance(key, Expr) else key for key in a}
            if len(a) != len(b) or not all(partner in b for partner in partners.values()):
                return self.fail(link, a, b, "different keys")
            self.stack += [
                (a[key], b[partners[key]], (link, f"[%{key.name_hint}]" if isinstance(key, Var) else str(key), -1))
                for key in reversed(a)
            ]
            return True
        if isinstance(a, Attrs) and isinstance(b, Attrs):
            self.stack.append((a, b, link))
            return True
        if type(a) in _COMPARE and type(a) is type(b):
            self.stack.append((a, b, link))
            return True
        if isinstance(a, Type) and isinstance(b, Type):
            return self.same_type(a, b) or self.fail(link, a, b, "different types")
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return same_array(a, b) or self.fail(link, a, b, "different values")
        if isinstance(a, float) and isinstance(b, float) and not self.exact:
            return a == b or abs(a - b) < TOLERANCE or (a != a and b != b) or self.fail(link, a, b, "different values")
        return same_values(a, b) or self.fail(link, a, b, "different values")


def _variables(ty: Type) -> list[Any]:
    """Return the type variables and symbolic dimensions of a type."""
    out: list[Any] = []
    for node in type_nodes(ty):
        out.append(node)
        if type(node) is TensorType:
            out += [v for dim in node.shape if isinstance(dim, SizeVar) for v in dim.variables]
    return out


def _may_contain_nodes(attrs: Attrs) -> bool:
    """Whether any value of the record may be, or contain, an expression or a type."""
    if type(attrs) is DictAttrs:
        return any(not (v is None or isinstance(v, (str, int, float))) for _, v in attrs.items())
    return any(field.kind.startswith(("expression", "value")) or not field.kind for field in attrs.schema)


def same_array(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays agree in shape, dtype and every bit."""
    if a is b:
        return True
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.nbytes <= 64:
        return a.tobytes() == b.tobytes()
    one, two = (np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (a, b))
    return bool(np.array_equal(one, two))


# ---------------------------------------------------------------- node by node
def _call(self: StructuralComparison, a: Call, b: Call, link: Link) -> bool:
    if len(a.args) != len(b.args):
        return self.fail((link, "args", -1), a, b, f"{len(a.args)} arguments against {len(b.args)}")
    if a.attrs is not b.attrs or (a.attrs is not None and _may_contain_nodes(a.attrs)):
        if not self.attrs(a.attrs, b.attrs, (link, "attrs", -1)):
            return False
    if (a.type_args or b.type_args) and type(a.op) is not Op:
        if len(a.type_args) != len(b.type_args):
            return self.fail(
                (link, "type_args", -1), a, b, f"{len(a.type_args)} type arguments against {len(b.type_args)}"
            )
        for i, (x, y) in enumerate(zip(a.type_args, b.type_args, strict=True)):
            if not self.same_type(x, y):
                return self.fail((link, "type_args", i), x, y, "different types")
    push = self.stack.append
    for i in range(len(a.args) - 1, -1, -1):
        push((a.args[i], b.args[i], (link, "args", i)))
    if a.op is not b.op or type(a.op) is not Op:
        push((a.op, b.op, (link, "op", -1)))
    return True


def _tuple(self: StructuralComparison, a: Tuple, b: Tuple, link: Link) -> bool:
    if len(a.fields) != len(b.fields):
        return self.fail(link, a, b, f"{len(a.fields)} fields against {len(b.fields)}")
    for i in range(len(a.fields) - 1, -1, -1):
        self.stack.append((a.fields[i], b.fields[i], (link, "fields", i)))
    return True


def _tuple_get_item(self: StructuralComparison, a: TupleGetItem, b: TupleGetItem, link: Link) -> bool:
    if a.index != b.index:
        return self.fail((link, "index", -1), a.index, b.index, "different indices")
    self.stack.append((a.tuple_value, b.tuple_value, (link, "tuple_value", -1)))
    return True


def _function(self: StructuralComparison, a: Function, b: Function, link: Link) -> bool:
    if len(a.params) != len(b.params):
        return self.fail((link, "params", -1), a, b, f"{len(a.params)} parameters against {len(b.params)}")
    for i, (x, y) in enumerate(zip(a.params, b.params, strict=True)):
        if not self.var(x, y, (link, "params", i), True):
            return False
    if len(a.type_params) != len(b.type_params):
        return self.fail(
            (link, "type_params", -1), a, b, f"{len(a.type_params)} type parameters against {len(b.type_params)}"
        )
    for i, (s, t) in enumerate(zip(a.type_params, b.type_params, strict=True)):
        if s.kind != t.kind or not self.bind(s, t, True):
            return self.fail((link, "type_params", i), s, t, "different type parameters")
    if not self.same_type(a.ret_type, b.ret_type):
        return self.fail((link, "ret_type", -1), a.ret_type, b.ret_type, "different types")
    self.stack.append((a.body, b.body, (link, "body", -1)))
    return (a.attrs is b.attrs and not len(a.attrs)) or self.attrs(a.attrs, b.attrs, (link, "attrs", -1))


def _let(self: StructuralComparison, a: Let, b: Let, link: Link) -> bool:
    self.stack.append((a.body, b.body, (link, "body", -1)))
    self.stack.append((a.value, b.value, (link, "value", -1)))
    return self.var(a.var, b.var, (link, "var", -1), True)


def _match(self: StructuralComparison, a: Match, b: Match, link: Link) -> bool:
    if a.complete != b.complete:
        return self.fail((link, "complete", -1), a.complete, b.complete, "one match is partial")
    if len(a.clauses) != len(b.clauses):
        return self.fail((link, "clauses", -1), a, b, f"{len(a.clauses)} clauses against {len(b.clauses)}")
    for i in range(len(a.clauses) - 1, -1, -1):
        self.stack.append((a.clauses[i], b.clauses[i], (link, "clauses", i)))
    self.stack.append((a.data, b.data, (link, "data", -1)))
    return True


def _clause(self: StructuralComparison, a: Clause, b: Clause, link: Link) -> bool:
    self.stack.append((a.rhs, b.rhs, (link, "rhs", -1)))
    return _pattern(self, a.lhs, b.lhs, (link, "lhs", -1))


def _pattern(self: StructuralComparison, a: Pattern, b: Pattern, link: Link) -> bool:
    """Compare two match patterns, pairing the variables they bind."""
    pairs: list[tuple[Pattern, Pattern, Link]] = [(a, b, link)]
    while pairs:
        p, q, link = pairs.pop()
        if type(p) is not type(q):
            return self.fail(link, p, q, "different patterns")
        if isinstance(p, PatternVar) and isinstance(q, PatternVar):
            if not self.var(p.var, q.var, (link, "var", -1), True):
                return False
        elif isinstance(p, (PatternConstructor, PatternTuple)) and isinstance(q, (PatternConstructor, PatternTuple)):
            if isinstance(p, PatternConstructor) and isinstance(q, PatternConstructor):
                if not _constructor(self, p.constructor, q.constructor, (link, "constructor", -1)):
                    return False
            if len(p.patterns) != len(q.patterns):
                return self.fail(link, p, q, f"{len(p.patterns)} patterns against {len(q.patterns)}")
            for i in range(len(p.patterns) - 1, -1, -1):
                pairs.append((p.patterns[i], q.patterns[i], (link, "patterns", i)))
    return True


def _constructor(self: StructuralComparison, a: Constructor, b: Constructor, link: Link) -> bool:
    if a is b:
        return True
    if a.name_hint != b.name_hint:
        return self.fail(link, a, b, "different constructors")
    # The variables are those of the definition, whose other constructors do not matter here: the first use pairs them.
    one, two = type_form(TupleType(a.inputs)), type_form(TupleType(b.inputs))
    return one.skeleton == two.skeleton or self.fail((link, "inputs", -1), a.inputs, b.inputs, "different types")


def _type_data(self: StructuralComparison, a: TypeData, b: TypeData, link: Link) -> bool:
    if a.header is not b.header:
        return self.fail((link, "header", -1), a.header, b.header, "different types")
    if [c.name_hint for c in a.constructors] != [c.name_hint for c in b.constructors]:
        return self.fail((link, "constructors", -1), a.constructors, b.constructors, "different constructors")
    one, two = (FuncType([TupleType(c.inputs) for c in d.constructors], TupleType(), d.type_vars) for d in (a, b))
    same = type_form(one).skeleton == type_form(two).skeleton
    return same or self.fail((link, "constructors", -1), a.constructors, b.constructors, "different constructors")


def _constant(self: StructuralComparison, a: Constant, b: Constant, link: Link) -> bool:
    return same_array(a.data, b.data) or self.fail((link, "data", -1), a, b, "different constants")


def _global_var(self: StructuralComparison, a: GlobalVar, b: GlobalVar, link: Link) -> bool:
    if a.name_hint == b.name_hint and (self.by_name or self.map_free_vars or a is b):
        return True
    why = (
        "different names"
        if a.name_hint != b.name_hint
        else "the same name of two modules; compare modules, or map free variables"
    )
    return self.fail(link, a, b, why)


def _free_var(self: StructuralComparison, a: Var, b: Var, link: Link) -> bool:
    return self.var(a, b, link, False)


def _fields(*names: str) -> Callable[[StructuralComparison, Any, Any, Link], bool]:
    """Return the comparison of a node that consists only of its child expressions `names`."""

    def compare(self: StructuralComparison, a: Any, b: Any, link: Link) -> bool:
        for name in reversed(names):
            self.stack.append((getattr(a, name), getattr(b, name), (link, name, -1)))
        return True

    return compare


def _op(self: StructuralComparison, a: Op, b: Op, link: Link) -> bool:
    return a.name == b.name or self.fail(link, a, b, "different operators")


_COMPARE: dict[type, Callable[[StructuralComparison, Any, Any, Link], bool]] = {
    Var: _free_var, GlobalVar: _global_var, Constant: _constant, Op: _op, Constructor: _constructor, Call: _call,
    Tuple: _tuple, TupleGetItem: _tuple_get_item, Function: _function, Let: _let, Match: _match, Clause: _clause,
    If: _fields("cond", "true_branch", "false_branch"), RefCreate: _fields("value"), RefRead: _fields("ref"),
    RefWrite: _fields("ref", "value"), PatternWildcard: _pattern, PatternVar: _pattern, PatternConstructor: _pattern,
    PatternTuple: _pattern, TypeData: _type_data,
}  # fmt: skip
_SHARED_KINDS = {Call, Function, Let, If, Match, RefCreate, RefRead, RefWrite, Tuple}


__all__ = [
    "Mismatch",
    "assert_structural_equal",
    "find_mismatch",
    "get_first_structural_mismatch",
    "node_digest",
    "structural_equal",
    "structural_hash",
]


@checked
def structural_equal(
    lhs: Any, rhs: Any, map_free_vars: bool = False, *, exact: bool = False, by_name: bool = False
) -> bool:
    """Whether two modules, expressions, types, attributes or patterns are equal up to the names of variables.

    Free variables must be the same objects; with `map_free_vars` they are paired at their first use. Floats in
    attributes are equal within 1e-9, or bit for bit if `exact`. With `by_name`, global variables of one name are equal,
    as in two modules that are compared as a whole.

    >>> f, g = passlab.parse_expr("fn (%x: float32) { exp(%x) }"), passlab.parse_expr("fn (%y: float32) { exp(%y) }")
    >>> passlab.structural_equal(f, g), f == g  # `==` asks whether they are the same object
    (True, False)
    """
    return lhs is rhs or _mismatch(lhs, rhs, map_free_vars, exact, shortcut=True, by_name=by_name) is None


def find_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False, *, exact: bool = False) -> Mismatch | None:
    """Return the first difference in evaluation order, None if both are structurally equal.

    >>> f, g = passlab.parse_expr("exp(1f)"), passlab.parse_expr("exp(2f)")
    >>> passlab.ir.find_mismatch(f, g).path, passlab.ir.find_mismatch(f, f)
    ('.args[0].data', None)
    """
    if structural_equal(lhs, rhs, map_free_vars, exact=exact):
        return None
    return _mismatch(lhs, rhs, map_free_vars, exact, shortcut=False)


def get_first_structural_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> tuple[str, str] | None:
    """Return the paths to the first difference in both structures, None if they are equal."""
    mismatch = find_mismatch(lhs, rhs, map_free_vars)
    return None if mismatch is None else (f"<root>{mismatch.path}", f"<root>{mismatch.path}")


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False, *, exact: bool = False) -> None:
    """Raise `StructureError` (a `ValueError`) that shows the first difference, unless both are structurally equal.

    >>> f = passlab.parse_expr("fn (%x: float32) { exp(%x) }")
    >>> passlab.assert_structural_equal(f, passlab.parse_expr("fn (%y: float32) { exp(%y) }"))
    """
    mismatch = find_mismatch(lhs, rhs, map_free_vars, exact=exact)
    if mismatch is None:
        return
    path = f"<root>{mismatch.path}"
    if len(path) > 200:
        path = f"{path[:90]} ... {path[-90:]}"
    sides = (("the left side", mismatch.left), ("the right side", mismatch.right))
    spans = [(side, getattr(item, "span", None)) for side, item in sides]
    raise StructureError(
        Diagnostic(
            f"the structures differ at {path}: {mismatch.reason}",
            expected=_describe(mismatch.left),
            found=_describe(mismatch.right),
            notes=tuple((f"{side} stands here", span) for side, span in spans if span is not None),
        )
    )


def _mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool, exact: bool, shortcut: bool, by_name: bool = False
) -> Mismatch | None:
    for a, b, link, member in _pairs(lhs, rhs):
        if a is b:
            continue
        if a is None or b is None:
            return Mismatch(f".functions[{link[1]!r}]" if link else "", a, b, "only one of the modules has it")
        comparison = StructuralComparison(map_free_vars, by_name or member, shortcut, exact)
        if not comparison.run(a, b, link):
            return comparison.mismatch
    return None


def _pairs(lhs: Any, rhs: Any) -> Iterator[tuple[Any, Any, Link, bool]]:
    """Yield the pairs to compare: the two structures, or their members by name for modules."""
    if not (isinstance(lhs, IRModule) and isinstance(rhs, IRModule)):
        yield lhs, rhs, None, False
        return
    yield lhs.attrs, rhs.attrs, (None, "attrs", -1), True
    for field, one, two in (
        (
            "type_definitions",
            {t.header.name_hint: t for t in lhs.type_definitions.values()},
            {t.header.name_hint: t for t in rhs.type_definitions.values()},
        ),
        ("functions", dict(lhs.items()), dict(rhs.items())),
    ):
        for name in [*one, *(n for n in two if n not in one)]:
            yield one.get(name), two.get(name), (None, f"{field}[{name!r}]", -1), True


def _describe(item: Any) -> str:
    """Return a short text of the node at a mismatch, without printing whole programs."""
    if isinstance(item, Var):
        return f"the variable %{item.name_hint}" + (f": {item.type_annotation}" if item.type_annotation else "")
    if isinstance(item, (GlobalVar, Op, Constructor)):
        return f"{type(item).__name__} {item}"
    if isinstance(item, Constant):
        shown = f" {item.data.item()!r}" if item.data.ndim == 0 else ""
        return f"a constant {item.tensor_type}{shown}"
    if isinstance(item, Call):
        callee = str(item.op) if isinstance(item.op, (Op, GlobalVar, Constructor)) else type_in_words(item.op)
        return f"a call of {callee}"
    if isinstance(item, Expr):
        return type_in_words(item)
    if item is None or isinstance(item, (Type, bool, int, float, str)):
        return repr(item)
    if isinstance(item, tuple) and len(item) <= 8:
        return f"({', '.join(map(_describe, item))})"
    return type_in_words(item)
