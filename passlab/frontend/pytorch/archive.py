"""The files of `torch.export.save`, checked before torch reads them: nothing in them is run.

A `.pt2` file is an archive: the graph in JSON, weights as raw bytes. But torch unpickles some of its members (sample
inputs, weights that are not plain tensors, objects of classes). It also evaluates the text of symbolic sizes, imports
modules that the structure of the arguments names, and calls any function that a node names. `safe_archive` copies what
a program needs, and refuses the rest by name:

    models/model.json                     copied; texts that torch evaluates, imports or calls are checked one by one
    data/weights, data/constants          copied where the configuration says that they are raw bytes
    data/sample_inputs, code of guards    left out: no program needs them
    *.pt of torch 2.7 and older           kept for `torch.load(weights_only=True)`, which the caller tries first
"""

from __future__ import annotations

import ast
import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from passlab import limits
from passlab.errors import Diagnostic, FileAccessError, ModelError, PasslabError

_MODEL, _OLD_MODEL = "models/model.json", "serialized_exported_program.json"
_OLD_PICKLES = ("serialized_state_dict.pt", "serialized_constants.pt")
_OLD_INPUTS = "serialized_example_inputs.pt"
_PLAIN = ("archive_format", "archive_version", "byteorder", ".data/version")
_CONFIGS = {  # folder -> its configuration
    "data/weights/": "data/weights/model_weights_config.json",
    "data/constants/": "data/constants/model_constants_config.json",
}
_OBJECTS = {"custom_obj_": "an object of a TorchScript class", "opaque_obj_": "an object of a Python class"}
_METADATA = ("stack_trace", "nn_module_stack")  # of a node; torch looks up functions that the others name

# A node calls an operator of PyTorch or a function on sizes. torch would call anything that it can reach by name.
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims|prim|quantized|quantized_decomposed|torchvision)\.\w+(\.\w+)?"
    r"|torch\.ops\.higher_order\.(wrap_with_set_grad_enabled|wrap_with_autocast|cond|while_loop|map_impl|scan)"
    r"|_?operator\.(?!attrgetter|itemgetter|methodcaller|call)[a-z]+|math\.[a-z]\w*|torch\.sym_\w+|torch\._sym_\w+",
    re.ASCII,
)
_FILES = re.compile(r"\.from_file(\.|\Z)")  # the operator that opens, and may create, a file

# What stands in the text of a symbolic size, which torch evaluates as Python.
_SIZE_NODES = (
    ast.Expression, ast.Call, ast.keyword, ast.Name, ast.Load, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare,
    ast.BoolOp, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
)  # fmt: skip
_SIZE_NAME = re.compile(r"[a-zA-Z]{1,3}\d+|oo|int_oo|True|False", re.ASCII)
_SIZE_FUNCTION = re.compile(
    r"Symbol|Integer|Float|Rational|Add|Mul|Pow|Max|Min|Abs|Mod|And|Or|Not|Eq|Ne|Lt|Le|Gt|Ge|Equality|Unequality"
    r"|(Strict)?(Less|Greater)Than|floor|ceiling|sqrt|Piecewise|ExprCondPair|FloorDiv|ModularIndexing|Where|PythonMod"
    r"|CleanDiv|CeilDiv|(Ceil|Floor|Trunc|Round)ToInt|TruncToFloat|RoundDecimal|ToFloat|Identity|[LR]Shift"
    r"|PowByNatural|FloatPow|(Float|Int)TrueDiv|IsNonOverlappingAndDenseIndicator"
)
_POWERS = re.compile(r"Pow|PowByNatural|FloatPow|LShift")
_LONGEST_SIZE, _LARGEST_EXPONENT, _MOST_POWERS = 2_000, 64, 3

_SAVE = "torch.export.save(torch.export.export(model.eval(), args), path)"
_TRUSTED = "where the file is trusted, load it by torch.export.load, and give from_pytorch the program"


@dataclass
class SafeArchive:
    """A copy of an archive without what torch would run; `pickles` are the members that `torch.load` still reads."""

    data: bytes
    pickles: dict[str, bytes] = field(default_factory=dict)


def safe_archive(path: Path) -> SafeArchive:
    """Return the archive at `path` without anything that torch would run.

    Raises `ModelError` for other files and for members that would be run, `FileAccessError` for a path that cannot be
    read, and `LimitError` for an archive that is too large once unpacked.
    """
    try:
        limits.check("model_bytes", path.stat().st_size, f"the model {path.name}")
        with zipfile.ZipFile(path) as archive:
            return _Copy(path.name, archive).run()
    except PasslabError:
        raise
    except OSError as error:
        raise FileAccessError(Diagnostic(f"{path} cannot be read: {error.strerror or error}")) from error
    # A name may be no text, and a value of JSON another one than it should be.
    except (
        zipfile.BadZipFile,
        EOFError,
        RuntimeError,
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        zlib.error,
    ) as error:
        raise _no_program(path.name, str(error)) from error


