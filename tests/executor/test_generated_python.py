"""No text of a program becomes code: what things are called never changes the syntax trees of generated Python.

Every text that Python compiles while a program is built and run is collected by an audit hook, so that a new generator
of code is held to the law as soon as anything uses it.
"""

from __future__ import annotations

import ast
import json
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import passlab
from passlab import ir, relay
from passlab.errors import VerifyError
from passlab.executor.aot import python_source
from passlab.infer import infer_module
from passlab.ir.module import IRModule
from passlab.op.dtypes import array_dtype
from passlab.vm.kernels.kernel_text import identifier, keyword_argument, literal

# Every string that begins with `n_` is a name that the program chooses; each stands in every kind of position.
TEMPLATES = (
    """
    type n_type[n_tv] { n_cons(n_tv, n_type[n_tv]), n_nil }
    def @n_build(%n_count: int32, %n_list: n_type[int32]) -> n_type[int32] {
      if (%n_count == 0) { %n_list } else { @n_build(%n_count - 1, n_cons(%n_count, %n_list)) } }
    def @n_total(%n_data: n_type[int32]) -> int32 {
      match (%n_data) { n_cons(%n_head, %n_tail) => %n_head + @n_total(%n_tail), n_nil => 0 } }
    def @main(%n_x: int32, %n_y: Tensor[(2, 3), float32]) {
      let %n_f = fn (%n_p: int32) { %n_p + %n_x };
      let %n_v = @n_total(@n_build(%n_x, n_nil));
      (%n_f(%n_v), nn.relu(%n_y * 2f) + exp(%n_y), n_cons(%n_x, n_nil)) }
    """,
    """
    def @main(%n_a: Tensor[(4), float32], %n_b: (Tensor[(4), float32], int32)) {
      let %n_c = split(%n_a + %n_b.0, indices_or_sections=2, axis=0);
      let %n_d = fn (%n_e: Tensor[(4), float32], Composite="n_composite", n_key="n_attr") {
        nn.dropout(tanh(%n_e)).0 };
      (%n_c.0, concatenate((%n_c.0, %n_c.1)), einsum((%n_a, %n_b.0), equation="i,i->i"), %n_b.1) }
    """,
)
ARGS: tuple[tuple[object, ...], ...] = (
    (np.int32(3), np.ones((2, 3), "float32")),
    (np.ones(4, "float32"), (np.ones(4, "float32"), np.int32(1))),
)
FRAGMENTS = (
    '"""', "'''", '"', "'", "\\", "\\x", "\\N{foo}", "\\u12", "\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\0",
    "\ud800", "\udfff", "\u202e", "\u200b", "\ufeff", "{0}", "{", "}", "%s", "%(x)s", "#", ";", ":", "(", ")", ",", "=",
    "import os", "open('POC', 'w')", "def f():", "pass", "    ", "\t", "while True:", "return", "None", "True", "class",
    "match", "case", "_", "__", "__file__", "__builtins__", "__debug__", "__getattr__", "__passlab_spend__", "np",
    "constants", "self", "function", "args", "kinds", "Data", "TailCall", "run", "entry", "ProgramError", "limits", "Path",
    "dataclass", "array", "file", "tag", "value", "inf", "nan", "0", "1", "r0", "state", "left", "kernel", "main",
    "# ------------------------------ the program", "ª", "ﬁ", "é", "名", "x" * 70, "0x", "1e5", "", "lambda: 0", "@",
)  # fmt: skip
TEXTS: list[str] | None = None


def _listen(event: str, args: tuple[object, ...]) -> None:
    if event == "compile" and TEXTS is not None and isinstance(args[0], (str, bytes)):
        TEXTS.append(args[0] if isinstance(args[0], str) else args[0].decode())


sys.addaudithook(_listen)


@contextmanager
def compiled_texts() -> Iterator[list[str]]:
    """Collect the texts that Python compiles inside the block."""
    global TEXTS
    TEXTS = texts = []
    try:
        yield texts
    finally:
        TEXTS = None


def shape_of(text: str) -> list[str]:
    """The syntax tree of a text without names and values."""
    shape = []
    for node in ast.walk(ast.parse(text)):
        shape.append(type(node).__name__)
        if isinstance(node, ast.Constant):
            shape.append(type(node.value).__name__)
    return shape


def renamed(text: str, names: dict[str, str]) -> passlab.IRModule:
    """The program of a template with its names replaced, by way of its JSON, where any string can stand."""
    data = json.loads(ir.save_json(passlab.transform.InferType()(passlab.parse(text))))

    def new(value: object) -> object:
        if isinstance(value, dict):
            return {names.get(k, k): new(v) for k, v in value.items()}
        if isinstance(value, list):
            return [new(v) for v in value]
        return names.get(value, value) if isinstance(value, str) else value

    return ir.load_json(json.dumps(new(data)))


