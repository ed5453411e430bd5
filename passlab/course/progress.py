"""`Progress`: the tries, solved exercises and guesses of a learner, in a small JSON file next to the notebooks.

An exercise is found by its title in all parts of its lesson's number (11 and 11b): a lesson may be split, and nothing
that was solved is lost. Two kernels may write at once: each change is read, made and written under a lock.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from passlab.atomic_file import write_text
from passlab.course.tries import Tries
from passlab.course.verdicts import Verdict
from passlab.errors import Diagnostic, FileAccessError, PasslabError

PROGRESS = "passlab-course.json"  # in the folder of the notebooks
_LOCK = f".{PROGRESS}.lock"


class Progress(Tries):
    """The tries of one lesson, the exercises solved and the guesses, kept in a file.

    A file that cannot be read or written costs a sentence in `trouble`, never the check; tries are then counted in
    memory. `reset` forgets the lesson.
    """

    def __init__(self, folder: Path, lesson: str) -> None:
        super().__init__()
        self.path = folder / PROGRESS
        self.lesson = lesson
        self.trouble = ""
        for title, record in by_title(self._read(), self.lesson).items():
            for requirement, digests in record.get("wrong", {}).items():
                self.wrong[title, requirement] = list(digests)

    def added(self, exercise: str, requirement: str, digest: str) -> None:
        """Write a new wrong answer down."""

        def add(record: MutableMapping[str, Any]) -> None:
            known = record.setdefault("wrong", {}).setdefault(requirement, [])
            if digest not in known:
                known.append(digest)

        self._change(exercise, add)

    def solved(self, verdict: Verdict) -> None:
        """Write down that an exercise is solved, on its first day."""
        if "solved" not in by_title(self._read(), self.lesson).get(verdict.title, {}):
            self._change(
                verdict.title, lambda record: record.setdefault("solved", f"{datetime.now(timezone.utc):%Y-%m-%d}")
            )

    def guessed(self, prediction: str, guess: str) -> None:
        """Write down a guess."""
        self._change(prediction, lambda record: record.update(guess=guess))

    def guess(self, prediction: str) -> str:
        """Return the guess that was kept, or "" without one."""
        return str(by_title(self._read(), self.lesson).get(prediction, {}).get("guess", ""))

    def reset(self, titles: Iterable[str] = ()) -> None:
        """Forget the tries, solved exercises and guesses of this lesson, and these titles in its other parts."""
        self.wrong.clear()
        try:
            forget(self.path, self.lesson, titles)
        except PasslabError as error:
            self.trouble = f"your progress is not kept: {error}"

    def _read(self) -> dict[str, Any]:
        try:
            return read_progress(self.path)
        except PasslabError as error:
            self.trouble = str(error)
            return {}

    def _change(self, title: str, change: Callable[[MutableMapping[str, Any]], object]) -> None:
        try:
            with _locked(self.path):
                whole = read_progress(self.path)
                home = next((label for label in _parts(whole, self.lesson)[::-1] if title in whole[label]), self.lesson)
                change(whole.setdefault(home, {}).setdefault(title, {}))
                write_progress(self.path, whole)
        except FileAccessError as error:
            self.trouble = f"your progress is not kept: {error}"
        except PasslabError as error:
            self.trouble = str(error)


def by_title(whole: Mapping[str, Any], lesson: str) -> dict[str, Any]:
    """Return what a file of progress knows of a lesson and of the other parts of its number: of 11 and 11b."""
    return {title: record for label in _parts(whole, lesson) for title, record in whole[label].items()}


def _parts(whole: Mapping[str, Any], lesson: str) -> list[str]:
    return sorted((label for label in whole if label[:2] == lesson[:2]), key=lambda label: label == lesson)


def forget(path: Path, lesson: str, titles: Iterable[str] = ()) -> None:
    """Remove a lesson, and these titles in its other parts, from a file of progress. Raises `PasslabError`."""
    gone = set(titles)
    with _locked(path):
        whole = read_progress(path)
        kept = {
            label: {title: record for title, record in records.items() if label[:2] != lesson[:2] or title not in gone}
            for label, records in whole.items()
            if label != lesson
        }
        if kept != whole:
            write_progress(path, {label: records for label, records in kept.items() if records})


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock next to a file of progress; where the system or the folder has none, go on without it."""
    try:
        lock = path.with_name(_LOCK).open("a+b")
    except OSError:  # nothing can be written there, which the write will say
        yield
        return
    with lock:
        _lock(lock)
        yield


def _lock(lock: IO[bytes]) -> None:
    """Wait for the lock of a file; closing the file gives it back."""
    try:
        if sys.platform == "win32":
            import msvcrt

            lock.seek(0)
            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return


def read_progress(path: Path) -> dict[str, Any]:
    """Return what a file of progress holds by lesson; a file that is not there holds nothing.

    Raises `PasslabError` for another kind of file.
    """
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        fix = f"Move {path.name} away to start anew"
        raise PasslabError(
            Diagnostic("the progress of the course cannot be read", found=str(error), hint=fix)
        ) from None
    return {
        number: lesson for number, lesson in _table(whole) if all(_is_record(record) for _, record in _table(lesson))
    }


def write_progress(path: Path, whole: Mapping[str, Any]) -> None:
    """Write a file of progress, by lesson. Raises `FileAccessError`."""
    write_text(path, json.dumps(whole, indent=1, sort_keys=True) + "\n")


def _table(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else [("", None)]


def _is_record(record: Any) -> bool:
    """Whether this is what one exercise has in a file of progress: lists of digests by requirement, a day, a guess."""
    if not isinstance(record, dict) or not isinstance(record.get("wrong", {}), dict):
        return False
    lists = record.get("wrong", {}).values()
    words = (record.get("solved", ""), record.get("guess", ""))
    return all(isinstance(word, str) for word in words) and all(
        isinstance(digests, list) and all(isinstance(digest, str) for digest in digests) for digests in lists
    )
