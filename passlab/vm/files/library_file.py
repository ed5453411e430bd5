"""A library file: its kind, and parts of bytes, each with its length and its checksum.

    magic number (8 bytes), version string, the kind as a string
    then each part as: length (8), that many bytes, their CRC-32 (4)

The same parts always give the same bytes. The contents of the parts do not matter here.
"""

from __future__ import annotations

from collections.abc import Sequence

from passlab.text.tensor_bytes import enough_memory
from passlab.vm.files.loading import Reader
from passlab.vm.files.saving import frame_section, number, text

MAGIC = int.from_bytes(b"PLIB\r\n\x1a\n", "little")  # a transfer as text would change its line ends
VERSION = "passlab-library 1"


@enough_memory("the bytes of this library")
def pack(kind: str, parts: Sequence[bytes]) -> bytes:
    """Return parts as the bytes of one file."""
    return number(MAGIC) + text(VERSION) + text(kind) + b"".join(map(frame_section, parts))


def is_packed(data: bytes) -> bool:
    """Whether bytes begin like a library file."""
    return data[:8] == number(MAGIC)


def unpack(data: bytes) -> tuple[str, list[bytes]]:
    """Return the kind and the parts of a file's bytes. Raises `VerifyError` if they are malformed."""
    file = Reader(data, "header")
    file.head(MAGIC, VERSION)
    kind = file.text()
    parts: list[bytes] = []
    while file.left:
        parts.append(file.section(f"{len(parts)}. of {kind[:20]!r}").data)
    return kind, parts
