"""Compute equal expressions once.

When may two calls be one? When they are equal, and one is in the block of the other or in a block around it. The one
node that is left is computed at its first use.

    let %a = exp(%x);                    the first with the key (exp, number of %x)
    if (%c) { exp(%x) + %a }             a twin: the other is in an enclosing block
    else { tanh(%x) + tanh(%x) }         one tanh; one in the other branch would stay its own

1. *Value numbering* (`_value_numbers`; Cocke and Schwartz, "Programming Languages and Their Compilers", 1970): nodes in
   topological order, each with a number. Nodes with equal keys share it; a key consists of the operator, the attributes
   and the numbers of the arguments, so that equal trees of any depth are found by one look-up for a node.
2. *A scoped hash table* (`_twins`; as in LLVM's EarlyCSE): one walk over the tree of scopes, with a table of the
   expressions that are available. What a scope adds is taken out again when it is left.
3. *Redirect the uses* (`_merge`).

The time is linear in nodes and edges, but for sorting the groups.

before:
    def @main(%x: Tensor[(2), float32]) { add(exp(multiply(%x, 2f)), exp(multiply(%x, 2f))) }
after:
    def @main(%x: Tensor[(2), float32]) { %0 = exp(multiply(%x, 2f)); add(%0, %0) }

keep:
    def @main(%c: bool, %x: Tensor[(2), float32]) {
      if (%c) { exp(%x) } else { negative(exp(%x)) }
    }

keep:
    def @main(%t: (Tensor[(2), float32], int32)) { add(%t.0, %t.0) }
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from passlab.analysis.regions import BEGIN, END
from passlab.analysis.scopes import Scope, Scopes
from passlab.ir.expr import Call, Constant, Expr, ExprT, Function, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import CHILDREN, may_rewrite, note_rewrite, post_order, rebuild, result_of
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

_NAME = "common subexpression"  # the name of the rewrite of each redirected use


@standard_pass(opt_level=3, required=("InferType",), contract=EXACT)
class EliminateCommonSubexpr(FunctionPass):
    """Replace equal operator calls and projections by one node.

    Two calls are equal if their operators and attributes are, and if each argument is the same node or an equal one.
    That is an equal call or projection, an equal scalar constant, or a tuple of equal fields. Calls of stateful
    operators and calls without arguments are never merged, nor are the marks of regions for other compilers and pieces
    of memory. `fskip(expr)` returns True to keep a call as it is.

    A use is redirected only to an expression in its own block or an enclosing one, never into another branch, arm or
    function. So nothing is computed that was not computed before (Relay merges across branches). Functions that are
    compiled as a whole (Primitive, Compiler, Composite) share nothing with the code outside.

    Equal projections of one tuple count as one node (`ir.structural_equal`): a function in which nothing else is
    repeated is returned as it is.
    """

    fskip: Callable[[Expr], bool] | None = None

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        number, groups = _value_numbers(post_order(func), self.fskip)
        if not groups:
            return func
        twins = _twins(Scopes(func), number, groups)
        if _only_projections_of_one_tuple(twins):
            return func
        return _merge(func, {node: twin for node, twin in twins.items() if may_rewrite(_NAME)})


_KEYED = frozenset((Call, TupleGetItem, Tuple, Constant))  # nodes that may equal others
_MERGED = (Call, TupleGetItem)
# Each use has its own mark, or regions would merge; each storage is memory of its own.
_NEVER_MERGED = (BEGIN, END, "memory.alloc_storage")


def _value_numbers(
    order: list[Expr], fskip: Callable[[Expr], bool] | None
) -> tuple[dict[Expr, int], dict[int, list[Expr]]]:
    """Number the nodes so that equal ones share a number, and list the calls and projections that share one.

    >>> from passlab import relay
    >>> x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    >>> twice, again, other = relay.exp(x + y), relay.exp(x + y), relay.exp(y + x)
    >>> number, groups = _value_numbers(post_order(relay.Tuple([twice, again, other])), None)
    >>> number[twice] == number[again], number[twice] == number[other]  # it knows no law of addition
    (True, False)
    >>> [[node.op.name for node in group] for group in groups.values()]
    [['add', 'add'], ['exp', 'exp']]
    """
    # A dictionary of keys, not of trees: a key is as long as the node has arguments, whatever is below them.
    number: dict[Expr, int] = {}
    first: dict[Hashable, Expr] = {}  # the first node of each key
    groups: dict[int, list[Expr]] = {}
    for index, node in enumerate(order):
        key = _key(node, number, fskip) if type(node) in _KEYED else None
        equal = node if key is None else first.setdefault(key, node)
        if equal is node:
            number[node] = index
            continue
        shared = number[node] = number[equal]
        if type(node) in _MERGED:
            groups.setdefault(shared, [equal]).append(node)
    return number, groups


def _key(node: Expr, number: dict[Expr, int], fskip: Callable[[Expr], bool] | None) -> Hashable:
    """Return the key that equal nodes share, or None for a node that is equal only to itself."""
    if type(node) is Call:
        op = node.op
        if type(op) is not Op or op.spec.stateful or not node.args or (fskip is not None and fskip(node)):
            return None
        if op.name in _NEVER_MERGED:
            return None
        return (op, node.attrs, *[number[a] for a in node.args])
    if type(node) is TupleGetItem:
        return ("projection", node.index, number[node.tuple_value])
    if type(node) is Tuple:
        return ("tuple", *[number[f] for f in node.fields])
    if type(node) is Constant and (data := node.data).ndim == 0:  # of large constants no bytes are compared
        return ("scalar", data.dtype, data.tobytes())
    return None


_CLOSED = ("Primitive", "Compiler", "Composite")  # functions that are compiled as a whole

# The closed function around a node, or None, and the number of the node: inside and outside of it, equal calls differ.
_AvailableKey = tuple[Expr | None, int]


def _twins(scopes: Scopes, number: dict[Expr, int], groups: dict[int, list[Expr]]) -> dict[Expr, Expr]:
    """Return for each duplicate an equal node in its own scope or an enclosing one."""
    candidates: dict[Scope, list[Expr]] = {}
    for shared in sorted(groups):  # in the order of the first node of each group
        for node in groups[shared]:
            candidates.setdefault(scopes.of[node], []).append(node)
    inside: dict[Scope, list[Scope]] = {}
    for inner in scopes.inner.values():
        inside.setdefault(inner.parent, []).append(inner)  # type: ignore[arg-type]
    twins: dict[Expr, Expr] = {}
    available: dict[_AvailableKey, Expr] = {}
    # A scope that is to be entered; or None, and what a scope has added, to leave it after the scopes inside it.
    stack: list[tuple[Scope | None, Expr | None, list[_AvailableKey]]] = [(scopes.top, None, [])]
    while stack:
        scope, closed, added = stack.pop()
        if scope is None:
            for key in added:
                del available[key]
            continue
        if type(scope.owner) is Function and any(scope.owner.attrs.get(a) for a in _CLOSED):
            closed = scope.owner
        for node in candidates.get(scope, ()):
            key = (closed, number[node])
            if key in available:
                twins[node] = available[key]
            else:
                available[key] = node
                added.append(key)
        stack.append((None, None, added))
        stack += [(inner, closed, []) for inner in inside.get(scope, ())]
    return twins


def _only_projections_of_one_tuple(twins: dict[Expr, Expr]) -> bool:
    """Whether merging changes nothing that structural equality sees: no twins are calls or come from twin tuples."""
    # Projections of projections form chains, which may share their ends: the node at which each chain starts,
    # remembered.
    starts: dict[Expr, Expr] = {}

    def start_of(node: Expr) -> Expr:
        chain = []
        while type(node) is TupleGetItem and node not in starts:
            chain.append(node)
            node = node.tuple_value
        start = starts.get(node, node)
        starts.update(dict.fromkeys(chain, start))
        return start

    return all(
        type(duplicate) is TupleGetItem and start_of(duplicate) is start_of(twin) for duplicate, twin in twins.items()
    )


def _merge(root: ExprT, twins: dict[Expr, Expr]) -> ExprT:
    """Return the program with each node replaced by its twin."""
    result: dict[Expr, Expr] = {}

    def new(node: Expr) -> Expr:
        twin = twins.get(node, node)
        return result.get(twin, twin)

    # `rewrite` cannot do this: a twin may come later in the post-order than the users of its duplicate, and must be
    # rebuilt before them. So this walk goes to the twin of a node in place of the node.
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(root, False)]  # a node, and whether its children are done
    while stack:
        node, done = stack.pop()
        if done:
            output = rebuild(node, new)
            if output is not node:
                result[node] = output
                note_rewrite(node, output)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(twins.get(kid, kid), False) for kid in CHILDREN[type(node)](node)[::-1]]
    for duplicate in twins:
        note_rewrite(duplicate, new(duplicate), _NAME)
    return result_of(root, result)
