"""The view of a tree: dominators, scopes, calls. The text form is the drawing; a page shows the same in boxes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any

from passlab.display.html import Markup, tag
from passlab.display.palette import CODE, MUTED, RULE
from passlab.display.view import View, checked_view
from passlab.display.view_parts import Part, Sentence
from passlab.errors import PasslabError, did_you_mean

_INDENT = 26  # pixels of one level


class Branches(Part):
    """The nodes of a tree in the order of drawing: depth, node, and whether it is the last child of its parent."""

    def __init__(self, rows: Sequence[tuple[int, Hashable, bool]], marked: frozenset[Any]) -> None:
        self.rows, self.marked = rows, marked

    def lines(self) -> list[str]:
        lines = []
        open_levels: list[bool] = []  # whether further siblings follow, by depth
        for depth, node, last in self.rows:
            del open_levels[max(0, depth - 1) :]
            branch = "" if depth == 0 else "└─ " if last else "├─ "
            indent = "".join("│  " if more else "   " for more in open_levels)
            lines.append(f"{indent}{branch}{node}{'  *' if node in self.marked else ''}")
            if depth:
                open_levels.append(not last)
        return lines

    def html(self) -> Markup:
        rows = []
        for depth, node, _ in self.rows:
            weight = ";font-weight:600;background:rgba(46,160,67,.16)" if node in self.marked else ""
            box = tag("span", str(node), style=f"border:{RULE};border-radius:5px;padding:1px 8px{weight}")
            arrow = tag("span", "↳ " if depth else "", style=f"color:{MUTED}")
            rows.append(tag("div", arrow, box, style=f"{CODE};margin-left:{depth * _INDENT}px;padding:2px 0"))
        return tag("div", *rows, style="margin:6px 0")


class TreeView(View):
    """A tree that is given by the parent of each node; nodes without a parent are roots, in the order of the table.

    Raises `PasslabError` if a parent is not in the table, or a node would be above itself.

    >>> print(display.tree_view({"add": None, "exp": "add"}, "what hangs below what").text())
    what hangs below what
    add
    └─ exp
    """

    kind = "tree"
    title = ""
    whole = "the text of a smaller tree is complete"

    def __init__(self, parents: Mapping[Any, Any], title: str = "", marked: frozenset[Any] = frozenset()) -> None:
        self.parents = dict(parents)
        self.title = title
        self.marked = marked
        unknown = [str(parent) for parent in self.parents.values() if parent is not None and parent not in self.parents]
        if unknown:
            raise PasslabError(
                f"the parent `{unknown[0]}` is not a node of the tree{_suggestion(unknown[0], self.parents)}"
            )
        if len(self.rows) < len(self.parents):
            raise PasslabError("these parents form no tree: some nodes are above themselves")

    @cached_property
    def rows(self) -> list[tuple[int, Hashable, bool]]:
        """The nodes in the order of the drawing: depth, node, and whether it is the last child of its parent."""
        children: dict[Any, list[Any]] = {}
        for node, parent in self.parents.items():
            children.setdefault(parent, []).append(node)
        roots = children.get(None, [])
        rows: list[tuple[int, Hashable, bool]] = []
        stack = [(0, node, node is roots[-1]) for node in reversed(roots)]
        while stack:
            depth, node, last = stack.pop()
            rows.append((depth, node, last))
            below = children.get(node, [])
            stack.extend((depth + 1, child, child is below[-1]) for child in reversed(below))
        return rows

    def parts(self) -> Iterable[Part]:
        if self.title:
            yield Sentence(self.title, "muted")
        yield Branches(self.rows, self.marked)

    def data(self) -> dict[str, Any]:
        rows = [[depth, str(node), node in self.marked] for depth, node, _ in self.rows]
        return {"kind": self.kind, "title": self.title, "rows": rows}


def _suggestion(name: str, nodes: Mapping[Any, Any]) -> str:
    suggestion = did_you_mean(name, [str(node) for node in nodes])
    return f"; {suggestion}" if suggestion else ""


@checked_view(Mapping, hint='`{"root": None, "child": "root"}` gives each node its parent')
def tree_view(parents: Mapping[Any, Any], title: str = "", marked: Sequence[Any] | Set[Any] = ()) -> TreeView:
    """Return the view of a tree from a table of parents (None for a root); `marked` nodes stand out.

    Raises `PasslabError` where the table is not a tree.

    >>> print(display.tree_view({"add": None, "exp": "add"}, "what hangs below what", marked=["add"]))
    what hangs below what
    add  *
    └─ exp
    """
    return TreeView(parents, title, frozenset(marked))
