"""Tests that cannot fail are caught: an assertion after the statement that raises is never reached."""

from __future__ import annotations

import ast

from tests.architecture.sources import Source, parse, python_sources


def is_raises(item: ast.withitem) -> bool:
    call = item.context_expr
    return isinstance(call, ast.Call) and ast.unparse(call.func) in {"pytest.raises", "raises", "pytest.warns"}


def unreached_assertions(source: Source) -> list[str]:
    results = []
    for node in source.all(ast.With):
        if any(is_raises(item) for item in node.items):
            results += [
                source.at(inner)
                for statement in node.body[1:]
                for inner in ast.walk(statement)
                if isinstance(inner, ast.Assert)
            ]
    return results


def test_no_assertion_stands_after_the_statement_that_raises():
    results = [line for source in python_sources("tests") for line in unreached_assertions(source)]
    assert not results, "move these assertions out of the `with pytest.raises` block: they are never run"


def test_the_rule_finds_the_unreached_ones():
    assert unreached_assertions(parse("with pytest.raises(E) as e:\n    f()\n    assert e.value.x"))
    assert not unreached_assertions(parse("with pytest.raises(E) as e:\n    f()\nassert e.value.x"))
