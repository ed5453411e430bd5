"""Whatever word is given to a command, as an argument or as the value of an option, it is answered in words."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
from pathlib import Path

import pytest

from passlab.cli import main
from tests.cli import test_options
from tests.rotation import commit_count

folder = test_options.folder  # the fixture
MANY = 50  # parts, of which each commit runs another one, and `make nightly` the others

WRONG = (
    "",
    "nonsense",
    "-1",
    "nan",
    "\udcff",
    "a\0b",
    ".",
    "=",
    "x=y",
    "@",
    "@nothing",
    "[",
    "'",
    "é\n",
    "x" * 300,
)


@pytest.mark.parametrize(
    "part", [pytest.param(n, marks=() if n == commit_count() % MANY else pytest.mark.nightly) for n in range(MANY)]
)
def test_whatever_is_given_to_a_command_is_answered_in_words(part, folder):
    """Each value of an option, and each argument by position, is one that no command takes, or that is odd."""
    complaints, before = [], set(sys.modules)
    for line in wrong_lines()[part::MANY]:
        if refused := foreign_answer(line, folder):
            complaints.append(f"{line!a}: {refused}"[:300])
    assert not complaints, "\n".join(complaints)
    files = [getattr(sys.modules[name], "__file__", None) for name in sys.modules.keys() - before]
    broken = [file for file in files if file is not None and ("\0" in file or not Path(file).exists())]
    assert not broken, "a file of passes that does not run is no module"


def wrong_lines():
    """The examples of all options with one word replaced."""
    lines = set()
    for line, added in test_options.CHANGES.values():
        words = line.partition(" -- ")[0].split()
        rest = line.split()[len(words) :]
        if words[0] in ("culprit", "fuzz"):
            words += ["--seconds=1"]
        first = 2 if words[0] in ("host", "course") else 1
        for value in WRONG:
            for at in range(first, len(words)):
                if not words[at].startswith("-"):
                    lines.add((*words[:at], value, *words[at + 1 :], *rest))
            option, *values = added.split()
            if values:
                lines.add((*words, f"{option}={value}" if option.startswith("--") else option + value, *rest))
    return sorted(lines)


def foreign_answer(line, folder):
    """Why the answer of a command is not one of passlab's own, "" if it is."""
    there = set(folder.iterdir())
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = main(list(line))
        except SystemExit as stop:
            status = stop.code
        except BaseException as error:  # noqa: BLE001 - what is looked for
            return f"{type(error).__name__}: {error}"
    for path in set(folder.iterdir()) - there:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    text = said.getvalue()
    if "Traceback (most" in text or (status and not text.strip()):
        return f"status {status}: {text[-200:]!r}"
    return ""
