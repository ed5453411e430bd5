"""Visit and rewrite programs of any depth and any sharing, without recursion.

How does one visit a program with 2^50 paths, or 100,000 levels? `add(e, e)` nested fifty times has 2^50 paths from its
root, but only 50 calls; a chain of 100,000 calls is deeper than Python's stack. So a walk is a loop with a stack of its
own, and it visits a shared node once: the time is linear in nodes and edges. Here the loop of `post_order` lists
`add(e, e)`, where e is `exp(x)`; an operator or a variable has no children and is listed at once:

    stack, its top at the right   listed
    add                           -
    add None e e                  add (the operator)   None: all children of the node below it are listed
    add None e                    exp x e              the upper e and its children
    add None                                           the lower e was seen: it is dropped
    (empty)                       add                  the call

Children come in the order of the text (`CHILDREN`): a call's callee before its arguments; a let's variable, value,
body; a function's parameters before its body. A match's data comes before its clauses, and of a clause the variables
before the arm. The evaluator computes a callee after the arguments.

`rewrite` goes over that list once and builds a new node only where a child is new (`WITH_CHILDREN`). What a pass does
not touch stays the same object, and "did anything change?" is `new is old`. The result of a rule is not visited again:
a pass that needs a fixed point repeats itself. The rule is called once for each node, with two arguments: `pre`, the
node as it was, and `post`, with rewritten children. It recognises the node by `pre` and builds from `post`. Parts of
`pre` are not rewritten:

    >>> from passlab import relay
    >>> x = relay.var("x", shape=(2,), dtype="float32")
    >>> e = relay.exp(x)
    >>> new = rewrite(relay.add(e, e), lambda pre, post: relay.tanh(x) if pre is e else post)
    >>> new.args[0].op.name, new.args[0] is new.args[1]
    ('tanh', True)
    >>> from_post = lambda pre, post: relay.tanh(x) if pre is e else post.args[0]  # drops `negative`
    >>> from_pre = lambda pre, post: relay.tanh(x) if pre is e else pre.args[0]
    >>> [rewrite(relay.negative(e), rule, only=(relay.Call,)).op.name for rule in (from_post, from_pre)]
    ['tanh', 'exp']
    >>> node = x
    >>> for _ in range(50):
    ...     node = relay.add(node, node)
    >>> len(post_order(node))  # 50 calls, the operator and x
    52

Whoever records a pass, or permits some of its rewrites only, does so through context variables (`observed`,
`permitted`): a pass need not know of it, nor hand it on. Walks that carry something down or sideways (the scopes of
`analysis.scopes`, for one) loop over `CHILDREN` themselves, with a stack like this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from passlab.arguments import checked
from passlab.ir.adt import Clause, Constructor, pattern_vars, pattern_with
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    ExprT,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    set_span,
    unwrap,
)
from passlab.ir.kept_types import keep_type, kept_type, typed_let
from passlab.ir.new_nodes import new_call, new_if, new_let, new_tuple
from passlab.ir.node_errors import NodeTable, not_a_node_error
from passlab.ir.op import Op
from passlab.ir.span import Span

# ---------------------------------------------------------------- children
# One table says what a node consists of, and `WITH_CHILDREN` below is its inverse. A new kind of node is one entry
# here, and another one there, or in `LEAVES` if it has no children: then every walk visits it. Binders are children
# too, so that substitution can replace them.


def _match_children(node: Match) -> tuple[Expr, ...]:
    out: list[Expr] = [node.data]
    for clause in node.clauses:
        out += pattern_vars(clause.lhs)
        out.append(clause.rhs)
    return tuple(out)


_NONE: tuple[Expr, ...] = ()
CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = NodeTable(
    {
        Var: lambda n: _NONE,
        Constant: lambda n: _NONE,
        GlobalVar: lambda n: _NONE,
        Op: lambda n: _NONE,
        Constructor: lambda n: _NONE,
        Call: lambda n: (n.op, *n.args),
        Tuple: lambda n: n.fields,
        TupleGetItem: lambda n: (n.tuple_value,),
        Let: lambda n: (n.var, n.value, n.body),
        Function: lambda n: (*n.params, n.body),
        If: lambda n: (n.cond, n.true_branch, n.false_branch),
        Match: _match_children,
        RefCreate: lambda n: (n.value,),
        RefRead: lambda n: (n.ref,),
        RefWrite: lambda n: (n.ref, n.value),
    }
)
LEAVES = (Var, Constant, GlobalVar, Op, Constructor)
_LEAVES = frozenset(LEAVES)


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the child expressions of a node in the order of the text, binders included.

    >>> [type(child).__name__ for child in passlab.ir.walk.children(passlab.parse_expr("1f + 2f"))]
    ['Op', 'Constant', 'Constant']
    """
    return CHILDREN[type(expr)](expr)


