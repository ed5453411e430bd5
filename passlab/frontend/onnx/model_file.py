"""Loading a model from a path, from bytes, or from an `onnx.ModelProto`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from passlab import limits
from passlab.errors import Diagnostic, FileAccessError, ModelError
from passlab.frontend.onnx.external_data import external_reader
from passlab.frontend.onnx.package import onnx
from passlab.frontend.onnx.tensors import External


def load_model(model: Any) -> tuple[Any, External | None]:
    """Return the ModelProto of a path, of bytes or of itself, and a reader of its external data (for a path only).

    Raises `ModelError` if it is not a model, and `FileAccessError` for a path that cannot be read.
    """
    package = onnx()
    if isinstance(model, package.ModelProto):
        return _check(model, "the model"), None
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _parse_text(package, bytes(model), "these bytes"), None
    if isinstance(model, (str, PathLike)):
        path = Path(model)
        try:
            limits.check("model_bytes", path.stat().st_size, f"the model {path.name}")
            data = path.read_bytes()
        except OSError as error:
            raise FileAccessError(Diagnostic(f"{path} cannot be read: {error.strerror}")) from error
        return _parse_text(package, data, path.name), external_reader(path.parent)
    raise ModelError(
        Diagnostic(
            "this is not an ONNX model", expected="a path, bytes, or an onnx.ModelProto", found=type(model).__name__
        )
    )


def _parse_text(package: Any, data: bytes, what: str) -> Any:
    from google.protobuf.message import DecodeError

    proto = package.ModelProto()
    try:
        proto.ParseFromString(data)
    except (DecodeError, RuntimeError, UnicodeDecodeError) as error:
        hint = "the file is damaged, cut short, or of another format"
        raise ModelError(Diagnostic(f"{what} cannot be read as an ONNX model", found=str(error), hint=hint)) from error
    return _check(proto, what)


def _check(proto: Any, what: str) -> Any:
    """Return a model after checking that it has a graph and valid names."""
    if not proto.HasField("graph"):
        hint = "is it a file of another format, or empty?"
        raise ModelError(Diagnostic(f"{what} cannot be read as an ONNX model: it has no graph", hint=hint))
    if (odd := _text_that_is_none(proto)) is not None:
        hint = "the file is damaged"
        raise ModelError(Diagnostic(f"{what} has names that are not UTF-8", found=repr(odd[:40]), hint=hint))
    return proto


def _text_that_is_none(proto: Any) -> bytes | None:
    """Return bytes found in place of text, None if all names are text. Linear in the messages of the model."""
    stack = [proto]
    while stack:
        for field, value in stack.pop().ListFields():
            if field.message_type is not None:
                stack += [value] if hasattr(value, "ListFields") else value  # one message, or a list of them
            elif field.type == field.TYPE_STRING:
                for text in [value] if isinstance(value, (str, bytes)) else value:
                    if isinstance(text, bytes):
                        return text
    return None
