"""Files and functions stay small enough to be read in one go, and are named after what they hold."""

from __future__ import annotations

import ast

from tests.architecture.sources import ROOT, FunctionNode, Source, functions, parse, python_sources, scripts

FILE_LINES = 500
FUNCTION_LINES = 60
DUMPING_GROUNDS = {"utils", "util", "helpers", "helper", "common", "misc", "stuff", "tools", "shared"}


def function_lines(function: FunctionNode) -> int:
    """Lines of a function without its decorators and docstring: writing more documentation is never punished."""
    assert function.end_lineno is not None
    total = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        assert first.end_lineno is not None
        total -= first.end_lineno - first.lineno + 1
    return total


def long_functions(source: Source) -> list[str]:
    return [
        f"{source.at(function)} {function.name}: {lines} lines"
        for function in functions(source)
        if (lines := function_lines(function)) > FUNCTION_LINES
    ]


def test_no_file_is_longer_than_500_lines():
    texts = {
        source.path: source.text for folder in ("passlab", "tests", "benchmarks") for source in python_sources(folder)
    }
    texts |= {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in scripts()}
    long = [f"{path}: {lines} lines" for path, text in texts.items() if (lines := len(text.splitlines())) > FILE_LINES]
    assert not long, "split these files by what they hold"


def test_no_function_is_longer_than_60_lines():
    long = [item for source in python_sources("passlab") for item in long_functions(source)]
    assert not long, "split these functions: control flow in the parent, pure logic in leaves"


def test_no_file_is_named_after_nothing():
    paths = [source.path for folder in ("passlab", "tests", "benchmarks") for source in python_sources(folder)]
    vague = [path for path in paths if DUMPING_GROUNDS & set(path.removesuffix(".py").split("/"))]
    assert not vague, "a reader guesses the file from the question; these names answer none"


def test_the_rule_counts_code_and_not_documentation():
    body = "    x = 1\n" * (FUNCTION_LINES - 1)
    assert not long_functions(parse(f'def f():\n    """{"line" * 9}\n    """\n{body}'))
    assert long_functions(parse(f"def f():\n{body}    x = 2\n"))
