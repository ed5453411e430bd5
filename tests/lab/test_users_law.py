"""The law of a user's pass: what it does to no value is never blamed, whatever construct the program has.

For each construct of the language, a pass that changes nothing, one that is right and one that is wrong, written in each
way and form that people use, goes through all that passlab does with passes. `make test` tries each pair of a
construct, a way, a form, a rule and a deed at least once, of the searches for a culprit and of its scripts a fifteenth;
`make nightly` runs every pass on every construct.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import pytest

from passlab import IRModule, transform
from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.transform.base import FunctionPass
from passlab.transform.registry import get_pass, pass_names
from tests.lab.user.deeds import DEEDS, pipeline
from tests.lab.user.programs import PROGRAMS
from tests.lab.user.ways import FORMS, RULES, WAYS
from tests.rotation import is_turn

SLOW = ("culprit", "reproduce")  # each of these searches takes seconds
SEARCHES = 15  # parts of their rows, of which each commit runs another
TABLES = (PROGRAMS, WAYS, FORMS, RULES)


def pairs_of(row: Sequence[str]) -> set[tuple[tuple[int, str], ...]]:
    return set(itertools.combinations(enumerate(row), 2))


def rows_of_all_pairs(*tables: Sequence[str], tries: int = 30) -> Iterator[tuple[str, ...]]:
    """Yield rows, one value of each table, until each pair of values of two tables has been in one."""
    choice = random.Random(0)
    missing = {
        ((i, a), (j, b))
        for (i, one), (j, two) in itertools.combinations(enumerate(tables), 2)
        for a, b in itertools.product(one, two)
    }
    order = sorted(missing)
    choice.shuffle(order)
    for pair in order:
        if pair in missing:
            fixed = dict(pair)
            rows = [tuple(fixed.get(i, choice.choice(table)) for i, table in enumerate(tables)) for _ in range(tries)]
            row = max(rows, key=lambda row: len(missing & pairs_of(row)))
            missing -= pairs_of(row)
            yield row


def rows_by_deed() -> dict[str, list[tuple[str, ...]]]:
    rows: dict[str, list[tuple[str, ...]]] = {deed: [] for deed in DEEDS}
    for *row, deed in rows_of_all_pairs(*map(list, (*TABLES, DEEDS))):
        rows[deed].append(tuple(row))
    return rows


ROWS = rows_by_deed()


@pytest.mark.rotating
@pytest.mark.parametrize("deed", [deed for deed in DEEDS if deed not in SLOW])
def test_what_is_done_with_a_users_pass(deed: str, subtests: pytest.Subtests) -> None:
    do(deed, ROWS[deed], subtests)


@pytest.mark.parametrize(
    "part",
    [pytest.param(part, marks=() if is_turn(part, SEARCHES) else pytest.mark.nightly) for part in range(SEARCHES)],
)
@pytest.mark.parametrize("deed", SLOW)
def test_who_is_blamed_where_a_users_pass_runs(part: int, deed: str, subtests: pytest.Subtests) -> None:
    do(deed, ROWS[deed][part::SEARCHES], subtests)


def do(deed: str, rows: Sequence[tuple[str, ...]], subtests: pytest.Subtests) -> None:
    for program, way, form, rule in rows:
        with subtests.test(program=program, way=way, form=form, rule=rule):
            DEEDS[deed](PROGRAMS[program](), FORMS[form](WAYS[way], RULES[rule]), rule)


@pytest.mark.nightly
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_pass_of_a_user_runs_on_every_construct(program: str, subtests: pytest.Subtests) -> None:
    for way, form, rule in itertools.product(WAYS, FORMS, RULES):
        with subtests.test(way=way, form=form, rule=rule):
            pipeline(PROGRAMS[program](), FORMS[form](WAYS[way], RULES[rule]), rule)


@pytest.mark.rotating
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_checked_after_a_users_pass_holds_after_every_standard_pass(
    program: str, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    mod = infer_module(PROGRAMS[program]())
    for name in pass_names():
        try:
            pass_ = get_pass(name)
        except PasslabError:
            continue  # it needs options
        if isinstance(pass_, FunctionPass):
            monkeypatch.setattr(type(pass_), "trusted", False)
            with subtests.test(standard=name), transform.PassContext(opt_level=4):
                assert "which contains free" not in refusal(pass_, mod)


def refusal(pass_: FunctionPass, mod: IRModule) -> str:
    """Why a pass refuses a program, as it may, though not for what it left itself."""
    try:
        pass_(mod)
    except PasslabError as error:
        return str(error)
    return ""
