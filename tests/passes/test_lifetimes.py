"""ManifestLifetimes: a variable is killed behind the last binding that needs it, on each way that leads there.

Several that die together are killed in the order of their first use.
"""

from __future__ import annotations

from typing import Any

import pytest

from passlab import transform
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir.equal import assert_structural_equal
from passlab.text.parser import parse

HEAD = "%x: int32, %y: int32, %c: bool"


def check(before: str, after: str, head: str = HEAD, more: str = "") -> None:
    mod, want = (infer_module(parse(f"{more} def @main({head}) {{ {body} }}")) for body in (before, after))
    result = transform.ManifestLifetimes()(mod)
    assert_structural_equal(result, want)
    assert transform.ManifestLifetimes()(result) is result


def test_a_parameter_is_killed_as_any_variable():
    check(
        "let %a = %x + %y; let %b = %a * %a; %b",
        "let %a = %x + %y; let %_0 = memory.kill(%x); let %_1 = memory.kill(%y);"
        "let %b = %a * %a; let %_2 = memory.kill(%a); %b",
    )


def test_what_is_needed_behind_the_branches_lives_through_them():
    check(
        "let %a = if (%c) { let %b = %x + %x; %b } else { let %d = %y * %x; %d }; let %e = %a + %x; %e",
        """let %a = if (%c) { let %b = %x + %x; %b } else { let %d = %y * %x; let %_0 = memory.kill(%y); %d };
        let %_1 = memory.kill(%c);
        let %e = %a + %x; let %_2 = memory.kill(%x); let %_3 = memory.kill(%a); %e""",
    )


def test_a_use_on_another_way_keeps_nothing_alive():
    check(
        "let %a = if (%c) { let %b = %x + %y; %b } else { let %d = %x * %y; let %f = %d + %y; %f }; %a",
        """let %a = if (%c) {
          let %b = %x + %y; let %_0 = memory.kill(%x); let %_1 = memory.kill(%y); %b
        } else {
          let %d = %x * %y; let %_2 = memory.kill(%x);
          let %f = %d + %y; let %_3 = memory.kill(%y); let %_4 = memory.kill(%d); %f
        };
        let %_5 = memory.kill(%c); %a""",
    )


def test_what_an_arm_binds_is_killed_in_it():
    check(
        "let %a = match (%l) { Two(%p, %q) => { let %b = %p + %x; %b }, None => %x }; %a",
        """let %a = match (%l) {
          Two(%p, %q) => { let %b = %p + %x; let %_0 = memory.kill(%p); let %_1 = memory.kill(%x); %b }, None => %x
        };
        let %_2 = memory.kill(%l); %a""",
        "%l: Pair, %x: int32",
        "type Pair { Two(int32, int32), None }",
    )


def test_what_a_function_captures_lives_until_it_is_made():
    check(
        "let %f = fn (%p: int32) { let %a = %p + %x; let %b = %a + %x; %b }; let %d = %f(%y); %d",
        """let %f = fn (%p: int32) {
          let %a = %p + %x; let %_0 = memory.kill(%p); let %b = %a + %x; let %_1 = memory.kill(%a); %b
        };
        let %_2 = memory.kill(%x);
        let %d = %f(%y); let %_3 = memory.kill(%f); let %_4 = memory.kill(%y); %d""",
    )


def test_a_chain_inside_a_value_kills_what_it_is_the_last_to_need():
    check(
        "let %a = { let %b = %x + %x; let %d = %b * %y; %d }; let %e = %a + %y; %e",
        """let %a = { let %b = %x + %x; let %_0 = memory.kill(%x); let %d = %b * %y; let %_1 = memory.kill(%b); %d };
        let %e = %a + %y; let %_2 = memory.kill(%y); let %_3 = memory.kill(%a); %e""",
    )


@pytest.mark.parametrize("branch", ["true", "false"])
def test_branches_may_nest_deep_with_a_variable_of_their_own_each(branch: str):
    depth = 1000
    names = [f"%v{i}" for i in range(depth)]
    text = "%v0"
    for name in names:
        used = f"let %a = {name} + 1; let %b = {text}; %b"
        text = f"if (%c) {{ {used} }} else {{ {name} }}" if branch == "true" else f"if (%c) {{ 1 }} else {{ {used} }}"
        text = f"({text})"
    mod = infer_module(
        parse(f"def @main(%c: bool, {', '.join(f'{n}: int32' for n in names)}) {{ let %r = {text}; %r }}")
    )
    result: Any = transform.ManifestLifetimes()(mod)
    assert result.astext().count("memory.kill(%v") == depth - 1
    args = [branch == "true", *range(depth)]
    assert Evaluator(result).run("main", args) == Evaluator(mod).run("main", args)
