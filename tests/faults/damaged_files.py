"""Every kind of file that is read, cut off at 101 places and with one byte changed: `nice python -m tests.faults.damaged_files 2000`.

Reading ends in what the file holds or in an error of passlab, and what was read can be looked at. Changed bytes stand at
random places; those of archives are changed before they are packed, too, so that no checksum answers for what is inside.
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import passlab
from passlab import ir, limits, relay, vm
from passlab.dumps import read_text
from passlab.errors import PasslabError
from passlab.executor.factories import read_library
from passlab.executor.param_dict import load_param_dict, save_param_dict
from passlab.frontend import from_onnx
from passlab.infer import infer_module
from passlab.lab import Fork, Trace
from passlab.lab.recordings.recording import Recording, record
from passlab.vm import Executable, KernelLibrary
from passlab.vm.files.constant_files import load_constants, save_constants
from tests.frontend.onnx_text import model

CUTS = 101
SMALL = {
    "elements": 10**6,
    "tensor_bytes": 10**7,
    "live_bytes": 10**8,
    "instructions": 10**5,
    "operations": 10**7,
    "frames": 10**4,
}
NET = """
#[version = "0.0.5"]
type List[A] { Nil, Cons(A, List[A]) }
def @sum(%l: List[float32]) -> float32 { match (%l) { Nil => 0f, Cons(%h, %t) => add(%h, @sum(%t)) } }
def @main(%x: Tensor[(2, 3), float32], %c: bool) {
  let %f = fn (%y: Tensor[(2, 3), float32]) { nn.relu(add(%y, 1.5f)) };
  let %r = if (%c) { %f(%x) } else { exp(%x) };
  (split(%r, indices_or_sections=3, axis=1).1, @sum(Cons(1f, Cons(2f, Nil))))
}
"""
PLAIN = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(add(%x, 1.5f)) }"
X = np.full((2, 3), 0.5, "float32")


@dataclass(frozen=True)
class Format:
    """A kind of file: one as it should be, and what reads it and looks at what was read."""

    whole: Callable[[Path], bytes]
    read: Callable[[bytes, Path], Any]


def _file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _bytes(write: Callable[[Path], Any]) -> Callable[[Path], bytes]:
    def whole(folder: Path) -> bytes:
        write(folder / "whole")
        return (folder / "whole").read_bytes()

    return whole


def _look(mod: Any) -> None:
    """Infer types of what was read, and print it."""
    if isinstance(mod, ir.IRModule):
        infer_module(mod).astext()
        relay.vm.compile(mod)
    elif isinstance(mod, ir.Expr):
        mod.astext()


@cache
def _executable() -> Executable:
    return relay.vm.compile(passlab.parse(NET))


def _read_executable(data: bytes, folder: Path) -> None:
    vm.VirtualMachine(Executable.load_exec(data, _executable().save()[1])).run(X, np.asarray(True))


def _read_kernels(data: bytes, folder: Path) -> None:
    library = KernelLibrary.load(_file(folder / "lib.relay", data))
    vm.VirtualMachine(Executable.load_exec(_executable().save()[0], library)).run(X, np.asarray(True))


def _built(kind: str) -> bytes:
    return relay.build(passlab.parse(PLAIN), executor=relay.backend.Executor(kind)).file()


def _read_library(data: bytes, folder: Path) -> None:
    module = read_library(data)["default"](passlab.cpu())
    module.run(x=X)


@cache
def _recording() -> Recording:
    weights = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    x = relay.var("x", shape=(2, 3))
    mod = ir.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.add(x, relay.exp(weights)))))
    return record(mod, "InferType, FoldConstant, ToANormalForm", opt_level=4)


def _recording_file(name: str) -> Format:
    """One file of a saved recording."""

    def whole(folder: Path) -> bytes:
        _recording().save(folder / "whole.rec")
        return (folder / "whole.rec" / name).read_bytes()

    def read(data: bytes, folder: Path) -> None:
        if not (folder / "read.rec").exists():
            _recording().save(folder / "read.rec")
        (folder / "read.rec" / name).write_bytes(data)
        back = Recording.load(folder / "read.rec")
        back.text()
        for event in back.events:
            _look(event.after)

    return Format(whole, read)


@cache
def _debugger() -> vm.Debugger:
    return vm.Debugger(passlab.parse(PLAIN), X)


def _read_trace(data: bytes, folder: Path) -> None:
    trace = Trace.load(_file(folder / "trace", data))
    trace[len(trace)]
    str(trace.frame())


def _save_fork(path: Path) -> None:
    debugger = _debugger()
    debugger.trace.fork(1, {0: X + 1}).save(path)


def _read_fork(data: bytes, folder: Path) -> None:
    fork = Fork.load(_file(folder / "fork", data))
    str(fork.result)
    str(fork.parted)


ONNX = "g (float[2, 3] x) => (float[2, 3] y) { w = Constant<value_floats=[1.0, 2.0, 3.0]>() a = Add(x, w) y = Relu(a) }"
DUMP = "// -----// IR Dump Before CSE //----- //\nmodule {\n  func.func @f(%a: i32) -> i32 {\n    return %a : i32\n  }\n}\n"

FORMATS: dict[str, Format] = {
    "text": Format(lambda _: passlab.parse(NET).astext(show_meta_data=True).encode(), lambda data, _: _look(passlab.parse(data.decode("utf-8", "surrogateescape")))),
    "JSON": Format(lambda _: ir.save_json(passlab.parse(NET)).encode(), lambda data, _: _look(ir.load_json(data.decode("utf-8", "surrogateescape")))),
    "JSON of a typed program": Format(lambda _: ir.save_json(infer_module(passlab.parse(NET))).encode(), lambda data, _: _look(ir.load_json(data.decode("utf-8", "surrogateescape")))),
    "executable": Format(lambda _: _executable().save()[0], _read_executable),
    "kernel library": Format(_bytes(lambda path: _executable().save()[1].export_library(path)), _read_kernels),
    "constants": Format(_bytes(lambda path: save_constants(path, {"a": X, "b": np.arange(5)})), lambda data, folder: load_constants(_file(folder / "c", data))),
    "parameters": Format(lambda _: save_param_dict({"a": X, "b": np.arange(5)}), lambda data, _: load_param_dict(data)),
    "graph library": Format(lambda _: _built("graph"), _read_library),
    "aot library": Format(lambda _: _built("aot"), _read_library),
    "recording": _recording_file("recording.json"),
    "recording's constants": _recording_file("metadata.json"),
    "recording's programs": _recording_file("modules/0001.relay"),
    "trace": Format(_bytes(lambda path: _debugger().trace.save(path)), _read_trace),
    "fork": Format(_bytes(_save_fork), _read_fork),
    "ONNX": Format(lambda _: model(ONNX).SerializeToString(), lambda data, _: _look(from_onnx(data)[0])),
    "dump": Format(lambda _: (DUMP * 3).encode(), lambda data, _: str(read_text(data.decode("utf-8", "surrogateescape")))),
}  # fmt: skip
ARCHIVES = {"trace", "fork"}


def repacked(data: bytes, rng: random.Random) -> bytes:
    """Return an archive with one byte of one member changed, and checksums that fit."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            inside = old.read(name)
            new.writestr(name, changed(inside, rng) if name == chosen and inside else inside)
    return out.getvalue()


