"""`lab.prospects`: which passes would change a program, each run alone."""

from __future__ import annotations

import pytest

import passlab
from passlab import lab, transform
from passlab.errors import PassError
from passlab.ir.walk import rewrite

NET = """def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
  nn.relu(nn.bias_add(nn.dense(%x, %w), %b) + 2f * 3f)
}"""


def names(table):
    return table.column("pass")


def test_passes_that_would_change_the_program_are_told_with_what_they_would_do():
    table = {row["pass"]: row["what_it_would_do"] for row in lab.prospects(passlab.parse(NET))}
    assert table["FoldConstant"] == "removed 2 constants and 1 multiply; added 1 constant; changed an operand of 1 add"
    assert table["CanonicalizeOps"].startswith("removed 1 nn.bias_add; added 1 add")
    assert "FuseOps" in table
    assert not {"InferType", "SimplifyInference", "ForwardFoldScaleAxis"} & set(table)


def test_what_is_told_is_what_happens():
    mod = transform.InferType()(passlab.parse(NET))
    for row in lab.prospects(mod, "FoldConstant, CanonicalizeOps, DeadCodeElimination, FuseOps(fuse_opt_level=0)"):
        with transform.PassContext(opt_level=4):
            after = transform.parse_pipeline(row["pass"] + ("(fuse_opt_level=0)" if row["pass"] == "FuseOps" else ""))(
                mod
            )
        assert passlab.diff(mod, after).summary == row["what_it_would_do"]


def test_a_pass_that_fails_is_told_too():
    @transform.function_pass(opt_level=2, name="Refuse")
    def refuse(func, mod, ctx):
        raise PassError(passlab.errors.Diagnostic("not today"))

    (row,) = lab.prospects(passlab.parse(NET), [refuse])
    assert (row["pass"], row["opt_level"], row["what_it_would_do"]) == ("Refuse", 2, "fails: not today")


def test_passes_of_ones_own_are_tried_on_the_program_as_it_is():
    @transform.function_pass(opt_level=1, name="Identity")
    def identity(func, mod, ctx):
        return rewrite(func, lambda before, node: node)

    mod = passlab.parse(NET)
    text = mod.astext()
    assert len(lab.prospects(mod, [identity])) == 0
    assert mod.astext() == text


def test_a_pass_that_does_not_exist_is_refused():
    with pytest.raises(PassError, match="there is no pass `FoldConstnat`"):
        lab.prospects(passlab.parse(NET), "FoldConstnat")


def test_only_passes_that_do_something_without_options_are_tried():
    """A pass that asks for an option fails on any program: that is no news about this one."""
    square = "def @main(%x: Tensor[(4), float32]) { multiply(%x, %x) }"
    effects = {row["pass"]: row["what_it_would_do"] for row in lab.prospects(passlab.parse(square))}
    assert [name for name, effect in effects.items() if effect.startswith("fails")] == []
    assert {"FirstOrderGradient", "ToMixedPrecision", "FuseOps"} <= set(effects)
    assert "EtaExpand" not in effects
