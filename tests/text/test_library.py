"""The standard library: it is well typed, its functions do what they say, and importing it twice changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from passlab.errors import DiagnosticError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir.equal import structural_equal
from passlab.ir.module import IRModule
from passlab.text.library import FILES, standard
from passlab.text.parser import parse
from passlab.text.printer import astext
from tests.each import each


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_well_typed_and_reads_back(name: str) -> None:
    mod = infer_module(standard(name))
    assert structural_equal(parse(astext(mod)), parse(astext(parse(astext(mod)))))
    assert structural_equal(infer_module(parse(astext(mod))), mod)


def test_a_file_is_read_once_and_handed_out_as_a_fresh_module() -> None:
    one, two = standard("prelude.rly"), standard("prelude.rly")
    assert one is not two
    assert one["map"] is two["map"]
    one.remove("map")
    assert "map" in two
    assert "map" in standard("prelude.rly")


def test_natural_numbers_bring_the_prelude() -> None:
    mod = IRModule().import_from_std("nat.rly")
    assert {"nat_add", "map"} <= {name for name, _ in mod.items()}
    before = mod.snapshot()
    assert mod.import_from_std("nat.rly").import_from_std("prelude.rly").same_contents(before)


def test_an_unknown_file_is_refused() -> None:
    with pytest.raises(DiagnosticError, match=r"did you mean `prelude\.rly`"):
        standard("prelud.rly")
    with pytest.raises(DiagnosticError, match="no file"):
        standard("../printer.py")


def plain(value: Any) -> Any:
    """A value as Python data: lists of the prelude as lists, other constructors as (name, fields)."""
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if not hasattr(value, "constructor"):
        return value.item()
    fields = [plain(f) for f in value.fields]
    name = value.constructor.name_hint
    if name in ("Cons", "Nil"):
        return [fields[0], *fields[1]] if fields else []
    return (name, *fields)


XS = "Cons(3, Cons(4, Cons(5, Nil)))"
LESS = "fn (%a: int32, %b: int32) -> int32 { %a - %b }"
TWICE = "fn (%a: int32) -> int32 { %a * 2 }"
STEP = "fn (%s: int32, %x: int32) -> (int32, int32) { (%s + %x, %s * 10) }"
DOWN = "fn (%s: int32) -> Option[(int32, int32)] { if (%s == 0) { None } else { Some((%s - 1, %s)) } }"
TREE = "Rose(1, Cons(Rose(2, Nil), Cons(Rose(3, Cons(Rose(4, Nil), Nil)), Nil)))"
CASES = {
    "@id(1)": 1,
    f"@compose({TWICE}, fn (%a: int32) -> int32 {{ %a + 1 }})(3)": 8,
    f"@flip({LESS})(1, 10)": 9,
    f"@iterate({TWICE}, 10)(1)": 1024,
    f"@hd({XS})": 3,
    f"@tl({XS})": [4, 5],
    f"@nth({XS}, 2)": 5,
    f"@length({XS})": 3,
    f"@update({XS}, 1, 9)": [3, 9, 5],
    f"@map({TWICE}, {XS})": [6, 8, 10],
    f"@foldl({LESS}, 100, {XS})": 88,
    f"@foldr({LESS}, 100, {XS})": -96,
    f"@foldr1({LESS}, {XS})": 4,
    f"@sum({XS})": 12,
    f"@concat({XS}, Cons(6, Nil))": [3, 4, 5, 6],
    f"@filter(fn (%x: int32) -> bool {{ %x < 5 }}, {XS})": [3, 4],
    f"@zip({XS}, Cons(True, Nil))": [(3, True)],
    f"@rev({XS})": [5, 4, 3],
    f"@map_accumr({STEP}, 0, {XS})": (12, [90, 50, 0]),
    f"@map_accuml({STEP}, 0, {XS})": (12, [70, 30, 0]),
    f"@unfoldr({DOWN}, 3)": [3, 2, 1],
    f"@unfoldl({DOWN}, 3)": [1, 2, 3],
    f"@tmap({TWICE}, {TREE})": ("Rose", 2, [("Rose", 4, []), ("Rose", 6, [("Rose", 8, [])])]),
    f"@size({TREE})": 4,
    "@nat_double(succ(succ(zero)))": ("succ", ("succ", ("succ", ("succ", ("zero",))))),
    "@nat_add(succ(zero), succ(zero))": ("succ", ("succ", ("zero",))),
    f"@nat_nth({XS}, succ(zero))": 4,
    f"@nat_update({XS}, succ(zero), 7)": [3, 7, 5],
    f"@nat_iterate({TWICE}, succ(succ(zero)))(5)": 20,
}


@each("call", CASES)
def test_function(call: str) -> None:
    mod = parse(f"def @main() {{ {call} }}", init_module=standard("nat.rly"))
    assert plain(Evaluator(infer_module(mod)).run("main", [])) == CASES[call]


GRADIENTS = {
    "Raw(3f), Raw(4f)": (12.0, 7.0),
    "One(@one), Raw(4f)": (4.0, 5.0),
    "Raw(3f), One(@one)": (3.0, 4.0),
    "Zero(@zero), Raw(4f)": (0.0, 4.0),
    "One(@one), Zero(@zero)": (0.0, 1.0),
    "One(@one), One(@one)": (1.0, 2.0),
}


@pytest.mark.parametrize("pair", GRADIENTS)
def test_lazy_gradients(pair: str) -> None:
    mod = parse(
        f"""
        def @one() -> float32 {{ 1f }}
        def @zero() -> float32 {{ 0f }}
        def @main() {{
          (@FromGradCell(@MultiplyGradCell(multiply, {pair})), @FromGradCell(@AddGradCell(add, {pair})))
        }}
        """.replace("multiply,", "fn (%a: float32, %b: float32) -> float32 { %a * %b },").replace(
            "(add,", "(fn (%a: float32, %b: float32) -> float32 { %a + %b },"
        ),
        init_module=standard("gradient.rly"),
    )
    assert plain(Evaluator(infer_module(mod)).run("main", [])) == GRADIENTS[pair]
