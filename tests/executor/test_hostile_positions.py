"""No text becomes code, position by position: names, attributes, spans, parameters, metadata and keys of JSON.

Each position gives a program in which a string stands there. Everything that is generated from it (modules ahead of
time, library files and their stubs, syntax trees of `to_python`, what executors compile) has the syntax tree that it has
for a harmless string.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import ir, relay, vm
from passlab.devices import VirtualDevice
from passlab.errors import PasslabError
from passlab.executor.aot import python_source
from passlab.ir import IRModule, Span
from passlab.ir.span import Source
from passlab.relay.testing import to_python
from tests.executor.test_generated_python import FRAGMENTS, compiled_texts, shape_of

Build = Callable[[str], tuple[IRModule, dict[str, Any]]]  # a program, and further arguments of `relay.build`
HOSTILE = (
    *('"""\n    open("POC", "w")\n    """', "'''\nimport os\n'''", "\\", "\\N{foo}", "\n\nimport os", "#\x0cimport os"),
    *("\x85pass", "\u2028pass", "\0", "\ud800", "\u202e", "{0}%s", "__import__", "__builtins__", "None", "lambda: 0"),
    *("def f():\n  pass", "x, *y", "x=1, y", "x: int = 1", "np", "constants", "main", "../../x", "", " ", "0", "é", "ﬁ"),
    *("# ------------------------------ arrays, in base64", 'Path(__file__).with_suffix(".npz")', "x" * 5000),
)  # fmt: skip


def read(text: str) -> IRModule:
    return relay.transform.InferType()(passlab.parse(text))


def quoted(name: str) -> str:
    return "%" + json.dumps(name)


def function(name: str) -> tuple[IRModule, dict[str, Any]]:
    mod, x = IRModule(), relay.var("x", shape=(2,))
    mod["main" + "_" + name] = relay.Function([x], relay.exp(x))
    y = relay.var("y", shape=(2,))
    call = relay.Call(mod.get_global_var("main_" + name), [y])
    mod["main"] = relay.Function([y], call)
    return mod, {}


def variable(name: str) -> tuple[IRModule, dict[str, Any]]:
    x, v = relay.var(name, shape=(2,)), relay.Var(name)
    return IRModule.from_expr(relay.Function([x], relay.Let(v, relay.exp(x), relay.add(v, x)))), {}


def type_variable(name: str) -> tuple[IRModule, dict[str, Any]]:
    t = relay.TypeVar(name)
    a, x = relay.Var("a", t), relay.var("x", shape=(2,))
    mod = IRModule()
    mod["same"] = relay.Function([a], a, t, [t])
    mod["main"] = relay.Function([x], relay.Call(mod.get_global_var("same"), [x]))
    return mod, {}


def data_type(name: str) -> tuple[IRModule, dict[str, Any]]:
    text = "type Box[A] { Full(A), Empty } def @main(%x: Tensor[(2), float32]) { match (Full(%x)) { Full(%v) => %v, Empty => %x } }"
    data = json.loads(ir.save_json(read(text)))
    new = {"Box": name + "1", "Full": name + "2", "Empty": name + "3", "A": name}
    return ir.load_json(json.dumps(_replaced(data, new))), {}


def _replaced(value: Any, new: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {new.get(k, k): _replaced(v, new) for k, v in value.items()}
    if isinstance(value, list):
        return [_replaced(v, new) for v in value]
    return new.get(value, value) if isinstance(value, str) else value


def attribute_name(name: str) -> tuple[IRModule, dict[str, Any]]:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    inner = relay.Function([y], relay.exp(y)).with_attr("k" + name, 1)
    mod = IRModule.from_expr(relay.Function([x], relay.Call(inner, [x])).with_attr("k" + name, 1))
    return mod.with_attr("k" + name, 1), {}


def attribute_string(key: str) -> Build:
    def build(value: str) -> tuple[IRModule, dict[str, Any]]:
        x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
        inner = relay.Function([y], relay.exp(y)).with_attr(key, value)
        mod = IRModule.from_expr(relay.Function([x], relay.Call(inner, [x])).with_attr("text", value))
        return mod.with_attr("text", value), {}

    return build


def kernel_name(value: str) -> tuple[IRModule, dict[str, Any]]:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    inner = relay.Function([y], relay.exp(y)).with_attr({"Primitive": 1, "hash": value, "global_symbol": value})
    return IRModule.from_expr(relay.Function([x], relay.Call(inner, [x]))), {}


def span(name: str) -> tuple[IRModule, dict[str, Any]]:
    x = relay.var("x", shape=(2,))
    at = Span(Source(name, name + "\n" + name), 0, len(name))
    body = relay.Call(relay.op.get("exp"), [x], span=at)
    return IRModule.from_expr(relay.Function([x], body)), {}


def parameter(name: str) -> tuple[IRModule, dict[str, Any]]:
    x, w = relay.var("x", shape=(2,)), relay.var(name, shape=(2,))
    return IRModule.from_expr(relay.Function([x, w], relay.exp(x) + w)), {"params": {name: np.ones(2, "float32")}}


def metadata(name: str) -> tuple[IRModule, dict[str, Any]]:
    x = relay.var("x", shape=(2,))
    return IRModule.from_expr(relay.Function([x], relay.exp(x))), {"mod_name": name}


def memory(name: str) -> tuple[IRModule, dict[str, Any]]:
    x = relay.var("x", shape=(2,))
    device = VirtualDevice(memory_scope=name)
    return IRModule.from_expr(relay.Function([x], relay.annotation.on_device(relay.exp(x), device))), {}


POSITIONS: dict[str, Build] = {
    "function": function, "variable": variable, "type variable": type_variable, "data type": data_type,
    "attribute name": attribute_name, "attribute": attribute_string("text"), "Composite": attribute_string("Composite"),
    "kernel": kernel_name, "span": span, "parameter": parameter, "metadata": metadata, "memory scope": memory,
}  # fmt: skip


def generated(build: Build, text: str, folder: Path) -> list[list[str]] | None:
    """The shapes of all Python that comes of a program with a text in a position; None where the text is refused."""
    try:
        mod, options = build(text)
        mod = ir.load_json(ir.save_json(relay.transform.InferType()(mod)))
    except PasslabError:
        return None
    args = [np.ones(2, "float32") for _ in range(1 if "params" in options else len(mod["main"].params))]
    with compiled_texts() as texts:
        factory = relay.build(mod, "llvm", executor="aot", **options)
        factory.module()
        factory.export_library(str(folder / "net.py"))
        factory.export_library(str(folder / "net.lib"))
        relay.runtime.load_module(str(folder / "net.lib"))
        if not mod.type_definitions:  # a graph has no data types
            relay.build(mod, "llvm", **options).export_library(str(folder / "graph.lib"))
            relay.runtime.load_module(str(folder / "graph.lib"))
        vm.Executable.load_exec(*relay.vm.compile(mod).save())
        if "params" not in options:
            for kind in ("debug", "vm", "aot"):
                relay.create_executor(kind, mod).evaluate()(*args)
        texts += [(folder / name).read_text("utf-8") for name in ("net.py", "net.pyi")]
        texts += [ast.unparse(to_python(mod["main"], mod)), python_source(mod).with_loops("True").text]
    return [shape_of(text) for text in texts]


@pytest.mark.rotating(parts=15)
@pytest.mark.parametrize("position", POSITIONS)
def test_a_text_in_any_position_never_changes_the_shape_of_generated_code(position: str, tmp_path: Path):
    build = POSITIONS[position]
    generated(build, "harmless", tmp_path)  # imports compile too, in the first run
    expected = generated(build, "harmless", tmp_path)
    assert expected is not None
    assert len(expected) > 4
    taken = 0
    for text in HOSTILE:
        shapes = generated(build, text, tmp_path)
        taken += shapes is not None
        assert shapes in (expected, None), repr(text)
    assert taken > len(HOSTILE) // 2 or position == "memory scope"
    assert not Path("POC").exists()


@pytest.mark.nightly
@pytest.mark.parametrize("position", POSITIONS)
def test_any_fragment_in_any_position(position: str, tmp_path: Path):
    build = POSITIONS[position]
    generated(build, "harmless", tmp_path)
    expected = generated(build, "harmless", tmp_path)
    for text in (*FRAGMENTS, *(a + b for a, b in zip(FRAGMENTS, FRAGMENTS[7:], strict=False))):
        assert generated(build, text, tmp_path) in (expected, None), repr(text)
