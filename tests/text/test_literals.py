"""Numbers, strings and names, both ways: every bit of a constant and every character of a name survives."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from passlab.ir.adt import Clause, Constructor, PatternConstructor, TypeData
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Function, GlobalVar, Let, Match, Var
from passlab.ir.module import IRModule
from passlab.ir.types import GlobalTypeVar, TypeCall, TypeVar
from passlab.text.literals import float_text, quote, read_string, scalar_text
from passlab.text.parser import parse, parse_expr
from passlab.text.printer import astext, pretty
from tests.each import each

NUMBERS = {
    # each with how it prints and its dtype
    "1": ("1", "int32"),
    "007": ("7", "int32"),
    "--7": ("7", "int32"),
    "---7": ("-7", "int32"),
    "2147483647": ("2147483647", "int32"),
    "2147483648": ("2147483648i64", "int64"),
    "-2147483648": ("-2147483648", "int32"),
    "-9223372036854775808": ("-9223372036854775808i64", "int64"),
    "1i8": ("1i8", "int8"),
    "1i16": ("1i16", "int16"),
    "1i32": ("1", "int32"),
    "1i64": ("1i64", "int64"),
    "-42i": ("-42", "int32"),
    "255u8": ("255u8", "uint8"),
    "1u16": ("1u16", "uint16"),
    "4294967295u32": ("4294967295u32", "uint32"),
    "18446744073709551615u64": ("18446744073709551615u64", "uint64"),
    "1f": ("1f", "float32"),
    "1.f": ("1f", "float32"),
    "1.5f32": ("1.5f", "float32"),
    "1e3f": ("1000f", "float32"),
    "-1.5E-3f": ("-0.0015f", "float32"),
    "1e+06f": ("1e+06f", "float32"),
    "3.14159265f": ("3.1415927f", "float32"),
    "16777217f": ("16777216f", "float32"),
    "0.1f": ("0.1f", "float32"),
    "0.1f64": ("0.1f64", "float64"),
    "0.30000000000000004f64": ("0.30000000000000004f64", "float64"),
    "65504f16": ("65504f16", "float16"),
    "1.5bf16": ("1.5bf16", "bfloat16"),
    "0f": ("0f", "float32"),
    "-0f": ("-0f", "float32"),
    "--0f": ("0f", "float32"),
    "inff": ("inff", "float32"),
    "-inff": ("-inff", "float32"),
    "inff64": ("inff64", "float64"),
    "infbf16": ("infbf16", "bfloat16"),
    "nanf": ("nanf", "float32"),
    "nanf16": ("nanf16", "float16"),
    "1e-50f": ("0f", "float32"),
    "True": ("True", "bool"),
    "False": ("False", "bool"),
}


@each("text", NUMBERS)
def test_number(text: str) -> None:
    constant = parse_expr(text)
    assert isinstance(constant, Constant)
    assert (pretty(constant), constant.data.dtype.name) == NUMBERS[text]
    assert parse_expr(pretty(constant)).data.tobytes() == constant.data.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
def test_random_floats_print_shortest_and_exact(dtype: object) -> None:
    kind = np.dtype(dtype)  # type: ignore[call-overload]
    bits = np.random.default_rng(0).integers(0, 256, size=(400, kind.itemsize), dtype=np.uint8)
    for raw in bits:
        array = np.frombuffer(raw.tobytes(), kind).reshape(())
        text = scalar_text(array)
        if text is None:
            assert math.isnan(float(array))
            continue
        assert parse_expr(text).data.tobytes() == array.tobytes(), text


def test_float16_reads_back_over_its_whole_range() -> None:
    for value in np.arange(0, 65536, 7, dtype=np.uint16).view(np.float16):
        text = scalar_text(np.asarray(value))
        assert text is None or parse_expr(text).data.tobytes() == value.tobytes()


@pytest.mark.parametrize(
    "array",
    [
        np.array(0x7FC00001, "uint32").view("float32"),
        np.array(0xFFC00000, "uint32").view("float32"),
        np.array(0x7F800001, "uint32").view("float32"),
        np.arange(6, dtype="int8").reshape(2, 3),
        np.zeros((0, 4), "float64"),
        np.array([True, False]),
        np.array([1.5, -2.0], ml_dtypes.bfloat16),
        np.array(2.0, ml_dtypes.float8_e4m3fn),
        np.array([2.0], ml_dtypes.float8_e5m2),
        np.array([1, -2], ml_dtypes.int4),
        np.arange(4, dtype=">i4"),
        np.arange(8, dtype="float32")[::2],
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_what_no_literal_holds_goes_through_the_metadata_bit_for_bit(array: np.ndarray) -> None:  # type: ignore[type-arg]
    constant = Constant(array)
    text = astext(constant)
    assert "meta[relay.Constant][0]" in text
    back = parse_expr(text).data
    assert (back.dtype.name, back.shape) == (array.dtype.name, array.shape)
    assert back.astype(back.dtype.newbyteorder("<")).tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()
    assert not back.flags.writeable


FLOATS = [0.0, -0.0, 1.0, 0.1, 1e-5, 1e-300, 1e300, 2**53 + 1.0, math.pi, math.inf, -math.inf, math.nan, 5e-324]


@pytest.mark.parametrize("value", FLOATS)
def test_floats_of_attributes_keep_double_precision(value: float) -> None:
    function = Function((), Constant(1), None, None, {"a": value, "b": (value, (value,))})
    back = parse_expr(astext(function))
    assert back.attrs == function.attrs
    assert pretty(back) == pretty(function)


def test_floats_print_as_relay_prints_them_where_that_is_exact() -> None:
    assert [float_text(v) for v in (1.0, 0.5, 1e-5, 1e6, 100000.0)] == ["1f", "0.5f", "1e-05f", "1e+06f", "100000f"]


STRINGS = [
    "",
    "plain",
    'a "quote"',
    "back\\slash",
    "two\nlines",
    "tab\t",
    "\x00\x7f",
    "é\u202e\U0001f600",
    "\ud800",
    "a\\d",
    "\\n",
    "*/",
    "//",
    "#[metadata]",
]


@pytest.mark.parametrize("value", STRINGS)
def test_strings_read_back(value: str) -> None:
    assert read_string(quote(value)) == value
    function = Function((), Constant(1), None, None, {"a": value})
    assert parse_expr(astext(function)).attrs["a"] == value


@pytest.mark.parametrize(
    ("text", "value"),
    [(r'"\101\102"', "AB"), (r'"\303\251"', "é"), (r'"\377"', "\xff"), (r'"\x41é"', "Aé"), (r'"\q"', r"\q"), (r'"\U00110000"', r"\U00110000"), ('"a\nb"', "a\nb")],
)  # fmt: skip
def test_escapes(text: str, value: str) -> None:
    assert parse_expr(f"fn (a={text}) {{ 1 }}").attrs["a"] == value


NAMES = ["x", "x_1", "a/b", "a.b:0", "let", "def", "ref", "True", "_x y", "é", "", "1", "a//b", "a/", "nanf", "inff", "Tensor", "int32", '"', "\n", "\\", "meta", "op", "ctor", "fn"]  # fmt: skip


@each("name", NAMES)
def test_any_name_prints_and_reads_back(name: str) -> None:
    header, element = GlobalTypeVar(name), TypeVar(name or "T")
    wrap, none = Constructor(name, [element], header), Constructor(f"{name}2", [], header)
    data = TypeData(header, [element], [wrap, none])
    param, local = Var(name, TypeCall(header, [element])), Var(name)
    arm = Clause(PatternConstructor(none), Call(GlobalVar(name), [local]))
    body = Let(local, Call(wrap, [param]), Match(param, [arm]))
    mod = IRModule({name: Function([param], body, None, [element], {name: 1} if name else None)}, {header: data})
    text = astext(mod)
    back = parse(text)
    assert structural_equal(mod, back)
    assert astext(back) == text
    if name not in ("", "1"):  # Relay puts a `v` before names that do not begin with a letter
        assert back[name].params[0].name_hint == name


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("", '%""'),
        ("1", '%"1"'),
        ("_", "%_"),
        ("_a", "%_a"),
        ("x:0", '%"x:0"'),
        ("let", "%let"),
        ("a.0.w", "%a.0.w"),
        ("a.0", '%"a.0"'),
    ],
)
def test_how_a_name_is_shown(hint: str, shown: str) -> None:
    assert pretty(Let(Var(hint), Constant(1), Constant(2))).startswith(f"let {shown} = ")


def test_quoted_and_bare_spellings_of_a_name_are_one_name() -> None:
    assert pretty(parse_expr('let %"x" = 1; %x')) == "let %x = 1;\n%x"
    assert pretty(parse_expr("%007 = exp(1f); (%7, %07)")) == "%0 = exp(1f);\n(%0, %0)"
    mod = parse('def @f() { @"f"() }')
    assert mod["f"].body.op is mod.get_global_var("f")
