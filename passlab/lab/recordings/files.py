"""Recordings as files: Relay text for each module, one metadata section for all, and JSON for the rest.

    recording.json      the events, and which module stands before and after each
    metadata.json       constants and other objects that the texts refer to, each once
    arrays.bin          the large arrays among them, as they are in memory, which a reader maps and does not copy
    modules/0000.relay  the programs, each once; as JSON where a text would bind other variables, or none (`_file_text`)

Nothing in the files is executed, and no file names another. A recording that is saved over another has parts
`modules-2`, `metadata-2.json`, `arrays-2.bin`, and their number in its index. Each save of a folder takes a new number,
so a reader never mixes two recordings.

Modules are typed again where they were typed, and share the nodes that they shared; passes are parsed from their text
when they run again. Rewrites are stored as indices of nodes in the programs before and after. A node that is in
neither, because its pass replaced it again, has a number. Where it is in the program of another event, such as of a
pass inside, `found` says in which; else it is read as a call of its operator, or as a variable called `LOST`.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Any, Literal
from zipfile import BadZipFile, ZipFile

import numpy as np

from passlab import limits
from passlab.analysis.well_formed import well_formed
from passlab.atomic_file import (
    atomic_file,
    checked_path,
    held_folder,
    made_folder,
    make_folder,
    remove_file,
    unfinished_in,
    write_text,
    writing_error,
)
from passlab.diffing.diff import node_name
from passlab.errors import Diagnostic, FileAccessError, PassError, PasslabError, type_in_words
from passlab.infer import infer_module
from passlab.instrument.events import ContextOptions, Event, Rewrites, contract_of
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.span import Source
from passlab.lab.recordings.event_rows import RecordedError
from passlab.lab.recordings.origins import NodeNumbers, lost_node, origin_data, read_provenance
from passlab.lab.recordings.recording import RecordedPass, Recording
from passlab.lab.recordings.rewrites import is_rewrite
from passlab.lab.recordings.shared_nodes import (
    Sharing,
    file_name,
    found_nodes,
    has_type_args,
    joined_runs,
    nodes_in_order,
    repeated_in,
    scalars_of,
    shared_functions,
    shared_pairs,
    valid_index,
    with_joined,
    with_repeated,
    with_shared_nodes,
    with_type_args,
    with_type_params,
)
from passlab.text.literals import name_text
from passlab.text.meta_writer import MODULE_ATTRS, MetaWriter
from passlab.text.metadata import MetaTable
from passlab.text.parser import parse
from passlab.text.printer import HEADER, text_with
from passlab.text.program_json import load_json, save_json
from passlab.text.tensor_bytes import decode_tensor, encode_tensor, record_parts, tensor_of_record
from passlab.transform.numeric_contract import NumericContract

FORMAT, VERSION, READABLE = "passlab recording", 2, (1, 2)  # version 1 holds all arrays in its metadata
_INDEX, _META, _ARRAYS, _MODULES = "recording.json", "metadata.json", "arrays.bin", "modules"
_LARGE = 4096  # bytes from which an array is stored in the file of arrays
_TRIES = 3  # to read what others save again meanwhile, until they are asked to wait
_ALIGNMENT = 64  # bytes: mapped arrays begin at cache lines
_PART = re.compile(r"(?:modules|metadata|arrays)(?:-(\d{1,9}))?(?:\.json|\.bin)?")
_SECTION = "#[metadata]\n"
_TYPE = re.compile(r'^((?:extern )?type )("(?:[^"\\]|\\.)*"|[^\s\[{]+)', re.MULTILINE)


# ---------------------------------------------------------------- writing
def save(recording: Recording, directory: str | os.PathLike[str]) -> None:
    """Write a recording. Raises `PassError` for a directory with other files, and
    `FileAccessError`, after which the folder holds the recording that it held before.
    """
    target = checked_path(directory)
    try:
        _save(recording, target)
    except PasslabError:
        raise
    except OSError as error:  # of a name that is too long, or of a folder that may not be listed
        raise writing_error(target, error) from error


def _save(recording: Recording, target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise PassError(Diagnostic(f"{target} is a file", hint="name a directory"))
    modules: dict[int, tuple[int, IRModule]] = {}
    events: list[dict[str, Any]] = []
    numbers: dict[int, int] = {}
    lost: dict[Expr, int] = {}
    for event in [event for run in recording.runs for event in run.walk()] or recording.steps[:1]:
        numbers[id(event)] = len(events)
        events.append({**_event_data(event, numbers, modules), **_rewrite_data(event, lost)})
    with held_folder(make_folder(target)) as is_held:
        if any(target.iterdir()) and not (target / _INDEX).is_file() and not _is_unfinished(target):
            message = f"{target} holds other files"
            raise PassError(Diagnostic(message, hint="name a new directory, or one of a recording"))
        names = _claimed_names(target)
        try:
            _write_parts(recording, names, modules, events, numbers, lost)
        except BaseException:
            _remove(names)
            raise
        for older in _generations(target):
            if older.generation < names.generation:
                _remove(older)
        for path in _unfinished_parts(target) if is_held else ():  # of saves that were killed
            shutil.rmtree(path, ignore_errors=True)


def _write_parts(
    recording: Recording,
    names: _Names,
    modules: dict[int, tuple[int, IRModule]],
    events: list[dict[str, Any]],
    numbers: dict[int, int],
    lost: dict[Expr, int],
) -> None:
    """Write the parts of a recording under names that no recording uses, and the index that names them last."""
    arrays = _ArrayWriter(names.arrays)
    meta = MetaWriter(arrays.encode)
    typed, applied, attrs, shared, orders, repeated, joined, types = [], {}, {}, {}, {}, {}, {}, {}
    sharing = Sharing()
    defined: dict[int, int] = {}  # the program that has a data type first, by the identity of the definition
    for number, mod in modules.values():
        write_text(names.modules / file_name(number), _file_text(meta, mod))
        if (order := [name for name, _ in mod.items()]) != sorted(order):
            orders[str(number)] = order
        if again := joined_runs(mod):
            joined[str(number)] = again
        if again := repeated_in(scalars_of(mod)):
            repeated[str(number)] = again
        if mod.type_definitions:
            first = {
                data.header.name_hint: defined.setdefault(id(data), number) for data in mod.type_definitions.values()
            }
            types[str(number)] = {name: older for name, older in first.items() if older != number}
        if mod.attrs:
            meta.reference(MODULE_ATTRS, mod.attrs)
            attrs[str(number)] = meta.objects[MODULE_ATTRS].index(mod.attrs)
        typed.append(all(f.checked_type_ is not None for f in mod.functions.values()))
        shared[str(number)] = sharing.of_next(mod)
        nodes = sharing.programs[-1]
        if not typed[-1] and (at := [str(at) for at, node in enumerate(nodes) if has_type_args(node)]):
            applied[str(number)] = " ".join(at)
    with arrays:
        write_text(names.meta, meta.section().removeprefix(_SECTION))
    start = modules[id(recording.input)][0] if id(recording.input) in modules else -1
    head = {"format": FORMAT, "version": VERSION, "name": recording.name, "input": start, "typed": typed}
    if applied:
        head["type_args"] = applied
    if attrs:
        head["attrs"] = attrs
    head |= {
        key: value
        for key, value in (("orders", orders), ("repeated", repeated), ("joined", joined), ("types", types))
        if value
    }
    if len(shared) > 1:
        head["shared"] = shared
    if found := {str(number): sharing.places[id(node)] for node, number in lost.items() if id(node) in sharing.places}:
        head["found"] = found
    if recording.runs:
        head["provenance"] = origin_data(recording.provenance, numbers, NodeNumbers(sharing.programs, lost))
        head["lost"] = [node_name(node) for node in lost]
    if names.generation > 1:
        head["generation"] = names.generation
    # The index comes last: until then the folder holds the older recording, or none.
    write_text(names.index, json.dumps({**head, "events": events}, indent=1, default=repr))


def pickled(recording: Recording) -> tuple[Callable[[bytes], Recording], tuple[bytes]]:
    """Return how `pickle` makes a recording again: from the files of `save`, in an archive."""
    with TemporaryDirectory(prefix="passlab-") as folder:
        save(recording, folder)
        archive = io.BytesIO()
        with ZipFile(archive, "w") as file:
            for path in sorted(Path(folder).rglob("*")):
                file.write(path, path.relative_to(folder))
    return unpickled, (archive.getvalue(),)


def unpickled(archive: bytes) -> Recording:
    """Return the recording of a pickle. Raises what `load` raises, and `PassError` for other bytes."""
    with TemporaryDirectory(prefix="passlab-", ignore_cleanup_errors=True) as folder:  # mapped files stay on Windows
        try:
            with ZipFile(io.BytesIO(archive)) as file:
                file.extractall(folder)
        except BadZipFile as error:
            raise PassError(Diagnostic(f"this is not a recording: {error}")) from None
        return load(folder)


class _Names:
    """The paths of a recording. One that is saved over another has a higher generation, in the names of its parts."""

    def __init__(self, target: Path, generation: int = 1) -> None:
        suffix = "" if generation == 1 else f"-{generation}"
        self.generation = generation
        self.index = target / _INDEX
        self.modules = target / f"{_MODULES}{suffix}"
        self.meta, self.arrays = (target / f"{path.stem}{suffix}{path.suffix}" for path in (Path(_META), Path(_ARRAYS)))


def _generations(target: Path) -> list[_Names]:
    """Return the generations of which a folder has parts; more than one only after a save that was killed."""
    found = set()
    for path in target.iterdir():
        if match := _PART.fullmatch(path.name):
            found.add(int(match[1] or 1))
    return [_Names(target, generation) for generation in sorted(found)]


def _programs(names: _Names) -> list[Path]:
    return [path for path in names.modules.iterdir() if re.fullmatch(r"\d{4,}\.relay", path.name)]


def _unfinished_parts(target: Path) -> list[Path]:
    """Return the folders in which parts of a recording are written, or were when their writer was killed."""
    parts = unfinished_in(target)
    return [p for p in parts if all(file.name == _INDEX or _PART.fullmatch(file.name) for file in p.iterdir())]


def _is_unfinished(target: Path) -> bool:
    """Whether a folder holds nothing but what a first save left that was killed."""
    own = {path.name for path in _unfinished_parts(target)}
    for names in _generations(target):
        if names.modules.is_dir():
            if {*_programs(names), *unfinished_in(names.modules)} != {*names.modules.iterdir()}:
                return False
            own |= {names.modules.name, names.meta.name, names.arrays.name}
    return {path.name for path in target.iterdir()} <= own


def _claimed_names(target: Path) -> _Names:
    """Make the folder of a generation above all that were there, and return its names. Raises `FileAccessError`."""
    # A file system without locks lets two writers in at once: each takes a number of its own.
    numbers = itertools.count(_last_generation(target) + 1)
    return next(names for names in (_Names(target, number) for number in numbers) if made_folder(names.modules))


def _last_generation(target: Path) -> int:
    """Return the highest generation that a folder holds or its index names, 0 without one."""
    there = [names.generation for names in _generations(target)]
    # An index that no reader takes has no number.
    with contextlib.suppress(OSError, PasslabError, ValueError, AttributeError, RecursionError):
        there.append(valid_index(json.loads(_read_text(target / _INDEX)).get("generation", 1)))
    return max(there, default=0)


def _remove(names: _Names) -> None:
    """Remove the parts of a generation, of which only files with the names of a recording."""
    # What cannot be removed, such as a folder with files of others, is tried again by the next save.
    with contextlib.suppress(OSError):
        for path in [*_programs(names), *unfinished_in(names.modules)]:
            shutil.rmtree(path) if path.is_dir() else remove_file(path)
        names.modules.rmdir()
    with contextlib.suppress(OSError):
        remove_file(names.meta)
        remove_file(names.arrays)


def _event_data(event: Event, numbers: dict[int, int], modules: dict[int, tuple[int, IRModule]]) -> dict[str, Any]:
    def module(mod: IRModule) -> int:
        return modules.setdefault(id(mod), (len(modules), mod))[0]  # by identity: each module is written once

    context = event.context
    return {
        "name": event.name,
        "text": event.text,
        "kind": event.kind,
        "role": event.role,
        "opt_level": event.opt_level,
        "status": event.status,
        "reason": event.reason,
        "seconds": event.seconds,
        "peak_bytes": event.peak_bytes,
        "parent": numbers.get(id(event.parent)) if event.parent is not None else None,
        "before": module(event.before),
        "after": module(event.after),
        "log": event.log,
        "diagnostics": [d.render() for d in event.diagnostics],
        "error": None if event.error is None else [type(event.error).__name__, str(event.error)],
        "contract": _contract_data(event),
        "context": {
            "opt_level": context.opt_level,
            "required_pass": list(context.required_pass),
            "disabled_pass": list(context.disabled_pass),
            "config": context.config,
        },
    }


def _contract_data(event: Event) -> Any:
    """The contract of the pass of an event: its fields, null for none, "default" where the user declared none."""
    pass_ = event.pass_
    is_own = pass_ is not None and (pass_.contract is not None or pass_.trusted)
    contract = contract_of(event) if is_own else event.loaded_contract
    return asdict(contract) if isinstance(contract, NumericContract) else contract


def _read_contract(data: Any) -> NumericContract | Literal["default"] | None:
    if data is None or data == "default":
        return None if data is None else "default"
    ulps = float(data["ulps"])
    if not ulps >= 0:
        raise ValueError(f"no contract has {ulps} ulps")
    return NumericContract(ulps, data["finite_only"] is True, data["approximates"] is True)


def _rewrite_data(event: Event, lost: dict[Expr, int]) -> dict[str, Any]:
    """Return the JSON of the rewrites of a pass: the indices of old and new nodes (-1 for lost ones), and the rules.

    The numbers of nodes are stored as well: indices are invalid in a program that is read with another number of nodes.
    Lost nodes are numbered in `lost`, in the order in which they occur: one may occur in several passes.
    """
    if not len(event.rewrites):
        return {}
    records: dict[str, Any] = {}
    for side, (end, mod) in enumerate((("old", event.before), ("new", event.after))):
        nodes = nodes_in_order(mod)
        indices = {id(node): index for index, node in enumerate(nodes)}
        records[end] = " ".join(str(indices.get(id(pair[side]), -1)) for pair in event.rewrites)
        records[f"{end}_nodes"] = len(nodes)
        absent = [pair[side] for pair in event.rewrites if id(pair[side]) not in indices]
        records[f"{end}_lost"] = [[lost.setdefault(node, len(lost)), node_name(node)] for node in absent]
    rules = {at: rule for at, (_, _, rule) in enumerate(event.rewrites.with_rules()) if rule}
    rebuilt = [at for at, noted in enumerate(event.rewrites.with_rules()) if not is_rewrite(*noted)]
    return {"rewrites": {**records, "rules": rules, "rebuilt": " ".join(map(str, rebuilt))}}


class _ArrayWriter:
    """Writes the file of large arrays: one record of TVM's binary NDArray each, aligned to 64 bytes.

    Leaving it as a context completes the file, or removes an older file where no array was written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: IO[bytes] | None = None
        self._contexts = ExitStack()

    def encode(self, array: np.ndarray[Any, Any]) -> Any:
        """Return the JSON of an array: offset and length of its record, or the contents of a small array."""
        if array.nbytes < _LARGE:
            return encode_tensor(array)
        if self.file is None:
            unfinished = self._contexts.enter_context(atomic_file(self.path))
            self.file = self._contexts.enter_context(unfinished.open("wb"))
        start = self.file.tell()
        head, data = record_parts(array)
        size = len(head) + data.nbytes
        padding = -(start + size) % _ALIGNMENT  # bytes up to the next multiple
        for part in (head, data, bytes(padding)):
            self.file.write(part)
        return {"at": start, "bytes": size}

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._contexts.__exit__(kind, error, at)
        if self.file is None and kind is None:
            remove_file(self.path)


