"""Parameters by name as bytes, in TVM's format: TVM and passlab read each other's files.

The format: a magic number, a reserved number, the list of names, the list of arrays in TVM's binary NDArray format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import RunTypeError, type_in_words
from passlab.ir.expr import Constant
from passlab.text.tensor_bytes import enough_memory, tensor_of_record, tensor_record
from passlab.vm.files.constant_files import MAGIC
from passlab.vm.files.loading import Reader
from passlab.vm.files.saving import number, texts

HEAD = 32  # bytes of a record before its shape; the last eight begin with the rank (int32)


@enough_memory("the bytes of these parameters", "save fewer of them at a time")
def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Return arrays, numbers or constants by name as bytes. Raises `RunTypeError` for anything but a mapping.

    >>> print(relay.load_param_dict(relay.save_param_dict({"w": np.float32([1, 2])}))["w"])
    [1. 2.]
    """
    if not isinstance(params, Mapping):
        raise RunTypeError(f"parameters are given by name, not as {type_in_words(params)}")
    for name in params:
        if not isinstance(name, str):
            raise RunTypeError(f"the name of a parameter is a string, not {type_in_words(name)}")
    arrays = [np.asarray(v.data if isinstance(v, Constant) else v) for v in params.values()]
    return b"".join([number(MAGIC), number(0), texts(params), number(len(arrays)), *map(tensor_record, arrays)])


def load_param_dict(data: bytes | bytearray) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays by name, read-only. Raises `VerifyError` for malformed bytes, `RunTypeError` if not bytes.

    >>> print(relay.load_param_dict(relay.save_param_dict({"w": np.float32([1, 2])}))["w"])
    [1. 2.]
    """
    if not isinstance(data, (bytes, bytearray)):
        raise RunTypeError(f"a list of parameters is read from bytes, not from {type_in_words(data)}")
    file = Reader(bytes(data), "parameters")
    if file.number() != MAGIC:
        raise file.bad("this is not a list of parameters")
    file.number()
    names = file.texts()
    if file.count(HEAD) != len(names):
        raise file.bad("there are not as many arrays as names")
    arrays = []
    for _ in names:
        # Read ahead: the length of a record follows from its rank and its size.
        rank = int.from_bytes(file.data[file.at + HEAD - 8 : file.at + HEAD - 4], "little")
        if rank > limits.current().rank:
            raise file.bad(f"an array has {rank:,} dimensions")
        end = file.at + HEAD + 8 * rank
        size = int.from_bytes(file.data[end : end + 8], "little")
        try:
            arrays.append(tensor_of_record(file.take(HEAD + 8 * rank + 8 + size)))
        except ValueError as error:
            raise file.bad(str(error)) from None
    file.finish()
    return dict(zip(names, arrays, strict=True))
