"""The harness for exercises: it finds checks that are too strict and too lax; the template that uses it works."""

from __future__ import annotations

import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from passlab.cli import main
from passlab.course import Exercise
from passlab.course.folder import write_template
from passlab.course.harness import tried
from passlab.errors import PasslabError

SUM = Exercise("Sum", expects=callable).agrees(
    "it sums", lambda n: n * (n + 1) // 2, lambda rng: int(rng.integers(9)), first=[3]
)


def test_a_good_check_passes():
    report = tried(SUM, [lambda n: sum(range(n + 1))], [lambda n: n, lambda n: 6, 6, "n * (n + 1) / 2"], times=3)
    assert report, report
    assert repr(report).endswith("answers: every verdict is as it should be")


def test_a_strict_and_a_lax_check_are_found():
    strict = Exercise("Pair").requires("it is a pair", lambda answer: answer == (1, 2))
    report = tried(strict, [(1, 2)])
    assert [fault.split("\n")[0] for fault in report.faults] == [
        "refused: right answer 1 with NumPy's numbers, a list for a tuple"
    ]
    lax = Exercise("Sum").requires("it gives something", lambda answer: [answer(3)])
    assert any(
        fault.startswith("accepted: right answer 1 returned as a text") for fault in tried(lax, [lambda n: 6]).faults
    )
    assert "accepted: wrong answer 1" in tried(lax, [], [lambda n: 7]).faults
    assert not tried(lax, [], [lambda n: 7])


@pytest.mark.rotating
def test_the_template_runs_as_a_notebook_and_its_test_passes(tmp_path, capsys):
    assert main(["course", "template", str(tmp_path)]) == 0
    assert "my-lesson.ipynb" in capsys.readouterr().out
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert b"1 passed" in done.stdout, done.stdout.decode()
    notebook = nbformat.read(tmp_path / "my-lesson.ipynb", as_version=4)
    nbformat.validate(notebook)
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    texts = [output["data"]["text/plain"] for cell in notebook.cells for output in cell.get("outputs", [])]
    assert texts[-2].startswith("\u25cb Sum: no answer yet")
    assert texts[-1].startswith("\u2713 Sum (the solution): correct.")


def test_a_template_overwrites_nothing(tmp_path):
    write_template(tmp_path)
    with pytest.raises(PasslabError, match="there already"):
        write_template(tmp_path)
