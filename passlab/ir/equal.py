"""Structural equality of programs, functions, types and modules.

`structural_equal` returns True or False, `assert_structural_equal` raises an error with the first difference, and
`find_mismatch` returns it. The rules are those of `comparison`; `structural_hash` agrees with them: equal
structures have one hash. Modules are compared name by name, each function separately, so sharing between functions is
ignored.

As in Relay, floats in attributes are equal within 1e-9. Code that decides whether one program may replace another
passes `exact=True`, which compares them bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from passlab.errors import Diagnostic, StructureError
from passlab.ir.adt import Constructor
from passlab.ir.comparison import Link, Mismatch, StructuralComparison
from passlab.ir.digest import node_digest, structural_hash
from passlab.ir.expr import Call, Constant, Expr, GlobalVar, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import Type

__all__ = [
    "Mismatch",
    "assert_structural_equal",
    "find_mismatch",
    "get_first_structural_mismatch",
    "node_digest",
    "structural_equal",
    "structural_hash",
]


def structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False, *, exact: bool = False) -> bool:
    """Whether two modules, expressions, types, attributes or patterns are equal up to the names of variables.

    Free variables must be the same objects; with `map_free_vars` they are paired at their first use. Floats in
    attributes are equal within 1e-9, or bit for bit if `exact`.
    """
    return lhs is rhs or _mismatch(lhs, rhs, map_free_vars, exact, shortcut=True) is None


def find_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False, *, exact: bool = False) -> Mismatch | None:
    """Return the first difference in evaluation order, None if both are structurally equal."""
    if structural_equal(lhs, rhs, map_free_vars, exact=exact):
        return None
    return _mismatch(lhs, rhs, map_free_vars, exact, shortcut=False)


def get_first_structural_mismatch(lhs: Any, rhs: Any, map_free_vars: bool = False) -> tuple[str, str] | None:
    """Return the paths to the first difference in both structures, None if they are equal."""
    mismatch = find_mismatch(lhs, rhs, map_free_vars)
    return None if mismatch is None else (f"<root>{mismatch.path}", f"<root>{mismatch.path}")


def assert_structural_equal(lhs: Any, rhs: Any, map_free_vars: bool = False, *, exact: bool = False) -> None:
    """Raise `StructureError` (a `ValueError`) that shows the first difference, unless both are structurally equal."""
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


def _mismatch(lhs: Any, rhs: Any, map_free_vars: bool, exact: bool, shortcut: bool) -> Mismatch | None:
    for a, b, link, by_name in _pairs(lhs, rhs):
        if a is b:
            continue
        if a is None or b is None:
            return Mismatch(f".functions[{link[1]!r}]" if link else "", a, b, "only one of the modules has it")
        comparison = StructuralComparison(map_free_vars, by_name, shortcut, exact)
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
        callee = str(item.op) if isinstance(item.op, (Op, GlobalVar, Constructor)) else f"a {type(item.op).__name__}"
        return f"a call of {callee}"
    if isinstance(item, Expr):
        return f"a {type(item).__name__}"
    if item is None or isinstance(item, (Type, bool, int, float, str)):
        return repr(item)
    if isinstance(item, tuple) and len(item) <= 8:
        return f"({', '.join(map(_describe, item))})"
    return f"a {type(item).__name__}"
