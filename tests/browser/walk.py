"""Random walks through a view, and what stands on the page after each step: the rows of its panes, as numbers and text.

A walk presses keys, clicks and resizes, without regard to programs. `walk_checks` compares what it reads with
`Recording` and `Debugger`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Locator, Page

WIDTHS = (600, 1000, 1400)

# The pane that is seen, row by row: [side, number, text], and whether the rows cover what is in sight of the pane.
_SEEN = """root => {
  const inside = (list, item) => {
    const frame = list.getBoundingClientRect(), mine = item.getBoundingClientRect();
    return mine.top >= frame.top - 1 && mine.bottom <= frame.bottom + 1;
  };
  const shown = root.querySelector(".pl-body > .pl-pane:not([hidden])");
  const textOf = selector => root.querySelector(selector)?.textContent ?? "";
  const state = { title: textOf(".pl-step-name"), above: root.querySelector(".pl-above:not([hidden])")?.textContent ?? "",
    note: root.querySelector(".pl-body > .pl-empty:not([hidden])")?.textContent ?? "",
    tab: textOf(".pl-tabs [aria-selected=true]"), chosen: textOf(".pl-active .pl-pass-name"), at: Number(root.querySelector(".pl-step").dataset.step), kind: "", rows: [], covered: true,
    listed: inside(root.querySelector(".pl-list"), root.querySelector(".pl-active")) };
  const graph = root.querySelector(".pl-body > .pl-graph-pair:not([hidden]) > .pl-graph-side:last-child > .pl-graph");
  if (graph) return { ...state, kind: "graph", rows: [["", "", graph.querySelector(".pl-canvas").getAttribute("aria-label")]] };
  if (!shown) {
    const table = root.querySelector(".pl-numbers:not([hidden])");
    if (table) state.kind = "table";
    for (const row of table ? table.querySelectorAll("tr") : [])
      state.rows.push(["", row.firstElementChild.textContent, [...row.children].slice(1).map(cell => cell.textContent).join("|")]);
    return state;
  }
  const box = shown.querySelector(".pl-scroll"), body = shown.querySelector(".pl-rows").getBoundingClientRect();
  const space = shown.querySelector(".pl-space").getBoundingClientRect(), frame = box.getBoundingClientRect();
  const first = Math.max(frame.top, space.top), last = Math.min(frame.bottom, space.bottom);
  state.covered = frame.height > 0 && body.top <= first + 1 && body.bottom >= last - 1;
  state.kind = box.classList.contains("pl-diff") ? "diff" : "code";
  for (const row of shown.querySelectorAll(".pl-row")) {
    const sides = state.kind === "code" ? [row] : [...row.querySelectorAll(".pl-side")];
    sides.forEach((side, place) => {
      const text = side.querySelector(".pl-text");
      if (!text) return;
      const copy = text.cloneNode(true);
      for (const more of copy.querySelectorAll(".pl-more, .pl-type:not(.pl-t)")) more.remove();
      const sign = side.querySelector(".pl-sign")?.textContent ?? "";
      const number = side.querySelector(".pl-number").textContent;
      state.rows.push([sides.length > 1 ? "lr"[place] : sign || (number ? "=" : ""), number, copy.textContent]);
    });
  }
  return state;
}"""
# The panes of the stepper: every row that is seen, and the instant.
_STEPPED = """root => {
  const text = (node, look) => node.querySelector(look)?.textContent ?? "";
  const covered = box => {
    const body = box.querySelector(".pl-rows").getBoundingClientRect(), space = box.querySelector(".pl-space").getBoundingClientRect();
    const rows = parseFloat(box.querySelector(".pl-space").style.height) || 0;
    const frame = box.getBoundingClientRect(), first = Math.max(frame.top, space.top), last = Math.min(frame.bottom, space.top + rows);
    return first >= last || !frame.height || (body.top <= first + 1 && body.bottom >= last - 1);
  };
  const inside = (box, row) => {
    const frame = box.getBoundingClientRect(), mine = row.getBoundingClientRect();
    return mine.top >= frame.top - 1 && mine.bottom <= frame.bottom + 1;
  };
  const code = root.querySelector(".pl-bytecode"), here = code.querySelector(".pl-current");
  return {
    at: Number(root.querySelector(".pl-position").value.replace(/[^\\d]/g, "")),
    uncovered: [...root.querySelectorAll(".pl-scroll")].filter(box => !covered(box)).map(box => box.className),
    instructions: [...code.querySelectorAll(".pl-inst")].map(row => [Number(text(row, ".pl-number")), row.querySelector(".pl-inst-text").title]),
    here: here ? Number(text(here, ".pl-number")) : -1,
    inSight: !here || inside(code, here),
    title: root.querySelector(".pl-code-pane .pl-pane-title").title,
    registers: [...root.querySelectorAll(".pl-register:not(.pl-none)")].map(row => [Number(row.dataset.register), text(row, ".pl-reg-value")]),
    over: !root.querySelector(".pl-pane-note").hidden,
    up: Math.max(0, Number(root.querySelector(".pl-frame.pl-active")?.dataset.place ?? 0)),
    frames: [...root.querySelectorAll(".pl-frame b")].map(name => name.textContent),
  };
}"""
_SETTLE = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


class Walk:
    """Random steps in one view. `log` has the actions so far."""

    def __init__(self, page: Page, root: Locator, seed: int) -> None:
        self.page, self.root = page, root
        self.random = random.Random(seed)
        self.log: list[str] = []

    def press(self, key: str) -> None:
        """Press a key while the view has the focus."""
        self.log.append(key)
        self.root.focus()
        self.page.keyboard.press(key)

    def click(self, look: str) -> None:
        """Click one of the elements that match and are seen, if there are any."""
        results = [one for one in self.root.locator(look).all() if one.is_visible()]
        if results:
            chosen = self.random.randrange(len(results))
            self.log.append(f"click {look} {chosen}")
            results[chosen].click()

    def search(self, text: str) -> None:
        """Search the list of passes for a text."""
        self.log.append(f"search {text!r}")
        self.root.locator(".pl-passes:not(.pl-find-panel) .pl-search .pl-find").fill(text)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size."""
        self.log.append(f"resize {width} {height}")
        self.page.set_viewport_size({"width": width, "height": height})

    def scroll(self, look: str) -> None:
        """Scroll a pane to a random height."""
        part = self.random.random()
        self.log.append(f"scroll {look} {part:.2f}")
        self.root.locator(f"{look}:visible").first.evaluate(
            "(box, part) => { box.scrollTop = part * box.scrollHeight; }", part
        )

    def settle(self) -> None:
        """Wait until the page has been painted; now and then until what comes later has come, too."""
        self.page.evaluate(_SETTLE)
        if self.random.random() < 0.1:
            self.page.wait_for_timeout(200)

    @contextmanager
    def explaining(self, seen: Any) -> Iterator[None]:
        """Add the last actions, and what was read, to the message of a comparison that fails."""
        try:
            yield
        except AssertionError as error:
            raise AssertionError(f"{error}\nafter {self.log[-12:]}\n{str(seen)[:1500]}") from error

    def seen(self) -> Any:
        """Read an explorer."""
        return self.root.evaluate(_SEEN)

    def stepped(self) -> Any:
        """Read a stepper."""
        return self.root.evaluate(_STEPPED)


