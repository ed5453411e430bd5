"""Which global functions name which others, and in what order to treat them so that the named come first."""

from __future__ import annotations

from passlab.ir.expr import GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order


class CallGraph:
    """The global functions of a module and the global functions that each names, called or as a value.

    `names[f]` lists those of f in order of first use; `order` lists all functions, named ones first but for cycles;
    `recursive` holds the functions that reach themselves.
    """

    def __init__(self, mod: IRModule) -> None:
        self.names: dict[str, list[str]] = {
            name: list(dict.fromkeys(n.name_hint for n in post_order(f) if type(n) is GlobalVar and n in mod))
            for name, f in mod.items()
        }
        self.order: list[str] = []
        self.recursive: set[str] = set()
        self._components()

    def _components(self) -> None:
        """Find strongly connected components (Tarjan, 1972), with a stack of its own."""
        index: dict[str, int] = {}
        low: dict[str, int] = {}
        open_: dict[str, None] = {}
        for root in self.names:
            if root in index:
                continue
            work = [(root, iter(self.names[root]))]
            index[root] = low[root] = len(index)
            open_[root] = None
            while work:
                at, rest = work[-1]
                for callee in rest:
                    if callee not in index:
                        index[callee] = low[callee] = len(index)
                        open_[callee] = None
                        work.append((callee, iter(self.names[callee])))
                        break
                    if callee in open_:
                        low[at] = min(low[at], index[callee])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[at])
                    if low[at] == index[at]:
                        self._close(at, open_)

    def _close(self, root: str, open_: dict[str, None]) -> None:
        component = []
        while not component or component[-1] != root:
            component.append(open_.popitem()[0])
        if len(component) > 1 or root in self.names[root]:
            self.recursive.update(component)
        self.order += component
