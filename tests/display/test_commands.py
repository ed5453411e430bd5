"""The table of commands: names of their own in each view, and the page of the manual that is made of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from passlab.display.pages.scripts import WEB
from tests.architecture.sources import ROOT

TABLE: dict[str, dict[str, Any]] = json.loads((WEB / "commands.json").read_text(encoding="utf-8"))
NAMED = re.compile("(?:bind|copy|keep) ")  # a command without a key has a name in its place
SHOWN = {"ArrowDown": "↓", "ArrowUp": "↑", "ArrowLeft": "←", "ArrowRight": "→", "Escape": "Esc"}
PAGE = ROOT / "docs/reference/keys.md"
HEAD = """# Keys

These are the keys and commands of every view.
A view has them while it has the focus: click into it, or go there with Tab.
`Ctrl` is the command key on a Mac.
`?` shows the keys of a view; `Ctrl K` finds a command by words of its name.
JupyterLab's command palette also lists the commands.
"""


def keys_of(command: list[str]) -> list[str]:
    return [] if NAMED.match(command[0]) else command[0].split(" ")


def shown(key: str) -> str:
    parts = key.split("+") if len(key) > 1 else [key]
    name = " ".join(SHOWN.get(part, part.upper() if len(part) == 1 and len(parts) > 1 else part) for part in parts)
    return f"`{name}`"


def page() -> str:
    """The page of the manual."""
    parts = [HEAD]
    for view in TABLE.values():
        rows = []
        for command in view["commands"]:
            _, group, does, *where = command
            place = f", {where[0]}" if where else ""
            rows.append(f"| {' '.join(map(shown, keys_of(command)))} | {group} | {does}{place} |")
        rows += [f"| {sign} | | {means} |" for sign, means in view["signs"]]
        parts.append("\n".join([f"## {view['name']}\n", "| key | group | what it does |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)


def test_the_manual_has_the_table(request):
    if request.config.getoption("--bless"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make bless`"


@pytest.mark.parametrize("view", TABLE)
def test_a_key_is_given_once_and_a_hint_is_a_command(view):
    keys = [key for command in TABLE[view]["commands"] for key in keys_of(command)]
    common = [key for command in TABLE["every"]["commands"] for key in keys_of(command)]
    assert len(keys) == len(set(keys))
    own = set() if view == "every" else set(keys)
    assert not own & set(common)
    assert set(TABLE[view]["hints"]) <= {*keys, *common}
    names = [(group, does) for _, group, does, *_ in TABLE[view]["commands"]]
    assert len(names) == len(set(names))
