"""Decides which functions of a program are called directly by Python, and which become loops.

A call by Python uses Python's stack, which is small. So a function is called directly only if the depth of the calls
below it is bounded and small: it calls no function values, and its only recursion is a tail call of itself, which
becomes a loop. All other calls go through the driver (`prelude.run`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Expr, Function, GlobalVar, If, Let, Match
from passlab.ir.op import Op

HIGHEST = 100  # nested direct calls; Python's default recursion limit is 1,000


class FunctionFacts:
    """The calls of one function, and the facts that decide whether it becomes a loop.

    `nesting` is the depth of nested branches; `makes_functions` rules out a loop: closures would share its variables.
    """

    def __init__(self, name: str, function: Function, functions: Mapping[str, Function]) -> None:
        self.callees: set[str] = set()
        self.calls_values = False
        self.calls_itself_last = False
        self.makes_functions = False
        self.nesting = 0
        stack: list[tuple[Expr, bool, int]] = [(function.body, True, 2)]  # 2: inside the loop that it may become
        while stack:
            at, last, depth = stack.pop()
            if depth > self.nesting:
                self.nesting = depth
            if type(at) is Let:
                if at.body is at.var:  # `let x = v; x` is v, so v is in tail position
                    stack.append((at.value, last, depth))
                else:
                    stack += ((at.value, False, depth), (at.body, last, depth))
            elif isinstance(at, If):
                stack += ((at.true_branch, last, depth + 1), (at.false_branch, last, depth + 1))
            elif isinstance(at, Match):
                stack += [(c.rhs, last, depth + 2) for c in at.clauses]  # `match` and `case` each indent the text
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


class CallPlan:
    """The functions that become loops, and those that Python calls directly.

    `deepest` is the deepest nesting of branches in one Python function.
    """

    def __init__(self, functions: Mapping[str, Function], deepest: int) -> None:
        self.facts = {name: FunctionFacts(name, f, functions) for name, f in functions.items()}
        self.loops = {
            name
            for name, f in self.facts.items()
            if f.calls_itself_last and not f.makes_functions and f.nesting <= deepest
        }
        self.direct = self._direct(deepest)

    def _direct(self, deepest: int) -> set[str]:
        """Return the functions that Python may call directly, in a topological order from the leaves upwards.

        A function on a cycle of calls never has all its callees done, so it is not in the result.
        """
        callers: defaultdict[str, list[str]] = defaultdict(list)
        pending: dict[str, int] = {}  # the number of callees that are not done
        height: dict[str, int] = {}
        for name, f in self.facts.items():
            pending[name] = len(f.callees)
            for callee in f.callees:
                callers[callee].append(name)
        result: set[str] = set()
        # Kahn's algorithm for a topological order.
        worklist = [name for name, count in pending.items() if not count]
        while worklist:
            name = worklist.pop()
            f = self.facts[name]
            height[name] = 1 + max([height[c] for c in f.callees], default=0)
            is_bounded = name in self.loops or not f.calls_itself_last
            # Its callers keep a pending callee, so they are not called directly either.
            if f.calls_values or not is_bounded or f.nesting > deepest or height[name] > HIGHEST:
                continue
            result.add(name)
            for caller in callers[name]:
                pending[caller] -= 1
                if not pending[caller]:
                    worklist.append(caller)
        return result