def _no_program(name: str, why: str) -> ModelError:
    hint = f"such a file is written by {_SAVE}; an older scripted model is read through ONNX: torch.onnx.export(...)"
    return ModelError(Diagnostic(f"{name} is not an exported program", found=why[:400], hint=hint))


class _Copy:
    """One archive while it is copied."""

    def __init__(self, name: str, archive: zipfile.ZipFile) -> None:
        self.name, self.archive = name, archive
        infos = archive.infolist()
        limits.check("model_bytes", sum(info.file_size for info in infos), f"the unpacked model {name}")
        self.root = "" if any(info.filename == _OLD_MODEL for info in infos) else self._common_root(infos)
        self.members = {info.filename.removeprefix(self.root): info for info in infos}
        if len(self.members) != len(infos):
            self.refuse("has two members of one name")
        self.kept: dict[str, bytes] = {}
        self.pickles: dict[str, bytes] = {}

    def _common_root(self, infos: list[zipfile.ZipInfo]) -> str:
        root = infos[0].filename.partition("/")[0] + "/" if infos else ""
        return root if all(info.filename.startswith(root) for info in infos) else ""

    def refuse(self, what: str, found: str | None = None, hint: str = _TRUSTED) -> NoReturn:
        raise ModelError(Diagnostic(f"{self.name} {what}", found=found and found[:200], hint=hint))

    def run(self) -> SafeArchive:
        """Copy the members of the program; return the copy."""
        old = _OLD_MODEL in self.members
        model = _OLD_MODEL if old else _MODEL
        if model not in self.members:
            raise _no_program(self.name, f"it has no member `{_MODEL}`")
        self.kept[model] = json.dumps(self._program(self._json(model))).encode()
        for name in ("version",) if old else _PLAIN:
            if name in self.members:
                self.kept[name] = self._read(name)
        if old:
            self.kept[_OLD_INPUTS] = b""
            self._keep_pickles(_OLD_PICKLES)
        else:
            self.kept["data/sample_inputs/model.pt"] = b""
            for folder, config in _CONFIGS.items():
                if config in self.members:
                    self._payloads(folder, config)
                else:
                    self._keep_pickles((f"{folder}model.pt",))
        return SafeArchive(self._zip(), self.pickles)

    def _keep_pickles(self, names: tuple[str, ...]) -> None:
        for name in names:
            if name in self.members:
                self.kept[name] = self.pickles[name] = self._read(name)

    def _zip(self) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as copy:
            for name, data in self.kept.items():
                copy.writestr(self.root + name, data)
        return file.getvalue()

    def _read(self, name: str) -> bytes:
        return self.archive.read(self.members[name])

    def _json(self, name: str) -> Any:
        try:
            return json.loads(self._read(name))
        except (ValueError, RecursionError) as error:
            raise _no_program(self.name, f"`{name}` is not JSON: {error}") from error

    def _payloads(self, folder: str, config: str) -> None:
        """Keep the tensors that a configuration names, whose bytes are their elements."""
        data = self._json(config)
        entries = data.get("config") if isinstance(data, dict) else None
        if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
            raise _no_program(self.name, f"`{config}` has no `config`")
        elements = 0
        for weight, entry in entries.items():
            member = str(entry.get("path_name"))
            for prefix, what in _OBJECTS.items():
                if member.startswith(prefix):
                    self.refuse(f"holds {what} (`{member}`), which torch would unpickle", weight)
            if entry.get("use_pickle") is not False:
                self.refuse(f"stores `{weight}` as a pickle (`use_pickle`), which can run code", member)
            if folder + member not in self.members:
                self.refuse(f"lacks the bytes of `{weight}`", member, f"write it again: {_SAVE}")
            elements += self._elements(weight, entry.get("tensor_meta"))
            self.kept[folder + member] = self._read(folder + member)
        limits.check("tensor_bytes", elements, f"the elements of {folder} of {self.name}")
        self.kept[config] = json.dumps(data).encode()

    def _elements(self, weight: str, meta: Any) -> int:
        sizes = meta.get("sizes") if isinstance(meta, dict) else None
        listed = sizes if isinstance(sizes, list) else [None]
        dims: list[Any] = [size.get("as_int") if isinstance(size, dict) else None for size in listed]
        if not all(isinstance(dim, int) and dim >= 0 for dim in dims):
            self.refuse(f"does not give the shape of `{weight}`", str(sizes), f"write it again: {_SAVE}")
        return math.prod(dims)

    # ------------------------------------------------------------ the graph
    def _program(self, program: Any) -> Any:
        """Return the JSON of the graph without code; raise `ModelError` for a text that torch would run."""
        if not isinstance(program, dict) or not isinstance(program.get("graph_module"), dict):
            raise _no_program(self.name, f"`{_MODEL}` has no `graph_module`")
        if "guards_code" in program:
            program["guards_code"] = []  # checks of the inputs as Python, which torch compiles
        program["graph_module"]["metadata"] = {}
        nodes = 0
        for item in _objects(program):
            if "target" in item and "inputs" in item:
                nodes += 1
                self._operator(item["target"])
                metadata = item.get("metadata")
                item["metadata"] = (
                    {key: metadata[key] for key in _METADATA if isinstance(metadata.get(key), str)}
                    if isinstance(metadata, dict)
                    else {}
                )
            if "expr_str" in item:
                self._size(item["expr_str"])
            for spec in ("in_spec", "out_spec"):
                if spec in item:
                    self._structure(item[spec])
        limits.check("model_nodes", nodes, f"the program {self.name}")
        return program

    def _operator(self, target: Any) -> None:
        if not isinstance(target, str) or not _OPERATOR.fullmatch(target) or _FILES.search(target):
            self.refuse("calls what is not an operator of PyTorch on tensors", repr(target))

    def _size(self, text: Any) -> None:
        why = _size_fault(text)
        if why is not None:
            self.refuse(f"has a symbolic size that {why}", repr(text))

    def _structure(self, text: Any) -> None:
        """Check the structure of arguments: torch imports the modules of enumerations and default factories."""
        try:
            spec = json.loads(text)
            for item in _objects([spec]):
                kind, context = item.get("type"), item.get("context")
                content = json.loads(context) if isinstance(context, str) and context[:1] in "[{" else context
                named = [context, *_objects([content])] if isinstance(content, dict | list) else [context]
                if kind == "collections.defaultdict" or any(isinstance(o, dict) and "__enum__" in o for o in named):
                    self.refuse("has arguments whose structure names a module to import", str(item))
        except ModelError:
            raise
        except (ValueError, TypeError, RecursionError) as error:
            self.refuse("has arguments of an unknown structure", f"{text!r:.80}: {error}", f"write it again: {_SAVE}")