# ---------------------------------------------------------------- post-order
def post_order(*roots: Expr, enter: Callable[[Expr], bool] | None = None, seen: set[Expr] | None = None) -> list[Expr]:
    """Return every node reachable from `roots` once, children before parents, leaves (operators too) included.

    If `enter(node)` returns False, the node is listed without its children. Nodes in `seen` are left out, and every
    listed node is added to it. Raises `NodeTypeError` for a root that is not an expression.

    >>> f = passlab.parse_expr("fn (%x: float32) { tanh(exp(%x)) }")
    >>> [node.op.name for node in passlab.ir.walk.post_order(f) if isinstance(node, relay.Call)]
    ['exp', 'tanh']
    """
    for root in roots:
        if not isinstance(root, Expr):
            raise not_a_node_error(root)
    order: list[Expr] = []
    emit = order.append
    seen = set() if seen is None else seen
    mark_seen = seen.add
    only_functions = enter is outside_kernels  # it holds for every other node, so it is called for functions only
    stack: list[Any] = [*reversed(roots)]  # nodes, and None as a mark after a node whose children follow
    push, pop = stack.append, stack.pop
    while stack:
        node = pop()
        if node is None:  # the node below this mark has had all its children listed
            emit(pop())
            continue
        if node in seen:
            continue
        mark_seen(node)
        kind = type(node)
        if kind in _LEAVES or (enter is not None and (kind is Function or not only_functions) and not enter(node)):
            emit(node)
            continue
        # Now the node goes back on the stack, the mark above it, and its children above both, the first on top. Every
        # pass begins with this loop, so two short cuts save iterations: a leaf is listed at once where all children
        # before it are, and a child that is in `seen` is not pushed.
        if kind is Let:
            if node.var not in seen:
                mark_seen(node.var)
                emit(node.var)
            push(node)
            push(None)
            push(node.body)
            push(node.value)
            continue
        parts = (node.op, *node.args) if kind is Call else CHILDREN[kind](node)
        for part in parts:
            if part in seen:
                continue
            if type(part) not in _LEAVES:
                push(node)
                push(None)
                for other in parts[::-1]:
                    if other not in seen:
                        push(other)
                break
            mark_seen(part)
            emit(part)
        else:  # all children are listed, so the node follows without a visit to the stack
            emit(node)
    return order


# ---------------------------------------------------------------- rewriting
def _match_with(node: Match, parts: tuple[Expr, ...]) -> Match:
    new = dict(zip(_match_children(node), parts, strict=True)).__getitem__
    clauses = []
    for clause in node.clauses:
        lhs, rhs = pattern_with(clause.lhs, new), new(clause.rhs)
        clauses.append(clause if lhs is clause.lhs and rhs is clause.rhs else Clause(lhs, rhs, clause.span))
    return Match(parts[0], clauses, node.complete, node.span)


# For each class with children: the node with other children, which are given in the order of `CHILDREN`.
WITH_CHILDREN: dict[type, Callable[[Any, tuple[Any, ...]], Expr]] = NodeTable(
    {
        Call: lambda n, new: new_call(new[0], new[1:], n.attrs, n._type_args, n.span),
        Tuple: lambda n, new: new_tuple(new, n.span),
        TupleGetItem: lambda n, new: TupleGetItem(new[0], n.index, n.span),
        Let: lambda n, new: Let(new[0], new[1], new[2], n.span),
        Function: lambda n, new: n.with_fields(params=new[:-1], body=new[-1]),
        If: lambda n, new: new_if(new[0], new[1], new[2], n.span),
        Match: _match_with,
        RefCreate: lambda n, new: RefCreate(new[0], n.span),
        RefRead: lambda n, new: RefRead(new[0], n.span),
        RefWrite: lambda n, new: RefWrite(new[0], new[1], n.span),
    }
)


def rebuild(expr: ExprT, new: Callable[[Expr], Expr]) -> ExprT:
    """Return `expr` with each child replaced by `new(child)`; the same object if nothing changed. Keeps the span.

    >>> e = passlab.parse_expr("1f + 2f")
    >>> print(passlab.ir.walk.rebuild(e, lambda child: relay.const(3.0) if child is e.args[0] else child))
    add(3f, 2f)
    """
    parts = children(expr)
    results: tuple[Any, ...] = tuple(map(new, parts))
    if results == parts:  # expressions are compared by identity, so this is one loop in C
        return expr
    for part in results:
        if not isinstance(part, Expr):
            results = tuple(map(unwrap, results))
            break
    return cast(ExprT, WITH_CHILDREN[type(expr)](expr, results))


