"""Reading and writing bytes of files, with a `RunError` for each error of the file system."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Any

from passlab import atomic_file
from passlab.errors import Diagnostic, FileAccessError, RunError, RunTypeError, type_in_words

FileName = str | PathLike[str]


def write_bytes(file_name: FileName, data: bytes, what: str) -> None:
    """Write bytes to a file, atomically; `what` names them in errors. Raises `RunError` where that fails."""
    path = as_path(file_name)
    try:
        atomic_file.write_bytes(path, data)
    except FileAccessError as error:
        cause = error.diagnostics[0]
        raise RunError(Diagnostic(f"{what} could not be written: {cause.message}", hint=cause.hint)) from error


def read_bytes(file_name: FileName, what: str) -> bytes:
    """Return the bytes of a file; `what` names them in errors. Raises `RunError` where it cannot be read."""
    path = as_path(file_name)
    try:
        if path.is_char_device():  # such as /dev/zero, which has no end
            raise RunError(Diagnostic(f"{what} could not be read: {path} is a device", expected="a plain file"))
        return path.read_bytes()
    except OSError as error:
        raise RunError(Diagnostic(f"{what} could not be read: {error}")) from error


def as_path(file_name: Any) -> Path:
    """Return the path of a file. Raises `RunTypeError` for other types, `RunError` for a name with a NUL byte."""
    name = fspath(file_name) if isinstance(file_name, (str, PathLike)) else None
    if not isinstance(name, str):
        raise RunTypeError(f"the name of a file is a string or a path, not {type_in_words(file_name)}")
    try:
        return atomic_file.checked_path(name)
    except FileAccessError as error:
        raise RunError(error.diagnostics[0]) from error
