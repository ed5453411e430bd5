"""No text, however broken, does anything but parse or end in a located `ParseError` or a `LimitError`.

Programs are damaged at random (a seed for each, so that failures repeat); what still parses must print to a text that
reads back to an equal program and prints to itself again.
"""

from __future__ import annotations

import random

import pytest

from passlab import limits
from passlab.errors import LimitError, ParseError
from passlab.ir.equal import structural_equal
from passlab.text.parser import parse, parse_expr
from passlab.text.printer import astext

SEEDS = [
    '''#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil }
extern type Storage
def @main(%x: Tensor[(1, ?, 3), float32], %l: List[(int32, bool)], Primitive=1, relay.reshape_only="a\\n", t=[1, [2f], {"k"=None}]) -> fn [A](A) -> ref(A) {
  %0 = add(%x, meta[relay.Constant][0]); // note
  let %y: (Tensor[(3), int8], fn (int32) -> bool) = (cast(%0, dtype="int8"), fn (%k: int32) -> bool { %k < 3 });
  let %z = let %w = 1u8; (%w, -2.5e-3f16, nanf, 0xf);
  match? (%l) { Cons((%a, _), %r) => { if (%a == 1) { ref_write(ref(1), 2); %z.0 } else { %y.1(%a - 1) } }, Nil => (%z,) }
}
''',
    '''fn [A, B](%f: fn (A) -> B, %"odd x": A) -> B { /* c /* nested */ */
  %0 = %f(%"odd x"); %1 = nn.dense(%0, %0, units=None, out_dtype="float16"); { let %x = 2; %x * 3 + 4 / %x >= 1 }; (%0, %1.0, ())
}
''',
    '''#[version = "0.0.5"]
def @f(%v {virtual_device=meta[VirtualDevice][0]}: int32, virtual_device=meta[VirtualDevice][0]) { %v }
#[metadata]
{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]}, {"type_key": "Array", "data": [3]},
{"type_key": "VirtualDevice", "attrs": {"device_type_int": "1", "memory_scope": "4", "target": "0", "virtual_device_id": "0"}},
{"type_key": "runtime.String", "repr_str": "global"}], "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAAgAQAEAAAAAAAAAAcAAAA="], "attrs": {"tvm_version": "0.14.0"}}
''',
    '''free_var %t: Tensor[(2, 2), bfloat16]; let %go = fn (%n: int32) -> int32 { if (%n <= 0) { 0 } else { @g(%n, axis=1, attrs_type_key="relay.attrs.X") } };
%3 = (%t, "s", 1i64, True); %3.0.1; ref_read(ref(%go(1))); op"add"(%t, %t)
''',
]  # fmt: skip
SCRAPS = [
    "(", ")", "{", "}", "[", "]", ",", ";", ":", ".", "=", "=>", "->", "-", "--", "<", "%", "@", '"', "/*", "*/", "//", "#[", "#[metadata]", "%0", "%x",
    "@f", "let", "fn", "def", "type", "extern", "if", "else", "match", "match?", "ref", "free_var", "_", "1", "1f", "1.5", "9" * 30, "1e999f", "inff", "None",
    "True", "meta[relay.Constant][0]", "meta[X][9]", "Tensor[(1), float32]", "Tensor", "int32", "float", "add", "nn.dense", "axis=1", "Cons", "\\", "\r", "\0",
    "é", "\ud800", " ", "\n", '"\\x41"', '%"a b"', "op", "ctor", 'op"add"', "?", "attrs_type_key", "virtual_device=", "A",
]  # fmt: skip


def damaged(rng: random.Random) -> str:
    """Return one of the programs with a few things wrong."""
    text = rng.choice(SEEDS)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(text) + 1)
        length = rng.choice((0, 0, 1, 1, 2, 5, 20))
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:at] + text[at + length :]
        elif kind == 1:
            text = text[:at] + rng.choice(SCRAPS) + text[at + length :]
        elif kind == 2:
            text = text[:at] + chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) + text[at + 1 :]
        elif kind == 3:
            other = rng.choice(SEEDS)
            start = rng.randrange(len(other))
            text = text[:at] + other[start : start + rng.randint(1, 60)] + text[at:]
        else:
            text = text[:at]
    return text


def check(seed: int) -> bool:
    """Read one damaged text; returns whether it was still a program."""
    rng = random.Random(seed)
    text = damaged(rng)
    read = parse if text.startswith(("#", "def", "type")) else parse_expr
    try:
        program = read(text)
    except (ParseError, LimitError) as error:
        return not all(d.message and d.render() for d in error.diagnostics)
    printed = astext(program)
    back = read(printed)
    assert structural_equal(program, back, map_free_vars=True), printed
    assert astext(back) == printed
    return True


def check_range(start: int, count: int) -> None:
    alive = 0
    with limits.override(nesting=5_000):
        for seed in range(start, start + count):
            try:
                alive += check(seed)
            except Exception as error:
                raise AssertionError(f"seed {seed}: {damaged(random.Random(seed))!r}") from error
    assert alive > count // 200  # else nothing but refusals is tested


def test_a_few_thousand_damaged_programs() -> None:
    check_range(0, 3_000)


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("start", range(10_000, 210_000, 20_000))
def test_many_damaged_programs(start: int) -> None:
    check_range(start, 20_000)
