"""The first picture of a stepper in a page: the code around the counter and the registers, before any script runs.

The script draws all of it anew, with everything else; what is here has the classes and the places that `steppanes.js`
gives it, so that nothing moves then. How much there is depends on what fits on a screen, not on the run.
"""

from __future__ import annotations

import re

from passlab.debugger.code_map import KERNEL
from passlab.debugger.instant import Instant
from passlab.debugger.values import short_text
from passlab.display.html import Markup, div, span, tag
from passlab.errors import visible

ROW, MARGINS = 20, 12  # pixels, as in `rows.js`
AROUND = 40  # rows before and after the one that must be seen: more than a screen shows
NAME = 12  # characters of an instruction's name that stay, however little room there is
TIMELINE, NO_MEMORY = 124, 64  # pixels: the height of the timeline, with and without the strip of storages
_HEAD = re.compile(r"[^\s$(]*")
# How far `Rows.reveal` scrolls: not at all where the row is in sight (100% is the height of the list), else so that it
# is a third from the top.
_SCROLLED = (
    "clamp(0px, ({here}px + 20px - 100%) * 9999, min(round(down, {here}px - 100% / 3, 20px) + 6px, {all}px - 100%))"
)


def shell_of(now: Instant, title: str) -> Markup:
    """Return the first picture of the stepper at an instant."""
    operators = " + ".join(visible(name) for name in now.operators)
    head = div("pl-bar pl-step-title", span("pl-title", title), span("pl-grow"), span("pl-stepper-said", operators))
    values = div("pl-step-column pl-values", _registers(now), div("pl-value"))
    sides = div("pl-step-column pl-sides", div("pl-pane-title"))
    time = tag("div", style=f"height:{TIMELINE if len(now.trace.storage) else NO_MEMORY}px")
    columns = div("pl-step-columns", _code(now), values, sides)
    return div("passlab pl-shell", head, div("pl-bar pl-step-bar"), columns, div("pl-timeline", time))


def _list(rows: list[Markup], first: int, here: int, count: int, style: str = "") -> Markup:
    """A scrolled list of `count` rows in which row `here` must be seen; the rows from `first` on are given."""
    scrolled = _SCROLLED.format(here=here * ROW, all=count * ROW + MARGINS)
    top = f"top:calc({first * ROW + MARGINS // 2}px - {scrolled})"
    return div("pl-scroll pl-code", tag("div", *rows, style=f"position:absolute;left:0;right:0;{top};{style}"))


def _code(now: Instant) -> Markup:
    """The function that runs, around the counter; after the end the one that ran last."""
    trace, sites = now.trace, now.trace.sites
    if now.site < 0 and not len(trace):
        return div("pl-step-pane pl-code-pane", div("pl-pane-title"))
    last = now.site if now.site >= 0 else int(trace.site[now.number - 1])
    func = int(sites.function[last])
    function, base = sites.functions[func], sites.bases[func]
    count, here = len(function.instructions), last - base
    first = max(0, here - AROUND)
    rows = [_instruction(now, base, pc) for pc in range(first, min(count, here + AROUND))]
    name, params = visible(str(function.name)), ", ".join(visible(p) for p in function.params)
    title = div("pl-pane-title", tag("b", _short_name(name)), span("pl-dim", f"({params})"))
    return div("pl-step-pane pl-code-pane", title, _list(rows, first, here, count))


def _short_name(name: str) -> str:
    """As `shortName` in `steppanes.js`."""
    return f"@{name[:16]}…{name[-6:]}" if len(name) > 26 else f"@{name}"


def _instruction(now: Instant, base: int, pc: int) -> Markup:
    sites, site = now.trace.sites, base + pc
    text, role = visible(sites.text(site)), int(sites.role[site])
    found = _HEAD.match(text)
    head = found[0] if found else ""
    name = span("pl-op" if role == KERNEL else "pl-keyword", head, style=f"min-width:{min(len(head), NAME)}ch")
    look = f"pl-inst pl-role-{role}{' pl-here' if site == now.site else ''}"
    shown = span("pl-inst-text", name, span("pl-rest", text[len(head) :]))
    return div(look, span("pl-gutter"), span("pl-counter"), span("pl-number", str(pc)), shown)


def _registers(now: Instant) -> Markup:
    """The registers of the frame that runs, around the one that the stepper picks."""
    held, names = now.registers, _names(now)
    listed = sorted({*held, *now.reads, *now.writes, *now.just_written})
    known = [r for r in (*now.just_written, *now.reads, *listed) if r in held]
    picked = known[0] if known else -1
    here = listed.index(picked) if known else 0
    first = max(0, here - AROUND)
    rows = [
        div(
            "pl-register pl-chosen" if r == picked else "pl-register" if r in held else "pl-register pl-none",
            span("pl-reg-look"),
            span("pl-reg-name", f"${r}"),
            span("pl-reg-param", names.get(r, "")),
            span("pl-reg-value", visible(short_text(held[r])) if r in held else "–"),
        )
        for r in listed[first : here + AROUND]
    ]
    wide = min(14, 2 + max((len(names.get(r, "")) for r in listed), default=-2))
    body = _list(rows, first, here, len(listed), f"--pl-name:{wide}ch")
    return div("pl-step-pane pl-register-pane", div("pl-pane-title", tag("b", "Registers")), body)


def _names(now: Instant) -> dict[int, str]:
    """The parameters of the function that runs, by register; several may have the same name."""
    if now.ended:
        return {}
    trace = now.trace
    return dict(enumerate(visible(p) for p in trace.sites.functions[trace.log.function[now.frame]].params))


__all__ = ["shell_of"]
