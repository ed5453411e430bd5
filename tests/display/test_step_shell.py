"""What a page of a stepper shows before its script runs: the place where it stands, and no more than a screen holds."""

from __future__ import annotations

import re

import numpy as np
import pytest

import passlab
from passlab import vm
from passlab.display.html import Markup
from passlab.display.page import document
from passlab.display.step_shell import AROUND
from passlab.display.stepper import stepper_view
from tests.vm.programs import LOOP
from tests.vm.traced import LOGARITHM, TREE


def looped(count: int) -> vm.Debugger:
    return vm.Debugger(passlab.parse(LOOP), np.int32(count))


def long_function(count: int) -> vm.Debugger:
    lines = "\n".join(f"  let %v{i} = add(%x, {i}f);" for i in range(count))
    return vm.Debugger(passlab.parse(f"def @main(%x: float32) -> float32 {{\n{lines}\n  %v0\n}}"), np.float32(1))


def first_picture(dbg: vm.Debugger) -> Markup:
    return stepper_view(dbg).shell({})


def elements(markup: Markup) -> int:
    return len(re.findall(r"<\w", markup))


def rows(markup: Markup, look: str) -> list[str]:
    found = re.findall(rf'<div class="{look}[^"]*">(.*?)</div>', markup)
    return [re.sub(r"<[^>]*>", " ", row).strip() for row in found]


def test_it_does_not_grow_with_the_run():
    short, long = looped(10), looped(1000)
    assert len(long.trace) > 50 * len(short.trace)
    assert elements(first_picture(long)) == elements(first_picture(short))


def test_it_does_not_grow_with_the_program():
    dbg = long_function(300)
    dbg.goto(len(dbg.trace) // 2)
    shell = first_picture(dbg)
    assert len(rows(shell, "pl-inst")) == 2 * AROUND
    assert len(rows(shell, "pl-register")) <= 2 * AROUND


@pytest.mark.parametrize("at", [0, 7, -1])
def test_it_shows_the_counter_and_the_registers(at):
    dbg = vm.Debugger(passlab.parse(LOGARITHM), np.full((2, 3), 0.3, "float32"), np.ones((4, 3), "float32"))
    now = dbg.goto(at)
    shell = first_picture(dbg)
    here = re.findall(r'pl-here">.*?pl-number">(\d+)<', shell)
    assert here == ([] if now.ended else [str(now.pc)])
    shown = {int(row.split()[0][1:]) for row in rows(shell, "pl-register") if not row.endswith("–")}
    assert shown == set(now.registers)


def test_it_stands_before_the_data_and_the_script():
    page = document(stepper_view(looped(3)))
    assert page.index('class="passlab pl-shell"') < page.index('id="state"') < page.index('<script type="module">')


def test_hostile_names_stay_text():
    dbg = vm.Debugger(passlab.parse(TREE), np.int32(1))
    function = dbg.trace.sites.functions[0]
    object.__setattr__(function, "name", "<img src=x onerror=alert(1)>\u202e")
    shell = first_picture(dbg)
    assert "<img" not in shell
    assert "\u202e" not in shell


def test_other_views_have_none():
    assert passlab.display.module_view(passlab.parse(LOGARITHM)).shell({}) == ""
