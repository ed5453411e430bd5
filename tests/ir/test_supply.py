"""Fresh names and global variables, and renderers of findings."""

from __future__ import annotations

import pytest

from passlab import parse
from passlab.errors import NodeValueError, ParseError, TypeInferenceError
from passlab.infer.inference import infer_module
from passlab.ir import GlobalVar
from passlab.ir.diagnostics import DiagnosticContext, get_renderer, override_renderer
from passlab.ir.supply import GlobalVarSupply, NameSupply


def test_names_are_given_once() -> None:
    names = NameSupply("pre")
    assert [names.fresh_name("a.b") for _ in range(3)] == ["pre_a_b", "pre_a_b_1", "pre_a_b_2"]
    assert names.fresh_name("a", add_prefix=False) == "a"
    assert names.reserve_name("c") == "pre_c"
    assert names.fresh_name("c") == "pre_c_1"
    assert names.contains_name("c")
    assert not names.contains_name("c", add_prefix=False)


def test_global_variables_of_a_module_are_in_use() -> None:
    mod = parse("def @main() { 1 } def @f() { 2 }")
    supply = GlobalVarSupply(mod)
    assert supply.fresh_global("main", add_prefix=False).name_hint == "main_1"
    assert supply.unique_global_for("f", add_prefix=False) is mod.get_global_var("f")
    assert supply.unique_global_for("g") is supply.unique_global_for("g")
    with pytest.raises(NodeValueError, match="another global variable is called @tvmgen_default_g"):
        supply.reserve_global(GlobalVar("tvmgen_default_g"))
    assert GlobalVarSupply([mod, mod]).fresh_global("f", add_prefix=False).name_hint == "f_1"


def test_global_variables_of_a_module_have_its_name_as_prefix() -> None:
    mod = parse("def @main() { 1 }")
    assert GlobalVarSupply(mod).fresh_global("main").name_hint == "tvmgen_default_main"
    named = mod.with_attr("mod_name", "net")
    assert [GlobalVarSupply(m).unique_global_for("g").name_hint for m in (named, [named, mod])] == ["net_g", "net_g"]


def test_findings_are_shown_to_a_renderer_of_the_users() -> None:
    seen: list[DiagnosticContext] = []
    override_renderer(seen.append)
    try:
        with pytest.raises(ParseError):
            parse("def @main() {")
        mod = parse("def @main(%x: int32) { %x }")
        bad = mod.with_functions({"main": mod["main"].with_fields(ret_type=parse("def @m() { 1f }")["m"].ret_type)})
        bad = bad.with_functions(
            {"main": bad["main"].with_fields(body=bad["main"].body.astype("int8") + bad["main"].body)}
        )
        with pytest.raises(TypeInferenceError):
            infer_module(bad)
        get_renderer().render(DiagnosticContext(None, ()))
    finally:
        override_renderer(None)
    assert [context.module for context in seen] == [None, bad, None]
    assert "expected" in seen[0].diagnostics[0].message
    get_renderer().render(seen[0])  # shows it to nobody
    assert len(seen) == 3
