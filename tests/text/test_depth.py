"""Depth costs no stack: texts nested 100,000 deep are read and printed in a thread of 512 KB at the usual recursion limit."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from passlab.ir.equal import structural_equal
from passlab.text.parser import parse, parse_expr
from passlab.text.printer import astext, pretty

DEPTHS = [3_000, pytest.param(100_000, marks=pytest.mark.nightly)]

EXPRESSIONS: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "1" + ")" * n,
    "calls": lambda n: "exp(" * n + "1f" + ")" * n,
    "curried calls": lambda n: "free_var %f; %f" + "()" * n,
    "calls with attributes": lambda n: "free_var %x; " + "cast(" * n + "%x" + ', dtype="float32")' * n,
    "tuples": lambda n: "(" * n + "1" + ",)" * n,
    "projections": lambda n: "free_var %t; " + "(" * n + "%t" + ".0)" * n,
    "projections in a row": lambda n: "free_var %t; %t" + ".0" * n,
    "operators": lambda n: "1f" + " + 1f" * n,
    "operators to the right": lambda n: "(1f + " * n + "1f" + ")" * n,
    "lets": lambda n: "".join(f"let %x{i} = 1f; " for i in range(n)) + "2f",
    "lets as values": lambda n: "let %x = " * n + "1f; " + "2f; " * (n - 1) + "3f",
    "lets in parentheses": lambda n: "let %x = (" * n + "1f" + "); %x" * n,
    "statements": lambda n: "1f; " * n + "2f",
    "ifs in branches": lambda n: "if (True) { " * n + "1f" + " } else { 2f }" * n,
    "ifs in else branches": lambda n: "if (True) { 1f } else { " * n + "2f" + " }" * n,
    "ifs in conditions": lambda n: "if (" * n + "True" + ") { True } else { False }" * n,
    "functions": lambda n: "fn () { " * n + "1f" + " }" * n,
    "functions as operands": lambda n: "(fn () { " * n + "1f" + " })()" * n,
    "blocks": lambda n: "{ " * n + "1f" + " }" * n,
    "references": lambda n: "ref(" * n + "1f" + ")" * n,
    "reads": lambda n: "free_var %r; " + "ref_read(" * n + "%r" + ")" * n,
    "writes": lambda n: "free_var %r; " + "ref_write(%r, " * n + "1f" + ")" * n,
    "matches in arms": lambda n: "match (1f) { _ => " * n + "1f" + " }" * n,
    "matches as data": lambda n: "match (" * n + "1f" + ") { _ => 1f }" * n,
    "tuple patterns": lambda n: "match (1f) { " + "(" * n + "_" + ",)" * n + " => 1f }",
    "temporaries": lambda n: (
        "free_var %x; " + "".join(f"%{i + 1} = exp(%{i}); " if i else "%1 = exp(%x); " for i in range(n)) + f"%{n}"
    ),
}
TYPES: dict[str, Callable[[int], str]] = {
    "tuple types": lambda n: "(" * n + "int32" + ",)" * n,
    "function types": lambda n: "fn (" * n + "int32" + ") -> int32" * n,
    "results": lambda n: "fn () -> " * n + "int32",
    "generic function types": lambda n: "fn [A](" * n + "int32" + ") -> A" * n,
    "references": lambda n: "ref(" * n + "int32" + ")" * n,
    "data types": lambda n: "T[" * n + "int32" + "]" * n,
}


# Bytes of C stack. CPython 3.13 frees objects inside objects in C, up to 10,000 levels deep, whatever they are.
STACK = 8 << 20 if sys.version_info[:2] == (3, 13) else 512 << 10


def in_a_small_thread(work: Callable[[], Any]) -> Any:
    """Run `work` with little C stack and return what it returns, or raise what it raises."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - handed to the test
            outcome.append(error)

    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


@pytest.fixture(autouse=True)
def usual_recursion_limit() -> Iterator[None]:
    """Take back the limit that others raise in this process: PyTorch's compiler makes it 2,000."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.rotating
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_deep_expressions_read_print_and_read_back(name: str, depth: int) -> None:
    def work() -> bool:
        expr = parse_expr(EXPRESSIONS[name](depth))
        text = pretty(expr)
        back = parse_expr(text)
        return pretty(back) == text and structural_equal(expr, back, map_free_vars=True)

    assert in_a_small_thread(work)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", TYPES)
def test_deep_types_read_print_and_read_back(name: str, depth: int) -> None:
    def work() -> bool:
        mod = parse(f"type T[A] {{ C(A) }} def @f(%x: {TYPES[name](depth)}) {{ %x }}")
        text = astext(mod)
        return astext(parse(text)) == text

    assert in_a_small_thread(work)


@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_constructor_patterns(depth: int) -> None:
    def work() -> bool:
        pattern = "S(" * depth + "%x" + ")" * depth
        mod = parse(f"type N {{ S(N), Z }} def @f(%n: N) {{ match? (%n) {{ {pattern} => %x }} }}")
        text = astext(mod)
        return astext(parse(text)) == text

    assert in_a_small_thread(work)


def test_a_graph_with_two_to_the_power_of_many_paths_prints_in_linear_time() -> None:
    depth = 2_000
    lines = [
        "free_var %x: float32;",
        "%1 = %x + %x;",
        *(f"%{i + 1} = %{i} + %{i};" for i in range(1, depth)),
        f"%{depth}",
    ]
    text = pretty(parse_expr("\n".join(lines)))
    assert text.count("\n") == depth
    assert pretty(parse_expr(text)) == text
