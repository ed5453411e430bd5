"""Every module says what it is for; every public class and function says what it means."""

from __future__ import annotations

import ast
import importlib
import re

from tests.architecture.sources import ROOT, FunctionNode, Source, parse, python_sources

LESSONS = "course/lessons/"  # helpers of exercises are read with the exercise below them, which has a docstring


def undocumented(source: Source) -> list[str]:
    """The public names of a module that have no docstring. Overloads are documented once, by their implementation."""
    return [
        f"{source.at(node)} {node.name}"
        for node in source.tree.body
        if isinstance(node, (ast.ClassDef, FunctionNode))
        and not node.name.startswith("_")
        and not any("overload" in ast.unparse(decorator) for decorator in node.decorator_list)
        and not ast.get_docstring(node)
    ]


def test_every_module_has_a_docstring():
    silent = [source.path for source in python_sources("passlab") if not ast.get_docstring(source.tree)]
    assert not silent, "say what the module is for and what it must not know"


def test_every_public_class_and_function_has_a_docstring():
    silent = [item for source in python_sources("passlab") for item in undocumented(source) if LESSONS not in item]
    assert not silent, "say what it means, then what types cannot: shapes, dtypes, units, errors raised, cost, origin"


# What module docstrings quote that is not in the code: words of formats, of other tools, and parts of names.
FOREIGN = frozenset(
    ("after_x", "before_x", "bfloat16", "external_data", "invoke_packed", "nanf", "number5_0", "repr_str", "setflags")
) | {"tsc", "x"}


def quoted(source: Source) -> set[str]:
    """The plain lower-case names between backquotes in the docstring of a module: of files, functions, variables."""
    return set(re.findall(r"`([a-z_][a-z_0-9]*)`", ast.get_docstring(source.tree) or ""))


def test_what_a_module_says_of_others_is_there():
    sources = python_sources("passlab")
    names = {part for source in sources for part in source.path.removesuffix(".py").split("/")}
    names |= {node.name for source in sources for node in source.all(ast.ClassDef, ast.FunctionDef)}
    lost = []
    for source in sources:
        own = set(re.findall(r"\w+", source.text.partition('"""')[2].partition('"""')[2]))
        lost += [f"{source.path} {name}" for name in sorted(quoted(source) - names - own - FOREIGN)]
    assert not lost, "a file or function was renamed or moved: name what there is now"


# What module docstrings quote that begins as a package of passlab does, and is of TVM, an attribute or a file.
ELSEWHERE = ("passes.html", "relay._transform", "relay.qnn.op", "relay.reshape_only")


def is_there(path: str) -> bool:
    """Whether a dotted name means a file or folder below `passlab/`, or a name of it."""
    first, *rest = path.split(".")
    at, value = ROOT / "passlab" / first, importlib.import_module(f"passlab.{first}")
    for part in rest:
        at /= part
        if at.is_dir() or at.with_suffix(".py").exists():
            value = importlib.import_module(".".join(at.relative_to(ROOT).parts))
        elif (value := getattr(value, part, None)) is None:
            return False
    return True


def test_what_a_module_says_of_other_packages_is_there():
    lost = []
    for source in python_sources("passlab"):
        paths = re.findall(r"`(?:passlab\.)?([a-z_]\w*(?:\.\w+)+)`", ast.get_docstring(source.tree) or "")
        inside = [one for one in paths if (ROOT / "passlab" / one.partition(".")[0]).is_dir()]
        lost += [f"{source.path} {one}" for one in inside if not one.startswith(ELSEWHERE) and not is_there(one)]
    assert not lost, "a file or name was renamed or moved: name what there is now"


def test_the_rule_sees_public_names_only():
    sample = parse("class A: pass\ndef f(): pass\ndef _g(): pass\n@overload\ndef h(): ...\ndef h():\n    'h'\n")
    assert [item.split()[1] for item in undocumented(sample)] == ["A", "f"]
