"""Draws mutants at random: a function of passlab, a kind of change that fits it, a place there, a variant of the change.

The seed decides everything, and each function draws for itself: a function that is added or changed leaves the mutants of
all others as they are.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.mutants.definitions import Definition, definitions, module_name, package
from tests.mutants.kinds import KINDS
from tests.mutants.mutation import Mutation, sites_of

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """A mutation that was drawn, with the file it changes and the full name of its function."""

    mutation: Mutation
    file: Path
    function: str


def draw(
    seed: int, number: int, room: str = "", sources: dict[Path, str] | None = None, among: set[str] | None = None
) -> list[Mutant]:
    """Draw mutants, each of another function, in the package `passlab.ROOM` or in all of passlab, and `among` some functions."""
    sources = sources or package()
    prefix = f"passlab.{room}".removesuffix(".")
    names = short_names(sources)
    chosen = [n for n in names if f"{n.partition(':')[0]}.".startswith(f"{prefix}.") and (among is None or n in among)]
    chosen.sort(key=lambda name: (Random(f"{seed} {name}").random(), name))
    files = {module_name(file): file for file in sources}
    mutants: list[Mutant] = []
    for function in chosen:
        if len(mutants) == number:
            break
        file = files[function.partition(":")[0]]
        mutation = _draw_one(Random(f"mutate {seed} {function}"), names[function], function, {file: sources[file]})
        if mutation is not None:
            mutants.append(Mutant(mutation, file, function))
    return mutants


def _draw_one(random: Random, name: str, function: str, sources: dict[Path, str]) -> Mutation | None:
    """One mutation of a function, or None where nothing in it can be changed."""
    ((file, source),) = sources.items()
    tree = ast.parse(source)
    path = function.partition(":")[2]
    roots = tuple(node for found, node in definitions(tree) if found == path)
    possible = _changes(Definition(file, tree, path, roots))
    while possible:
        kind = random.choice(sorted(possible))
        which, variants = possible[kind].pop(random.randrange(len(possible[kind])))
        if not possible[kind]:
            del possible[kind]
        mutation = Mutation(name, kind, which, random.choice(variants))
        if _works(mutation, sources):
            return mutation
    return None


def _changes(definition: Definition) -> dict[str, list[tuple[int, tuple[str, ...]]]]:
    """What can be drawn in a definition: for each kind, the numbers of places, with the variants of each."""
    left_out = {id(node) for root in definition.roots for node in _silent(root)}
    result: dict[str, list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
    sites = sites_of(definition)
    for name, kind in KINDS.items():
        which = 0
        for site in sites:
            for place in range(kind.places(site)):
                variants = () if id(site.node) in left_out else tuple(kind.variants(site, place))
                if variants:
                    result[name].append((which, variants))
                which += 1
    return result


def _silent(root: ast.AST) -> Iterator[ast.AST]:
    """All nodes that change nothing for a user: annotations, decorators, assertions, and types that `cast` is told."""
    for node in ast.walk(root):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.Assert):
            parts.append(node)
        elif isinstance(node, FUNCTIONS):
            parts += [*node.decorator_list, node.returns]
        elif isinstance(node, ast.ClassDef):
            parts += node.decorator_list
        elif isinstance(node, ast.arg | ast.AnnAssign):
            parts.append(node.annotation)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast":
            parts += node.args[:1]
        for part in filter(None, parts):
            yield from ast.walk(part)


def _works(mutation: Mutation, sources: dict[Path, str]) -> bool:
    """Whether a mutation changes something that Python still compiles."""
    try:
        compile(mutation.changed(sources).tree, "<mutant>", "exec")
    except (ValueError, SyntaxError):
        return False
    return True


def short_names(sources: dict[Path, str]) -> dict[str, str]:
    """Every function, as `passlab.op.broadcast:division_kernel`, and its shortest name that is no other's."""
    modules: dict[str, list[str]] = defaultdict(list)
    functions: list[tuple[str, str]] = []
    for file, source in sources.items():
        found = list(definitions(ast.parse(source)))
        module = module_name(file)
        for path in dict.fromkeys(path for path, _ in found):
            modules[path].append(module)
        functions += [(module, path) for path in dict.fromkeys(p for p, node in found if isinstance(node, FUNCTIONS))]
    return {f"{module}:{path}": _short(module, path, modules[path]) for module, path in functions}


def _short(module: str, path: str, modules: list[str]) -> str:
    if len(modules) == 1:
        return path
    words = module.split(".")
    for start in range(len(words) - 1, -1, -1):
        hint = ".".join(words[start:])
        if sum(f".{other}".endswith(f".{hint}") for other in modules) == 1:
            break
    return f"{hint}:{path}"
