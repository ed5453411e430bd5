"""What a docstring of a public name says besides its summary: errors, units, and what arrays hold."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from passlab import errors
from passlab.errors import RunError
from passlab.op.declare import OpBuilder

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

import reference_pages  # noqa: E402 - a script of the manual, which is no package

ERRORS = {name for name, cls in vars(errors).items() if inspect.isclass(cls) and issubclass(cls, errors.PasslabError)}
ARRAY = r"\b(?:Array|ndarray|NDArray)\b"
MEASURED = r"(?:^|_)(?:seconds|timeout|bytes|ms|us)$"
UNITS = r"second|byte|millisecond|microsecond|ms\b"
ELSEWHERE = r"[Ss]ee `|as for `|errors of `"  # the docstring of a neighbour says it


class Public(NamedTuple):
    """A public function, class, method or property: its name, its object, and the class that it belongs to."""

    name: str
    value: Any
    owner: Any

    @property
    def words(self) -> str:
        """Its docstring, and that of its class."""
        return "\n".join(inspect.getdoc(part) or "" for part in (self.value, self.owner) if part is not None)


def public() -> Iterator[Public]:
    """Every public name of the reference once, and the members of public classes; operators have a law of their own."""
    seen: set[int] = set()
    for module_name in reference_pages.MODULES.values():
        module = sys.modules.get(module_name) or __import__(module_name, fromlist=["x"])
        for name in reference_pages.public_names(module):
            value = getattr(module, name)
            if (
                id(value) in seen
                or isinstance(value, OpBuilder)
                or not (inspect.isclass(value) or inspect.isroutine(value))
            ):
                continue
            seen.add(id(value))
            yield Public(f"{module_name}.{name}", inspect.unwrap(value), None)
            for member, what, _ in reference_pages._members(value) if inspect.isclass(value) else ():
                own = getattr(what, "fget", None) or getattr(what, "func", None) or inspect.unwrap(what)
                if id(own) not in seen:
                    seen.add(id(own))
                    yield Public(f"{module_name}.{name}.{member}", own, value)


PUBLIC = list(public())


def tree_of(value: Any) -> ast.AST:
    """The syntax tree of a function, or of the constructor of a class; an empty one where Python has no source."""
    if inspect.isclass(value):
        value = vars(value).get("__init__") or vars(value).get("__post_init__")
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (OSError, TypeError):
        return ast.Module([], [])


def raised_in(tree: ast.AST) -> set[str]:
    """The errors of passlab that a function raises itself."""
    found = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
    named = [error.func if isinstance(error, ast.Call) else error for error in found]
    return {name.id for name in named if isinstance(name, ast.Name)} & ERRORS


def raised_by(value: Any) -> set[str]:
    """The errors that a function raises, itself or in a private function of its module that it calls."""
    tree = tree_of(value)
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    module = vars(sys.modules[value.__module__])
    private = [module[name] for name in called if name.startswith("_") and inspect.isfunction(module.get(name))]
    return raised_in(tree).union(*(raised_in(tree_of(helper)) for helper in private))


def silent_about(one: Public) -> list[str]:
    """The errors that a name raises and its docstring does not name."""
    doc = inspect.getdoc(one.value) or ""
    return [] if re.search(ELSEWHERE, doc) else sorted(raised_by(one.value) - set(re.findall(r"\w+", doc)))


def without_unit(one: Public) -> list[str]:
    """The parameters that are seconds or bytes of which no docstring tells, and a result of such a name without unit."""
    if re.search(ELSEWHERE, one.words):
        return []
    try:
        parameters = list(inspect.signature(one.value).parameters)
    except (TypeError, ValueError):
        parameters = []
    measured = {name: found[0] for name in parameters if (found := re.search(MEASURED, name))}
    silent = [name for name, end in measured.items() if not re.search(rf"\b{name}\b|`{end}`", one.words)]
    doc = inspect.getdoc(one.value) or ""
    is_number = str(getattr(one.value, "__annotations__", {}).get("return")) in {"int", "float"}
    last = one.name.rpartition(".")[2]
    if is_number and re.search(rf"{MEASURED}|^(?:time|duration|memory|peak)", last) and not re.search(UNITS, doc):
        silent.append("the result")
    return silent


def is_vague_about_arrays(one: Public) -> bool:
    """Whether a function takes or returns arrays, and says nothing about what they hold."""
    annotations = {} if inspect.isclass(one.value) else getattr(one.value, "__annotations__", {})
    takes_arrays = any(re.search(ARRAY, str(annotation)) for annotation in annotations.values())
    words = r"shape|dtype|float\d|int\d|bool|element|array|axis|axes|rank|tensor"
    return takes_arrays and not re.search(words, one.words, re.IGNORECASE)


def test_a_docstring_names_the_errors_that_its_function_raises() -> None:
    assert len(PUBLIC) > 1000
    assert {one.name: silent for one in PUBLIC if (silent := silent_about(one))} == {}


def test_a_docstring_names_units() -> None:
    assert {one.name: silent for one in PUBLIC if (silent := without_unit(one))} == {}


def test_a_docstring_says_what_arrays_hold() -> None:
    assert [one.name for one in PUBLIC if is_vague_about_arrays(one)] == []


def _checked(value: int) -> int:
    if value < 0:
        raise RunError("negative")
    return value


def _wait(seconds: float, data: np.ndarray) -> int:
    """Wait."""
    return _checked(int(seconds)) + len(data)


@pytest.mark.parametrize("law", [silent_about, without_unit, is_vague_about_arrays])
def test_the_laws_catch_a_silent_docstring(law: Any) -> None:
    assert law(Public("wait", _wait, None))
