"""`from_onnx` imports an ONNX model as a Relay module.

In the order of the file: whether all operators are supported; the types of the inputs; the model's file and the tensors
next to it, read with care because a model may come from anywhere. `from_onnx` comes last.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NoReturn

import numpy as np

from passlab import limits
from passlab.arguments import checked
from passlab.atomic_file import checked_path, write_bytes
from passlab.errors import Diagnostic, DiagnosticError, FileAccessError, ModelError, PasslabError, did_you_mean
from passlab.frontend.identifiers import Identifiers
from passlab.frontend.modules import module_of
from passlab.frontend.onnx.definitions import has_definition
from passlab.frontend.onnx.entries import entries, find_entry, schema_of
from passlab.frontend.onnx.graph import GraphContext, GraphScope, Translator, node_names, plain_domain
from passlab.frontend.onnx.node_text import node_span
from passlab.frontend.onnx.origin import ModelSource, size_name
from passlab.frontend.onnx.package import onnx
from passlab.frontend.onnx.sequences import is_packed
from passlab.frontend.onnx.tensors import External, array_of, dtype_of
from passlab.infer import infer_expr
from passlab.ir.dtypes import dtype_name
from passlab.ir.expr import Constant, Expr, Tuple, Var
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.span import Span
from passlab.ir.types import ANY, Dim, SizeVar, TensorType
from passlab.op.dtypes import array_dtype

# ---------------------------------------------------------------- support, checked before anything is translated

Array = np.ndarray[Any, Any]
_SHOWN = 5  # nodes of one operator that a message names
Key = tuple[str, str, int]  # domain, operator, opset version


def check_support(graph: Any, opsets: Mapping[str, int], functions: Mapping[tuple[str, str], Any]) -> None:
    """Raise a `ModelError` with one diagnostic for each unsupported operator of the model.

    Subgraphs and the functions that the model defines and calls are checked as well.
    """
    missing: dict[Key, list[tuple[str, Span]]] = {}
    seen: set[tuple[str, str]] = set()
    todo: list[tuple[Any, Mapping[str, int], str]] = [(graph, opsets, "")]
    while todo:
        current, versions, inside = todo.pop()
        for node, name in zip(current.node, node_names(current.node, inside), strict=True):
            todo += [(a.g, versions, name) for a in node.attribute if a.type == 5]  # 5: a graph
            domain = plain_domain(node.domain)
            key, opset = (domain, node.op_type), versions.get(domain, 1)
            if key in functions:
                if key not in seen:  # once, since functions may be called often
                    seen.add(key)
                    own = {plain_domain(entry.domain): entry.version for entry in functions[key].opset_import}
                    todo.append((functions[key], own or versions, name))
            elif not find_entry(node.op_type, domain, opset) and not has_definition(node.op_type, domain, opset):
                missing.setdefault((*key, opset), []).append((name, node_span(node, name)))
    if missing:
        raise ModelError(*(_diagnostic(key, nodes) for key, nodes in sorted(missing.items())))


def _diagnostic(key: Key, nodes: list[tuple[str, Span]]) -> Diagnostic:
    domain, op_type, opset = key
    where = f"{domain or 'ai.onnx'}, opset {opset}"
    names = ", ".join(f"`{name}`" for name, _ in nodes[:_SHOWN])
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    used = f"it is used by {names}{more}"
    return Diagnostic(
        f"the ONNX operator `{op_type}` ({where}) is not supported",
        nodes[0][1],
        notes=((used, None),),
        hint=_hint(domain, op_type, opset),
    )


def _hint(domain: str, op_type: str, opset: int) -> str | None:
    if domain == "com.microsoft.nchwc":
        return (
            "its weights are in blocks for one processor: save the model with ORT_ENABLE_EXTENDED, not ORT_ENABLE_ALL"
        )
    entry = entries().get(op_type) if domain == "" else None
    schema = schema_of(op_type, domain, opset)
    if entry is not None and schema is not None:
        return f"its definition of opset {schema.since_version} is not known; known are {entry.versions} are"
    if schema is None and domain == "":
        return did_you_mean(op_type, entries()) or "ONNX has no such operator in this opset"
    return None


# ---------------------------------------------------------------- types of inputs: the model's, or the caller's


def input_type(
    value: Any,
    shape: Any,
    dtype: str | Mapping[str, str],
    symbols: dict[str, SizeVar] | None,
    sizes: Mapping[str, int],
) -> TensorType:
    """Return the type of a ValueInfoProto. `shape` is the caller's shape for it, or None; `sizes` are fixed by name.

    An unknown dimension becomes a symbol, the same for the same name; without `symbols` it becomes `?`.

    Raises `ModelError` if the input is not a tensor, for invalid shapes, and for an unknown rank.
    """
    name, ty = value.name, value.type
    if ty.WhichOneof("value") == "sequence_type":
        hint = f'say the shapes of its tensors: from_onnx(model, shape={{"{name}": [(2, 3), (4, 3)]}})'
        raise ModelError(Diagnostic(f"the input `{name}` is a sequence of a length that is not known", hint=hint))
    if ty.WhichOneof("value") not in ("tensor_type", None):
        kind = ty.WhichOneof("value").removesuffix("_type").replace("_", " ")
        raise ModelError(
            Diagnostic(f"the input `{name}` is of the kind `{kind}`", hint="only tensors are supported as inputs")
        )
    names = _known_shape(ty.tensor_type, symbols, sizes) if ty.tensor_type.HasField("shape") else None
    if shape is None and names is None:
        hint = f'say them: from_onnx(model, shape={{"{name}": (1, 3, 224, 224)}})'
        raise ModelError(
            Diagnostic(f"the model does not state the number of dimensions of its input `{name}`", hint=hint)
        )
    dims = names if shape is None else _given_shape(name, shape)
    assert dims is not None
    # Tools give a number as a tensor of one element; any other rank would not be the one that was meant.
    if names is not None and len(dims) != len(names) and (names, dims) != ((), (1,)):
        expected = f"{len(names)} dimensions: ({', '.join(map(repr, names))})"
        raise ModelError(
            Diagnostic(f"the shape given for the input `{name}` has another rank", None, expected, str(shape))
        )
    if symbols is not None:
        # One symbol each: nothing says that two are equal.
        dims = tuple(SizeVar("size") if dim is ANY else dim for dim in dims)
    return TensorType(dims, _dtype(name, ty.tensor_type.elem_type, dtype))


def _known_shape(tensor: Any, symbols: dict[str, SizeVar] | None, sizes: Mapping[str, int]) -> tuple[Dim, ...]:
    """The shape in a model. Dimensions that are named, missing or negative are unknown, but for fixed `sizes`."""
    dims = tensor.shape.dim
    shape: list[Dim] = []
    for dim in dims:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            shape.append(dim.dim_value)
        elif size_name(dim) in sizes:
            shape.append(sizes[dim.dim_param])
        elif size_name(dim) and symbols is not None:
            shape.append(symbols.setdefault(dim.dim_param, SizeVar(dim.dim_param)))
        else:
            shape.append(ANY)
    return tuple(shape)


def sizes_and_shapes(inputs: list[Any], given: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, Any]]:
    """Return the sizes fixed by name, and the shapes of inputs; the shape of an input fixes its named sizes.

    Raises `ModelError` for a name that is neither, and for a size that is not a whole number from 0 on.
    """
    names = {value.name: [size_name(dim) for dim in value.type.tensor_type.shape.dim] for value in inputs}
    named = {size for own in names.values() for size in own if size}
    sizes: dict[str, int] = {}
    shapes: dict[str, Any] = {}
    for key, value in given.items():
        if key in names and (key not in named or not isinstance(value, (int, np.integer))):
            shapes[key] = value
            continue
        if key not in named:
            refuse_input(key, sorted(names), sorted(named))
        size = value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 0:
            hint = f'from_onnx(model, shape={{"{key}": 1}})'
            raise ModelError(Diagnostic(f"the size `{key}` is a whole number from 0 on", found=repr(value), hint=hint))
        sizes[key] = int(size)
    sequences = {value.name for value in inputs if value.type.WhichOneof("value") == "sequence_type"}
    for key, shape in shapes.items():
        dims = () if key in sequences else _given_shape(key, shape)
        if len(dims) == len(names[key]):
            for name, dim in zip(names[key], dims, strict=True):
                if name and isinstance(dim, int):
                    sizes.setdefault(name, dim)
    return sizes, shapes


def refuse_input(name: Any, inputs: Sequence[str], sizes: Sequence[str] = ()) -> NoReturn:
    """Raise the `ModelError` for a name that is neither an input nor a size of a model."""
    known = f"its inputs are {', '.join(inputs) or 'none'}"
    known += f"; its named sizes are {', '.join(sizes)}" if sizes else ""
    hint = did_you_mean(str(name), [*inputs, *sizes]) or known
    size = "and no size " if sizes else ""
    raise ModelError(Diagnostic(f"the model has no input {size}`{name}`", hint=hint))


def given_value(value: Any, given: Any, ty: TensorType) -> Array:
    """Return the value that the caller gives an input, in its type. Raises `ModelError` where it does not fit."""
    try:
        array = np.asarray(given)
        cast = array.astype(array_dtype(ty.dtype))
        if array.dtype.kind in "iufb" and not np.array_equal(cast, array):
            raise ValueError(f"{given!r} is not a value of the type {ty.dtype}")
        if cast.size == 1 and all(dim in (1, ANY) or isinstance(dim, SizeVar) for dim in ty.shape):
            cast = cast.reshape((1,) * len(ty.shape))
        fits = len(cast.shape) == len(ty.shape) and all(
            not isinstance(dim, int) or dim == size for dim, size in zip(ty.shape, cast.shape, strict=True)
        )
        if not fits:
            raise ValueError(f"an array of the shape {cast.shape}")
        return cast
    except (TypeError, ValueError, OverflowError) as error:
        message = f"the value given for the input `{value.name}` does not fit it"
        raise ModelError(Diagnostic(message, None, str(ty), str(error))) from error


def _given_shape(name: str, shape: Any) -> tuple[Dim, ...]:
    try:
        return TensorType(tuple(shape), "float32").shape
    except (PasslabError, TypeError) as error:
        hint = "a shape is a tuple of whole numbers from 0 on; `relay.Any()` stands for an unknown one"
        message = f"the value given for the input `{name}` is not a shape"
        raise ModelError(Diagnostic(message, found=repr(shape), hint=hint)) from error


def _dtype(name: str, code: int, dtypes: str | Mapping[str, str]) -> str:
    if isinstance(dtypes, Mapping):
        dtype = dtypes.get(name)
    else:
        dtype = dtypes if code == 0 else None
    if dtype is None:
        try:
            return dtype_of(code)
        except ModelError as error:
            why = error.diagnostics[0].message
            hint = "cut the model behind the nodes that read it, and give what they compute: onnx.utils.extract_model"
            raise ModelError(Diagnostic(f"the input `{name}` cannot be read: {why}", hint=hint)) from error
    try:
        return dtype_name(dtype)
    except (PasslabError, TypeError) as error:
        raise ModelError(Diagnostic(f"the dtype given for `{name}` is not a dtype", found=repr(dtype))) from error


# ---------------------------------------------------------------- a model from a path, bytes or `onnx.ModelProto`

# Tensors stored in files next to a model.

_HINT = "external data must be plain files in the directory of the model, or below it"


def external_reader(folder: Path) -> External:
    """Return `read(tensor, size)`: the bytes of a tensor whose file is in `folder`."""

    def read(tensor: Any, size: int) -> bytes:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        offset = _parse_count(entries.get("offset", "0"), tensor, "offset")
        length = _parse_count(entries["length"], tensor, "length") if "length" in entries else size
        if length != size:
            _refuse(tensor, "its length does not fit its shape and type", f"{size} bytes", f"{length} bytes")
        return _read(_checked_path(folder, location, tensor), offset, size, tensor)

    return read


def _parse_count(text: str, tensor: Any, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 19):  # more digits are beyond the 63 bits of offsets
        _refuse(tensor, f"its {what} is not a whole number from 0 on", found=repr(text))
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
            _refuse(tensor, f"its location is not a file name: {_reason(error)}", found=_shorten(location))
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
        _refuse(tensor, f"{path.name} is not a plain file")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_nlink > 1:
            _refuse(tensor, f"{path.name} has a second name (a hard link)")
        if offset + size > status.st_size:
            _refuse(tensor, f"{path.name} is too short", f"{offset + size} bytes", f"{status.st_size} bytes")
        file.seek(offset)
        return file.read(size)


LARGE = 1 << 20  # bytes of a weight that is read from the file when it is needed
LARGE_FILE = 1 << 26  # bytes of a file whose weights are
_INSIDE = "\0"  # the location of a weight in the file of its model: no name of a file
_LENGTHS = {0: 0, 1: 8, 2: 0, 5: 4}  # bytes of the kinds of fields; 0: a number, 2: a length and so many bytes
_NESTED = (7, 5, 9)  # numbers of fields: the graph of a model, the weights of a graph, the bytes of a weight


def _without_weights(file: Any, size: int) -> bytes:
    """Return a model up to the end of its file, with large weights as places in the file.

    Raises `ValueError` if that is not a model. (https://protobuf.dev/programming-guides/encoding)
    """
    outer: list[tuple[int, list[bytes], int]] = []  # the messages around this one: end, parts, number of its field
    end, parts = size, list[bytes]()
    while True:
        start = file.tell()
        if start == end:
            inner = b"".join(parts)
            if not outer:
                return inner
            end, parts, tag = outer.pop()
            parts += [_varint_bytes(tag), _varint_bytes(len(inner)), inner]
            continue
        tag = _varint(file)
        kind, field = tag & 7, tag >> 3
        if kind not in _LENGTHS:
            raise ValueError("no field of this kind")
        length = _varint(file) if kind in (0, 2) else _LENGTHS[kind]
        place, length = file.tell(), 0 if kind == 0 else length
        if place + length > end:
            raise ValueError("a field ends outside its message")
        level = len(outer)
        if kind != 2 or field != _NESTED[level] or (level and length < LARGE):
            file.seek(start)
            parts.append(file.read(place + length - start))
        elif level < len(_NESTED) - 1:
            outer.append((end, parts, tag))
            end, parts = place + length, []
        else:
            weight = onnx().TensorProto(data_location=1)
            for key, value in (("location", _INSIDE), ("offset", str(place)), ("length", str(length))):
                weight.external_data.add(key=key, value=value)
            parts.append(weight.SerializeToString())
            file.seek(place + length)


def _head(path: Path, size: int) -> bytes | None:
    """Return a model file without its large weights; None for a damaged one, of which its parser says what is wrong."""
    with path.open("rb") as file:
        try:
            return _without_weights(file, size)
        except ValueError:
            return None


def _varint(file: Any) -> int:
    value = 0
    for shift in range(0, 70, 7):
        (byte,) = file.read(1) or b"\0"
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise ValueError("a number of more than ten bytes")


def _varint_bytes(value: int) -> bytes:
    groups = []
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def _inside_reader(path: Path, other: External) -> External:
    """Return a reader of weights that are in the file of their model; `other` reads those next to it."""

    def read(tensor: Any, size: int) -> bytes:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if entries.get("location") != _INSIDE:
            return other(tensor, size)
        if entries["length"] != str(size):
            message = f"the contents of the tensor `{tensor.name}` do not fit its shape and type"
            raise ModelError(Diagnostic(message, expected=f"{size} bytes", found=f"{entries['length']} bytes"))
        return _read(path, int(entries["offset"]), size, tensor)

    return read


def load_model(model: Any, weights_apart: bool = False) -> tuple[Any, External | None]:
    """Return the ModelProto of a path, of bytes or of itself, and a reader of its external data (for a path only).

    With `weights_apart`, large weights of a large file stay there, and are external data of their own. Raises
    `ModelError` if it is not a model, and `FileAccessError` for a path that cannot be read.
    """
    package = onnx()
    if isinstance(model, package.ModelProto):
        return _check(model, "the model"), None
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _parse_text(package, bytes(model), "these bytes"), None
    if isinstance(model, (str, PathLike)):
        path = checked_path(model)
        try:
            size = path.stat().st_size
            limits.check("model_bytes", size, f"the model {path.name}")
            head = _head(path, size) if weights_apart and size >= LARGE_FILE else None
            data = path.read_bytes() if head is None else b""
        except OSError as error:
            raise FileAccessError(Diagnostic(f"{path} cannot be read: {error.strerror}")) from error
        if head is not None:
            return _parse_text(package, head, path.name), _inside_reader(path, external_reader(path.parent))
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


METADATA_ATTR = "onnx"  # the attribute of a module that holds the metadata of its model
CONFIG = {"use_nt_batch_matmul": True, "composites": True}


@checked
def from_onnx(
    model: Any,
    shape: Mapping[str, Any] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Mapping[str, Any] | None = None,
    export_node_renamed_model_path: str | os.PathLike[str] | None = None,
    values: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, Array]]:
    """Return an ONNX model as a typed module with one function `main`, and its parameters by name.

    `model` is a path, bytes, or an `onnx.ModelProto`. The parameters of `main` are the inputs of the model in their
    order, then, with `freeze_params=False`, the weights that it uses, whose values are the second result; otherwise
    weights are constants of the program. Names come from the model, converted to identifiers
    (`passlab.frontend.identifiers`). Several outputs form a tuple.

    `shape` gives the shapes of inputs by name, as `{"x": (1, 3, 224, 224)}`, or sizes that the model names, as
    `{"batch": 1}`; an unknown dimension is `?`. An input that is a sequence needs a list of shapes, and becomes one
    parameter for each. `values` fixes inputs, as `{"sr": 16000}`: they become constants, and
    branches that depend on them are decided. `dtype` gives dtypes by name of input, or one for all inputs whose type
    the model leaves open. `opset` overrides the version of
    ONNX's operators that the model states. `convert_config={"use_nt_batch_matmul": False}` keeps the second operand of
    matrix products instead of transposing it, `{"composites": False}` writes nodes out that are otherwise composite
    functions. Unnamed nodes get names; a model with those names is written to the file
    `export_node_renamed_model_path`, into a folder as `tvm_exported_model.onnx`.
    The source of each Relay node is its ONNX node. The module's attribute `onnx`
    holds the model's metadata (documentation, version), and its source the names of inputs, outputs and sizes, for
    `to_onnx`.

    Raises `ModelError` if `model` is not a model, for unsupported operators (all of them at once) and for wrong shapes.
    Raises `FileAccessError` for a path that cannot be read, `MissingPackageError` without the package `onnx`, and
    `LimitError` for a model that is too large.

    >>> model = frontend.to_onnx(passlab.parse("def @main(%x: Tensor[(1, 4), float32]) { nn.relu(%x) }"))
    >>> mod, params = frontend.from_onnx(model)
    >>> print(mod["main"].body.op, params)
    nn.relu {}
    """
    proto, external = load_model(model, weights_apart=True)
    config = _options(convert_config)
    opsets = opsets_of(proto, opset)
    functions = {(plain_domain(f.domain), f.name): f for f in getattr(proto, "functions", ())}
    check_support(proto.graph, opsets, functions)
    if export_node_renamed_model_path is not None:
        _export_renamed(proto, checked_path(export_node_renamed_model_path))

    def import_parts(symbols: dict[str, SizeVar] | None) -> tuple[IRModule, dict[str, Array]]:
        translator = Translator(functions, external)
        translator.builder.config.update(config)
        translator.stated_ranks = _stated_ranks(proto.graph)
        scope, identifiers = GraphScope(), Identifiers()
        inputs = _inputs(proto.graph, shape or {}, dtype, values or {}, scope, identifiers, symbols)
        for variable in inputs:
            translator.builder.add_input(variable)
        weights = {} if freeze_params else _weights(proto.graph, translator, scope, identifiers, external)
        outputs = translator.graph(proto.graph, scope, GraphContext(opsets, {}, 0, ""))
        for output, value in zip(outputs, proto.graph.output, strict=True):
            if is_packed(output):
                hint = "give the model a tensor as output, made by ConcatFromSequence; or fix sizes with `shape={...}`"
                message = f"the output `{value.name}` is a sequence of a length that is known only at run time"
                raise ModelError(Diagnostic(message, hint=hint))
        mod, params = module_of(outputs, inputs, weights)
        mod.source = ModelSource(proto.graph, identifiers.by_name)
        metadata = _metadata(proto)
        return (mod.with_attr(METADATA_ATTR, metadata) if metadata else mod), params

    with building():
        try:
            return import_parts({})
        except DiagnosticError:
            # Symbols show which unknown sizes are equal. A model may rely on the equality of two with different names.
            return import_parts(None)


def _stated_ranks(root: Any) -> dict[str, int]:
    """Return the ranks that a graph and the graphs inside it state for their tensors, by name."""
    ranks: dict[str, int] = {}
    stack = [root]
    while stack:
        graph = stack.pop()
        stack += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
        for value in (*graph.value_info, *graph.output):
            if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
                ranks.setdefault(value.name, len(value.type.tensor_type.shape.dim))
    return ranks


def _metadata(proto: Any) -> dict[str, str]:
    """Return the metadata of a model: its properties, its documentation, its domain and its version."""
    metadata = {f"metadata.{entry.key}": entry.value for entry in proto.metadata_props}
    fields = {"doc_string": proto.doc_string, "domain": proto.domain, "model_version": str(proto.model_version or "")}
    return {**metadata, **{key: value for key, value in fields.items() if value}}


def _options(config: Mapping[str, Any] | None) -> dict[str, Any]:
    for name in config or {}:
        if name not in CONFIG:
            hint = did_you_mean(name, CONFIG) or f"there is {', '.join(CONFIG)}"
            raise ModelError(Diagnostic(f"`convert_config` has no option `{name}`", hint=hint))
    return {**CONFIG, **(config or {})}


def opsets_of(proto: Any, opset: int | None = None) -> dict[str, int]:
    """Return the version of each operator domain; a model too old to name any uses the first."""
    result = {plain_domain(entry.domain): entry.version for entry in proto.opset_import}
    result.setdefault("", onnx().defs.onnx_opset_version() if result else 1)
    newest = onnx().defs.onnx_opset_version()
    if opset is not None and not isinstance(opset, int):
        raise ModelError(Diagnostic("an opset version is a whole number", found=type(opset).__name__))
    if opset is not None:
        result[""] = opset
    elif result[""] > newest:
        hint = f"install a newer onnx; or read it as what is known, with `from_onnx(model, opset={newest})`"
        message = "the model uses operators of an opset that the installed package `onnx` does not know"
        raise ModelError(Diagnostic(message, None, f"up to {newest}", str(result[""]), hint=hint))
    if result[""] < 1:
        raise ModelError(Diagnostic("an opset version is a whole number from 1 on", found=str(result[""])))
    return result


def graph_inputs(graph: Any) -> list[Any]:
    """Return the inputs of a graph. Models of IR version 3 and earlier list their weights among them as well."""
    weights = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


def _inputs(
    graph: Any,
    shape: Any,
    dtype: Any,
    values: Any,
    scope: GraphScope,
    identifiers: Identifiers,
    symbols: dict[str, SizeVar] | None,
) -> list[Var]:
    """Create variables for the inputs of the graph that are not weights, and constants for those with a value."""
    if not isinstance(shape, Mapping):
        hint = 'say it of each input: {"x": (1, 3, 224, 224)}'
        raise ModelError(Diagnostic("`shape` gives shapes by name of input", found=type(shape).__name__, hint=hint))
    if not isinstance(values, Mapping):
        hint = 'say it of an input: {"sr": 16000}'
        raise ModelError(Diagnostic("`values` gives values by name of input", found=type(values).__name__, hint=hint))
    if not isinstance(dtype, Mapping):
        dtype_name(dtype)  # raises an error for an unknown dtype
    inputs = graph_inputs(graph)
    names = {value.name for value in inputs}
    for name in (*values, *(dtype if isinstance(dtype, Mapping) else ())):
        if name not in names:
            refuse_input(name, sorted(names))
    sizes, shapes = sizes_and_shapes(inputs, shape)
    variables = []
    for value in inputs:
        if value.name in scope:
            raise ModelError(Diagnostic(f"the model has two inputs `{value.name}`"))
        if value.type.WhichOneof("value") == "sequence_type" and value.name in shapes:
            items = [Var(identifiers.of(f"{value.name}_{at}"), ty) for at, ty in enumerate(_item_types(value, shapes))]
            variables += items
            scope[value.name] = infer_expr(Tuple([infer_expr(item) for item in items]))
            continue
        ty = input_type(value, shapes.get(value.name), dtype, symbols, sizes)
        if value.name in values:
            scope[value.name] = infer_expr(Constant(given_value(value, values[value.name], ty)))
            continue
        variable = Var(identifiers.of(value.name), ty)
        scope[value.name] = variable
        variables.append(variable)
    return variables


def _item_types(value: Any, shapes: Mapping[str, Any]) -> list[TensorType]:
    """Return the types of the tensors of an input that is a sequence, one for each shape that the caller gives."""
    given, dtype = shapes[value.name], dtype_of(value.type.sequence_type.elem_type.tensor_type.elem_type)
    if not isinstance(given, (list, tuple)) or not all(isinstance(shape, (list, tuple)) for shape in given):
        hint = f'a list of shapes: {{"{value.name}": [(2, 3), (4, 3)]}}'
        raise ModelError(Diagnostic(f"the input `{value.name}` is a sequence", None, hint, repr(given)))
    return [TensorType(_given_shape(value.name, shape), dtype) for shape in given]


def _weights(
    graph: Any, translator: Translator, scope: GraphScope, identifiers: Identifiers, external: Any
) -> dict[Expr, Array]:
    """Create variables for the weights of the graph; return their values."""
    for tensor in graph.initializer:
        array = array_of(tensor, external)
        variable = Var(identifiers.of(tensor.name), TensorType(array.shape, array.dtype.name))
        scope[tensor.name] = translator.builder.finish(variable)
        translator.builder.weights[variable] = array
    return translator.builder.weights


def _export_renamed(proto: Any, path: Path) -> None:
    """Write the model with a name for every node to a file, or into a folder."""
    if path.is_dir():
        path /= "tvm_exported_model.onnx"
    renamed = type(proto)()
    renamed.CopyFrom(proto)
    for node, name in zip(renamed.graph.node, node_names(renamed.graph.node), strict=True):
        node.name = name
    write_bytes(path, renamed.SerializeToString())
