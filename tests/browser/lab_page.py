"""A notebook open in JupyterLab, in a real browser: run it, wait for it, look at it.

JupyterLab is driven through its own application object (`window.jupyterapp`), not through its menus, and what is waited
for is a state of the kernel or of the page, never a length of time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, Playwright, ViewportSize, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.browser.lab_server import LabServer

WIDE: ViewportSize = {"width": 1400, "height": 1000}
READY_MS = 60_000
RUN_MS = 120_000

_OPENED = """path => {
  const widget = window.jupyterapp?.shell?.currentWidget;
  return widget?.context?.path === path && widget.context.isReady
      && widget.context.sessionContext.session?.kernel?.status === "idle";
}"""
_RUN = """async () => {
  const commands = window.jupyterapp.commands;
  await commands.execute("notebook:clear-all-cell-outputs");
  commands.execute("notebook:run-all-cells");
}"""
# Every cell has run, or one has failed that should not have, after which JupyterLab runs no more.
_RAN = """() => {
  const {content, context} = window.jupyterapp.shell.currentWidget;
  const cells = content.widgets.filter(cell => cell.model.type === "code" && cell.model.sharedModel.getSource());
  const failed = cells.some(cell => !(cell.model.getMetadata("tags") || []).includes("raises-exception")
      && cell.model.outputs.toJSON().some(output => output.output_type === "error"));
  return (failed || cells.every(cell => cell.model.executionCount !== null && cell.model.executionState !== "running"))
      && context.sessionContext.session.kernel.status === "idle";
}"""
_CODE = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .filter(cell => cell.model.type === "code")
  .map(cell => ({
    id: cell.model.id,
    count: cell.model.executionCount,
    outputs: cell.model.outputs.toJSON(),
    tags: cell.model.getMetadata("tags") || [],
  }))"""
_SOURCES = (
    """() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.sharedModel.getSource())"""
)
_SHOW = """number => window.jupyterapp.shell.currentWidget.content.scrollToItem(number, "start")"""
_IDENTIFIERS = "() => window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.id)"


class LabPage:
    """One notebook in one browser page. `page_errors` collects the exceptions that scripts of the page did not catch."""

    def __init__(self, page: Page, server: LabServer) -> None:
        self.page = page
        self.server = server
        self.page_errors: list[str] = []
        self.asked_elsewhere: list[str] = []
        page.on("pageerror", lambda error: self.page_errors.append(f"{error.name}: {error.message}\n{error.stack}"))
        page.on("request", self._note_request)

    @classmethod
    @contextmanager
    def opened(cls, server: LabServer, chrome: Browser, name: str) -> Iterator[LabPage]:
        """A notebook of the server's folder, open in a page of its own."""
        tab = chrome.new_page(viewport=WIDE)
        try:
            page = cls(tab, server)
            page.open(name)
            yield page
        finally:
            tab.close()

    def _note_request(self, request: Any) -> None:
        if not request.url.startswith(
            (f"http://127.0.0.1:{self.server.port}/", f"ws://127.0.0.1:{self.server.port}/", "data:", "blob:")
        ):
            self.asked_elsewhere.append(request.url)

    def open(self, name: str) -> None:
        """Open a notebook of the server's folder and wait for its kernel."""
        self.page.goto(self.server.notebook_url(name))
        self.page.wait_for_function(_OPENED, arg=name, timeout=READY_MS)

    def run_all(self) -> None:
        """Clear the notebook, run every cell, over errors that are expected, and wait for the last."""
        self.page.evaluate(_RUN)
        self.page.wait_for_function(_RAN, timeout=RUN_MS)

    def code_cells(self) -> list[dict[str, Any]]:
        """Every code cell: its id, execution count, outputs and tags."""
        return self.page.evaluate(_CODE)  # type: ignore[no-any-return]

    def count(self) -> int:
        """How many cells there are, prose included."""
        return self.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length")  # type: ignore[no-any-return]

    def identifiers(self) -> list[str]:
        """The id of every cell, prose included."""
        return self.page.evaluate(_IDENTIFIERS)  # type: ignore[no-any-return]

    def number_of(self, start: str) -> int:
        """The number of the first cell whose source starts so."""
        sources = self.page.evaluate(_SOURCES)
        return next(number for number, source in enumerate(sources) if source.startswith(start))

    def cell(self, number: int) -> Locator:
        """The n-th cell of the notebook, scrolled into view: JupyterLab may draw no others.

        It is scrolled again where JupyterLab, which scrolls late after a run, scrolled elsewhere at the same moment.
        """
        cell = self.page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{number}']")
        for _ in range(5):
            self.page.evaluate(_SHOW, number)
            try:
                cell.wait_for(timeout=5_000)
                break
            except PlaywrightTimeout:
                continue
        cell.wait_for()
        return cell

    def picture(self, number: int, path: Path) -> Path:
        """Keep a picture of the n-th cell."""
        self.cell(number).screenshot(path=path)
        return path

    def theme(self, name: str) -> None:
        """Change to "JupyterLab Light" or "JupyterLab Dark"."""
        self.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)


_launched: list[tuple[Playwright, Browser]] = []


@contextmanager
def browser(executable: Path) -> Iterator[Browser]:
    """The headless Chromium of this process, started by the first use; each use closes the pages that it opened."""
    if not _launched:
        playwright = sync_playwright().start()
        arguments = ["--no-sandbox", "--disable-gpu"]
        _launched.append((playwright, playwright.chromium.launch(executable_path=str(executable), args=arguments)))
    _, chrome = _launched[0]
    earlier = list(chrome.contexts)
    try:
        yield chrome
    finally:
        for context in chrome.contexts:
            if context not in earlier:
                context.close()


def stop_browser() -> None:
    """Close the Chromium of this process, if there is one. Until then no test of the process can run an event loop."""
    while _launched:
        playwright, chrome = _launched.pop()
        chrome.close()
        playwright.stop()