def changed(data: bytes, rng: random.Random) -> bytes:
    """Return bytes of which one is another."""
    at = rng.randrange(len(data)) if data else 0
    return data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]


def damaged(name: str, data: bytes, flips: int, cuts: int = CUTS) -> Iterator[tuple[str, bytes]]:
    """Yield damaged files, each with what was done to it."""
    for i in range(cuts):
        end = i * len(data) // cuts
        yield f"cut off at {end}", data[:end]
    for i in range(flips):
        rng = random.Random(f"{name}/{i}")
        yield f"flip {i}", repacked(data, rng) if name in ARCHIVES and i % 2 else changed(data, rng)


def outcomes(name: str, folder: Path, flips: int, cuts: int = CUTS) -> Counter[str]:
    """Read damaged files of a format; count how they end. Anything but an error of passlab is raised, with its name."""
    form = FORMATS[name]
    whole = form.whole(folder)
    form.read(whole, folder)
    counts: Counter[str] = Counter()
    with limits.override(**SMALL):
        for what, data in damaged(name, whole, flips, cuts):
            try:
                form.read(data, folder)
                counts["read"] += 1
            except PasslabError as error:
                counts[type(error).__name__ if str(error) else "an error that says nothing"] += 1
            except Exception as error:
                raise AssertionError(f"{name}, {what}: {type(error).__name__}: {error}") from error
    return counts


def main(flips: int, names: list[str]) -> None:
    """Read damaged files of all formats and print how they end."""
    for name in names or FORMATS:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            counts = outcomes(name, Path(folder), flips)
        print(f"{name}: {dict(counts.most_common())}, {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, sys.argv[2:])
