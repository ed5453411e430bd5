"""No two modules import each other, at import time or on first use. What only type checkers import does not count."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.sources import ROOT, Source, parse, python_sources

# Sets of modules that import each other on first use, with the method that needs it. No other may come to them.
CYCLES: dict[frozenset[str], str] = {
    frozenset(
        {
            "passlab.ir.attrs",
            "passlab.ir.canonical_forms",
            "passlab.ir.type_text",
            "passlab.ir.types",
        }
    ): "`str` of a type or of attributes is Relay text",
    frozenset(
        {
            "passlab.lab.culprits.bisection",
            "passlab.lab.recordings.comparison",
            "passlab.lab.variants.pipeline_variants",
            "passlab.lab.culprits.predicate_search",
            "passlab.lab.culprits.value_search",
            "passlab.lab.recordings.recording",
            "passlab.lab.recordings.files",
            "passlab.lab.recordings.validation",
        }
    ): "`recording.bisect`, `.what_if`, `.save` and `.load`",
    frozenset(
        {
            "passlab.pattern.explanation",
            "passlab.pattern.groups",
            "passlab.pattern.language",
            "passlab.pattern.matcher",
            "passlab.pattern.partitioner",
            "passlab.pattern.pattern_printer",
            "passlab.pattern.program",
        }
    ): "`pattern.match`, `.partition` and `.explain` are methods of what they take",
    frozenset(
        {
            "passlab.vm.executable",
            "passlab.vm.files.constant_files",
            "passlab.vm.files.library_file",
            "passlab.vm.files.loading",
            "passlab.vm.files.saving",
            "passlab.vm.verifier",
        }
    ): "`exe.save`, `Executable.load_exec`",
}


def module_of(source: Source) -> str:
    return source.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports of a tree, those in functions too, without those under `if TYPE_CHECKING`."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif not is_for_type_checkers(node):
            stack.extend(ast.iter_child_nodes(node))


def imported(source: Source, modules: set[str]) -> set[str]:
    """The modules of the tree that a module imports; a package that only re-exports is passed through."""
    names: set[str] = set()
    for node in imports(source.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif node.module is not None:
            below = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in modules else node.module for name in below}
    return (names & modules) - {module_of(source)}


def cycles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """The strongly connected components of more than one module, by Tarjan's algorithm without recursion."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    result: set[frozenset[str]] = set()
    for root in graph:
        work = [] if root in order else [(root, iter(graph[root]))]
        if work:
            order[root] = low[root] = len(order)
            stack.append(root)
        while work:
            module, successors = work[-1]
            following = next(successors, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[module])
                if low[module] == order[module]:
                    component = stack[stack.index(module) :]
                    del stack[stack.index(module) :]
                    if len(component) > 1:
                        result.add(frozenset(component))
            elif following not in order:
                order[following] = low[following] = len(order)
                stack.append(following)
                work.append((following, iter(graph[following])))
            elif following in stack:
                low[module] = min(low[module], order[following])
    return result


def test_no_modules_import_each_other():
    sources = list(python_sources("passlab"))
    modules = {module_of(source) for source in sources}
    result = cycles({module_of(source): imported(source, modules) for source in sources})
    assert {tuple(sorted(cycle)) for cycle in result} == {tuple(sorted(cycle)) for cycle in CYCLES}


def test_cycles_are_seen():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {frozenset({"b", "c"})}
    assert not cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()})
    tree = parse("if TYPE_CHECKING:\n    import a\ndef f():\n    import b\n").tree
    assert [alias.name for node in imports(tree) if isinstance(node, ast.Import) for alias in node.names] == ["b"]
    assert ROOT.is_dir()
