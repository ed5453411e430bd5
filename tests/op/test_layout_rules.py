"""The rules by which operators take data in other layouts: at every edge that is declared, they keep the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import passlab
from passlab.errors import TypeInferenceError
from passlab.evaluate import Evaluator
from passlab.infer import infer_expr
from passlab.ir.expr import Call, Expr, Function, Tuple, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.op import make
from passlab.op.dtypes import array_dtype
from passlab.op.edge_cases import program
from passlab.op.layout_change import LayoutChange
from tests.op.test_edges import filled

EDGES = [(n, e) for n in Op.list_op_names() if Op.get(n).spec.layout is not None for e in Op.get(n).spec.edge_cases]


class Moved:
    """The arguments of a call, the tensors among them in another layout."""

    def __init__(self, changes: dict[Expr, LayoutChange]) -> None:
        self.changes = changes
        self.variables = {e: Var("moved", self.type_of(e, a)) for e, a in changes.items()}

    def type_of(self, expr: Expr, arranged: LayoutChange) -> TensorType:
        ty = expr.checked_type
        assert isinstance(ty, TensorType)
        return TensorType([ty.shape[i] for i in order(arranged)], ty.dtype)

    def change_of(self, expr: Expr) -> LayoutChange | None:
        return self.changes.get(expr)

    def current(self, expr: Expr) -> Expr:
        return self.variables.get(expr, expr)

    def original(self, expr: Expr) -> Expr:
        own = self.changes.get(expr)
        return (
            expr
            if own is None
            else make("layout_transform", self.current(expr), src_layout=own.new, dst_layout=own.old)
        )

    def in_layout(self, expr: Expr, expected: LayoutChange) -> Expr | None:
        own = self.changes.get(expr, LayoutChange(expected.old, expected.old)).with_letters(expected.old)
        if own is None or own.new == expected.new:
            return None if own is None else self.current(expr)
        return make("layout_transform", self.current(expr), src_layout=own.new, dst_layout=expected.new)


def order(arranged: LayoutChange) -> list[int]:
    return [arranged.old.index(letter) for letter in arranged.new]


def leaves(call: Call) -> list[Expr]:
    return [v for arg in call.args for v in (arg.fields if isinstance(arg, Tuple) else (arg,))]


def other_layouts(call: Call) -> list[dict[Expr, LayoutChange]]:
    """Ways to move the arguments that are as long as the first one."""
    rank = len(getattr(leaves(call)[0].checked_type, "shape", ()))
    names = (getattr(call.attrs, n, None) for n in ("data_layout", "layout", "src_layout"))
    old = next((n for n in names if n), "NCDHW"[:rank] if rank != 4 else "NCHW")
    alike = [v for v in leaves(call) if isinstance(v, Var) and len(getattr(v.checked_type, "shape", ())) == rank]
    if rank < 2 or not old.isalpha() or hasattr(call.attrs, "kernel_layout"):
        return []  # convolutions always go on in the layouts that they name
    news = {old[0] + old[2:] + old[1], old[::-1], old[1:] + old[0]} - {old}
    return [{v: LayoutChange(old, new) for v in some} for new in sorted(news) for some in (alike, alike[:1])]


def moved_result(value: Any, change: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(moved_result, value, change if isinstance(change, list) else [None] * len(value)))
    return value if change is None else value.transpose(order(change))


@pytest.mark.rotating
@pytest.mark.parametrize(("name", "edge"), EDGES, ids=[e for _, e in EDGES])
def test_an_operator_that_goes_along_keeps_its_numbers(name: str, edge: str) -> None:
    mod, rng = program(edge), np.random.default_rng(1)
    try:
        main = passlab.parse(mod.source)["main"]
    except TypeInferenceError:  # an edge for integers
        mod = program(edge, "int32")
        main = passlab.parse(mod.source)["main"]
    call = main.body
    assert isinstance(call, Call)
    rule = Op.get(name).spec.layout
    assert rule is not None
    values = {
        p: filled(v.shape, v.dtype, "ordinary", rng) if v.value is None else np.asarray(v.value, array_dtype(v.dtype))
        for p, v in zip(main.params, mod.variables, strict=True)
    }
    want = Evaluator(IRModule.from_expr(main)).run("main", list(values.values()))
    for changes in other_layouts(call):
        moved = Moved(changes)
        result = rule(call, moved)
        if result is None:
            continue
        params = [moved.variables.get(p, p) for p in main.params]
        inputs = [v.transpose(order(changes[p])) if p in changes else v for p, v in values.items()]
        body = infer_expr(Function(params, result[0]))
        got = Evaluator(IRModule.from_expr(body)).run("main", inputs)
        np.testing.assert_equal(shapes(got), shapes(moved_result(want, result[1])))
        for one, other in zip(flat(got), flat(moved_result(want, result[1])), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, err_msg=str(result[0]))


def flat(value: Any) -> list[np.ndarray]:
    return [part for v in value for part in flat(v)] if isinstance(value, tuple) else [value]


def shapes(value: Any) -> list[tuple[int, ...]]:
    return [part.shape for part in flat(value)]


def test_most_rules_are_reached() -> None:
    """The edges of the operators that go along show it for nearly all of them."""
    reached = set()
    for name, edge in EDGES:
        try:
            call = passlab.parse(program(edge).source)["main"].body
        except TypeInferenceError:
            continue
        assert isinstance(call, Call)
        rule = Op.get(name).spec.layout
        assert rule is not None
        if any(rule(call, Moved(a)) is not None for a in other_layouts(call)):
            reached.add(name)
    assert len(reached) > 90


@pytest.mark.parametrize(
    ("old", "new", "own", "renamed"),
    [
        ("NCHW", "NHWC", "OIXY", "OXYI"),
        ("NCHW", "NCHW8c", "NDXY", "NDXY8d"),
        ("NCHW", "NHWC", "NCHW", "NHWC"),
        ("NCHW", "NHWC", "NCW", None),
        ("NCHW4c", "NHWC4c", "NCHWXc", None),
        ("NCHW", "NHWC", "NC1W", None),
    ],
)
def test_a_change_of_layout_is_said_in_the_letters_of_an_operator(old, new, own, renamed):
    change = LayoutChange(old, new).with_letters(own)
    assert change == (renamed and LayoutChange(own, renamed))
