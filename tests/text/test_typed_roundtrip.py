"""Well-typed programs, printed and read back: the same program, the same types, the same text."""

from __future__ import annotations

import pytest

import passlab
from passlab.ir import IRModule
from passlab.ir.equal import assert_structural_equal
from passlab.ir.walk import post_order
from passlab.text.printer import astext
from tests.text.typed_programs import constructs, module


def plain(mod: IRModule) -> str:
    """The text without the comments on types."""
    return astext(mod, annotate=lambda node: "")


def check(seed: int) -> IRModule:
    mod = module(seed)
    back = passlab.parse(mod.astext())
    assert_structural_equal(mod, back)
    assert plain(back) == plain(mod), f"seed {seed}"
    if seed % 10 == 0:
        again = back.astext()  # scalars that were one node are two once they were read, and each has its type beside it
        assert passlab.parse(again).astext() == again, f"seed {seed}"
    for var, function in mod.functions.items():
        assert_structural_equal(function.checked_type, back[var.name_hint].checked_type)
    return mod


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_typed_programs_read_back_with_their_types(start: int) -> None:
    for seed in range(start, start + 20):
        check(seed)


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("start", range(0, 20_000, 1_000))
def test_twenty_thousand_typed_programs_read_back(start: int) -> None:
    for seed in range(start, start + 1_000):
        check(seed)


def test_they_use_every_construct() -> None:
    names: set[str] = set()
    for seed in range(200):
        mod = module(seed)
        names |= constructs(mod, post_order(*mod.functions.values()))
    assert names >= {
        "Call", "Constant", "Constructor", "Function", "GlobalVar", "If", "Let", "Match", "Op", "RefCreate", "RefRead",
        "RefWrite", "Tuple", "TupleGetItem", "Var", "PatternConstructor", "PatternTuple", "PatternVar",
        "PatternWildcard", "complete=True", "complete=False", "generic", "attributes", "TensorType", "TupleType",
        "FuncType", "RefType", "TypeCall", "TypeVar",
    }  # fmt: skip