def rebuild_typed(expr: ExprT, new: Callable[[Expr], Expr]) -> ExprT:
    """Return `expr` with each child replaced, as `rebuild` does, and with its type where no child changed its type."""
    parts = children(expr)
    return cast(ExprT, with_children(expr, parts, tuple(map(new, parts))))


@checked
def with_children(node: Expr, parts: tuple[Expr, ...], results: tuple[Expr, ...]) -> Expr:
    """Return a node with `results` in place of its children `parts`, with its type where no child changed its type."""
    if results == parts:
        return node
    ty = kept_type(node, parts, results)
    if ty is not None:
        # The type is given to the constructor, for a node is frozen when it is made. Most nodes are of these classes.
        kind = type(node)
        if kind is Call:
            return new_call(results[0], results[1:], node.attrs, node._type_args, node.span, ty)  # type: ignore[attr-defined]
        if kind is Let and type(results[0]) is Var:
            return new_let(results[0], results[1], results[2], node.span, ty)
        if kind is If:
            return new_if(results[0], results[1], results[2], node.span, ty)
    result = WITH_CHILDREN[type(node)](node, results)
    keep_type(node, result, parts, results)
    return result


def result_of(root: ExprT, results: Mapping[Expr, Expr]) -> ExprT:
    """Return the replacement of a root, or the root itself. The caller promises that it has the class of the root.

    >>> x, y = relay.var("x"), relay.var("y")
    >>> passlab.ir.walk.result_of(x, {x: y}) is y, passlab.ir.walk.result_of(x, {}) is x
    (True, True)
    """
    return cast(ExprT, results.get(root, root))


# ---------------------------------------------------------------- who observes, and who permits, a rewrite
_T = TypeVar("_T")
_NodeT = TypeVar("_NodeT", bound=Expr)
Rule = Callable[[Expr, Expr], Expr]
Observer = Callable[[Expr, Expr, str], None]
Permit = Callable[[str], bool]
_observer: ContextVar[Observer | None] = ContextVar("passlab_rewrite_observer", default=None)
_permit: ContextVar[Permit | None] = ContextVar("passlab_rewrite_permit", default=None)
_unnamed_permit: ContextVar[Permit | None] = ContextVar("passlab_unnamed_rewrite_permit", default=None)


@contextmanager
def _within(variable: ContextVar[_T | None], value: _T | None) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def observed(observer: Observer | None) -> AbstractContextManager[None]:
    """Within the block, call `observer(old, new, rule)` for every node that is replaced; `rule` may be ""."""
    return _within(_observer, observer)


def unnamed_permitted(permit: Permit | None) -> AbstractContextManager[None]:
    """Within the block, call `permit("")` before each rewrite by a rule without a name; False prevents the rewrite."""
    return _within(_unnamed_permit, permit)


def permitted(permit: Permit | None) -> AbstractContextManager[None]:
    """Within the block, call `permit(rule)` before each rewrite by a named rule; False prevents the rewrite."""
    return _within(_permit, permit)


def may_rewrite(rule: str) -> bool:
    """Whether the current context permits a rewrite by a rule.

    Passes call it once for each rewrite, after all other conditions: bisection numbers rewrites by these calls. A rule
    that takes back the rewrites below its node asks as well.
    """
    permit = _permit.get() if rule else _unnamed_permit.get()
    return permit is None or permit(rule)


def limits_unnamed() -> bool:
    """Whether rewrites without a name need permission as well."""
    return _unnamed_permit.get() is not None


def note_rewrite(old: Expr, new: Expr, rule: str = "") -> None:
    """Report to the observer, if any, that `new` replaces `old`: for passes that build nodes without `rewrite`."""
    observer = _observer.get()
    if observer is not None:
        observer(old, new, rule)


def rewrite_observer() -> Observer | None:
    """Return the current observer of rewrites: for passes that create so many nodes that `note_rewrite` would count."""
    return _observer.get()


