"""Remove unused bindings.

before:
    def @main(%x: int32) { let %unused = add(%x, 1); let %y = add(%x, 2); multiply(%y, %y) }
after:
    def @main(%x: int32) { let %y = add(%x, 2); multiply(%y, %y) }

before: inline_once=True
    def @main(%x: int32) { let %y = add(%x, 2); let %z = multiply(%y, 3); add(%z, %z) }
after:
    def @main(%x: int32) { let %z = multiply(add(%x, 2), 3); add(%z, %z) }

before:
    def @main(%x: int32) { let %r = ref(%x); let %u = ref_write(%r, 1); add(%x, 2) }
after:
    def @main(%x: int32) { add(%x, 2) }

keep:
    def @main(%x: int32) { let %r = ref(%x); let %u = ref_write(%r, 1); ref_read(%r) }
"""

from __future__ import annotations

from collections.abc import Callable

from passlab.analysis.purity import module_purity
from passlab.analysis.stated_types import states_type
from passlab.ir.expr import Expr, Function, Let, RefCreate, RefWrite, Var
from passlab.ir.module import IRModule
from passlab.ir.walk import CHILDREN, may_rewrite, post_order
from passlab.rewriting.let_binding import bind_shared_effects
from passlab.rewriting.let_removal import LetAction, remove_lets
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, required=("InferType",), contract=EXACT, acts_on=(Let,))
class DeadCodeElimination(ModulePass):
    """Remove let bindings that are unused and whose value neither reads nor changes state.

    Writes to a reference that is never read count as unused as well. With `inline_once`, a value that is used exactly
    once, and not inside a function that might run more often, replaces its variable. With `ignore_impurity` every value
    counts as pure. Parameters and global functions stay. Relay gives up on calls nested more than 25 deep; here any
    depth is handled.
    """

    inline_once: bool = False
    ignore_impurity: bool = False

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        lets = {name: [n for n in post_order(f) if type(n) is Let] for name, f in mod.items()}
        if not any(lets.values()):  # the common case: without lets the uses need not be computed
            return mod
        if not self.ignore_impurity:
            mod = mod.with_functions({name: bind_shared_effects(mod[name], mod) for name, own in lets.items() if own})
            lets = {name: [n for n in post_order(f) if type(n) is Let] for name, f in mod.items()}
        pure = (lambda expr: True) if self.ignore_impurity else module_purity(mod).pure
        functions = {name: self._function(mod[name], bindings, pure) for name, bindings in lets.items() if bindings}
        return mod.with_functions(functions)

    def _function(self, function: Function, lets: list[Let], pure: Callable[[Expr], bool]) -> Function:
        uses = needed_uses(function, pure)
        created = {let.var for let in lets if type(let.value) is RefCreate}

        def choose(let: Let) -> LetAction:
            used = uses.get(let.var, 0)
            reference = _written(let.value, pure)
            if reference in created and uses.get(reference, 0) == 0:  # `uses` has the write if its result is used
                return LetAction.DROP
            if used > 1 or (used == 1 and not self.inline_once) or not pure(let.value):
                return LetAction.KEEP
            if used and not states_type(let.value):
                return LetAction.KEEP  # without the annotation the type of the value is unknown
            return LetAction.INLINE if used else LetAction.DROP

        actions: dict[Let, LetAction] = {}
        needed: set[Expr] = set()  # by lets that are unused but stay, since an instrument refused their removal
        for let in lets:  # the inner ones first
            action = LetAction.KEEP if let.var in needed else choose(let)
            if action is LetAction.KEEP:
                continue
            if may_rewrite(_NAMES[action]):
                actions[let] = action
            else:
                needed.update(post_order(let.value))
        if not actions:
            return function
        return remove_lets(
            function,
            lambda let, value: actions.get(let, LetAction.KEEP),
            let_name=lambda let: _NAMES.get(actions.get(let, LetAction.KEEP), ""),
        )


_NAMES = {LetAction.DROP: "unused let", LetAction.INLINE: "let used once"}


def _written(expr: Expr, pure: Callable[[Expr], bool]) -> Var | None:
    """Return the variable to whose reference an expression writes, None if it has any other effect."""
    return expr.ref if type(expr) is RefWrite and type(expr.ref) is Var and pure(expr.value) else None


def needed_uses(function: Function, pure: Callable[[Expr], bool]) -> dict[Var, int]:
    """Return how often each let variable is used by needed expressions: 0, 1, or 2 for "more than once".

    Uses in the pure value of a variable count only if the variable itself is used. A use inside a local function counts
    as two, since that may run any number of times; so does a use inside an expression that is used twice. Bound writes
    to a new reference are needed if there is another needed use of the reference, or one of their result.
    """
    values: dict[Var, Expr] = {}
    level: dict[Var, int] = {}
    uses: dict[Var, int] = {}
    visits: dict[Expr, int] = {}
    writes: dict[Var, list[tuple[Expr, int]]] = {}  # by references that are not needed so far
    stack: list[tuple[Expr, int]] = [(function, 0)]
    while stack:
        node, depth = stack.pop()
        kind = type(node)
        if type(node) is Var:
            if node in values:
                is_first = node not in uses
                uses[node] = uses.get(node, 0) + (2 if level[node] < depth else 1)
                if is_first and (pure(values[node]) or _written(values[node], pure) in writes):
                    stack.append((values[node], depth))
                stack += writes.pop(node, ())
            continue
        visits[node] = seen = visits.get(node, 0) + 1
        if seen > 2:
            continue
        if type(node) is Let:
            values[node.var], level[node.var] = node.value, depth
            stack.append((node.body, depth))
            reference = _written(node.value, pure)
            if reference is not None and not uses.get(reference) and type(values.get(reference)) is RefCreate:
                writes.setdefault(reference, []).append((node.value, depth))
            elif not pure(node.value):
                stack.append((node.value, depth))
            continue
        inner = depth + 1 if type(node) is Function else depth
        stack += [(kid, inner) for kid in CHILDREN[kind](node)[::-1]]
    return uses
