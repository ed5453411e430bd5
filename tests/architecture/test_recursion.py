"""Nobody recurses over a program: no function of passlab comes back to itself through calls inside its own module.

Where the depth is bounded by something other than the program, a comment beside the function names the bound.
The check reads syntax: calls by name, and of methods on `self` and `cls`. A call that is handed to a driver by `yield`
only makes a generator, and is fine.
"""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.architecture.sources import FunctionNode, Source, parse, python_sources

# The comment that permits one, on its first line or the line above: `# recurses: at most limits.pipeline_nesting levels`.
PERMIT = re.compile(r"# recurses: \S+")
PERMITS = 29


Scope = ast.Module | ast.ClassDef | FunctionNode


@dataclass
class Routine:
    """A function, what it calls inside its module, and the functions that its body can see by name."""

    name: str
    node: FunctionNode
    owner: str
    visible: dict[str, str]
    calls: set[str] = field(default_factory=set)


def local_statements(node: ast.AST) -> Iterator[ast.AST]:
    """The syntax of a body without that of the functions and classes defined in it."""
    stack = list(ast.iter_child_nodes(node))
    while stack:
        child = stack.pop()
        yield child
        if not isinstance(child, (ast.ClassDef, FunctionNode)):
            stack.extend(ast.iter_child_nodes(child))


def definitions(scope: Scope) -> list[ast.ClassDef | FunctionNode]:
    """The functions and classes that a body defines, under `if` and `try` too, without those inside them."""
    result, stack = [], list(scope.body)
    while stack:
        statement = stack.pop()
        if isinstance(statement, (ast.ClassDef, FunctionNode)):
            result.append(statement)
            continue
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            stack.extend(getattr(statement, block, ()))
    return result


def routines(tree: ast.Module) -> dict[str, Routine]:
    """The functions of a module by qualified name."""
    table: dict[str, Routine] = {}
    stack: list[tuple[Scope, str, str, dict[str, str]]] = [(tree, "", "", {})]
    while stack:
        scope, prefix, owner, visible = stack.pop()
        inner = definitions(scope)
        if not isinstance(scope, ast.ClassDef):  # names in a class body are not seen by its methods
            visible = visible | {node.name: prefix + node.name for node in inner if isinstance(node, FunctionNode)}
        if isinstance(scope, FunctionNode):
            table[prefix.removesuffix(".")].visible = visible
        for node in inner:
            name = prefix + node.name
            if isinstance(node, FunctionNode):
                table[name] = Routine(name, node, owner, visible)
            stack.append((node, name + ".", name if isinstance(node, ast.ClassDef) else owner, visible))
    return table


@functools.cache
def call_graph(source: Source) -> dict[str, set[str]]:
    """Which function of a module calls which other of the same module."""
    result = routines(source.tree)
    for routine in result.values():
        nodes = list(local_statements(routine.node))
        handed_over = {id(node.value) for node in nodes if isinstance(node, ast.Yield)}
        for call in nodes:
            if not isinstance(call, ast.Call) or id(call) in handed_over:
                continue
            match call.func:
                case ast.Name(id=name) if name in routine.visible:
                    routine.calls.add(routine.visible[name])
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                    routine.calls.add(f"{routine.owner}.{name}")
    return {routine.name: {name for name in routine.calls if name in result} for routine in result.values()}


def recursions(source: Source, allowed: set[str] = frozenset()) -> list[str]:
    """Every way in which functions of a file come back to themselves, one line each."""
    graph = {name: calls - allowed for name, calls in call_graph(source).items() if name not in allowed}
    results = []
    while True:
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            cycle = error.args[1][::-1]  # graphlib reads edges as "depends on"
            results.append(f"{source.path}: {' calls '.join(cycle)}")
            graph[cycle[0]] = graph[cycle[0]] - {cycle[1]}
        else:
            return results


def permitted(source: Source) -> set[str]:
    """The functions of a file that a comment permits to recurse."""
    if not PERMIT.search(source.text):
        return set()
    lines = ["", *source.text.splitlines()]
    return {
        routine.name
        for routine in routines(source.tree).values()
        if any(PERMIT.search(line) for line in lines[routine.node.lineno - 1 : routine.node.lineno + 1])
    }


def test_no_function_calls_itself():
    results = [line for source in python_sources("passlab") for line in recursions(source, permitted(source))]
    assert not results, "walk with passlab.ir.walk; or bound the depth and write `# recurses: BOUND` above the function"


def test_permissions_to_recurse_are_few_and_used():
    permits = [(source, name) for source in python_sources("passlab") for name in permitted(source)]
    unused = [
        f"{source.path}: {name}" for source, name in permits if not recursions(source, permitted(source) - {name})
    ]
    assert not unused, "remove the comments `# recurses:` that are no longer needed"
    assert len(permits) <= PERMITS


def test_a_permission_names_its_bound():
    code = "def f(x):\n    return f(x.body)"
    assert permitted(parse(f"# recurses: limits.depth\n{code}")) == {"f"}
    assert permitted(parse("def f(x):  # recurses: limits.depth\n    return f(x.body)")) == {"f"}
    assert not permitted(parse(f"# recurses:\n{code}"))


@pytest.mark.parametrize(
    ("text", "cycle"),
    [
        ("def f(x):\n    return f(x - 1)", "f calls f"),
        ("def f(x): return g(x)\ndef g(x): return h(x)\ndef h(x): return f(x)", "f calls g calls h calls f"),
        ("class A:\n    def visit(self, x):\n        self.visit(x.body)", "A.visit calls A.visit"),
        ("class A:\n    def f(self): self.g()\n    def g(self): [self.f() for _ in x]", "A.f calls A.g calls A.f"),
        ("def f(x):\n    def step(y):\n        return step(y.next)\n    return step(x)", "f.step calls f.step"),
        ("def f(x):\n    yield from f(x.body)", "f calls f"),
        ("def f(x):\n    return lambda: f(x)", "f calls f"),
        ("if x:\n    def f(x):\n        return f(x)", "f calls f"),
    ],
)
def test_the_rule_finds(text, cycle):
    (result,) = recursions(parse(text))
    names = set(cycle.split(" calls "))
    assert set(result.split(": ")[1].split(" calls ")) == names


@pytest.mark.parametrize(
    "text",
    [
        "def f(x): return g(x)\ndef g(x): return x",
        "def f(x): return x.f()",
        "class A:\n    def append(self, x): self.items.append(x)",
        "class A:\n    def f(self): return super().f()",
        "class A:\n    def sorted(self): return sorted(self.items)",
        "def f(x):\n    y = yield f(x.body)\n    return y",
        "class A:\n    def f(self): return self.g()\nclass B:\n    def g(self): return self.f()",
    ],
)
def test_the_rule_lets_pass(text):
    assert not recursions(parse(text))
