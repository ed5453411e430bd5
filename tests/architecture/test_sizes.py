"""Files and functions can be read from top to bottom in one go, and are named after what they hold.

Length is a symptom: cut where an idea ends, never to meet a figure. What is longer for a reason is listed with it.
"""

from __future__ import annotations

import ast

from tests.architecture.sources import ROOT, FunctionNode, Source, functions, parse, python_sources, scripts

FILE_LINES = 700
FUNCTION_LINES = 70
# Files and functions that are longer, with the reason.
LONG_FILES: dict[str, str] = {
    "passlab/display/web/protocol.d.ts": "written by `make bless` from passlab/display/protocol",
    "passlab/text/parser.py": "the grammar of what nests in Relay, from whole texts down to types",
}
LONG_FUNCTIONS: dict[str, str] = {}
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
        and f"{source.path}:{function.name}" not in LONG_FUNCTIONS
    ]


def test_no_file_is_too_long_to_read_in_one_go():
    texts = {
        source.path: source.text for folder in ("passlab", "tests", "benchmarks") for source in python_sources(folder)
    }
    texts |= {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in scripts()}
    long = {path: lines for path, text in texts.items() if (lines := len(text.splitlines())) > FILE_LINES}
    assert long.keys() == LONG_FILES.keys(), f"split {long} by what they hold, or list them with a reason"


def test_no_function_is_too_long_to_read_in_one_go():
    long = [item for source in python_sources("passlab") for item in long_functions(source)]
    assert not long, "cut these functions where an idea ends, or list them with a reason"


def test_no_file_is_named_after_nothing():
    paths = [source.path for folder in ("passlab", "tests", "benchmarks") for source in python_sources(folder)]
    vague = [path for path in paths if DUMPING_GROUNDS & set(path.removesuffix(".py").split("/"))]
    # A reader looks for code by its subject, and opens a file that may hold anything last.
    assert not vague, "a reader guesses the file from the question; these names answer none"


def test_the_rule_counts_code_and_not_documentation():
    body = "    x = 1\n" * (FUNCTION_LINES - 1)
    assert not long_functions(parse(f'def f():\n    """{"line" * 9}\n    """\n{body}'))
    assert long_functions(parse(f"def f():\n{body}    x = 2\n"))
