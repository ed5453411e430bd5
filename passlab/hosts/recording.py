"""`record`: one run of a compiler with its passes as a recording; `compare`: two runs, pass by pass."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from passlab.arguments import checked
from passlab.atomic_file import atomic_file
from passlab.dumps import read
from passlab.dumps.checks import SECONDS, Run, run
from passlab.dumps.comparison import TextComparison
from passlab.dumps.recording import TextRecording
from passlab.errors import Diagnostic, DumpError
from passlab.hosts.compilers import Command, command_of, with_output
from passlab.recorders.torch import record as record_torch

_TARGET = re.compile(r"--?(?:mtriple|march|mcpu|mattr|O[0-3]\Z)")
FULL = 2**16  # bytes of a disk below which it is full: the last files do not fit
HEAD = 2000  # characters of what a tool said that an error shows


@checked
def record(
    command: str | Sequence[str] | Callable[..., Any],
    *args: Any,
    whole: bool = False,
    seconds: float = SECONDS,
    save: Any = None,
    reports: bool = False,
) -> TextRecording:
    """Run a compiler, and return the recording of its passes. A function is compiled by torch, and called on `args`.

    With `whole`, each pass prints the whole program: `rec.save_before` then writes it with its metadata, and the dump
    is larger. `save` is a file for the dump. With `reports`, the remarks of LLVM and the times of a second run, which
    prints no program, are joined to the steps. After `seconds` the run ends. What was printed so far is recorded, as
    for a run that crashes or is interrupted, and `rec.notes` says so. Raises `DumpError` for an unknown or missing
    tool, and for a run that printed no pass.
    """
    if callable(command):
        return record_torch(command, *args)
    parsed = command_of(command)
    with tempfile.TemporaryDirectory() as folder:
        recording, done = _run(parsed, whole, seconds, Path(folder), save)
        is_machine = any(step.language == "mir" for step in recording.steps)
        if parsed.tool.record_code and parsed.makes_code and not (is_machine or done.trouble):
            both = replace(parsed.tool, record=parsed.tool.record_code)  # the options of `record` show IR alone
            recording, done = _run(parsed._replace(tool=both), whole, seconds, Path(folder), save)
        is_full = shutil.disk_usage(folder).free < FULL
        if reports:
            _join_reports(recording, parsed, Path(folder), seconds)
    recording.compiler = parsed.words[parsed.at]
    if parsed.tool.name == "llc":
        recording.target = parsed.line([word for word in parsed.words if _TARGET.match(word)])
    recording.name = f"{parsed.program} {Path(parsed.input).name}".strip()
    if is_full:
        cure = f"free some space in {tempfile.gettempdir()}, or set TMPDIR to another folder"
        recording.notes.insert(0, f"the disk is full, so what {parsed.program} wrote may be cut off: {cure}")
    if done.trouble:
        recording.notes.insert(0, f"the run of {parsed.program} did not end well: {done.trouble}")
    return recording


def _run(command: Command, whole: bool, seconds: float, folder: Path, save: Any) -> tuple[TextRecording, Run]:
    words = recording_words(command, whole, str(folder))
    done = run(words, seconds)
    with done.err:
        return _recording(command, words, done, folder, save), done


def recording_words(command: Command, whole: bool = False, folder: str = "") -> list[str]:
    """Return the words of a command that prints its passes."""
    tool = command.tool
    options = [*tool.record, *([tool.whole] if whole and tool.whole else [])]
    given = {word.lstrip("-").partition("=")[0] for word in command.words}
    asks = [one for one in options if one.lstrip("-").partition("=")[0] not in given]
    words = with_output(command)
    added = command.llvm(*asks)
    place = [tool.folder, f"{folder}/"] if tool.folder and tool.folder not in words else []
    return [*words[: command.at + 1], *added, *place, *words[command.at + 1 :]]


def _join_reports(recording: TextRecording, command: Command, folder: Path, seconds: float) -> None:
    """Run a command once more, without its programs, for its remarks and times, and join them to a recording."""
    words, at = with_output(command), command.at + 1
    remarks, trace = folder / "remarks.yaml", folder / "trace.json"
    options = [one.format(remarks=remarks, trace=trace) for one in command.tool.reports]
    done = run([*words[:at], *options, *words[at:]], seconds)
    tables = folder / "tables.txt"
    tables.write_text(done.said(), "utf-8")
    for path in (remarks, trace, tables):
        if path.exists():
            with suppress(DumpError):  # a tool that does not end well, or writes no such report
                recording.join(path)


def _recording(command: Command, words: list[str], done: Run, folder: Path, save: Any) -> TextRecording:
    """Return the recording of a run. Raises `DumpError` where it printed no pass."""
    if save is not None and not command.tool.folder:
        with atomic_file(save) as unfinished, unfinished.open("wb") as file:
            shutil.copyfileobj(done.err, file)
        done.err.seek(0)
    if command.tool.folder:
        dumps = sorted(folder.iterdir())
        if dumps and save is not None:
            shutil.copytree(folder, save, dirs_exist_ok=True)
        if dumps:
            recording = read(folder)
            recording.detach()  # the folder is deleted
            return recording
    else:
        recording = read(done.err, every_pass=True)
        if recording.steps:
            return recording
    said = done.said(4 * HEAD).strip() or "nothing"
    why = f": {done.trouble}" if done.trouble else ""
    hint = f"the command was `{command.line(words)}`"
    raise DumpError(Diagnostic(f"{command.program} printed no pass{why}; it said: {said[:HEAD]}", hint=hint))


@checked
def compare(
    command: str | Sequence[str], other: str | Sequence[str], *, whole: bool = False, seconds: float = SECONDS
) -> TextComparison:
    """Record two commands, such as two versions of a compiler or two pipelines on one input, and compare them.

    `other` may be one word: another program that runs with the options of the first. Raises `DumpError` as `record`.
    """
    first = command_of(command)
    words = other.split() if isinstance(other, str) else list(other)
    if len(words) == 1:
        other = [*first.words[: first.at], words[0], *first.words[first.at + 1 :]]
    left = record(command, whole=whole, seconds=seconds)
    right = record(other, whole=whole, seconds=seconds)
    return left.compare(right)
