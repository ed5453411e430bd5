"""The first picture of a recording in a page: its passes and what the chosen one did, before any script runs.

The script draws all of it anew, and the program; what is here has the classes that `pipeline.js` gives it, so that
nothing moves then.
"""

from __future__ import annotations

from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from passlab.display.html import Markup, div, span, tag
from passlab.display.palette import OUTCOMES
from passlab.errors import counted

TABS = ("IR", "Diff", "Graph", "Table")
MARK = "width:12px;height:12px"  # the room of an outcome's mark
CHIPS = 24  # operators that are named
CHOSEN = 550  # the weight of the name of the tab that is shown
SLIGHT = 0.02  # part of the longest time below which no bar is seen


def shell_of(data: dict[str, Any]) -> Markup:
    """Return the first picture of the data of a recording."""
    steps, start = data["steps"], data["start"]
    head = div("pl-bar", span("pl-title", data["title"]), span("pl-grow"), span("pl-button", "?"))
    chosen = steps[start]
    operators = data["diffs"][chosen["diff"]]["operators"] if "diff" in chosen else []
    columns = div("pl-columns", _passes(steps, start), _step(chosen, operators))
    return div("passlab pl-shell", head, columns)


def _passes(steps: list[dict[str, Any]], start: int) -> Markup:
    """The list of passes; those inside others are shown when they failed."""
    shown = [(at, step) for at, step in enumerate(steps) if not step["depth"] or step["outcome"] == "failed"]
    longest = max(0.001, *[step["ms"] for step in steps])
    rows = [_pass(step, longest, at == start) for at, step in shown]
    search = div("pl-search", span("pl-find"))
    return div("pl-passes", search, _filters(steps), div("pl-list", *rows))


def _filters(steps: list[dict[str, Any]]) -> Markup:
    """How many passes had each outcome."""
    many = Counter(step["outcome"] for step in steps if not step["depth"])
    made = [
        span("pl-button", _mark(name), f"{many[name]} {name}") for name in OUTCOMES if many[name] and name != "input"
    ]
    made.append(span("pl-button pl-inner", "by time"))
    if any(step["depth"] for step in steps):
        made.append(span("pl-button pl-inner", "nested"))
    return div("pl-filters", *made)


def _pass(step: dict[str, Any], longest: float, chosen: bool) -> Markup:
    part = step["ms"] / longest
    name = span("pl-pass-name", *_name(step["name"]), style=f"padding-left:{14 * step['depth']}px")
    timed = step["outcome"] not in ("input", "skipped")
    width = "0" if part < SLIGHT else f"calc({part!r} * (100% - 24px))"
    known = step["outcome"] if step["outcome"] != "input" else "other"
    return div(
        f"pl-pass pl-pass-{known}{' pl-chosen' if chosen else ''}",
        _mark(step["outcome"]),
        span("pl-pass-id", "" if step["depth"] else step["id"]),
        name,
        span("pl-time", spent(step["ms"]) if timed else ""),
        *([span("pl-time-bar", style=f"width:{width}")] if timed else []),
    )


def _name(text: str) -> list[Markup]:
    """The name of a pass and, in grey, its options."""
    name, bracket, options = text.partition("(")
    return [tag("b", name), *([span("pl-pass-options", bracket + options)] if bracket else [])]


def _mark(outcome: str) -> Markup:
    return span(f"pl-mark pl-mark-{outcome}", style=MARK)


def _step(step: dict[str, Any], operators: list[Any]) -> Markup:
    """What the chosen pass did, above the room of the program."""
    timed = step["outcome"] not in ("input", "skipped")
    facts = [
        spent(step["ms"]) if timed else "",
        counted(step["calls"], "operator"),
        counted(step["nodes"], "node"),
        counted(step["rewrites"], "rewrite") if step["rewrites"] else "",
    ]
    line = div(
        "pl-step-line", span("pl-step-name", *_name(step["name"])), span("pl-facts", "  ·  ".join(filter(None, facts)))
    )
    said = div(f"pl-step-said{' pl-error' if step['outcome'] == 'failed' else ''}", step["said"])
    chips = [
        span(
            "pl-chip",
            span("pl-op", name),
            f" {before} → ",
            tag("b", str(after), class_="pl-more-of" if after > before else "pl-less-of"),
        )
        for name, before, after in operators[:CHIPS]
    ]
    tabs = div(
        "pl-tabs",
        *[span("pl-button", name, style=f"font-weight:{CHOSEN if name == 'Diff' else 'inherit'}") for name in TABS],
    )
    return div(
        "pl-step",
        div("pl-step-head", line, said, *([div("pl-chips", *chips)] if chips else [])),
        div("pl-bar pl-tab-bar", tabs),
        div("pl-body"),
    )


def spent(ms: float) -> str:
    """Return a time as `pipeline.js` shows it."""
    if ms >= 1000:
        return f"{_fixed(ms / 1000, '0.01')} s"
    return f"{_fixed(ms, '1')} ms" if ms >= 100 else f"{_fixed(ms, '0.1')} ms" if ms >= 0.1 else "<0.1 ms"


def _fixed(value: float, places: str) -> Decimal:
    """A number as `toFixed` rounds it: halves up, where Python's formats go to the even one."""
    return Decimal(value).quantize(Decimal(places), ROUND_HALF_UP)


__all__ = ["shell_of"]
