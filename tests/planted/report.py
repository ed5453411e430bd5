"""Write the page of the manual about planted faults from what the search finds: `python -m tests.planted.report`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.planted.catalogue import FAULTS
from tests.planted.test_planted import search, shortcomings

PAGE = Path(__file__).parents[2] / "docs/develop/planted-faults.md"
HEAD = """# Planted faults

To measure what `lab.culprit` finds, the tests plant faults in passlab: they remove guards, swap operands, move axes by one, drop effects, and change kernels and instructions.
Each fault is data (`tests/planted`): a mutation of the syntax tree (a function, a kind of change, which occurrence), and a program whose results become wrong.
The search gets the program and the pipeline, and nothing else.

This page is written by `python -m tests.planted.report`.
*Nodes* and *lines* count the smallest program and the script that shows the fault.
The goal is fewer than 12 nodes and 25 lines; *misses* in the last column marks an answer that misses a goal.

"""


def page(rows: dict[str, dict[str, object]]) -> str:
    """The page as Markdown."""
    short = {name: shortcomings(name, row) for name, row in rows.items()}
    named = sum(not s for s in short.values())
    lines = [
        f"{sum(bool(row['found']) for row in rows.values())} of {len(rows)} faults are found, {named} of them meet the goal.",
        "",
    ]
    lines += ["| Fault | Kind | What is named | Where | Nodes | Lines | |", "|---|---|---|---|---|---|---|"]
    for name, row in rows.items():
        where = str(row.get("by", "")).split(" (")[0].replace("|", "/")
        mark = "misses" if short[name] else ""
        pair = (row.get("culprit") or "nothing", where, row.get("nodes", ""), row.get("lines", ""), mark)
        lines.append(f"| {name} | {FAULTS[name].kind} | " + " | ".join(str(cell).strip() for cell in pair) + " |")
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    """Search for all faults, two at once, and write the page."""
    with ThreadPoolExecutor(2) as pool:
        rows = dict(zip(FAULTS, pool.map(search, FAULTS), strict=True))
    PAGE.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
