"""`Signature`: identifies a kind of failure, so that a reduction keeps the fault it started from.

It has the class of the error, its message without numbers and names of the program, and the function that raised it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from passlab.errors import PasslabError, cell_in_words
from passlab.oracle.deadline import Deadline, TimeUpError

# Names of the program, addresses and numbers.
_NAMES = re.compile(r"[%@$][\w.]+|0x[0-9a-fA-F]+|-?\d+(\.\d+)?([eE][-+]?\d+)?")
_LISTS = re.compile(r"#(,\s*#)+")  # lists of them, such as shapes


@dataclass(frozen=True)
class Signature:
    """One kind of failure."""

    kind: str
    message: str
    frame: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message} (in {self.frame})" if self.frame else f"{self.kind}: {self.message}"


def signature_of(error: BaseException) -> Signature:
    """Return the signature of an error: shapes, numbers and names of variables in its message do not count."""
    message = error.diagnostics[0].message if isinstance(error, PasslabError) and error.diagnostics else str(error)
    plain = _LISTS.sub("#", _NAMES.sub("#", message.split("\n", 1)[0]))
    frame = ""
    trace = None if isinstance(error, TimeUpError) else error.__traceback__  # a timeout interrupts any function
    while trace is not None:
        code = trace.tb_frame.f_code
        # The last frame is the innermost one.
        frame, trace = f"{code.co_filename.rsplit('/', 1)[-1]}:{code.co_name}", trace.tb_next
    return Signature(getattr(error, "kind", None) or type(error).__name__, " ".join(plain.split()), frame)


def raising_line(error: BaseException) -> str:
    """Return the function, file and line that raised an error, "" without a traceback."""
    trace, last = error.__traceback__, None
    while trace is not None:
        # A deadline may raise inside its own `__exit__`.
        last = trace if trace.tb_frame.f_globals.get("__name__") != Deadline.__module__ else last
        trace = trace.tb_next
    if last is None:
        return ""
    code = last.tb_frame.f_code
    file = cell_in_words(code.co_filename) or code.co_filename.rsplit("/", 1)[-1]
    return f"in `{code.co_name}`, {file}, line {last.tb_lineno}"


def same_failure(a: BaseException | None, b: BaseException | None) -> bool:
    """Whether two errors have equal signatures; the frames count where both have one."""
    if a is None or b is None:
        return a is b
    one, other = signature_of(a), signature_of(b)
    return (one.kind, one.message) == (other.kind, other.message) and (
        not one.frame or not other.frame or one.frame == other.frame
    )
