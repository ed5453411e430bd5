"""The lines that each fault changes, as they stand in `changes.txt`: `python -m tests.planted.changes` writes them anew.

A fault counts places of a kind in a function, so code written before its place moves the fault to another one, which is a
fault as well and compiles. What it changes is therefore stated. Other names for the variables of the function are the same
change; anything else is read by whoever writes the file anew.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.mutants.definitions import find
from tests.mutants.measure import difference
from tests.planted.catalogue import FAULTS
from tests.planted.fault import Fault
from tests.planted.variables import name_of, variables

FILE = Path(__file__).with_name("changes.txt")
_TOKEN = re.compile(r"\w+|[^\w\s]")


@cache
def stated() -> dict[str, str]:
    """What the file says that each fault changes."""
    blocks = FILE.read_text(encoding="utf-8").strip().split("\n\n")
    return dict(block.split("\n", 1) for block in blocks)


def is_same_change(stated_lines: str, fault: Fault) -> bool:
    """Whether a fault changes these lines, whatever the variables of the function are called now."""
    now = _TOKEN.findall(difference(fault.mutation).replace('"', "'"))
    then = _TOKEN.findall(stated_lines.replace('"', "'"))
    if now == then:
        return True
    definition = find(fault.mutation.definition)
    free = {name for root in definition.roots for name in map(name_of, variables(definition.tree, root))}
    forth, back = {}, {}
    return len(now) == len(then) and all(
        forth.setdefault(a, b) == b and back.setdefault(b, a) == a if a in free else a == b
        for a, b in zip(now, then, strict=True)
    )


def main() -> None:
    """Write the file from what the faults change now."""
    blocks = [f"{name}\n{difference(fault.mutation)}\n" for name, fault in FAULTS.items()]
    FILE.write_text("\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