# ---------------------------------------------------------------- reading
def load(directory: str | os.PathLike[str]) -> Recording:
    """Read a recording. Raises `FileAccessError`, `PassError` for invalid files, and errors of parsing its programs."""
    target = checked_path(directory)
    try:
        for _ in range(_TRIES):
            index = _read_text(target / _INDEX)
            try:
                return _read(target, index)
            except OSError:
                if index == _read_text(target / _INDEX):
                    raise
                # It was saved again meanwhile, and the parts that this index names are gone.
        with held_folder(target, shared=True):
            return _read(target, _read_text(target / _INDEX))
    except PasslabError:
        raise
    except OSError as error:
        raise FileAccessError(Diagnostic(f"{error.filename or target} cannot be read: {error.strerror}")) from error
    # `json` raises `RecursionError` for deeply nested lists.
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise PassError(Diagnostic(f"{target} is not a recording: {type(error).__name__}: {error}")) from None


def _read(target: Path, text: str) -> Recording:
    """Read the recording of an index."""
    index = json.loads(text)
    if index["format"] != FORMAT or index["version"] not in READABLE:
        raise ValueError(f"its format is {index['format']!r}, version {index['version']!r}")
    names = _Names(target, valid_index(index.get("generation", 1)))
    applied = {int(number): [*map(int, at.split())] for number, at in index.get("type_args", {}).items()}
    attrs = {int(number): valid_index(at) for number, at in index.get("attrs", {}).items()}
    shared = {int(number): value for number, value in index.get("shared", {}).items()}
    orders = {int(number): [*map(str, value)] for number, value in index.get("orders", {}).items()}
    repeated = {int(number): str(value) for number, value in index.get("repeated", {}).items()}
    joined = {int(number): str(value) for number, value in index.get("joined", {}).items()}
    types = {int(number): dict(value) for number, value in index.get("types", {}).items()}
    typed = [bool(flag) for flag in index["typed"]]
    modules = _read_modules(names, typed, applied, attrs, shared, orders, repeated, joined, types)
    events: list[Event] = []
    lost = found_nodes(index.get("found", {}), shared, modules)
    for data in index["events"]:
        events.append(_read_event(data, events, modules, lost))
    kinds = enumerate(map(str, index.get("lost", ())))
    known = {at: lost[at] if at in lost and node_name(lost[at]) == kind else lost_node(kind) for at, kind in kinds}
    start = modules[int(index["input"])] if int(index["input"]) >= 0 else None
    recording = Recording([e for e in events if e.parent is None and e.status != "input"], start, str(index["name"]))
    programs = [nodes_in_order(mod) for mod in modules]
    if "provenance" in index and all(
        len(own) == shared[at]["nodes"] for at, own in enumerate(programs) if at in shared
    ):
        copies = dict(pair for at in shared for pair in shared_pairs(shared[at]["runs"], at, programs))
        recording.provenance = read_provenance(index["provenance"], programs, events, known, copies)
    return recording


