"""Which functions of a program Python may call itself, and which run as loops.

A call by Python costs stack, and Python's is small. So a function is called directly only when the depth of the calls
below it is known and small: it calls no function value, and is not recursive but for calls of itself at its end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Expr, Function, GlobalVar, If, Let, Match
from passlab.ir.op import Op

HIGHEST = 100  # calls inside calls that Python makes itself


class Facts:
    """What one function does: the functions it calls, whether it calls itself last, and what keeps it from a loop."""

    def __init__(self, name: str, function: Function, functions: Mapping[str, Function]) -> None:
        self.callees: set[str] = set()
        self.calls_values = False
        self.calls_itself_last = False
        self.makes_functions = False
        self.nesting = 0
        stack: list[tuple[Expr, bool, int]] = [(function.body, True, 2)]
        while stack:
            at, last, depth = stack.pop()
            self.nesting = max(self.nesting, depth)
            if isinstance(at, Let) and at.body is at.var:
                stack.append((at.value, last, depth))
            elif isinstance(at, Let):
                stack += ((at.value, False, depth), (at.body, last, depth))
            elif isinstance(at, If):
                stack += ((at.true_branch, last, depth + 1), (at.false_branch, last, depth + 1))
            elif isinstance(at, Match):
                stack += [(c.rhs, last, depth + 2) for c in at.clauses]
            elif isinstance(at, Function):
                self.makes_functions = True
                stack.append((at.body, False, depth + 1))
            elif isinstance(at, Call) and isinstance(at.op, GlobalVar) and at.op.name_hint in functions:
                if at.op.name_hint == name and last:
                    self.calls_itself_last = True
                else:
                    self.callees.add(at.op.name_hint)
            elif isinstance(at, Call) and not isinstance(at.op, (Op, GlobalVar, Constructor)):
                self.calls_values = True


class CallGraph:
    """The facts of all functions; `deepest` is how far branches may nest in one Python function."""

    def __init__(self, functions: Mapping[str, Function], deepest: int) -> None:
        self.facts = {name: Facts(name, f, functions) for name, f in functions.items()}
        self.loops = {
            name
            for name, f in self.facts.items()
            if f.calls_itself_last and not f.makes_functions and f.nesting <= deepest
        }
        self.direct = self._direct(deepest)

    def _direct(self, deepest: int) -> set[str]:
        """The functions that Python may call itself, found from those that call nothing upwards."""
        callers: defaultdict[str, list[str]] = defaultdict(list)
        left: dict[str, int] = {}
        height: dict[str, int] = {}
        for name, f in self.facts.items():
            left[name] = len(f.callees)
            for callee in f.callees:
                callers[callee].append(name)
        result: set[str] = set()
        waiting = [name for name, count in left.items() if not count]
        while waiting:
            name = waiting.pop()
            f = self.facts[name]
            height[name] = 1 + max([height[c] for c in f.callees], default=0)
            looping = name in self.loops or not f.calls_itself_last
            if f.calls_values or not looping or f.nesting > deepest or height[name] > HIGHEST:
                continue
            result.add(name)
            for caller in callers[name]:
                left[caller] -= 1
                if not left[caller]:
                    waiting.append(caller)
        return result
