"""The bytes of a dump in files or in memory, and `Excerpt`, the ranges of them that make one text.

A recording of a large dump keeps offsets and digests; a text is read on demand.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import re
import stat
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any
from xml.sax.saxutils import unescape

from passlab import limits
from passlab.dumps.onnx_text import model_text
from passlab.errors import Diagnostic, DumpError, PasslabError

CHUNK = 4 * 2**20  # bytes that a scan reads at once
LONGEST_LINE = 64 * 2**20  # bytes after which a scan stops looking for the end of a line
UNPACKING_ERRORS = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
GZIP = b"\x1f\x8b"  # the first two bytes of such a file
_PACKED = {b"BZh": bz2.BZ2Decompressor, b"\xfd7zXZ\0": lzma.LZMADecompressor}
_FOREIGN = {
    b"\x28\xb5\x2f\xfd": "zstd -d",
    b"PK\x03\x04": "unzip",
}  # what Python does not unpack, or holds several files


class DumpSource:
    """A named sequence of bytes, read in sections."""

    def __init__(self, name: str, size: int, note: str = "") -> None:
        self.name, self.size = name, size
        self.note = note  # what is missing of it
        self.is_narrow = False  # whether a tool cut off the ends of its lines

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end`. Raises `DumpError` if they are no longer there."""
        raise NotImplementedError


class BytesSource(DumpSource):
    """Bytes in memory."""

    def __init__(self, data: bytes, name: str = "dump") -> None:
        super().__init__(name, len(data))
        self._data = data

    def read(self, start: int, end: int) -> bytes:
        return self._data[start:end]


class Section(DumpSource):
    """The bytes of another source from `start` up to `end`."""

    def __init__(self, source: DumpSource, start: int, end: int) -> None:
        super().__init__(source.name, end - start)
        self._source, self._start = source, start

    def read(self, start: int, end: int) -> bytes:
        return self._source.read(self._start + start, self._start + min(end, self.size))


class FileSource(DumpSource):
    """A file; `keep_open` keeps it open, which suits one large file and not thousands of small ones."""

    def __init__(self, path: Path, name: str = "", keep_open: bool = False, temporary: bool = False) -> None:
        super().__init__(name or path.name, path.stat().st_size)
        self.path = path
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = path.open("rb") if keep_open or temporary else None
        if temporary and os.name == "posix":
            path.unlink()  # the open file keeps the bytes until it is closed

    def read(self, start: int, end: int) -> bytes:
        try:
            if self._file is not None:
                with self._lock:
                    self._file.seek(start)
                    return self._file.read(max(0, end - start))
            with self.path.open("rb") as file:
                file.seek(start)
                return file.read(max(0, end - start))
        except (OSError, ValueError) as error:
            hint = "a recording reads texts from the dump when they are looked at: keep the file, or read it again"
            raise DumpError(Diagnostic(f"the dump {self.name} cannot be read: {error}", hint=hint)) from error

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            self._file.close()  # type: ignore[union-attr]


