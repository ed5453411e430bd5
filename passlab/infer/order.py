"""The order of inference of global functions: callees before callers, mutually recursive ones together.

Source: Tarjan, "Depth-first search and linear graph algorithms" (1972), with an explicit stack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def strongly_connected(references: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components of a graph of names, each after those it refers to."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_names: list[str] = []
    is_open: set[str] = set()
    out: list[list[str]] = []
    for root in references:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        open_names.append(root)
        is_open.add(root)
        stack = [(root, iter(references[root]))]
        while stack:
            name, rest = stack[-1]
            callee = next(rest, None)
            if callee is None:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[name])
                if low[name] == index[name]:
                    group = [open_names.pop()]
                    while group[-1] != name:
                        group.append(open_names.pop())
                    is_open.difference_update(group)
                    out.append(group[::-1])
            elif callee not in references:
                continue
            elif callee not in index:
                index[callee] = low[callee] = len(index)
                open_names.append(callee)
                is_open.add(callee)
                stack.append((callee, iter(references[callee])))
            elif callee in is_open:
                low[name] = min(low[name], index[callee])
    return out