def _objects(root: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON, outer ones first; what is removed from one before the next is not visited."""
    stack = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            yield item
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)


def _size_fault(text: Any) -> str | None:
    """Return why the text of a symbolic size is not arithmetic on sizes, or None if it is."""
    if not isinstance(text, str) or len(text) > _LONGEST_SIZE:
        return "is not a short text"
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "is not an expression"
    names_of_symbols: set[ast.expr] = set()
    powers = 0
    for node in nodes:  # outer nodes first
        if not isinstance(node, _SIZE_NODES):
            return f"is more than arithmetic ({type(node).__name__})"
        if isinstance(node, ast.Call):
            function = node.func.id if isinstance(node.func, ast.Name) else ""
            if not _SIZE_FUNCTION.fullmatch(function):
                return "calls an unknown function"
            names_of_symbols |= {node.func, *(node.args[:1] if function in ("Symbol", "Float") else ())}
            powers += bool(_POWERS.fullmatch(function)) and _is_power(node.args[1] if len(node.args) > 1 else None)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
            powers += _is_power(node.right)
        fault = _leaf_fault(node, names_of_symbols)
        if fault is not None:
            return fault
    return "has too large powers" if powers > _MOST_POWERS else None


def _is_power(exponent: ast.expr | None) -> int:
    if isinstance(exponent, ast.Call) and len(exponent.args) == 1:  # Integer(2)
        exponent = exponent.args[0]
    if isinstance(exponent, ast.UnaryOp):
        exponent = exponent.operand
    value = exponent.value if isinstance(exponent, ast.Constant) else None
    return 1 if isinstance(value, int | float) and value <= _LARGEST_EXPONENT else _MOST_POWERS + 1


def _leaf_fault(node: ast.AST, names_of_symbols: set[ast.expr]) -> str | None:
    if isinstance(node, ast.Name) and node not in names_of_symbols and not _SIZE_NAME.fullmatch(node.id):
        return f"names `{node.id}`"
    if isinstance(node, ast.Constant):
        value = node.value
        if isinstance(value, str):
            is_name = node in names_of_symbols and re.fullmatch(r"\w{1,40}|-?[\d.e+-]{1,40}", value, re.ASCII)
            return None if is_name else "has a text inside"
        if not isinstance(value, (bool, int, float)):
            return "is more than numbers"
        return "has too large a number" if isinstance(value, int) and abs(value) >= 2**128 else None
    return None


def readable(load: Callable[[bytes], Any], archive: SafeArchive, name: str) -> None:
    """Raise `ModelError` if a member that torch would unpickle is more than tensors.

    `load` is `torch.load` with `weights_only=True`, which raises otherwise.
    """
    for member, data in archive.pickles.items():
        try:
            load(data)
        except Exception as error:  # of torch's reader, whatever it is
            finding = Diagnostic(
                f"{name} stores more than tensors in `{member}`, which can run code",
                found=str(error)[:200],
                hint=_TRUSTED,
            )
            raise ModelError(finding) from error
