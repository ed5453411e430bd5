"""Runs one notebook of a submission and writes the outcome of each exercise: `python -m passlab.notebook.grader`.

The cells run in a shell of this process, which `passlab.course.grading` limits in time; memory is limited here. The
checks of the notebook are not run: at their places the exercises of the package are asked.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

from passlab.atomic_file import write_bytes, write_text
from passlab.course.given import lessons_folder
from passlab.course.registry import Lesson, cell_digest
from passlab.oracle.deadline import Deadline

CELL_SECONDS = 15.0


def main(arguments: list[str]) -> int:
    """Grade a notebook: the number of the lesson, its path, the file for the outcomes, and the memory in MiB."""
    number, notebook, out, megabytes = arguments[0], Path(arguments[1]), Path(arguments[2]), int(arguments[3])
    _limit_memory(megabytes * 2**20)
    for data in lessons_folder().iterdir():  # what cells read: the network of the course, stored dumps
        if data.is_file() and data.suffix != ".ipynb":
            write_bytes(data.name, data.read_bytes())
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8-sig"))["cells"]  # editors of Windows write a mark
        sources = [
            ("".join(cell["source"]), cell.get("metadata", {}).get("tags", []))
            for cell in cells
            if cell["cell_type"] == "code"
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"it has no {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
        sys.stderr.write(f"this is not a notebook: {why}\n")
        return 1
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "passlab")
    check = Lesson(number, shell.user_ns, Path.cwd())
    outcomes: dict[str, tuple[str, float, str]] = {}
    ended = ""  # how the last cell of an answer ended, where that was not its end
    for source, tags in sources:
        asked = re.match(r"\s*(?:assert\s+)?check\((\d+)\)", source)
        if asked:
            outcomes[asked[1]] = _outcome(check, int(asked[1]), ended)
            write_text(out, json.dumps(outcomes))
        elif "solution" not in tags:
            how = _run(shell, source)
            given = cell_digest(source) in {task.starter for task in check.tasks}
            ended = ("" if given else how) if "exercise" in tags else ended
    return 0


def _run(shell: InteractiveShell, source: str) -> str:
    """Run a cell, for `CELL_SECONDS` at most so that those behind it are graded as well; return how it went wrong."""
    deadline = Deadline(CELL_SECONDS)
    try:
        with deadline:
            result = shell.run_cell(source, store_history=False)
        late = isinstance(result.error_in_exec, deadline.error)
        return "timeout" if late else "" if result.success else "crashed"
    except deadline.error:
        deadline.close()
        return "timeout"


def _outcome(check: Lesson, number: int, ended: str) -> tuple[str, float, str]:
    """Return the outcome, the points and the words of one check."""
    verdict = check(number)
    if verdict.passed is None:
        return ended or "empty", 0.0, str(verdict)
    return ("right" if verdict else "wrong"), verdict.score, str(verdict)


def _limit_memory(size: int) -> None:
    """Let this process have so many bytes of address space, where the system can limit it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
