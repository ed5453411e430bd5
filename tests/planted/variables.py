"""The variables of a definition in a syntax tree, and other names for them."""

from __future__ import annotations

import ast

from tests.mutants.definitions import definitions


def variables(tree: ast.Module, root: ast.AST) -> list[ast.arg | ast.Name]:
    """The nodes below `root` that name variables of functions, other than those of the module itself."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda | ast.comprehension)]
    nodes = [n for function in functions for n in ast.walk(function) if isinstance(n, ast.arg | ast.Name)]
    bound = {name_of(n) for n in nodes if isinstance(n, ast.arg) or isinstance(n.ctx, ast.Store)}
    bound -= {name for name, _ in definitions(tree)}
    return [n for n in ast.walk(root) if isinstance(n, ast.arg | ast.Name) and name_of(n) in bound]


def name_of(node: ast.arg | ast.Name) -> str:
    """What a variable is called."""
    return node.arg if isinstance(node, ast.arg) else node.id


def rename(node: ast.arg | ast.Name, name: str) -> None:
    """Call a variable otherwise."""
    setattr(node, "arg" if isinstance(node, ast.arg) else "id", name)
