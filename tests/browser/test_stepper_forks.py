"""A fork in the stepper: beside its values stand those of the original, as long as both follow the same path."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

import passlab
from passlab import vm
from passlab.display import stepper_view
from passlab.notebook.widgets import show
from tests.browser.widget_page import widget_page
from tests.vm.programs import LOOP

pytestmark = [pytest.mark.browser, pytest.mark.rotating(parts=10)]


def test_the_original_is_shown_up_to_the_instant_at_which_the_paths_part(chrome: Browser) -> None:
    debugger = vm.Debugger(passlab.parse(LOOP), np.int32(2))
    fork = debugger.fork({"$0": np.int32(5)}, 0)
    assert fork.parted is not None
    assert 10 < fork.parted < len(fork.trace) - 40
    with widget_page(show(stepper_view(debugger)), chrome, (1400, 900)) as (page, _):
        page.locator(".pl-stepper").focus()
        page.keyboard.press("e")
        page.locator(".pl-branch .pl-edit").fill("5")
        page.keyboard.press("Enter")
        expect(page.locator(".pl-branch-line")).to_contain_text("fork at instant 0")
        expect(page.locator(".pl-original")).to_contain_text("2")
        shown = []
        for instant in range(len(fork.trace)):
            shown += [instant] * page.locator(".pl-original").count()
            page.keyboard.press("s")
        assert shown[0] == 0
        assert fork.parted - 10 < shown[-1] <= fork.parted