class HeldFile(DumpSource):
    """An open file of a disk, which stays readable after its owner has closed it."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(name, os.fstat(number).st_size)
        self._number = os.dup(number)

    def read(self, start: int, end: int) -> bytes:
        parts = []
        while start < end and (data := os.pread(self._number, end - start, start)):
            parts.append(data)
            start += len(data)
        return b"".join(parts)

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            os.close(self._number)


def _is_file_of_disk(stream: Any) -> bool:
    """Whether a stream is a whole file whose bytes can be read in any order."""
    if not isinstance(getattr(stream, "raw", stream), io.FileIO) or not hasattr(os, "pread"):
        return False
    return stat.S_ISREG(os.fstat(stream.fileno()).st_mode) and stream.tell() == 0


def open_file(path: Path, name: str = "", keep_open: bool = True) -> DumpSource:
    """Return a file as a source; a compressed one is unpacked into a temporary file first."""
    with path.open("rb") as file:
        is_packed = _kind_of_packing(file.read(6))
    source = FileSource(path, name, keep_open)
    return unpacked(source, name or path.stem) if is_packed else source


def _kind_of_packing(head: bytes) -> bytes:
    """Return the first bytes of a compressed file; empty for another one."""
    return next((magic for magic in (GZIP, *_PACKED, *_FOREIGN) if head.startswith(magic)), b"")


def unpacked(source: DumpSource, name: str = "") -> DumpSource:
    """Return a source with the content of one that gzip, bzip2 or xz compressed; another one as it is.

    Raises `DumpError` for what other programs compressed.
    """
    kind = _kind_of_packing(source.read(0, 6))
    if kind in _FOREIGN:
        tool = _FOREIGN[kind]
        raise DumpError(
            Diagnostic(f"{source.name} is compressed", hint=f"unpack it (`{tool}`), and read what is in it")
        )
    return spool(_Unpacked(source, kind), name or source.name) if kind else source


class _Unpacked:
    """The content of a compressed source, as far as it goes: one that is cut off has a begin as well."""

    def __init__(self, source: DumpSource, kind: bytes) -> None:
        self._source, self._at, self._kind = source, 0, kind
        self._decoder = self._new()
        self._rest = b""  # packed bytes that wait
        self.is_cut = False

    def _new(self) -> Any:
        return zlib.decompressobj(wbits=31) if self._kind == GZIP else _PACKED[self._kind]()  # 31: the format of gzip

    def read(self, size: int) -> bytes:
        """Return about `size` bytes, none at the end. Raises `zlib.error` and others for a damaged file."""
        while True:
            if self._decoder.eof:  # another file may follow
                self._rest = self._decoder.unused_data or self._take()
                if not self._rest.strip(b"\0"):
                    return b""
                self._decoder = self._new()
            waits = not getattr(self._decoder, "needs_input", True)  # bz2 and lzma keep what waits
            packed = b"" if waits else self._rest or self._take()
            if not packed and not waits:
                self.is_cut = True
                return b""
            data: bytes = self._decoder.decompress(packed, size)
            self._rest = getattr(self._decoder, "unconsumed_tail", b"")
            if data:
                return data

    def _take(self) -> bytes:
        data = self._source.read(self._at, self._at + CHUNK)
        self._at += len(data)
        return data


def spool(stream: Any, name: str) -> DumpSource:
    """Return a stream of bytes or text as a source: a file of a disk as it is, else a copy in a temporary file.

    Raises `DumpError` for what cannot be unpacked, and `LimitError` as soon as more is unpacked than a dump may have.
    """
    try:
        if _is_file_of_disk(stream):
            return HeldFile(stream.fileno(), name)
        first = stream.read(CHUNK)
        if isinstance(first, str):
            return BytesSource((first + stream.read()).encode("utf-8", "surrogateescape"), name)
        source = spool_chunks(_rest(stream, first), name)
    except PasslabError:
        raise
    except UNPACKING_ERRORS as error:
        raise DumpError(Diagnostic(f"{name} cannot be read: {error}")) from error
    if getattr(stream, "is_cut", False):
        if not source.size:
            raise DumpError(Diagnostic(f"{name} cannot be read: the compressed file ends before its content begins"))
        source.note = f"the compressed file is cut off: {source.size:,} bytes of it could be read"
    return source


def _rest(stream: Any, first: bytes) -> Iterator[bytes]:
    while first:
        yield first
        first = stream.read(CHUNK)


def spool_chunks(data: Iterable[bytes], name: str, note: str = "") -> DumpSource:
    """Write chunks into a temporary file, and return that as a source.

    Raises `LimitError` for too many bytes, and `DumpError` for a file that cannot be written.
    """
    copy: Path | None = None
    try:
        with tempfile.NamedTemporaryFile("wb", prefix="passlab-dump-", delete=False) as file:
            copy = Path(file.name)
            for chunk in data:
                try:
                    file.write(chunk)
                    file.flush()
                except OSError as error:
                    hint = f"free some space in {tempfile.gettempdir()}, or set TMPDIR to another folder"
                    what = f"the copy of {name} cannot be written: {error.strerror or error}"
                    raise DumpError(Diagnostic(what, hint=hint)) from error
                limits.check("dump_bytes", file.tell(), f"reading {name}")
        source, copy = FileSource(copy, name, temporary=True), None
        source.note = note
        return source
    finally:
        if copy is not None:  # an error or an interrupt came before a source owned the file
            copy.unlink(missing_ok=True)


def chunks(source: DumpSource) -> Iterator[tuple[int, bytes]]:
    """Yield chunks of whole lines, each with its offset."""
    at = 0
    while at < source.size:
        data = source.read(at, at + CHUNK)
        if not data:
            return
        if at + len(data) < source.size:
            # A line that ends beyond the chunk belongs to the next one; a chunk in which no line ends grows.
            cut = data.rfind(b"\n") + 1
            while not cut and len(data) < LONGEST_LINE and at + len(data) < source.size:
                more = source.read(at + len(data), at + len(data) + CHUNK)
                if not more:
                    break
                data += more
                cut = data.rfind(b"\n") + 1
            data = data[:cut] if cut else data
        yield at, data
        at += len(data)


PEEK = 400  # bytes below a heading that decide what its body is


def find_lines(source: DumpSource, mark: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Yield start, end and bytes of each line with `mark`, and the first bytes below it."""
    number = 0
    for base, data in chunks(source):
        at = data.find(mark)
        while at >= 0:
            number += 1
            _check_headings(number, source)
            start = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at) + 1 or len(data)
            below = data[end : end + PEEK]
            if len(below) < PEEK:  # the chunk ends here, the file perhaps not
                below = source.read(base + end, base + end + PEEK)
            yield base + start, base + end, data[start:end].rstrip(b"\r\n"), below
            at = data.find(mark, end)


