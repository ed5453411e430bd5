"""`ViewWidget`: the base of all widgets. It holds the data of a view, and the nodes that are selected in it.

`widget.selection` is a list of nodes, observable and settable. All widgets of a notebook have one selection: a node
that is selected in one is highlighted in the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from weakref import WeakSet

import anywidget
import traitlets
from IPython import get_ipython
from ipywidgets import Box

from passlab.display.nodes import node_of, number_of
from passlab.display.pages.scripts import script, style
from passlab.display.view import View
from passlab.errors import visible
from passlab.ir.expr import Expr
from passlab.ir.gc_pause import building
from passlab.ir.node_errors import not_a_node_error
from passlab.notebook.formatters import static_twins

TICKETS = 200  # that a widget remembers
Change = dict[str, Any]  # what traitlets says of a trait that changed, or is about to


class ViewWidget(anywidget.AnyWidget):
    """Base of the widgets: one view, its data, and its static forms. `selection` has the selected nodes."""

    _css = style()
    _script = ""  # of `display/web`; by default that of the view
    data: Any = traitlets.Dict().tag(sync=True)
    nodes = traitlets.List(traitlets.Int()).tag(sync=True)
    related = traitlets.Dict().tag(sync=True)
    selection: Any = traitlets.List()
    _live: ClassVar[WeakSet[ViewWidget]] = WeakSet()
    _leader: ClassVar[ViewWidget | None] = None  # the widget whose selection the others take over just now
    _parents: tuple[Any, dict[int, int]] = ([], {})  # the links of the data, and the same as numbers by number
    _tickets: tuple[str, ...] = ()  # the requests that were answered last
    _own_layout: Any = None  # until the widget is built: one that could not be is closed as well

    def __init__(self, view: View) -> None:
        self.view = view
        self._esm = script(self._script or view.script)
        with building():
            data = self._data()
        super().__init__(data=data)
        self.on_msg(self._on_message)
        self._own_layout = self.layout
        ViewWidget._live.add(self)
        if (shell := get_ipython()) is not None:
            shell.display_formatter.mimebundle_formatter.for_type(Box, _box_bundle)

    def close(self) -> None:
        """Close the widget and its layout, which would otherwise stay in the kernel's memory."""
        super().close()
        if self._own_layout is not None:
            self._own_layout.close()

    @traitlets.validate("selection")
    def _checked_selection(self, proposal: Change) -> list[Expr]:
        """Take a list of nodes; raises `NodeTypeError` for anything else in it."""
        for node in proposal["value"]:
            if not isinstance(node, Expr):
                raise not_a_node_error(node, "a node of a program")
        return list(proposal["value"])

    @traitlets.observe("selection")
    def _selection_changed(self, change: Change) -> None:
        self.nodes = [number_of(node) for node in change["new"]]

    @traitlets.observe("nodes")
    def _nodes_changed(self, change: Change) -> None:
        """Update `selection`, and highlight the same nodes, their earlier and later forms, in all widgets."""
        numbers = change["new"]
        kept = {number_of(node): node for node in self.selection}
        selected = [kept.get(number) or node_of(number) for number in numbers]
        self.selection = [node for node in selected if node is not None]
        if ViewWidget._leader is not None:
            return
        ViewWidget._leader = self
        try:
            widgets = list(ViewWidget._live)
            related = relatives(numbers, [parents for widget in widgets if (parents := widget.parents)])
            for widget in widgets:
                with widget.hold_sync():
                    widget.related = related
                    widget.nodes = numbers
        finally:
            ViewWidget._leader = None

    @property
    def parents(self) -> dict[int, int]:
        """The earlier form of each node, by number, as far as the view knows: see `display.nodes.Links`."""
        links = self.data.get("links", [])
        if links is not self._parents[0]:
            self._parents = (links, dict(zip(links[::5], links[1::5], strict=True)))
        return self._parents[1]

    def _data(self) -> Mapping[str, Any]:
        """The data that the browser gets first."""
        return self.view.data()

    def _on_message(self, _: object, content: object, buffers: object) -> None:
        """Answer a message of the browser, and tell it then that its request, by its ticket, is done.

        A request that is sent twice, because the first was long in coming, is answered once.
        """
        ticket = content.pop("ticket", None) if isinstance(content, dict) else None
        if not isinstance(ticket, str):
            self._answer(content)
            return
        if ticket in self._tickets:
            self.send({"done": ticket})
            return
        self._tickets = (*self._tickets[1 - TICKETS :], ticket)
        problem = "The kernel was interrupted."
        try:
            self._answer(content)
            problem = ""
        except Exception as error:
            problem = visible(f"The kernel could not answer: {type(error).__name__}: {error}")
            raise
        finally:
            self.send({"done": ticket, "problem": problem} if problem else {"done": ticket})

    def _answer(self, content: object) -> None:
        """Answer a request of the browser. Most widgets need no kernel."""

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**(data or {}), **static_twins(self.view)}, metadata


def _box_bundle(box: Box, include: Any = None, exclude: Any = None) -> Any:
    """The forms of a box of ipywidgets: with views in it also their static forms, for a notebook without its kernel."""
    data = box._repr_mimebundle_(include=include, exclude=exclude)
    views = [widget.view for widget in _inside(box) if isinstance(widget, ViewWidget)]
    return {**data, **static_twins(*views)} if views and data else data


def _inside(box: Box) -> list[Any]:
    """The widgets in a box and in the boxes in it, in order."""
    found, waiting = dict[Any, None](), [box]
    while waiting:
        widget = waiting.pop()
        if widget not in found:
            found[widget] = None
            waiting += reversed(getattr(widget, "children", ()))
    return list(found)


def relatives(numbers: list[int], histories: list[dict[int, int]]) -> dict[str, Any]:
    """Return the earlier forms of nodes, the newest first for each, and all their later forms, as far as views know."""
    before = []
    for number in numbers:
        trail = [number]
        while (older := _before(trail[-1], histories)) >= 0 and older not in trail:
            trail.append(older)
        before.append(trail[1:])
    after: dict[int, None] = dict.fromkeys(numbers)
    children: dict[int, list[int]] = {}
    for parents in histories if numbers else ():
        for child, parent in parents.items():
            children.setdefault(parent, []).append(child)
    waiting = list(numbers)
    while waiting:
        new = [child for child in children.get(waiting.pop(), ()) if child not in after]
        after.update(dict.fromkeys(new))
        waiting += new
    return {"of": numbers, "before": before, "after": list(after)[len(numbers) :]} if numbers else {}


def _before(number: int, histories: list[dict[int, int]]) -> int:
    """The earlier form of a node, -1 if no view knows one."""
    return next((parents[number] for parents in histories if parents.get(number, -1) >= 0), -1)


def notebook_variables() -> dict[str, Any]:
    """Return the variables of the notebook, none outside of one."""
    shell = get_ipython()
    return {} if shell is None else {n: v for n, v in shell.user_ns.items() if not n.startswith("_")}
