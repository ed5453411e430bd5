"""Static views, where no widget runs, can be read on a light and on a dark page: WCAG AA, a contrast of 4.5."""

from __future__ import annotations

import pytest

from tests.display.view_examples import EXAMPLES, VIEWS

pytestmark = pytest.mark.browser
THEMES = {"light": ("#ffffff", "rgba(0,0,0,.87)"), "dark": ("#111111", "rgba(255,255,255,.87)")}
# The contrast of every piece of text with what lies beneath it, the veils included; the lowest, with its text.
_LOWEST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const over = colours => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = rgb => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let lowest = [21, ""];
  for (const details of document.querySelectorAll("details")) details.open = true;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.textContent.trim()) continue;
    const beneath = [];
    for (let at = node.parentElement; at; at = at.parentElement) beneath.unshift(getComputedStyle(at).backgroundColor);
    const back = light(over(beneath)), ink = light(over([...beneath, getComputedStyle(node.parentElement).color]));
    const contrast = (Math.max(back, ink) + 0.05) / (Math.min(back, ink) + 0.05);
    if (contrast < lowest[0]) lowest = [contrast, node.textContent.trim().slice(0, 60)];
  }
  return lowest;
}"""


@pytest.mark.rotating(parts=10)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", VIEWS)
def test_static_text_can_be_read(name, theme, chrome):
    paper, ink = THEMES[theme]
    page = chrome.new_page()
    page.set_content(f'<body style="background:{paper};color:{ink}">{EXAMPLES[name]().html()}</body>')
    contrast, text = page.evaluate(_LOWEST)
    page.close()
    assert contrast >= 4.5, text
