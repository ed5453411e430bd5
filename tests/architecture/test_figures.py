"""The figures of `benchmarks.anchors` stay within limits, and names say what a value is.

The limits are a ratchet: where the code has become better, lower the number here to what was measured.
"""

from __future__ import annotations

import ast
import functools
import re

import pytest

from benchmarks.anchors import (
    ROOT,
    VAGUE_NAMES,
    Figures,
    function_length,
    is_participle,
    measure,
    names_bound,
    percentile,
)

# What is counted in passlab/, and the most that is allowed.
AT_MOST = {
    "type ignores": 100,
    "fmt: skip": 56,
    "global statements": 1,
}
# What is counted per 10,000 lines of passlab/, and the most that is allowed.
PER_10_000_LINES = {
    "noqa": 1.6,
    "bare participle names": 5.7,
    "in-function imports": 7.8,
    "returns typed Any": 42,
    "files with `if TYPE_CHECKING`": 4.2,
}
# Shares of all functions or parameters: the first number is of the part, the second of the whole.
AT_LEAST = {
    ("modules with docstring", "modules"): 1.0,
    ("classes with docstring", "classes"): 0.99,
    ("public functions with docstring", "public functions"): 0.82,
    ("functions with return type", "functions"): 1.0,
}
ANY_AT_MOST = {"op": 0.05, "notebook": 0.17}  # the share of parameters typed `Any`
# How often a package may bind a name of VAGUE_NAMES, with what these name; elsewhere none. Name a value after what it is:
# `call`, `result`, `expected`.
VAGUE_AT_MOST = {
    "debugger": 1,  # the registers that a call gives its parameters
    "errors": 1,  # `Diagnostic.found`, beside `expected`
    "frontend": 2,  # parameters that become `Diagnostic.found`
    "lab": 4,  # `bisection.found`, `culprit.found`, `campaign.found`; `step.said`
    "op": 2,  # parameters that become `Diagnostic.found`
    "rewriting": 1,
}


@functools.cache
def figures() -> Figures:
    return measure(ROOT / "passlab")


@pytest.mark.parametrize("name", AT_MOST)
def test_no_count_grows(name):
    assert figures().counts[name] <= AT_MOST[name]


@pytest.mark.parametrize("name", PER_10_000_LINES)
def test_no_density_grows(name):
    assert figures().counts[name] * 10_000 / figures().counts["lines"] <= PER_10_000_LINES[name]


@pytest.mark.parametrize(("part", "whole"), AT_LEAST)
def test_no_share_shrinks(part, whole):
    assert figures().share(part, whole) >= AT_LEAST[part, whole]


@pytest.mark.parametrize("package", ANY_AT_MOST)
def test_parameters_have_types(package):
    part = figures().share(f"parameters typed Any in {package}", f"parameters in {package}")
    assert part <= ANY_AT_MOST[package]


def test_lengths_stay_readable():
    assert percentile(figures().file_lines, 50) <= 130
    assert percentile(figures().file_lines, 90) <= 320
    assert percentile(figures().function_lines, 50) <= 6
    assert percentile(figures().function_lines, 99) <= 28


def test_names_say_what_a_value_is():
    over = {
        package: (count, VAGUE_AT_MOST.get(package, 0))
        for package, count in figures().vague_names.items()
        if count > VAGUE_AT_MOST.get(package, 0)
    }
    assert not over, f"use nouns instead of {', '.join(sorted(VAGUE_NAMES))}; (bound now, allowed) by package"


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_names_of_tests_say_what_a_value_is(folder):
    assert not +measure(ROOT / folder).vague_names


# A name in JavaScript that is no key of data, which Python sends: `found`, `...found` and `this.found`, not `step.found`.
_SCRIPT_NAME = re.compile(r"(?:(?<![\w$.-])|(?<=\.\.\.)|(?<=this\.))[a-z]\w*(?![\w-])")


def names_of_script(text: str) -> list[str]:
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    text = re.sub(r"`[^`$]*`|(?<=[`}])[^`${}]*(?=\$\{)|(?<=\})[^`${}]*(?=`)", "", text)
    text = re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", text, flags=re.DOTALL)
    return _SCRIPT_NAME.findall(text)


SCRIPTS = sorted([*ROOT.glob("passlab/display/static/*.js"), *ROOT.glob("extension/src/*.js")])


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_names_in_scripts_say_what_a_value_is(path):
    assert not VAGUE_NAMES.intersection(names_of_script(path.read_text(encoding="utf-8")))


# Words that no name and no key of data is in the scripts of the views: `selected`, `accesses`, `sentence`, `nonfinite`, `changed`.
VAGUE_IN_VIEWS = {"lit", "looks", "gone", "odd", "fresh", "dress", "told", "said", "touched"}


@pytest.mark.parametrize("path", [path for path in SCRIPTS if path.parent.name == "static"], ids=lambda path: path.name)
def test_names_and_keys_in_views_are_nouns(path):
    text = path.read_text(encoding="utf-8")
    assert not VAGUE_IN_VIEWS.intersection([*names_of_script(text), *re.findall(r"(?<=\w\.)[a-z]\w*", text)])


def test_the_rules_know_their_cases():
    script = (
        'const made = [...told], a = "found", b = `said ${known} given ${step.have} have`; // wanted\nthis.found = 1;'
    )
    names = [name for name in names_of_script(script) if name in VAGUE_NAMES]
    assert names == ["made", "told", "known", "found"]
    tree = ast.parse("def made(found, *, x):\n    known = 1\n    result.given = 2\n    for told in x: pass\n")
    names = [name for node in ast.walk(tree) for name in names_bound(node)]
    assert sorted(name for name in names if name in VAGUE_NAMES) == ["found", "known", "made", "told"]
    assert is_participle("joined")
    assert is_participle("_placed")
    assert not is_participle("seed")
    assert not is_participle("join_lines")
    function = ast.parse('@d\ndef f():\n    """One\n    two."""\n    return 1\n').body[0]
    assert isinstance(function, ast.FunctionDef)
    assert function_length(function) == 2
    assert [percentile([1, 2, 3, 4], percent) for percent in (50, 90, 100)] == [2, 4, 4]