def names_of(text: str) -> list[str]:
    """The names that a template chooses."""
    words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
    return list(dict.fromkeys(w for w in words if w.startswith("n_")))


def generated(mod: passlab.IRModule, args: tuple[object, ...]) -> list[list[str]]:
    """The shapes of all that is compiled to run a program on every executor, to record it, and to build a module."""
    with compiled_texts() as texts:
        for kind in ("debug", "graph", "vm", "aot"):
            try:
                relay.create_executor(kind, mod).evaluate()(*args)
            except VerifyError:
                assert kind == "graph"  # which knows no data types
        passlab.vm.Debugger(mod, *args).goto(-1)
        texts.append(python_source(mod).with_loops("True").text)
    return [shape_of(text) for text in texts]


def hostile_names(draw: random.Random, names: list[str]) -> dict[str, str]:
    """A different hostile name for each."""
    table: dict[str, str] = {}
    for name in names:
        hostile = "".join(draw.choice(FRAGMENTS) for _ in range(draw.randint(1, 4)))
        table[name] = hostile if hostile not in ("main", *table.values()) else f"{hostile}{len(table)}"
    return table


def check(seed: int, rounds: int) -> int:
    draw = random.Random(seed)
    count = 0
    for text, args in zip(TEMPLATES, ARGS, strict=True):
        names = names_of(text)
        generated(renamed(text, {}), args)  # imports, which compile too, happen in the first run
        expected = generated(renamed(text, {}), args)
        assert len(expected) > 4  # kernels, functions of the machine, the recorder, a module made ahead of time
        for _ in range(rounds):
            hostile = hostile_names(draw, names)
            assert generated(renamed(text, hostile), args) == expected, hostile
            count += len(hostile)
    return count


def test_names_never_change_the_shape_of_generated_code():
    assert check(seed=1, rounds=8) > 100


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_names_never_change_the_shape_of_generated_code(seed):
    assert check(seed=100 + seed, rounds=45) > 1000


def test_an_attribute_is_written_as_a_literal_that_gives_it_back():
    for value in [
        (float("inf"), "' inf "), [float("-inf"), "nan"], "\ud800\u2028'\"\\", (), (1,), [], True, None, -3, 1e-45,
        {"a'": [float("inf")]}, "\n    open('POC', 'w')", ("x",) * 40,
    ]:  # fmt: skip
        text = literal(value)
        assert text.isprintable()
        assert eval(text, {"__builtins__": {"float": float}}) == value
    assert literal(np.float64("nan")) == 'float("nan")'
    with pytest.raises(VerifyError):
        literal(object())


def test_an_identifier_is_one_for_any_name_and_never_private():
    for hint in FRAGMENTS:
        name = identifier(hint)
        assert name.isidentifier()
        assert name.isascii()
        assert not name.startswith("__")
    with pytest.raises(VerifyError):
        keyword_argument("a=1, b", "0")


_QUANTIZED = {
    "dense": ("(2, 3)", "%x", "qnn.dense({0}, {0}, 1, 2, 0.5f, 0.25f, units=2, out_dtype='int32')"),
    "tanh": ("(2, 3)", "%x", "qnn.tanh({0}, 0.5f, 1, 0.5f, 0)"),
    "avg_pool2d": ("(1, 2, 4, 4)", "%x", "qnn.avg_pool2d({0}, 0.5f, 1, 0.5f, 0, pool_size=[2, 2])"),
}


@pytest.mark.parametrize("name", _QUANTIZED)
def test_kernels_that_call_kernels_of_other_operators_are_copied(name):
    shape, argument, call = _QUANTIZED[name]
    text = call.format(argument).replace("'", '"')
    mod = passlab.parse(f"def @main(%x: Tensor[{shape}, int8]) {{ {text} }}")
    x = (
        np.arange(32, dtype="int8").reshape(1, 2, 4, 4)
        if name == "avg_pool2d"
        else np.arange(6, dtype="int8").reshape(2, 3)
    )
    aot, debug = (relay.create_executor(kind, mod).evaluate()(x) for kind in ("aot", "debug"))
    assert np.array_equal(aot, debug)


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("float16", 0xFE01),
        ("bfloat16", 0x7FC1),
        ("float32", 0xFFC00001),
        ("float32", 0x7F800001),
        ("float64", 2**64 - 9),
    ],
)
@pytest.mark.parametrize("shape", [(), (1,), (2, 1)])
def test_the_sign_and_payload_of_nan_stay(dtype, bits, shape):
    """A constant NaN keeps its bits, as through the other executors."""
    kind = array_dtype(dtype)
    value = np.full(shape, bits, f"u{kind.itemsize}").view(kind)
    mod = infer_module(IRModule.from_expr(relay.Function([], relay.Tuple([relay.Constant(value), relay.const(1)]))))
    result = relay.create_executor("aot", mod).evaluate()()[0]
    assert np.asarray(result).view(f"u{kind.itemsize}").tolist() == np.full(shape, bits).tolist()
