"""Damaged files of every format end in what can be read or in an error of passlab; a full run is `tests.faults.damaged_files`.

A file may also need an operator that nobody has registered here: it is whole, and every reader says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import passlab
from passlab import relay
from passlab.errors import PasslabError
from passlab.ir.op import _registry as operators
from passlab.lab.recordings.recording import Recording, record
from tests.faults.damaged_files import FORMATS, outcomes


@pytest.mark.rotating
@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_or_refused(name, tmp_path):
    counts = outcomes(name, tmp_path, flips=40, cuts=11)
    assert counts.total() == 51
    assert counts.total() > counts["read"] or name == "dump"  # something was refused; of a dump, every line is kept


def twice(attrs: Any, value: Any) -> Any:
    return value * 2


def test_every_reader_names_the_operator_that_nobody_registered(
    tmp_path: Path,
) -> None:
    x = relay.var("x", shape=(4,))
    try:
        relay.op.op.register("strange.twice")
        op = relay.op.op.get("strange.twice")
        op.set_num_inputs(1)
        op.add_argument("data", "Tensor", "The input.")
        op.add_type_rel("StrangeTwice", lambda args, attrs: args[0])
        op.add_kernel(twice)
        mod = passlab.IRModule.from_expr(relay.Function([x], relay.Call(op, [x])))
        relay.vm.compile(mod).export_library(tmp_path / "vm")
        for kind in ("graph", "aot"):
            relay.build(mod, executor=relay.backend.Executor(kind)).export_library(tmp_path / kind)
        record(mod, "InferType").save(tmp_path / "recording")
        text, nodes = mod.astext(), passlab.ir.save_json(mod)
    finally:
        operators.pop("strange.twice")
    readers: dict[str, Callable[[], Any]] = {
        "text": lambda: passlab.parse(text),
        "JSON": lambda: passlab.ir.load_json(nodes),
        "recording": lambda: Recording.load(tmp_path / "recording"),
        **{kind: lambda kind=kind: relay.runtime.load_module(tmp_path / kind) for kind in ("vm", "graph", "aot")},
    }
    for name, read in readers.items():
        with pytest.raises(PasslabError, match=r"(?s)`strange\.twice`.*import the module that registers it") as raised:
            read()
        assert not re.search("malformed|well-formed|variable", str(raised.value)), name
