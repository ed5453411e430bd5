"""Views of very deep and very long programs: no recursion, nothing quadratic."""

from __future__ import annotations

import pytest

import passlab
from passlab import relay
from passlab.display import diff_view, graph_view, module_view
from passlab.ir.module import IRModule


def chain(count):
    x = relay.var("x", shape=(2,))
    out = x
    for _ in range(count):
        out = relay.abs(out)
    return relay.Function([x], out)


def lets(count):
    x = relay.var("x", shape=(2,))
    names = [relay.var("y") for _ in range(count)]
    body = names[-1]
    for place in range(count - 1, -1, -1):
        body = relay.Let(names[place], relay.abs(names[place - 1] if place else x), body)
    return relay.Function([x], body)


def branches(count):
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(2,))
    out = x
    for _ in range(count):
        out = relay.If(c, relay.abs(out), x)
    return relay.Function([c, x], out)


@pytest.mark.rotating
@pytest.mark.parametrize("make", [chain, lets, branches])
@pytest.mark.parametrize("count", [3_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_depth_is_no_obstacle(make, count):
    mod, other = IRModule.from_expr(make(count)), IRModule.from_expr(make(count + 1))
    view = module_view(mod)
    assert len(view.lines) + view.left_out >= count
    assert view.text()
    assert view.html()
    assert view.data()["rows"]
    result = diff_view(passlab.diff(mod, other))
    assert 1 <= sum(row.kinds != "==" for row in result.rows) <= 8 or make is branches
    assert result.text()
    assert graph_view(mod).text()
