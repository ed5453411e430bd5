"""Tensors stored in files beside a model.

The model, which is not trusted, names these files. So a name must stay inside the model's own directory: no absolute
paths, no `..`, no symbolic or hard links. Sizes are compared with the file before anything is read, and the open file
is the one that was checked, even if its name is replaced meanwhile.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NoReturn

from passlab.errors import Diagnostic, ModelError
from passlab.frontend.onnx.tensors import External

_HINT = "external data must be plain files in the directory of the model, or below it"


def external_reader(folder: Path) -> External:
    """Return `read(tensor, size)`: the bytes of a tensor whose file is in `folder`."""

    def read(tensor: Any, size: int) -> bytes:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        offset = _parse_count(entries.get("offset", "0"), tensor, "offset")
        length = _parse_count(entries["length"], tensor, "length") if "length" in entries else size
        if length != size:
            _refuse(tensor, "its length is not that of its shape and type", f"{size} bytes", f"{length} bytes")
        return _read(_checked_path(folder, location, tensor), offset, size, tensor)

    return read


def _parse_count(text: str, tensor: Any, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 19):  # more digits are beyond the 63 bits of offsets
        _refuse(tensor, f"its {what} is no whole number from 0 on", found=repr(text))
    return int(text)


def _refuse(tensor: Any, why: str, expected: str | None = None, found: str | None = None) -> NoReturn:
    message = f"the external data of the tensor `{tensor.name}` cannot be read: {why}"
    raise ModelError(Diagnostic(message, expected=expected, found=found, hint=_HINT))


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _shorten(name: str) -> str:
    return repr(name if len(name) <= 80 else f"{name[:40]}...{name[-20:]}")


def _checked_path(folder: Path, location: str, tensor: Any) -> Path:
    """Return the path of a location, after checking each of its parts."""
    parts = PurePosixPath(location).parts
    # `C:` is a plain name on POSIX, but not on Windows.
    escapes = PurePosixPath(location).is_absolute() or PureWindowsPath(location).drive or ".." in parts
    if not parts or escapes or "\\" in location or "\0" in location:
        _refuse(tensor, "its location leaves the directory of the model", found=_shorten(location))
    path = folder
    for part in parts:
        path = path / part
        try:
            linked = path.is_symlink()
        except (OSError, ValueError) as error:  # the file system cannot hold such a name
            _refuse(tensor, f"its location is no file name: {_reason(error)}", found=_shorten(location))
        if linked:
            _refuse(tensor, "its location goes through a symbolic link", found=_shorten(location))
    if not path.resolve().is_relative_to(folder.resolve()):
        _refuse(tensor, "its location leaves the directory of the model", found=_shorten(location))
    return path


def _read(path: Path, offset: int, size: int, tensor: Any) -> bytes:
    """Return `size` bytes of a plain file, from `offset` on.

    O_NOFOLLOW refuses a link created after the check; O_NONBLOCK returns at once for a named pipe.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        _refuse(tensor, f"{_shorten(path.name)}: {_reason(error)}")
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):  # a folder, for example, which cannot be opened as a file
        os.close(descriptor)
        _refuse(tensor, f"{path.name} is no plain file")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_nlink > 1:
            _refuse(tensor, f"{path.name} has a second name (a hard link)")
        if offset + size > status.st_size:
            _refuse(tensor, f"{path.name} is too short", f"{offset + size} bytes", f"{status.st_size} bytes")
        file.seek(offset)
        return file.read(size)
