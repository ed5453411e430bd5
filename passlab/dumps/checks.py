"""`run`: one run of a command; `holds`: a check of a program, which is a function, a pattern or a command.

A run loses nothing: what a tool printed before it crashed, hung or was killed is kept, with a sentence that says so.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from passlab.errors import Diagnostic, DumpError, PasslabError, type_in_words

SECONDS = 600.0  # that one run of a tool or a check may take


class Run(NamedTuple):
    """One run of a tool: what it wrote, and in words why it did not end well; empty where it did."""

    out: bytes
    err: IO[bytes]  # a temporary file, which may be large
    trouble: str
    was_interrupted: bool = False

    def said(self, most: int = -1) -> str:
        """Return what the tool said, or its first bytes, and delete the file."""
        with self.err:
            self.err.seek(0)
            return self.err.read(most).decode("utf-8", "replace")


def run(words: Sequence[str], seconds: float = SECONDS, environment: Mapping[str, str] | None = None) -> Run:
    """Run a command; stop it and all it started at the time limit, or when the user interrupts."""
    err = tempfile.TemporaryFile()  # noqa: SIM115  (the caller reads it, and closing deletes it)
    with tempfile.TemporaryFile() as out:
        try:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # a word may hold a NUL byte or half a character
            err.close()
            raise DumpError(Diagnostic(f"`{words[0]}` cannot be run: {error}")) from error
        trouble, was_interrupted = "", False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            trouble = f"it was stopped after {seconds:g} s, the time limit"
        except KeyboardInterrupt:
            trouble, was_interrupted = "it was interrupted", True
        finally:
            _stop(process)
        trouble = trouble or _end_of(process.returncode)
        out.seek(0)
        err.seek(0)
        return Run(out.read(), err, trouble, was_interrupted)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, and those that it started."""
    if process.poll() is not None:
        return
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _end_of(code: int) -> str:
    """Return in words how a process ended; empty where it ended well."""
    if code >= 0:
        return f"exit status {code}" if code else ""
    try:
        return f"it was ended by the signal {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by signal {-code}"


def compile_pattern(pattern: str | re.Pattern[Any], hint: str | None = None) -> re.Pattern[Any]:
    """Return a regular expression. Raises `DumpError` for a text that is not one, and for one that searches bytes."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise DumpError(Diagnostic(f"`{pattern}` is not a regular expression: {error}", hint=hint)) from error
    if isinstance(compiled.pattern, bytes):
        raise DumpError(
            Diagnostic("the regular expression searches bytes, and a program is text", hint="leave out the b")
        )
    return compiled


def holds(check: Any, output: Any, path: Path, seconds: float = SECONDS) -> bool:
    """Whether a check holds of a program, which is also in a file; a command holds where it ends with status 0.

    A command that has not ended after `seconds` does not hold: a wrong program may run forever. It is stopped with all
    that it started. Raises `DumpError` where the check itself fails: a function that raises an error, a command that
    cannot be run.
    """
    if callable(check):
        try:
            return bool(check(output))
        except PasslabError:
            raise
        except Exception as error:
            raise DumpError(Diagnostic(f"the check raised {type(error).__name__}: {error}")) from error
    if isinstance(check, (str, re.Pattern)):
        text = output if isinstance(output, str) else path.read_bytes().decode("latin-1")
        return compile_pattern(check, "a command is a list of words").search(text) is not None
    if not isinstance(check, Iterable):
        hint = "a function, a regular expression, or a command as a list of words"
        raise DumpError(Diagnostic(f"{type_in_words(check)} is not a check", hint=hint))
    words = [str(word) for word in check]
    if not words:
        raise DumpError(Diagnostic("a command has at least one word"))
    has_place = any("{}" in word for word in words)
    done = run([word.replace("{}", str(path)) for word in words] if has_place else [*words, str(path)], seconds)
    done.err.close()
    if done.was_interrupted:
        raise KeyboardInterrupt
    return not done.trouble
