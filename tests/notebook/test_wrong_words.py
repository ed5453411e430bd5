"""Whatever word is given to a magic, as an argument or as the value of an option, it is answered in words."""

from __future__ import annotations

import pytest

from tests.notebook import test_options
from tests.rotation import commit_count

shell = test_options.shell  # the fixture
MANY = 50  # parts, of which each commit runs another one, and `make nightly` the others

# Words that no magic takes, and names of values of every kind, most of which are wrong where they stand.
WRONG = ("nonsense", "-1", "nan", "''", "\ud800", "é", "=", "x=", "[", "'", "{", "a.b", "1/0", "net.", "x" * 300)
WRONG += ("net", "rec", "loses", "always", "x_array", "watched", "open_model")


@pytest.mark.parametrize(
    "part", [pytest.param(n, marks=() if n == commit_count() % MANY else pytest.mark.nightly) for n in range(MANY)]
)
def test_whatever_is_given_to_a_magic_is_answered_in_words(part, shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some words are taken as names of files to write
    complaints = []
    for line in wrong_lines()[part::MANY]:
        try:
            test_options.answer(shell, line, tmp_path)
        except Exception as error:  # noqa: BLE001 - what is looked for
            complaints.append(f"{line!a}: {type(error).__name__}: {error}"[:300])
    assert not complaints, "\n".join(complaints)


def wrong_lines():
    """The examples of all options with one word replaced."""
    lines = set()
    for line, added in test_options.CHANGES.values():
        magic, *words = line.split()
        if magic in ("%culprit", "%fuzz"):
            words += ["--seconds", "1"]
        option, *values = added.split()
        for value in WRONG:
            for at in range(len(words)):
                if not words[at].startswith("-"):
                    lines.add(" ".join([magic, *words[:at], value, *words[at + 1 :]]))
            if values:
                own = " ".join([magic, *words])
                lines.add(f"{own} {option}={value}" if option.startswith("--") else f"{own} {option} {value}")
    return sorted(lines)
