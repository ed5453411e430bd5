"""Files of arrays by name, for the late-bound constants of executables.

The file holds a magic number, a count, then for each array its name and a record of TVM's binary NDArray, and a CRC-32.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from passlab.text.tensor_bytes import enough_memory, tensor_of_record, tensor_record
from passlab.vm.files.disk import FileName, read_bytes, write_bytes
from passlab.vm.files.loading import Reader
from passlab.vm.files.saving import number, text

MAGIC = 0xF7E58D4F05049CB7  # TVM's, for a list of named arrays


def save_constants(path: FileName, constants: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write arrays to a file. Raises `RunError` where that fails, `LimitError` without memory for their bytes."""
    write_bytes(path, _constant_bytes(constants), "the constants")


@enough_memory("the bytes of these constants")
def _constant_bytes(constants: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    parts = [number(MAGIC), number(len(constants))]
    for name, array in constants.items():
        record = tensor_record(array)
        parts += (text(name), number(len(record)), record)
    data = b"".join(parts)
    return data + struct.pack("<I", zlib.crc32(data))


def load_constants(path: FileName) -> dict[str, np.ndarray[Any, Any]]:
    """Read the arrays of a file. Raises `VerifyError` if it is malformed, `RunError` where it cannot be read."""
    data = read_bytes(path, "the constants")
    file = Reader(data[:-4], "constants")
    # The checksum is compared first, so nothing of a damaged file is parsed.
    if len(data) < 4 or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little") or file.number() != MAGIC:
        raise file.bad("this is not a file of constants, or it is damaged")
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for _ in range(file.count(16)):  # an entry has at least two lengths of 8 bytes
        name = file.text()
        try:
            arrays[name] = tensor_of_record(file.take(file.number()))
        except ValueError as error:
            raise file.bad(str(error)) from None
    file.finish()
    return arrays