def _check_headings(number: int, source: DumpSource) -> None:
    """Raise `LimitError` for more headings than passes may have: a megabyte of gzip can hold millions of them."""
    if number % 65_536 == 0:
        limits.check("dump_steps", number // 2, f"reading {source.name}")  # a pass has a heading before and one after


def match_lines(source: DumpSource, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, int, re.Match[bytes]]]:
    """Yield start, end and match of each line in which a pattern of a whole line, in multi-line mode, matches."""
    number = 0
    for base, data in chunks(source):
        for match in pattern.finditer(data):
            number += 1
            _check_headings(number, source)
            end = data.find(b"\n", match.end()) + 1 or len(data)  # `find` returns -1 in the last line, so 0 here
            yield base + match.start(), base + end, match


def decode(data: bytes) -> str:
    """Return bytes as text; bytes that are not UTF-8 survive as lone surrogates."""
    # Dumps contain names and paths of any encoding.
    return data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


class Excerpt:
    """Ranges of a source that make one text, with a digest of the text.

    `form` names the decoding (a key of `FORMS`); "" means no decoding. Excerpts with equal
    digests have equal texts up to noise.
    """

    __slots__ = ("source", "spans", "digest", "form", "lines")

    def __init__(
        self, source: DumpSource, spans: tuple[int, ...], digest: int = 0, form: str = "", lines: int = 0
    ) -> None:
        self.source, self.spans, self.digest, self.form, self.lines = source, spans, digest, form, lines

    @property
    def size(self) -> int:
        """The number of bytes of the file."""
        return sum(self.spans[1::2]) - sum(self.spans[::2])

    @property
    def raw(self) -> bytes:
        """The bytes of the file."""
        # Spans are a flat tuple (start, end, start, end, ...), which takes less memory than pairs.
        pairs = zip(self.spans[::2], self.spans[1::2], strict=True)
        return b"".join([self.source.read(start, end) for start, end in pairs])

    @property
    def data(self) -> bytes:
        """The bytes of the text."""
        return FORMS[self.form](self.raw)

    @property
    def text(self) -> str:
        """The text, without empty lines around it."""
        return decode(self.data).strip("\n")

    def __repr__(self) -> str:
        return f"<{self.size:,} bytes of {self.source.name}>"


_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


def without_colours(data: bytes) -> bytes:
    """Return text without the colours of a terminal."""
    return _COLOUR.sub(b"", data) if b"\x1b" in data else data  # the search is faster than the substitution


def _one_side(data: bytes, other: bytes) -> bytes:
    """Return one side of a diff whose lines begin with a sign; headings inside it are kept."""
    lines = without_colours(data).split(b"\n")
    return b"\n".join([line if line[:1] == b"*" else line[1:] for line in lines if line[:1] != other])


def _diff_after(data: bytes) -> bytes:
    return _one_side(data, b"-")


def _diff_before(data: bytes) -> bytes:
    return _one_side(data, b"+")


# The prefix of PyTorch's log: level and date, time, process, file and line, then marks such as `[0/0]`.
_TORCH_PREFIX = re.compile(rb"(?m)^[VIDWEC]\d{4} \S+ +\d+ [^\]\n]+\] (?:\[[^\]\n]*\] ?)* ?")


def _torch_lines(data: bytes) -> bytes:
    return _TORCH_PREFIX.sub(b"", data)


def _identity(data: bytes) -> bytes:
    return data


def _onnx_lines(data: bytes) -> bytes:
    try:
        return model_text(data).encode("utf-8", "surrogateescape")
    except DumpError as error:  # the error becomes the text, so that the other models of the folder are read
        return f"({error.diagnostics[0].message})".encode("utf-8", "surrogateescape")


PAGE = "page"
_ENTITIES = {"&quot;": '"', "&#39;": "'", "&#x27;": "'", "&#x2F;": "/", "&nbsp;": " "}
_MARKUP = re.compile(r"<(script|style|title)\b.*?</\1>|<[^<>]*>", re.DOTALL)


def text_of_page(data: bytes) -> bytes:
    """Return the text of a page that a browser shows."""
    return unescape(_MARKUP.sub("", decode(data)), _ENTITIES).encode("utf-8", "surrogateescape")


FORMS = {
    "": _identity,
    "diff after": _diff_after,
    "diff before": _diff_before,
    "torch": _torch_lines,
    "onnx": _onnx_lines,
    PAGE: text_of_page,
}
