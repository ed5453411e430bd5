"""Every module says what it is for; every public class and function says what it means."""

from __future__ import annotations

import ast

from tests.architecture.sources import FunctionNode, Source, parse, python_sources

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


def test_the_rule_sees_public_names_only():
    sample = parse("class A: pass\ndef f(): pass\ndef _g(): pass\n@overload\ndef h(): ...\ndef h():\n    'h'\n")
    assert [item.split()[1] for item in undocumented(sample)] == ["A", "f"]