def _read_text(path: Path) -> str:
    limits.check("text_bytes", path.stat().st_size, f"the file {path.name}")
    return path.read_text(encoding="utf-8")


def _decoder(path: Path) -> Callable[[Any], np.ndarray[Any, Any]]:
    """Return a function that decodes the JSON of an array; large arrays are views of the memory-mapped file."""
    mapped: list[memoryview] = []

    def decode(value: Any) -> np.ndarray[Any, Any]:
        if isinstance(value, str):
            return decode_tensor(value)
        if not mapped:
            mapped.append(_mapped(path))
        start, length = valid_index(value["at"]), valid_index(value["bytes"])
        if start + length > len(mapped[0]):
            raise ValueError(f"{path.name} is cut off")
        return tensor_of_record(mapped[0][start : start + length])

    return decode


def _mapped(path: Path) -> memoryview:
    """Return the bytes of a file, mapped into memory where the platform does that; a browser's Python reads them."""
    try:
        import mmap

        with path.open("rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (ImportError, OSError):
        return memoryview(path.read_bytes())


def _read_modules(
    names: _Names,
    typed: list[bool],
    applied: dict[int, list[int]],
    attrs: dict[int, int],
    shared: dict[int, dict[str, Any]],
    orders: dict[int, list[str]],
    repeated: dict[int, str],
    joined: dict[int, str],
    kept: dict[int, dict[str, int]],
) -> list[IRModule]:
    """Read all modules; nodes that were shared, and functions equal to those before, are the same objects again."""
    meta = _read_text(names.meta)
    table = MetaTable(Source(_META, meta), 0 if meta else None, None, _decoder(names.arrays))
    modules: list[IRModule] = []
    nodes: dict[int, list[Expr]] = {}
    types: dict[str, IRModule] = {}  # the data types of programs, by their text: for files that do not tell
    for number, is_typed in enumerate(typed):
        older = None if number not in kept else _older_types(modules, kept[number])
        mod = _read_program(_read_text(names.modules / file_name(number)), file_name(number), table, types, older)
        again = repeated.get(number, "")
        if sorted(order := orders.get(number, [])) == sorted(name for name, _ in mod.items()):  # a text sorts its names
            mod = mod.with_functions(dict.fromkeys(order)).with_functions({name: mod[name] for name in order})
        if number in attrs:
            mod = mod.with_attrs(dict(table.module_attrs[attrs[number]].items()))
        mod = with_joined(with_repeated(mod, again, None), joined.get(number, ""))
        if number in shared:
            with_type_params(mod, shared, number, modules, nodes)
        mod = with_type_args(mod, applied.get(number, []))
        # Types are part of the nodes, so a typed module shares none with an untyped one.
        if modules and typed[number - 1] == is_typed:
            same = shared_functions(modules[-1], mod, shared.get(number))
            mod = with_repeated(mod.with_functions(same), again, modules[-1])
        mod = with_joined(infer_module(mod), joined.get(number, "")) if is_typed else mod
        if number in shared:
            mod = with_shared_nodes(mod, shared, number, modules, nodes, is_typed)
        modules.append(with_joined(mod, joined.get(number, "")))
    return modules


def _older_types(modules: list[IRModule], kept: dict[str, int]) -> IRModule:
    """Return a module with the data types that a program shares with earlier ones, whose numbers are given by name."""
    data = {name: modules[valid_index(number)].get_global_type_var(name) for name, number in kept.items()}
    return IRModule({}, {name: modules[kept[name]].type_definitions[var] for name, var in data.items()})


def _file_text(meta: MetaWriter, mod: IRModule) -> str:
    """Return a program as text, or as JSON if it binds a variable twice, or uses one outside its scope."""
    return HEADER + text_with(meta, mod) if well_formed(mod) else save_json(mod)


def _read_program(
    text: str, name: str, table: MetaTable, types: dict[str, IRModule], older: IRModule | None
) -> IRModule:
    if not text.startswith("{"):
        return _parsed(text, name, table, types, older)
    mod = load_json(text)
    if not isinstance(mod, IRModule):
        raise PassError(Diagnostic(f"{name} holds no program", found=type_in_words(mod)))
    return mod


def _parsed(text: str, name: str, table: MetaTable, types: dict[str, IRModule], older: IRModule | None) -> IRModule:
    """Return the program of a text. A type of `older` stands for the type of its name in the text.

    Without `older`, programs whose data types have one text share these, as nodes with types do.
    """
    start = text.find("\ndef @") + 1  # the data types come first
    head = text[:start]
    if "type " not in head:
        return parse(text, source_name=name, init_meta_table=table.objects)
    base = types.get(head) if older is None else older
    if base is None:
        base = types[head] = parse(head, source_name=name)
    names = {name_text(data.header.name_hint) for data in base.type_definitions.values()}
    first, *parts = _TYPE.split(head)  # what precedes the types, then the words, the name and the rest of each
    for words, printed, rest in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        first += "\n" * rest.count("\n") if printed in names else words + printed + rest  # spans keep their lines
    return parse(first + text[start:], source_name=name, init_module=base, init_meta_table=table.objects)


def _read_event(data: dict[str, Any], events: list[Event], modules: list[IRModule], lost: dict[int, Expr]) -> Event:
    context = data["context"]
    options = ContextOptions(
        int(context["opt_level"]),
        tuple(map(str, context["required_pass"])),
        tuple(map(str, context["disabled_pass"])),
        dict(context["config"]),
    )
    event = RecordedPass(
        str(data["name"]),
        modules[valid_index(data["before"])],
        modules[valid_index(data["after"])],
        context=options,
        written=str(data["text"]),
        kind=str(data["kind"]),
        opt_level=int(data["opt_level"]),
        reason=str(data["reason"]),
        seconds=float(data["seconds"]),
        log=[str(line) for line in data["log"]],
        peak_bytes=None if data["peak_bytes"] is None else int(data["peak_bytes"]),
        diagnostics=tuple(Diagnostic(str(text)) for text in data["diagnostics"]),
    )
    if data["status"] not in ("input", "ran", "skipped", "failed", "running"):
        raise ValueError(f"no event is {data['status']!r}")
    if data["role"] not in ("step", "required", "nested"):
        raise ValueError(f"no event has the role {data['role']!r}")
    event.status, event.role = data["status"], data["role"]
    event.loaded_contract = _read_contract(data.get("contract", "default"))
    if data.get("rewrites"):
        event.rewrites = _read_rewrites(data["rewrites"], event, lost)
    if data["error"] is not None:
        kind, text = data["error"]
        event.error = RecordedError(str(kind), str(text))
    if data["parent"] is not None:
        event.parent = events[valid_index(data["parent"])]
        event.parent.children.append(event)
    return event


_Place = tuple[Expr | None, int | None, str]  # a node of a program, or the number and the operator of a lost one


def _read_rewrites(data: dict[str, Any], event: Event, lost: dict[int, Expr]) -> Rewrites:
    """Read the rewrites of a pass; `lost` holds the nodes of no program that were read so far, by their numbers."""

    def is_known(place: _Place) -> bool:
        return place[0] is not None or place[1] in lost

    def node_at(place: _Place, other: Expr | None) -> Expr:
        node, number, operator = place
        if node is None and number in lost:
            return lost[number]
        if node is None:  # a node that was only rebuilt stays one where its other form is lost
            node = lost_node(operator) if other is None else _twin(other)
            if number is not None:
                lost[number] = node
        return node

    ends = [_read_places(data, end, mod) for end, mod in (("old", event.before), ("new", event.after))]
    rewrites, rules = Rewrites(), data["rules"]
    rebuilt = {int(text) for text in data.get("rebuilt", "").split()}
    for number, (old_place, new_place) in enumerate(zip(*ends, strict=True)):
        if is_known(old_place) or not is_known(new_place):
            old = node_at(old_place, None)
            new = node_at(new_place, old if number in rebuilt else None)
        else:
            new = node_at(new_place, None)
            old = node_at(old_place, new if number in rebuilt else None)
        rewrites.note(old, new, str(rules.get(str(number), "")))
    return rewrites


def _read_places(data: dict[str, Any], end: str, mod: IRModule) -> list[_Place]:
    nodes, indices = nodes_in_order(mod), [int(text) for text in data[end].split()]
    if any(not -1 <= index < data[f"{end}_nodes"] for index in indices):
        raise ValueError(f"a rewritten node is not among the {data[f'{end}_nodes']} of its program")
    complete = len(nodes) == data[f"{end}_nodes"]
    absent = iter(data.get(f"{end}_lost", ()))  # not in older files
    places: list[_Place] = []
    for index in indices:
        number, operator = next(absent, (None, "")) if index < 0 else (None, "")
        places.append((nodes[index] if complete and index >= 0 else None, number, str(operator)))
    return places


def _twin(node: Expr) -> Expr:
    """Return another node with the same fields; `copy` of a node is the node."""
    fields: dict[str, Any] = {name: getattr(node, name) for name in (*node.field_names, "span")}
    return type(node)(**fields)
