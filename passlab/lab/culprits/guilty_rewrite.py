"""`GuiltyRewrite`: the application of a rule that broke a program, or that raised, as its traceback shows."""

from __future__ import annotations

from dataclasses import dataclass
from types import FrameType

from passlab.diffing.diff import Diff, diff, node_name
from passlab.instrument.events import Event
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.walk import rewrite
from passlab.rewriting.let_removal import remove_lets


@dataclass(frozen=True, repr=False)
class GuiltyRewrite:
    """The rewrite of a pass that broke a program: the `number`-th of `count`, by a rule ("" for one without a name).

    `before` is the program after the rewrites before it, `after` the program with it as well. Where the rule raised,
    `number` is 0, `node` is the node it was called with, and `before` and `after` are the program before the pass.
    """

    number: int
    count: int
    rule: str
    before: IRModule
    after: IRModule
    node: Expr | None = None

    def diff(self) -> Diff:
        """Return what the rewrite changed."""
        return diff(self.before, self.after)

    def __str__(self) -> str:
        rule = f"by the rule `{self.rule}`" if self.rule else ""
        if self.node is not None:
            return f"the rewrite of `{node_name(self.node)}`{f' {rule}' if rule else ''}, which raised"
        return f"rewrite {self.number:,} of {self.count:,}, {rule or self.diff().summary}"

    __repr__ = __str__


# By code object: that is all a frame knows of its function.
_WALKS = {
    rewrite.__code__: ("pre", "name"),
    remove_lets.__code__: ("pre", "name"),
}  # the local variables that hold node and rule


def rewrite_that_raised(event: Event) -> GuiltyRewrite | None:
    """Return the rewrite in which a pass raised, None where it raised in none.

    The traversals hold their current node in a local variable, which is read from their frames in the traceback.
    """
    trace = None if event.error is None else event.error.__traceback__
    result = None
    while trace is not None:
        frame: FrameType = trace.tb_frame
        names = _WALKS.get(frame.f_code)
        node = None if names is None else frame.f_locals.get(names[0])
        if names is not None and isinstance(node, Expr):
            rule = str(frame.f_locals.get(names[1], ""))
            result = GuiltyRewrite(0, 0, rule, event.before, event.before, node)  # the innermost frame is the last one
        trace = trace.tb_next
    return result
