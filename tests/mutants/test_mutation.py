"""Mutations: what each kind does, that a name finds one definition, and that renaming or moving code changes nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.each import each
from tests.mutants.definitions import HOUSE, definitions, find, module_name, package
from tests.mutants.kinds import KINDS
from tests.mutants.mutation import Mutation, plant

FILE = HOUSE / "op" / "example.py"
SOURCE = """
TABLE = {"first": make("a", [1, 2]), "second": make("b", [3, 4])}
LIMIT, START = 8, 0

class Walk:
    depth = 3

    def visit(self, node, seen=None):
        '''The text of a function is no constant.'''
        if node is None or node in seen and not self.done:
            return False
        for i in range(len(node.parts)):
            self.total += node.parts[i] * 2
            self.note(node, i, place="here")
        return (self.total - 1, "all") if seen else []

    def other(self):
        def inner(x):
            return x < 0 <= self.depth
        return inner
"""
CASES = [
    ("swap operands", 2, "", "2 * node.parts[i]"),
    ("swap operands", 3, "", "1 - self.total"),
    ("swap branches", 0, "", "[] if seen else (self.total - 1, 'all')"),
    ("swap arguments", 0, "", "self.note(i, node, place='here')"),
    ("swap elements", 0, "", "('all', self.total - 1) if seen"),
    ("other comparison", 1, "not in", "node not in seen"),
    ("other operator", 0, "-", "self.total -= node.parts[i]"),
    ("other operator", 1, "/", "node.parts[i] / 2"),
    ("and for or", 0, "", "if node is None and (node in seen and (not self.done))"),
    ("keep operand", 1, "", "self.total += node.parts[i]\n"),
    ("keep operand", 0, "", "node in seen and self.done"),
    ("drop guard", 0, "", "if node in seen and (not self.done)"),
    ("drop guard", 3, "", "if node is None or node in seen:"),
    ("negate condition", 0, "", "if not (node is None or"),
    ("decide condition", 0, "True", "if True:"),
    ("drop argument", 4, "", "self.note(node, i)"),
    ("drop element", 1, "", "(self.total - 1,) if seen"),
    ("keep argument", 1, "", "in range(node.parts)"),
    ("drop statement", 1, "", "or (node in seen and (not self.done)):\n            pass"),
    ("drop statement", 4, "", "self.total += node.parts[i] * 2\n        return"),
    ("other constant", 0, "1", "seen=1"),
    ("other constant", 2, "True", "return True"),
    ("other text", 0, "'there'", "place='there'"),
    ("off by one", 0, "-1", "range(len(node.parts) - 1)"),
    ("replace name", 0, "local[2]", "if seen is None"),
    ("other attribute", 1, "children", "len(node.children)"),
    ("replace call", 2, "it.func(it.args[1], local[1])", "self.note(i, node)"),
    ("replace operation", 2, "max(it.left, it.right)", "max(self.total, 1)"),
    ("replace statement", 3, "it.target += 1\nit", "self.total += 1\n            self.total += node.parts[i] * 2\n"),
]


def changed(kind: str, which: int, new: str, name: str = "Walk.visit") -> str:
    return ast.unparse(Mutation(name, kind, which, new).changed({FILE: SOURCE}).tree)


@each(("kind", "which", "new", "expected"), CASES)
def test_a_kind_changes_one_place_and_nothing_else(kind: str, which: int, new: str, expected: str) -> None:
    before, after = ast.unparse(ast.parse(SOURCE)), changed(kind, which, new)
    assert expected in after
    assert expected not in before
    assert "The text of a function" in after


def test_every_kind_is_specified() -> None:
    shown = {kind for kind, *_ in CASES}
    assert {kind for kind in KINDS if not kind.startswith("replace ")} <= shown


def test_a_variant_that_is_drawn_changes_something_and_compiles() -> None:
    for kind in KINDS.values():
        number = 0
        for site in Mutation("Walk.visit", "drop statement").sites({FILE: SOURCE}):
            for place in range(kind.places(site)):
                for new in kind.variants(site, place):
                    compile(Mutation("Walk.visit", kind.name, number, new).changed({FILE: SOURCE}).tree, "", "exec")
                number += 1


def test_what_has_no_order_is_not_drawn_in_another() -> None:
    source = """
