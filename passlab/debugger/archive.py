"""Zip archives that may be hostile: all sizes are checked in the table of contents before anything is unpacked.

A few bytes of an archive may unpack to gigabytes, and its table of contents may be wrong. So the table is checked when
the archive is opened, a part is compared with the size that its own first bytes announce, and no part is unpacked
further than the table says.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from passlab import limits
from passlab.atomic_file import atomic_file
from passlab.errors import Diagnostic, VerifyError

MOST_PER_BYTE = 1032  # bytes that deflate can make of one: 258 from 2 bits
_SLACK = 64  # bytes, so that a tiny part is not compared with its frame
Read = Callable[[int], bytes]


class Archive:
    """An open archive. Raises `VerifyError` for a wrong table of contents, `LimitError` for too many bytes.

    `texts` are the names of parts that are texts, which are read as far as a text may be long.
    """

    def __init__(self, file: zipfile.ZipFile, texts: Iterable[str]) -> None:
        self.file = file
        parts = file.infolist()
        if any(part.flag_bits & 1 for part in parts):  # bit 0: the part is encrypted
            raise VerifyError(Diagnostic("the file is encrypted", hint="a trace is never encrypted"))
        for part in parts:
            if part.file_size > MOST_PER_BYTE * part.compress_size + _SLACK:
                what = f"its table of contents is wrong: the part {part.filename[:40]!r}"
                raise VerifyError(
                    Diagnostic(
                        f"{what} cannot unpack to so many bytes",
                        expected=f"at most {MOST_PER_BYTE * part.compress_size + _SLACK:,} bytes",
                        found=f"{part.file_size:,} bytes",
                    )
                )
        limits.check("trace_bytes", sum(part.file_size for part in parts), "the contents of a trace file")
        names = set(texts)
        for part in parts:
            if part.filename in names:
                limits.check("text_bytes", part.file_size, f"the part {part.filename} of a trace")

    def size(self, name: str) -> int:
        """Return the number of bytes of a part, as the table of contents says. Raises `KeyError`."""
        return self.file.getinfo(name).file_size

    def part(self, name: str, announced: Callable[[Read], int] | None = None) -> bytes:
        """Return the bytes of a part; `announced` computes from its first bytes how many there are.

        Raises `ValueError` where that is another number than in the table of contents, before the rest is unpacked.
        """
        size = self.size(name)
        limits.check("tensor_bytes", size, f"the part {name} of a trace")
        try:
            with self.file.open(name) as stream:
                begin = bytearray()
                if announced is not None:
                    expected = announced(_collecting(stream, begin))
                    if expected != size:
                        raise ValueError(f"its part {name} has {size:,} bytes, and announces {expected:,}")
                # never all that there is: with a wrong table of contents, it might have no end
                return bytes(begin) + stream.read(size - len(begin))
        except OSError as error:  # its table of contents points past its end
            raise zipfile.BadZipFile(str(error)) from None


def _collecting(stream: IO[bytes], begin: bytearray) -> Read:
    """Return a function that reads from a stream, and keeps what it has read in `begin`."""

    def read(count: int) -> bytes:
        data = stream.read(count)
        begin.extend(data)
        return data

    return read


def write_archive(path: Path, files: Iterable[tuple[str, bytes | str]]) -> None:
    """Write an archive of named files atomically."""
    with atomic_file(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files:
            file.writestr(name, data)
