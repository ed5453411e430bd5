"""Tests can fail, and fail again: no assertion stands where nothing reaches it, and examples are drawn alike everywhere."""

from __future__ import annotations

import ast

from hypothesis.internal.conjecture import providers

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


def assertions_with_a_way_out(source: Source) -> list[str]:
    """`assert a == b or c`: a reader takes the equality for tested, and where `c` holds it never is."""
    return [
        source.at(node)
        for node in source.all(ast.Assert)
        if isinstance(node.test, ast.BoolOp)
        and isinstance(node.test.op, ast.Or)
        and isinstance(node.test.values[0], ast.Compare)
        and isinstance(node.test.values[0].ops[0], ast.Eq)
    ]


def assertions_of_constants(source: Source) -> list[str]:
    """`assert (a, "message")` and its like, which hold whatever the program does."""
    constant = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda)
    return [source.at(node) for node in source.all(ast.Assert) if isinstance(node.test, constant)]


def test_no_equality_is_asserted_with_a_way_out():
    results = [line for source in python_sources("tests") for line in assertions_with_a_way_out(source)]
    assert not results, "say with `if` which case is which, or what is allowed with `in`"


def test_no_constant_is_asserted():
    results = [line for source in python_sources("tests") for line in assertions_of_constants(source)]
    assert not results, "these hold whatever the program does"


def test_the_rules_find_assertions_that_cannot_fail():
    assert assertions_with_a_way_out(parse("assert text == expected or runs"))
    assert not assertions_with_a_way_out(parse("assert limit is None or count <= limit\nassert a in (b, c)"))
    assert assertions_of_constants(parse("assert (a == b, 'they differ')\nassert 'text'\nassert f'{x}'"))
    assert not assertions_of_constants(parse("assert a\nassert a == b, 'they differ'"))


def test_drawn_examples_do_not_depend_on_the_modules_that_are_loaded() -> None:
    assert len(providers._get_local_constants()) == 0
