"""The views are for everybody: axe finds nothing serious in them, in light, in dark and in colours forced by the system.

axe-core is a tool of the development environment (`package.json`), which `make check` installs; no wheel holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from passlab import vm
from passlab.course.folder import start
from passlab.display import graph_view
from passlab.display.pages.page import write
from passlab.display.views.recording import recording_view
from passlab.display.views.stepper import stepper_view
from tests.browser.lab_page import READY_MS, WIDE
from tests.browser.lab_server import LabServer
from tests.browser.test_gallery import VIEWS, arguments, recorded
from tests.browser.widget_page import widget_page
from tests.display.view_examples import EXAMPLES

AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.rotating(parts=10),
    pytest.mark.browser,
    pytest.mark.skipif(
        not AXE.is_file(), reason="axe-core is not installed: `make check` installs the tools of the scripts"
    ),
]
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "forced_colors": "none"},
    "dark": {"color_scheme": "dark", "forced_colors": "none"},
    "forced": {"color_scheme": "light", "forced_colors": "active"},
}
OF_COLOURS = ("color-contrast", "link-in-text-block")  # rules whose answers differ from look to look
# What is asked of a page as a whole (a title, landmarks, a first heading) is the host's affair.
_AUDIT = """async ([where, only]) => {
  const options = { resultTypes: ["violations"], rules: { region: { enabled: false } } };
  if (only.length) options.runOnly = { type: "rule", values: only };
  const { violations } = await axe.run(where, options);
  return violations.filter(one => one.impact === "serious" || one.impact === "critical").flatMap(one =>
    one.nodes.map(node => `${one.id}: ${node.target.join(" ")} ${node.failureSummary.split("\\n").slice(1).join(" ")}`));
}"""

# Colours change in a tenth of a second; axe is asked when they have changed.
_CALM = """async () => {
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  await Promise.allSettled(document.getAnimations().map(animation => animation.finished));
}"""


def findings(page: Page, where: str, only: tuple[str, ...]) -> list[str]:
    """What axe calls serious or critical within the elements that match, by all of its rules or by some."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    page.evaluate(_CALM)
    return page.evaluate(_AUDIT, [where, only])  # type: ignore[no-any-return]


def in_every_look(page: Page, where: str = ".passlab") -> dict[str, list[str]]:
    """The findings in each look that has any: of all rules in the first, and of those about colours in the others."""
    found: dict[str, list[str]] = {}
    for look, media in LOOKS.items():
        page.emulate_media(**media)
        found[look] = findings(page, where, OF_COLOURS if found else ())
    return {look: texts for look, texts in found.items() if texts}


@pytest.mark.nightly
@pytest.mark.parametrize("name", VIEWS)
def test_a_live_view_has_no_serious_finding(name: str, chrome: Browser) -> None:
    make, kind, keys = VIEWS[name]
    with widget_page(make(), chrome, kind=kind) as (page, _):
        page.locator(".passlab").last.focus()
        for key in keys.split():
            page.keyboard.press(key)
        page.wait_for_timeout(200)
        found = {}
        tabs = page.get_by_role("tab").filter(visible=True)
        for at in range(max(1, tabs.count())):
            if tabs.count():
                tabs.nth(at).click()
                page.wait_for_timeout(200)
            found |= {(at, look): texts for look, texts in in_every_look(page).items()}
    assert found == {}


PAGES: dict[str, Callable[[], Any]] = {
    "explorer": lambda: recording_view(recorded()),
    "stepper": lambda: stepper_view(vm.Debugger(recorded(), *arguments())),
    "graph": lambda: graph_view(recorded().output),
}


@pytest.mark.rotating(parts=10)
@pytest.mark.parametrize("name", PAGES)
def test_an_exported_page_has_no_serious_finding(name: str, chrome: Browser, tmp_path: Path) -> None:
    write(PAGES[name](), tmp_path / "page.html")
    page = chrome.new_page(viewport=WIDE)
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".passlab").first.wait_for()
    page.locator(".pl-first").wait_for(state="detached")
    found = in_every_look(page, "html")
    page.close()
    assert found == {}


PAPER = "<style>html { color-scheme: light dark; background: light-dark(#fff, #111) }</style>"


@pytest.mark.rotating(parts=15)
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_static_view_has_no_serious_finding(name: str, chrome: Browser) -> None:
    page = chrome.new_page()
    page.set_content(f"<!doctype html><html lang=en><title>a view</title>{PAPER}{EXAMPLES[name]().html()}")
    found = in_every_look(page, "body")
    page.close()
    assert found == {}


@pytest.mark.nightly
def test_the_panel_of_the_course_has_no_serious_finding(chrome: Browser) -> None:
    with LabServer() as server:
        start(Path(server.folder) / "course")
        page = chrome.new_page(viewport=WIDE)
        page.goto(server.url("lab?reset"))
        page.wait_for_function("() => window.jupyterapp?.commands.hasCommand('passlab:course')", timeout=READY_MS)
        page.evaluate("async () => { await jupyterapp.restored; await jupyterapp.commands.execute('passlab:course'); }")
        page.locator("#passlab-course ol button").first.wait_for(timeout=READY_MS)
        found = {}
        for theme in ("JupyterLab Light", "JupyterLab Dark"):
            page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
            page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=theme)
            found |= {(theme, look): texts for look, texts in in_every_look(page, "#passlab-course").items()}
        page.close()
    assert found == {}