# ---------------------------------------------------------------- the rewrite
@checked
def rewrite(
    root: ExprT,
    rule: Callable[[_NodeT, _NodeT], Expr] | None = None,
    *,
    replace: dict[Expr, Expr] | None = None,
    enter: Callable[[Expr], bool] | None = None,
    only: tuple[type[_NodeT], ...] | None = None,
    order: list[Expr] | None = None,
    name: str | Callable[[Expr], str] = "",
) -> ExprT:
    """Rebuild a program bottom-up and return it; untouched parts, up to the whole, stay the same objects.

    `rule(pre, post)` gets each node before the rewrite and with its children rewritten, and returns its replacement.
    `only` names the classes of the nodes that the rule gets. `replace` gives results in advance, for example to
    substitute variables; nodes in it are not entered, and every changed node is added to it. If `enter(node)` returns
    False, the node and its children stay as they are. `order` is the post-order of the entered nodes, if the caller has
    it. New nodes without a span take the span of the node they replace. The observer gets `name` for each node that the
    rule replaced. Rewrites with a name are independent: each is correct without the others, so that bisection may carry
    out some of them. A function of the node gives each its name.

    >>> rule = lambda pre, post: relay.sqrt(*post.args) if post.op == relay.op.get("exp") else post
    >>> f = passlab.parse_expr("fn (%x: float32) { tanh(exp(%x)) }")
    >>> print(passlab.ir.walk.rewrite(f, rule, only=(relay.Call,)).body.args[0].op)
    sqrt
    """
    changed: dict[Expr, Expr] = {} if replace is None else replace
    observer = _observer.get()
    get = changed.get
    skipped = set[Expr]()
    replacements = list(changed)
    changed.update({node: unwrap(value) for node, value in changed.items()})

    def enters(node: Expr) -> bool:
        assert enter is not None
        if enter(node):
            return True
        skipped.add(node)
        return False

    if order is None:
        order = post_order(root, enter=enters if enter else None, seen=set(replacements))
    elif enter is not None:
        skipped.update(node for node in order if not enter(node))
    replaced, spans = changed.keys(), SpanTransfer([*replacements, *order] if replacements else order)
    idle = _LEAVES.difference(only) if only else frozenset() if rule else _LEAVES  # leaves that no rule is for
    pre: Any  # for the rule, nodes of a class in `only`
    post: Any
    for pre in order:
        kind = type(pre)
        if kind in idle or pre in changed or (skipped and pre in skipped):
            continue
        # Children come first in the order, so `changed` has the final form of each, and of no node above.
        post = pre
        if changed and not replaced.isdisjoint(parts := CHILDREN[kind](pre)):
            post = with_children(pre, parts, tuple(map(get, parts, parts)))
        if rule is not None and (only is None or kind in only):
            result = rule(pre, post)
            if result is not post:
                rule_name = name if isinstance(name, str) else name(pre)
                if may_rewrite(rule_name):
                    # A rule may take back what happened below: it returns `pre`, and the node stays as it was.
                    if result is not pre:
                        result = unwrap(result)
                        spans.give(result, pre.span)
                        changed[pre] = result
                        if observer is not None:
                            observer(pre, result, rule_name)
                    continue
        if post is not pre:
            changed[pre] = post
            if observer is not None:
                observer(pre, post, "")
    return result_of(root, changed)


@checked
class SpanTransfer:
    """Gives new nodes the spans of the nodes they replace.

    Nodes of the original program keep theirs, even None: they may also stand elsewhere.
    """

    __slots__ = ("_order", "_originals")

    def __init__(self, order: Iterable[Expr]) -> None:
        self._order = order
        self._originals: set[Expr] | None = None  # the nodes of the program, collected once a node needs a span

    def give(self, node: Expr, span: Span | None) -> None:
        """Give a node without a span the span of the node it replaces."""
        if span is None or node.span is not None:
            return
        if self._originals is None:
            self._originals = set(self._order)
        if node not in self._originals:
            set_span(node, span)


@checked
def substitute(root: ExprT, mapping: dict[Expr, Expr]) -> ExprT:
    """Return `root` with the nodes in `mapping` (variables, mostly) replaced.

    Names cannot clash, since variables are objects; a replacement must not contain a variable that `root` binds.
    """
    return rewrite(root, replace=dict(mapping)) if mapping else root


# ---------------------------------------------------------------- kernels, lets and uses
def outside_kernels(node: Expr) -> bool:
    """Whether a node is not a kernel (primitive function); a walk that enters only such nodes leaves out kernels."""
    return type(node) is not Function or not node.is_primitive


def let_chain(expr: Expr) -> tuple[list[Let], Expr]:
    """Return the lets at the top of `expr`, outermost first, and the body of the last."""
    lets = []
    while isinstance(expr, Let):
        lets.append(expr)
        expr = expr.body
    return lets, expr


@checked
def make_lets(bindings: Iterable[tuple[Var, Expr]], body: Expr) -> Expr:
    """Return `body` under the bindings, the first outermost; typed if all of them are.

    >>> a, b = relay.var("a"), relay.var("b")
    >>> print(passlab.ir.walk.make_lets([(a, relay.const(1.0)), (b, a + a)], b))
    let %a = 1f;
    let %b = add(%a, %a);
    %b
    """
    for var, value in reversed(list(bindings)):
        body = typed_let(var, value, body, value.span)
    return body


@checked
def use_counts(root: Expr) -> dict[Expr, int]:
    """Return the number of uses of each node as a child; two uses by one parent count twice."""
    counts: dict[Expr, int] = {root: 0}
    for node in post_order(root):
        for kid in CHILDREN[type(node)](node):
            counts[kid] = counts.get(kid, 0) + 1
    return counts
