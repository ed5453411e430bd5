"""A page of a view, first as it is before its script runs, then with it: what stands in both must stand in one place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

_TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def before_and_after(text: str, size: tuple[int, int], drawn: str, folder: Path, chrome: Browser) -> Iterator[Page]:
    """Open a page without its script, then as it is, once the script has `drawn` what a selector finds."""
    for page_text in (text[: text.index('<script type="module">')], text):
        (folder / "page.html").write_text(page_text, encoding="utf-8")
        page = chrome.new_page(viewport={"width": size[0], "height": size[1]})
        page.goto((folder / "page.html").as_uri())
        if page_text is text:
            expect(page.locator(drawn).first).to_be_visible()
            expect(page.locator(".pl-shell")).to_have_count(0)
            page.evaluate(_TWO_FRAMES)
        yield page
        page.close()
