"""Data types whose constructors have the same tags: the byte of a tag for the name of its type is that of others, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from passlab import relay, runtime, vm
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.adt import constructor_tag
from passlab.lab import Trace
from passlab.text.parser import parse


def program() -> IRModule:
    assert constructor_tag("T7", 0) == constructor_tag("T15", 0)
    return infer_module(
        parse("""
          type T7 { A7(int32), B7 }
          type T15 { A15(int32), B15 }
          def @main(%x: int32, %l: T15[]) {
            let %t = A7(%x);
            let %u = match (%l) { A15(%n) => A15(add(%n, 1)), B15 => B15 };
            let %v = match (%t) { A7(%n) => A15(%n), B7 => B15 };
            (%t, %u, %v, B7)
          }""")
    )


def names(value: Any) -> list[str]:
    return [str(part.constructor) for part in value]


def arguments(mod: IRModule) -> list[Any]:
    a15 = mod.get_type("T15")[1]
    return [np.int32(1), relay.backend.interpreter.ConstructorValue(a15.tag, [np.asarray(4, "int32")], a15)]


EXPECTED = ["A7", "A15", "A15", "B7"]


@pytest.mark.parametrize("kind", ["debug", "vm", "aot"])
def test_each_value_has_its_constructor(kind: str):
    mod = program()
    value = relay.create_executor(kind, mod).evaluate()(*arguments(mod))
    assert names(value) == EXPECTED
    assert [int(value[i].fields[0]) for i in range(3)] == [1, 5, 1]


def test_saved_programs_and_traces_keep_them(tmp_path: Path):
    mod = program()
    exe = vm.compile(mod)
    loaded = vm.Executable.load_exec(*exe.save())
    assert names(vm.VirtualMachine(loaded).invoke("main", *arguments(mod))) == EXPECTED
    trace = Trace.record(mod, arguments(mod))
    trace.save(tmp_path / "trace")
    assert names(Trace.load(tmp_path / "trace").result) == EXPECTED
    relay.build(mod, executor="aot").export_library(tmp_path / "net")
    assert runtime.load_module(tmp_path / "net") is not None
