"""Pictures of a page as WebP, which the browser itself encodes, and several of them as one that moves."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence

from playwright.sync_api import Page

_ENCODE = """async ([png, quality]) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [image.width, image.height];
  const pen = canvas.getContext("2d", { alpha: false });
  pen.drawImage(image, 0, 0);
  return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""


def webp(page: Page, quality: float = 0.82) -> bytes:
    """Return what a page shows."""
    png = base64.b64encode(page.screenshot()).decode("ascii")
    return base64.b64decode(page.evaluate(_ENCODE, [png, quality]))


def size_of(picture: bytes) -> tuple[int, int]:
    """Return width and height of a lossy WebP."""
    chunk = dict(_chunks(picture))[b"VP8 "]
    width, height = struct.unpack("<HH", chunk[6:10])
    return width & 0x3FFF, height & 0x3FFF


def animated(frames: Sequence[tuple[bytes, int]]) -> bytes:
    """Return pictures of one size, each shown for some milliseconds, as one that begins anew at its end."""
    width, height = size_of(frames[0][0])
    parts = [
        _chunk(b"VP8X", struct.pack("<I", 2) + _three(width - 1) + _three(height - 1)),
        _chunk(b"ANIM", struct.pack("<IH", 0xFFFFFFFF, 0)),
    ]
    for picture, milliseconds in frames:
        assert size_of(picture) == (width, height)
        head = _three(0) + _three(0) + _three(width - 1) + _three(height - 1) + _three(milliseconds) + b"\x02"
        parts.append(_chunk(b"ANMF", head + _chunk(b"VP8 ", dict(_chunks(picture))[b"VP8 "])))
    body = b"WEBP" + b"".join(parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def frames_of(picture: bytes) -> int:
    """Return how many frames a picture has that moves."""
    return sum(name == b"ANMF" for name, _ in _chunks(picture))


def _chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def _three(number: int) -> bytes:
    return struct.pack("<I", number)[:3]


def _chunks(picture: bytes) -> list[tuple[bytes, bytes]]:
    """The chunks of a WebP file."""
    assert (picture[:4], picture[8:12]) == (b"RIFF", b"WEBP")
    chunks, at = [], 12
    while at < len(picture):
        (size,) = struct.unpack("<I", picture[at + 4 : at + 8])
        chunks.append((picture[at : at + 4], picture[at + 8 : at + 8 + size]))
        at += 8 + size + size % 2
    return chunks
