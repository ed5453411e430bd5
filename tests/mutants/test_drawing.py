"""Which mutants are drawn: the seed decides, nothing that a user cannot notice is changed, and the name is the shortest."""

from __future__ import annotations

import ast

import pytest

from tests.mutants.definitions import HOUSE, find, package
from tests.mutants.drawing import draw, short_names
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.mutation import Mutation

SOURCES = {
    HOUSE / "op" / "first.py": "def twice(x): return x * 2\ndef same(x): return x\nclass A:\n def f(self): return 1",
    HOUSE / "op" / "deep" / "second.py": "def thrice(x): return x * 3\ndef same(x): return x + 1\n",
    HOUSE / "vm" / "second.py": "def same(x): return x + 2\n",
}
PATTERN = {file: text for file, text in package().items() if file.parent.name == "pattern"}
SILENT = '''
@decorated(1, name="a")
def f(x: Literal["b", 1] = make(), *, y: int | None = make()) -> Literal["c"]:
    """Docstring."""
    assert x > 1, "message"
    z: Literal["d"] = cast("Literal[2]", x)

    @decorated(2)
    def g(): return x < 5

    return z
'''


def test_a_seed_draws_the_same_mutants_each_time_and_another_one_others() -> None:
    first = [m.mutation.key for m in draw(1, 20, "pattern", PATTERN)]
    assert first == [m.mutation.key for m in draw(1, 20, "pattern", PATTERN)]
    assert first != [m.mutation.key for m in draw(2, 20, "pattern", PATTERN)]
    assert len({m.function for m in draw(1, 20, "pattern", PATTERN)}) == 20


def test_a_function_that_is_added_leaves_the_other_mutants_as_they_are() -> None:
    first, *others = SOURCES
    more = {first: SOURCES[first] + "\ndef new(x): return x - 1\n", **{file: SOURCES[file] for file in others}}
    before, after = ([m.mutation.key for m in draw(1, 99, sources=sources)] for sources in (SOURCES, more))
    assert [key for key in after if not key.startswith("new ")] == before
    assert len(after) == len(before) + 1


def test_a_package_limits_what_is_drawn() -> None:
    assert {m.file.parent.name for m in draw(1, 99, "op", SOURCES)} == {"op", "deep"}
    assert {m.file.parent.name for m in draw(1, 99, "op.deep", SOURCES)} == {"deep"}
    assert not draw(1, 99, "o", SOURCES)


def test_what_nobody_notices_is_left_out() -> None:
    """What is left of `f` are the call of `cast` and its `return`."""
    source = {HOUSE / "op" / "example.py": SILENT}
    drawn = {m.mutation for seed in range(60) for m in draw(seed, 9, "op", source)}
    changed = {(m.definition, m.kind) for m in drawn}
    assert changed == {
        ("f", "drop statement"),
        ("f", "keep argument"),
        ("f", "swap arguments"),
        ("f.g", "swap operands"),
        ("f.g", "other comparison"),
        ("f.g", "other constant"),
        ("f.g", "drop statement"),
    }
    quiet = [ast.unparse(m.changed(source).tree) for m in drawn]
    for text in (
        "@decorated(1, name='a')",
        "Literal['b', 1]",
        "-> Literal['c']",
        "assert x > 1, 'message'",
        "@decorated(2)",
    ):
        assert all(text in code for code in quiet)


def test_a_name_is_as_short_as_it_can_be() -> None:
    names = short_names(SOURCES)
    assert names["passlab.op.first:twice"] == "twice"
    assert names["passlab.op.first:A.f"] == "A.f"
    assert names["passlab.op.first:same"] == "first:same"
    assert names["passlab.op.deep.second:same"] == "deep.second:same"
    assert names["passlab.vm.second:same"] == "vm.second:same"
    for function, name in names.items():
        assert find(name, SOURCES).module == function.partition(":")[0]


@pytest.mark.parametrize(
    "mutation", [Mutation("op.a:f", "other comparison", 3, "<="), Mutation("f", "drop guard"), Mutation("f", "other text", 0, "' / ~'")]
)  # fmt: skip
def test_a_key_is_the_mutation_in_one_line(mutation: Mutation) -> None:
    assert Mutation.from_key(mutation.key) == mutation


def test_equivalent_mutants_can_still_be_made_and_have_a_reason() -> None:
    for key, reason in EQUIVALENT.items():
        Mutation.from_key(key).changed()
        assert reason.strip(), key
