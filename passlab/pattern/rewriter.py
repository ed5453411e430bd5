"""Rewriting all matches of patterns in a program, until nothing changes.

Each round applies every callback, in order, to all current matches of its pattern. A callback costs in proportion to
the possible roots of its pattern; only a callback that changes something causes the program to be rebuilt and indexed
again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassError, PassTypeError
from passlab.infer import infer_expr
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.ir.walk import rewrite as rewrite_nodes
from passlab.pattern.groups import Group, find_groups
from passlab.pattern.language import DFPattern
from passlab.pattern.program import Program

MAX_ROUNDS = 100


class DFPatternCallback:
    """A rewrite: `pattern` selects expressions, `callback` replaces them.

        class AddZero(DFPatternCallback):
            def __init__(self):
                super().__init__()
                self.x = wildcard()
                self.pattern = self.x + is_expr(zero)

            def callback(self, pre, post, node_map):
                return node_map[self.x][0]

    With `require_type`, types are inferred before matching; with `rewrite_once`, the callback is not applied after the
    first round in which it changed something.

    >>> from passlab.relay import dataflow_pattern as dp
    >>> class Fast(dp.DFPatternCallback):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.pattern = dp.is_op("exp")(dp.wildcard())
    ...     def callback(self, pre, post, node_map):
    ...         return relay.fast_exp(*post.args)
    >>> print(Fast().rewrite(passlab.parse_expr("exp(1f)")))
    fast_exp(1f)
    """

    pattern: DFPattern | None = None
    require_type: bool = False
    rewrite_once: bool = False

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def callback(self, pre: Expr, post: Expr, node_map: dict[DFPattern, list[Expr]]) -> Expr:
        """Return the replacement of a match.

        `pre` is the matched expression, `post` the same with its inputs rewritten; `node_map` maps each pattern object
        to its rewritten expressions.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method `callback`")

    def rewrite(self, expr: Expr, mod: IRModule | None = None) -> Expr:
        """Return `expr` rewritten by this callback alone."""
        return rewrite(self, expr, mod)


@checked
def rewrite(
    callbacks: DFPatternCallback | Iterable[DFPatternCallback], expr: Expr, mod: IRModule | None = None
) -> Expr:
    """Return `expr` rewritten by callbacks until nothing changes; the same object if nothing matched.

    `mod` holds the global functions that types need. Raises `PassError` if 100 rounds are not enough. Raises
    `PassTypeError` for a callback without a pattern.

    >>> from passlab.relay import dataflow_pattern as dp
    >>> class Fast(dp.DFPatternCallback):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.x = dp.wildcard()
    ...         self.pattern = dp.is_op("exp")(self.x)
    ...     def callback(self, pre, post, node_map):
    ...         return relay.fast_exp(node_map[self.x][0])
    >>> print(dp.rewrite(Fast(), passlab.parse_expr("exp(1f)")))
    fast_exp(1f)
    """
    active = [callbacks] if isinstance(callbacks, DFPatternCallback) else list(callbacks)
    for callback in active:
        if not isinstance(getattr(callback, "pattern", None), DFPattern):
            raise PassTypeError(f"{type(callback).__name__} has no pattern; set `self.pattern` in its __init__")
    state = _RewriteState(expr, mod)
    for _ in range(MAX_ROUNDS):
        before = state.expr
        for callback in list(active):
            if state.apply(callback) and callback.rewrite_once:
                active.remove(callback)
        # callbacks that undo each other within a round leave an equal program
        if state.expr is before or structural_equal(before, state.expr, map_free_vars=True, exact=True):
            return before if state.has_changed else expr
    raise PassError(
        Diagnostic(
            f"Observed {MAX_ROUNDS} rewrite passes, possible conflicting passes?",
            expr.span,
            hint=f"these rewrites keep undoing each other: {', '.join(type(c).__name__ for c in active)}",
        )
    )


class _RewriteState:
    """The program between callbacks: its current form, its indexes, and whether its types are inferred."""

    def __init__(self, expr: Expr, mod: IRModule | None) -> None:
        self.expr = expr
        self.mod = mod
        self.has_changed = False
        self._program: Program | None = None
        self._typed_expr: Expr | None = None

    def apply(self, callback: DFPatternCallback) -> bool:
        """Rewrite all current matches of the pattern; return whether that changed anything."""
        if callback.require_type and self._typed_expr is not self.expr:
            self._set(infer_expr(self.expr, self.mod))
            self._typed_expr = self.expr
        if self._program is None:
            self._program = Program(self.expr)
        assert callback.pattern is not None
        groups = find_groups(callback.pattern, self._program, self.mod)
        if not groups:
            return False
        result = _apply_callback(self.expr, callback, groups)
        changed = result is not self.expr
        self._set(result)
        self.has_changed = self.has_changed or changed
        return changed

    def _set(self, expr: Expr) -> None:
        if expr is not self.expr:
            self.expr = expr
            self._program = None


def _apply_callback(expr: Expr, callback: DFPatternCallback, groups: list[Group]) -> Expr:
    by_root = {group.root: group for group in groups}
    changed: dict[Expr, Expr] = {}

    def rule(pre: Expr, post: Expr) -> Expr:
        group = by_root.get(pre)
        if group is None:
            return post
        node_map = {
            pattern: [post if e is pre else changed.get(e, e) for e in exprs]
            for pattern, exprs in group.matches.items()
        }
        result: Any = callback.callback(pre, post, node_map)
        if not isinstance(result, Expr):
            raise PassTypeError(
                Diagnostic(
                    f"{type(callback).__name__}.callback must return an expression",
                    pre.span,
                    found=type(result).__name__,
                    hint="return `post` to leave a match as it is",
                )
            )
        return result

    root_classes = tuple({type(group.root) for group in groups})
    return rewrite_nodes(expr, rule, replace=changed, only=root_classes, name=type(callback).__name__)
