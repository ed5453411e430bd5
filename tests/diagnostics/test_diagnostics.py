"""The law of diagnostics: what passlab says is compared whole, and every place that says something is asked for it.

The console files beside this test provoke the diagnostics of one package each; `consoles` runs them. `unreached.txt` lists the places that no file
reaches yet. It may only shrink: a new place needs a line in a console file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import passlab
from passlab.errors import ParseError
from tests.diagnostics import consoles, places
from tests.each import each

UNREACHED = Path(__file__).parent / "unreached.txt"


@pytest.fixture(scope="module")
def runner(request: pytest.FixtureRequest) -> Iterator[consoles.Runner]:
    """Runs the console files: watched where the places that they reach are asked for as well."""
    runner = consoles.Runner(any("reached" in getattr(item, "fixturenames", ()) for item in request.session.items))
    yield runner
    runner.close()


@pytest.mark.parametrize("path", consoles.FILES, ids=lambda path: path.stem)
def test_passlab_answers_as_the_console_file_says(path: Path, runner: consoles.Runner, bless: bool) -> None:
    session = runner.session(path)
    if bless:
        session.write()
        return
    differences = session.differences()
    assert not differences, "\n\n".join(
        [*differences[:20], f"{len(differences)} answers differ; if right, `make bless`"]
    )


@each("path", consoles.FILES, ids=lambda path: path.stem)
def test_an_article_fits_the_type_behind_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    wrong = re.findall(
        r"^\w*(?:error|Error): .*\b(?:a (?:int\d*|object|ndarray|[AEIO][a-z]\w*|IRModule|NDArray)|an (?:str|float))\b",
        text,
        re.MULTILINE,
    )
    assert not wrong


# What Python says of a line that asks for what is not there; passlab says it of names that no line means, such as `zzz`.
PYTHON = re.compile(
    r">>> (?P<line>.*)\n(?:\.\.\. .*\n)*(?P<answer>(?:NameError|ImportError|ModuleNotFoundError|UnboundLocalError)\b.*"
    r"|AttributeError: '\w+' object has no .*|TypeError: .*(?: takes | missing |unexpected|iterable|not callable).*"
    r"|UnknownNameError\n.* has no `\w+`\n  help: `dir\(.*)"
)


@each("path", consoles.FILES, ids=lambda path: path.stem)
def test_no_line_asks_for_a_name_that_has_gone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [m["line"] for m in PYTHON.finditer(text) if "zzz" not in m["line"]] == []


@pytest.fixture(scope="module")
def reached(runner: consoles.Runner) -> set[str]:
    return {name for path in consoles.FILES for name in runner.session(path).reached}


def test_every_place_that_says_something_is_asked_for_it(reached: set[str], bless: bool) -> None:
    allowed = Counter(UNREACHED.read_text(encoding="utf-8").splitlines())
    missing = {place.name: place for place in places.places().values() if place.name not in reached}
    if bless:
        kept = sorted(name for name in missing if name in allowed)
        UNREACHED.write_text("".join(f"{name}\n" for name in kept), encoding="utf-8")
    new = [f"{place.file}:{place.line}: {place.text}" for name, place in missing.items() if name not in allowed]
    assert not new, "add a line to a console file that makes passlab say this:\n" + "\n".join(sorted(new))
    spare = sorted(name for name in allowed if name not in missing)
    assert bless or not spare, "these are reached or gone; `make bless` removes them from unreached.txt:\n" + "\n".join(
        spare
    )


def test_a_console_file_reads_and_writes_itself() -> None:
    text = ">>> x = (\n...     1\n... )\n# a comment\n>>> x\n1\n"
    blocks = consoles.read_blocks(text)
    assert [(b.comment, b.code, b.answer) for b in blocks] == [("", "x = (\n    1\n)", ""), ("# a comment\n", "x", "1")]
    assert "".join(b.text(b.answer) for b in blocks) == text


def test_a_place_is_reached_only_where_its_message_is_seen() -> None:
    with places.noting() as notes, pytest.raises(ParseError) as caught:
        passlab.parse("def @main() { %x }")
    names = {place.name for place in notes.seen_in(str(caught.value))}
    assert "Cursor.unknown diagnostic 1" in names
    assert "Cursor.unknown raise 1" in names
    assert not notes.seen_in("another message")