def f(x, y):
    try:
        return min(x, y), isinstance(x, (int, str)), x in (1, 2), hash((x, y)), x.startswith(("a", "b"))
    except (KeyError, ValueError):
        return [g(x, y), (y, x) == y]
"""
    sites = Mutation("f", "drop statement").sites({FILE: source})
    swapped = [
        ast.unparse(s.node)
        for kind in ("swap arguments", "swap elements")
        for s in sites
        for place in range(KINDS[kind].places(s))
        if KINDS[kind].variants(s, place)
    ]
    assert swapped[0] == "g(x, y)"
    assert [text for text in swapped if text.startswith("(")] == [
        "(min(x, y), isinstance(x, (int, str)), x in (1, 2), hash((x, y)), x.startswith(('a', 'b')))",
        "(y, x)",
    ]


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("TABLE[second]", "other text", "'second': make('', [3, 4])"),
        ("TABLE[a]", "swap elements", "'first': make('a', [2, 1])"),
        ("LIMIT", "swap elements", "LIMIT, START = (0, 8)"),
        ("START", "swap elements", "LIMIT, START = (0, 8)"),
        ("Walk", "other constant", "depth = ''"),
        ("Walk.other.inner", "drop statement", "def inner(x):\n            pass"),
        ("example:Walk", "other constant", "depth = ''"),
        ("op.example:Walk", "other constant", "depth = ''"),
    ],
)
def test_a_name_finds_a_definition_or_a_part_of_one(name: str, kind: str, expected: str) -> None:
    assert expected in changed(kind, 0, "" if "swap" in kind or "drop" in kind else "''", name)


@pytest.mark.parametrize(
    "name", ["Walk.nobody", "visit", "ample:Walk", "vm.example:Walk", "TABLE[c]", "Walk[", "inner"]
)
def test_a_name_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(LookupError):
        find(name, {FILE: SOURCE})


def test_a_name_of_two_needs_its_module() -> None:
    sources = {FILE: SOURCE, FILE.with_name("second.py"): SOURCE}
    with pytest.raises(LookupError, match=r"passlab\.op\.example, passlab\.op\.second"):
        find("Walk.visit", sources)
    assert find("second:Walk.visit", sources).module == "passlab.op.second"


def test_the_sites_of_an_inner_function_are_not_those_of_the_outer_one() -> None:
    with pytest.raises(LookupError, match="0 places"):
        changed("other comparison", 0, "<", "Walk.other")
    assert "x < 0 < self.depth" in changed("other comparison", 1, "<", "Walk.other.inner")


def test_a_change_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="changes nothing"):
        changed("other comparison", 1, "in", "Walk.visit")


def test_a_planted_mutation_is_what_an_import_loads() -> None:
    """In a process of its own, since every other test has loaded the module already."""
    program = (
        "from tests.mutants.mutation import Mutation, plant\n"
        "plant(Mutation('division_kernel.kernel', 'negate condition', 0))\n"
        "import numpy, passlab, inspect\n"
        "from passlab.op import broadcast\n"
        "k = broadcast.division_kernel(lambda a, b: a - b, lambda a, b, out: a + b)\n"
        "print(k(None, numpy.ones(2, 'float32'), numpy.ones(2, 'float32')))\n"
        "print(inspect.getsourcelines(broadcast.division_kernel)[0][0])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert ran.stdout.splitlines()[0] == "[0. 0.]", ran.stderr
    assert ran.stdout.splitlines()[1].startswith("def division_kernel(")


def test_what_is_loaded_already_cannot_be_changed() -> None:
    import passlab.op.broadcast  # noqa: F401

    with pytest.raises(RuntimeError, match=r"passlab\.op\.broadcast is loaded already"):
        plant(Mutation("division_kernel.kernel", "negate condition"))


def test_every_definition_of_passlab_is_found_where_it_is() -> None:
    """In every twentieth file, so that the law takes a second."""
    for file, source in list(package().items())[::20]:
        for name, _ in list(definitions(ast.parse(source)))[::10]:
            assert find(f"{module_name(file)}:{name}", {file: source}).file == file
