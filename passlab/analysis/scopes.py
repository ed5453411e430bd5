"""The scopes of a program: where a node that is used several times may be computed.

It must be computed once, before all of its uses, and not in a branch that only some of them are in. Its scope is
therefore the innermost one around all uses: in the tree of scopes, their lowest common ancestor.

    fn (%c, %x) {              top                    depth 0
      if (%c) {                  body of fn           depth 1   %c, %x, the `if`, and e, for both branches use it
        tanh(e)                    true branch        depth 2   tanh(e)
      } else {                     false branch       depth 2   abs(e)
        abs(e)
      }
    }

    >>> x, c = relay.var("x", "float32"), relay.var("c", "bool")
    >>> e = relay.exp(x)
    >>> branch = relay.If(c, relay.tanh(e), relay.abs(e))
    >>> scopes = Scopes(relay.Function([c, x], branch))
    >>> scopes.of[e] is scopes.of[branch], scopes.of[branch.true_branch] is scopes.inner[branch, 0]
    (True, True)

One walk finds the scopes of all nodes, from users to what they use (`Scopes`): a node is reached after its last user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from passlab.arguments import checked
from passlab.ir.adt import pattern_vars
from passlab.ir.expr import Expr, Function, If, Let, Match
from passlab.ir.walk import CHILDREN, post_order


@checked
class Scope:
    """A region of a program in which bindings may be placed: a function body, a branch, an arm, the rest after a `let`.

    `owner` is the node that opens it (None for the outermost), `parent` the enclosing scope, `depth` its distance from
    the outermost one. `jump` is a pointer far up, so that common ancestors cost log(depth) (Myers, "An applicative
    random-access stack", 1983).

    >>> f = passlab.parse_expr("fn (%c: bool, %x: float32) { if (%c) { exp(%x) } else { %x } }")
    >>> scope = passlab.analysis.Scopes(f).of[f.body.true_branch]
    >>> type(scope.owner).__name__, scope.depth
    ('If', 2)
    """

    __slots__ = ("owner", "parent", "depth", "jump")
    depth: int

    def __init__(self, owner: Expr | None, parent: Scope | None) -> None:
        self.owner = owner
        self.parent = parent
        self.depth = 0 if parent is None else parent.depth + 1
        self.jump: Scope = self
        if parent is not None:
            far = parent.jump
            even = parent.depth - far.depth == far.depth - far.jump.depth
            self.jump = far.jump if even else parent

    def at_depth(self, depth: int) -> Scope:
        """Return the ancestor at `depth`."""
        scope: Scope = self
        while scope.depth > depth:
            scope = scope.jump if scope.jump.depth >= depth else scope.parent  # type: ignore[assignment]
        return scope

    def common(self, other: Scope) -> Scope:
        """Return the innermost scope that encloses both."""
        if self is other:
            return self
        a: Scope = self.at_depth(min(self.depth, other.depth))
        b: Scope = other.at_depth(a.depth)
        while a is not b:
            if a.jump is not b.jump:
                a, b = a.jump, b.jump
            else:
                a, b = a.parent, b.parent  # type: ignore[assignment]
        return a

    def encloses(self, other: Scope) -> bool:
        """Whether this scope is `other` or one around it."""
        return self.depth <= other.depth and other.at_depth(self.depth) is self


@checked
def scoped_children(expr: Expr, scope: Scope, open_scope: Callable[[Expr, int], Scope]) -> Iterable[tuple[Expr, Scope]]:
    """Return the children of a node, each with its scope; `open_scope(owner, part)` creates inner scopes."""
    if type(expr) is Function:
        inner = open_scope(expr, 0)
        return [(p, inner) for p in (*expr.params, expr.body)]
    if type(expr) is If:
        return [(expr.cond, scope), (expr.true_branch, open_scope(expr, 0)), (expr.false_branch, open_scope(expr, 1))]
    if type(expr) is Let:
        inner = open_scope(expr, 0)
        return [(expr.var, inner), (expr.value, scope), (expr.body, inner)]
    if type(expr) is Match:
        out: list[tuple[Expr, Scope]] = [(expr.data, scope)]
        for part, clause in enumerate(expr.clauses):
            inner = open_scope(expr, part)
            out += [(v, inner) for v in pattern_vars(clause.lhs)]
            out.append((clause.rhs, inner))
        return out
    return [(kid, scope) for kid in CHILDREN[type(expr)](expr)]


@checked
class Scopes:
    """The scope of every node of a program: the innermost one common to all its uses.

    `of[node]` is that scope; `inner[(node, part)]` the scope a node opens (part 0: function body, let body, true branch
    or first arm). `order` is the post-order of the nodes.

    >>> f = passlab.parse_expr("fn (%c: bool, %x: float32) { if (%c) { exp(%x) } else { %x } }")
    >>> passlab.analysis.Scopes(f).of[f.body.true_branch].depth
    2
    """

    def __init__(self, root: Expr) -> None:
        self.top = Scope(None, None)
        self.order = post_order(root)
        self.of: dict[Expr, Scope] = {root: self.top}
        self.inner: dict[tuple[Expr, int], Scope] = {}
        for node in reversed(self.order):  # parents before children, so a node's scope is final when it is reached
            scope = self.of[node]

            def open_scope(owner: Expr, part: int, outer: Scope = scope) -> Scope:
                result = self.inner[(owner, part)] = Scope(owner, outer)
                return result

            for child, child_scope in scoped_children(node, scope, open_scope):
                scope_so_far = self.of.get(child, child_scope)
                same = scope_so_far is child_scope
                self.of[child] = child_scope if same else scope_so_far.common(child_scope)
