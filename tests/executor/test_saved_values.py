"""The law of files: what is saved and loaded is the same program, and computes the same values.

Every edge case of every operator, every construct of the language and generated programs go through text, JSON,
executables, libraries, recordings, traces and ONNX. What a format cannot hold is refused before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import ir, lab, relay, vm
from passlab.analysis.contents import contents_of
from passlab.errors import PasslabError
from passlab.executor import load_module
from passlab.executor.factories import read_library
from passlab.infer import infer_module
from passlab.ir import IRModule, structural_equal
from passlab.ir.op import Op
from passlab.op.edge_cases import program, varies_dtype
from passlab.oracle.drawn_inputs import draws
from passlab.relay import create_executor
from passlab.testing import programs
from tests.lab.user.programs import PROGRAMS
from tests.op.test_edges import NO_VALUE, values_of

pytestmark = pytest.mark.rotating


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal bit for bit; functions and references count as equal."""
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    fields = getattr(a, "fields", None)
    if fields is not None:
        return same(list(fields), list(b.fields))
    if not hasattr(a, "dtype"):
        return True
    one, other = np.asarray(a), np.asarray(b)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def by_text(mod: IRModule, args: list[Any], folder: Path) -> None:
    assert structural_equal(infer_module(passlab.parse(mod.astext())), mod)


def by_json(mod: IRModule, args: list[Any], folder: Path) -> None:
    assert structural_equal(ir.load_json(ir.save_json(mod)), mod)


def by_executable(mod: IRModule, args: list[Any], folder: Path) -> None:
    exe = relay.vm.compile(mod)
    value = vm.VirtualMachine(exe).run(*args)
    code, kernels = exe.save()
    assert same(vm.VirtualMachine(vm.Executable.load_exec(code, kernels)).run(*args), value)
    exe.export_library(folder / "exe")
    assert same(vm.VirtualMachine(load_module(folder / "exe")).run(*args), value)


def by_library(kind: str) -> Callable[[IRModule, list[Any], Path], None]:
    def through(mod: IRModule, args: list[Any], folder: Path) -> None:
        built = relay.build(mod, executor=relay.backend.Executor(kind))
        inputs = {param.name_hint: value for param, value in zip(mod["main"].params, args, strict=True)}
        values = []
        for library in (built, read_library(built.file())):
            module = library["default"](passlab.cpu())
            module.run(**inputs)
            values.append([module.get_output(i) for i in range(module.get_num_outputs())])
        assert same(*values)

    return through


def by_recording(mod: IRModule, args: list[Any], folder: Path) -> None:
    rec = passlab.record(mod, "InferType, ToANormalForm, FuseOps")
    rec.save(folder / "rec")
    again = lab.Recording.load(folder / "rec")
    for mine, loaded in zip(rec.events, again.events, strict=True):
        assert structural_equal(mine.before, loaded.before)
        assert structural_equal(mine.after, loaded.after)


def by_trace(mod: IRModule, args: list[Any], folder: Path) -> None:
    trace = vm.Debugger(mod, *args).trace
    trace.save(folder / "trace")
    again = lab.Trace.load(folder / "trace")
    assert len(again) == len(trace)
    assert same(again.result, trace.result)


def by_onnx(mod: IRModule, args: list[Any], folder: Path) -> None:
    model = relay.to_onnx(mod)
    back = relay.frontend.from_onnx(model, freeze_params=True)[0]
    one, two = (create_executor("debug", m).evaluate()(*args) for m in (mod, back))
    # ONNX's QuantizeLinear rounds halves to even numbers, Relay's qnn.quantize away from zero; and what is interpolated
    # between integers is cut to one, where the last digit of a float decides.
    rounding = ("qnn.", "image.resize")
    quantized = any(op.name.startswith(rounding) for op in contents_of(mod["main"]).operators)
    for a, b in zip(*([v] if hasattr(v, "dtype") else list(v) for v in (one, two)), strict=True):
        far = 1 if quantized and np.asarray(a).dtype.kind in "iu" else 1e-5
        np.testing.assert_allclose(np.asarray(b, "float64"), np.asarray(a, "float64"), rtol=1e-4, atol=far)


WAYS: dict[str, Callable[[IRModule, list[Any], Path], None]] = {
    "text": by_text,
    "JSON": by_json,
    "executable": by_executable,
    "graph": by_library("graph"),
    "aot": by_library("aot"),
    "recording": by_recording,
    "trace": by_trace,
    "ONNX": by_onnx,
}
HOLD_ALL = ("text", "JSON", "recording")  # formats of every program; others refuse what they have no form for
DRAWN = ("random.", "nn.dropout")  # operators of which each run draws other numbers


def check(mod: IRModule, args: list[Any], folder: Path, ways: tuple[str, ...] = tuple(WAYS)) -> None:
    for way in ways:
        own = folder / way
        own.mkdir(exist_ok=True)
        try:
            WAYS[way](mod, args, own)
        except PasslabError:
            if way in HOLD_ALL or any(own.iterdir()):  # a program is refused before a file is written
                raise
        except AssertionError as error:
            raise AssertionError(f"through {way}: {error}\n{mod}") from error


def cases(name: str) -> Iterator[tuple[IRModule, list[Any]]]:
    for edge in Op.get(name).spec.edge_cases:
        for dtype in ("float32", "int32") if varies_dtype(edge) else ("float32",):
            written = program(edge, dtype)
            try:
                mod = infer_module(passlab.parse(written.source))
            except PasslabError:
                continue  # of other dtypes
            values = values_of(written.variables)
            yield mod, [values[param.name_hint] for param in mod["main"].params]


@pytest.mark.rotating(parts=15)
@pytest.mark.parametrize("name", [name for name in Op.list_op_names() if name not in NO_VALUE])
def test_every_operator_at_every_edge(name: str, tmp_path: Path) -> None:
    for number, (mod, args) in enumerate(cases(name)):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(mod, args, folder, HOLD_ALL if name.startswith(DRAWN) else tuple(WAYS))


ATTRS = {"name": "net", "batch": 1, "scale": -0.5, "kept": True, "none": None, "sizes": [1, [2, 3]], "by": {"a": "b"}}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_construct(name: str, tmp_path: Path) -> None:
    mod = infer_module(PROGRAMS[name]()).with_attrs(ATTRS)
    check(mod, list(next(iter(draws(mod))).arguments), tmp_path)


@pytest.mark.rotating(parts=15)
@pytest.mark.parametrize("seed", range(60))
def test_generated_programs(seed: int, tmp_path: Path) -> None:
    mod = infer_module(programs.program(seed).mod)
    check(mod, list(next(iter(draws(mod))).arguments), tmp_path)