def explore(walk: Walk, passes: list[str]) -> None:
    """Do one random thing in an explorer."""
    draw = walk.random.random()
    if draw < 0.34:
        walk.press(walk.random.choice(["j", "k", "g", "G", "j", "k"]))
    elif draw < 0.62:
        walk.press(walk.random.choice("1234"))
    elif draw < 0.74:
        walk.click(".pl-pass")
    elif draw < 0.80:
        walk.press(walk.random.choice(["u", "a", "f", "t", "b", "n", "p", "i"]))
    elif draw < 0.84:
        walk.click(".pl-filters .pl-button")
    elif draw < 0.88:
        walk.search(walk.random.choice(["", "", "", *passes]))
    elif draw < 0.93:
        walk.resize(walk.random.choice(WIDTHS), walk.random.choice([420, 800]))
    elif draw < 0.97 and walk.root.locator(".pl-body .pl-scroll:visible").count():
        walk.scroll(".pl-body .pl-scroll")
    else:
        walk.click(".pl-blame:not(:empty)")
    walk.settle()


def step(walk: Walk) -> None:
    """Do one random thing in a stepper."""
    draw = walk.random.random()
    if draw < 0.6:
        walk.press(walk.random.choice(["s", "S", "s", "n", "N", "f", "F", "m", "M", "l", "L", "ArrowDown", "ArrowUp"]))
    elif draw < 0.68:
        walk.press(walk.random.choice(["g", "G", "c", "C", "o", "u", "d"]))
    elif draw < 0.74:
        walk.click(".pl-frame[data-place]")
    elif draw < 0.80:
        walk.click(".pl-register")
    elif draw < 0.86:
        walk.click(".pl-tabs .pl-button")
    elif draw < 0.92:
        walk.resize(walk.random.choice(WIDTHS), walk.random.choice([520, 900]))
    else:
        walk.scroll(walk.random.choice([".pl-bytecode", ".pl-registers"]))
    walk.settle()
