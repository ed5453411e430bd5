"""Where names are listed in `__all__`: in packages, and in modules that offer names of other modules.

Elsewhere what has no underscore is public, and a list would only repeat it.
"""

from __future__ import annotations

import ast

from tests.architecture.sources import python_sources

# A module with a page of the reference, and addresses of TVM, whose `import *` finds no more than there.
PUBLIC = (
    "passlab/course/verdicts.py",
    "passlab/ir/",
    "passlab/relay/",
    "passlab/compat/",
    "passlab/pattern/language.py",
)


def listed(tree: ast.Module) -> set[str]:
    """The names in the `__all__` of a module."""
    lists = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"]
    return {str(name.value) for node in lists for name in ast.walk(node) if isinstance(name, ast.Constant)}


def imported(tree: ast.Module) -> set[str]:
    """The names that a module imports."""
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_a_module_lists_its_names_only_with_those_of_others():
    needless = []
    for source in python_sources("passlab"):
        path = source.path
        tree = source.tree
        names = listed(tree)
        if names and not path.endswith("__init__.py") and not path.startswith(PUBLIC) and not names & imported(tree):
            needless.append(path)
    assert needless == []


def test_the_rule_knows_its_cases():
    tree = ast.parse('from a import b as c\n__all__ = ["c", "d"]\ndef d(): ...\n')
    assert listed(tree) == {"c", "d"}
    assert imported(tree) == {"c"}
