"""`relay.ScopeBuilder` builds lets and ifs in the order they are executed."""

from __future__ import annotations

import pytest

from passlab import relay
from passlab.errors import DiagnosticError
from passlab.ir import structural_equal


def test_lets_and_ifs() -> None:
    a, b = relay.var("a", "float32"), relay.var("b", "float32")
    sb = relay.ScopeBuilder()
    x = sb.let("x", relay.add(a, b))
    with sb.if_scope(relay.less(x, a)):
        y = sb.let(("y", relay.scalar_type("float32")), relay.multiply(x, x))
        sb.ret(y)
    with sb.else_scope():
        sb.ret(x)
    p, q = relay.var("p"), relay.var("q", "float32")
    want = relay.Let(p, relay.add(a, b), relay.If(relay.less(p, a), relay.Let(q, relay.multiply(p, p), q), p))
    assert structural_equal(sb.get(), want)


def test_tuples_and_variables() -> None:
    sb = relay.ScopeBuilder()
    v = relay.var("v")
    assert sb.let(v, (relay.const(1), relay.const(2))) is v
    sb.ret(v)
    assert isinstance(sb.get().value, relay.Tuple)


def test_misuse_is_explained() -> None:
    with pytest.raises(DiagnosticError, match="without a value"):
        relay.ScopeBuilder().get()
    sb = relay.ScopeBuilder()
    with pytest.raises(DiagnosticError, match="must follow an if"), sb.else_scope():
        pass
    with sb.if_scope(relay.const(True)):
        sb.ret(relay.const(1))
    with pytest.raises(DiagnosticError, match="no else"):
        sb.get()
    with sb.else_scope():
        sb.ret(relay.const(2))
    with pytest.raises(DiagnosticError, match="value already"):
        sb.ret(relay.const(3))
