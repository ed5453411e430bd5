"""Unknown types and the constraints on them: a union-find over unknowns, and a queue of relations that wait.

What if a type follows from one that is not known yet? The type of a call follows from the types of its arguments, by
the relation of its operator. But the program may determine an argument further down, or an argument may later lose a
size that a conclusion was drawn from.

    ?a --> Tensor[(2, 3), float32]      bound          head(?a) is the tensor type
    ?b --> ?c --> nothing               linked, free   root(?b) is ?c: they are one unknown
    watchers of ?c: relation 1, 2       bind(?c, T) queues both; each is tried once, and concludes or watches again

An unknown is an `IncompleteType`. Unknowns that were found equal form a tree, whose root stands for all of them: `join`
links, `root` looks up and shortens the path it went (union-find with path compression). `bind` gives a root its type,
after the *occurs check*: no type contains itself (Robinson, "A machine-oriented logic based on the resolution
principle", 1965). A relation that cannot conclude watches the free unknowns among what it mentions, and is tried again
when one of them is bound, and only then (`add`, `_wake`, `solve`: a worklist). The solver knows nothing of expressions;
only `unify` calls `join` and `weaken`; `bind` is also called for a callee whose type is unknown (`constraints`).

    >>> from passlab.infer.unify import unify
    >>> from passlab.ir.types import ANY, TensorType
    >>> class Same:  # the relation of `nn.relu`: the result has the type of the input
    ...     queued, place = False, None
    ...     def __init__(self, solver, source, result):
    ...         self.solver, self.result, self.mentions = solver, result, [source]
    ...     def attempt(self):
    ...         ty = self.solver.head(self.mentions[0])
    ...         print("tried with", ty)
    ...         return isinstance(ty, TensorType) and bool(unify(self.solver, self.result, ty))
    >>> s = Solver()
    >>> a, b, c = s.fresh(), s.fresh(), s.fresh()
    >>> waits = s.add(Same(s, a, b)), s.add(Same(s, b, c))
    tried with _
    tried with _
    >>> _ = unify(s, a, TensorType((2, 3))); s.solve()
    tried with Tensor[(2, 3), float32]
    tried with Tensor[(2, 3), float32]

Two modes. In the *quick* mode a conclusion from a bound unknown is final. Unification can later weaken a bound unknown,
as a known dimension that meets `?` becomes `?`; then the conclusions drawn from it must be drawn again. That is rare,
so the quick solver raises `WeakenedError` and inference starts again in the *exact* mode, in which every relation stays
subscribed to its unknowns and is tried again when one weakens.

    >>> try:
    ...     unify(s, a, TensorType((2, ANY)))
    ... except WeakenedError:
    ...     print("start again, exact")
    start again, exact

Sets whose order is seen (watchers, unfinished relations) are dicts of None: messages come in the order of the program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from passlab.errors import SourceLocation
from passlab.ir.type_text import brief_type_text
from passlab.ir.types import IncompleteType, SizeVar, Type, holds, rebuild_type, type_children

_SHOWN_PARTS = 200  # of a type in a message


class MismatchError(Exception):
    """Two types cannot be unified: `left` and `right` are the innermost parts that differ, `detail` describes how."""

    def __init__(self, left: Type, right: Type, detail: str | None = None) -> None:
        super().__init__(detail)
        self.left = left
        self.right = right
        self.detail = detail


class WeakenedError(Exception):
    """A size of a bound unknown became `?` in the quick mode: start over in the exact one."""


class Pending(Protocol):
    """A relation that may have to wait. `mentions` are the types it depends on."""

    queued: bool

    @property
    def mentions(self) -> Iterable[Type]: ...
    @property
    def place(self) -> SourceLocation | None: ...

    def attempt(self) -> bool:
        """Try to conclude something. True means that it is finished; the quick mode then never tries it again."""


class Solver:
    """The unknowns and relations of one group of functions that are inferred together."""

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        self.links: dict[Type, Type] = {}
        self.sizes: dict[SizeVar, int] = {}  # the sizes found for symbolic dimensions, by `unify`
        # Whether an unknown was created or met: if not, every type is final, and the walk that resolves them is saved.
        self.used = False
        self._watchers: dict[Type, dict[Pending, None]] = {}
        self._queue: deque[Pending] = deque()
        self._unfinished: dict[Pending, None] = {}

    # ------------------------------------------------------------ unknowns
    def fresh(self) -> IncompleteType:
        """Return a new unknown."""
        self.used = True
        return IncompleteType()

    def fresh_as(self, ty: Type) -> IncompleteType:
        """Return a new unknown that is bound to `ty` already, and may be weakened later."""
        result = self.fresh()
        self.links[result] = ty
        return result

    def meets_unknown(self, ty: Type) -> bool:
        """Whether `ty` contains an unknown, bound or free; if so, notes that one was met (`used`)."""
        if not holds(ty, IncompleteType):
            return False
        self.used = True
        return True

    def root(self, unknown: Type) -> Type:
        """Return the unknown that stands for all those linked with `unknown`."""
        links = self.links  # of an unknown: another that stands for it, or its type
        top = unknown
        while type(next_link := links.get(top)) is IncompleteType:
            top = next_link
        while unknown is not top:  # path compression
            links[unknown], unknown = top, links[unknown]
        return top

    def head(self, ty: Type) -> Type:
        """Return the known outermost level of `ty`: never a bound unknown."""
        if type(ty) is not IncompleteType:
            return ty
        root = self.root(ty)
        return self.links.get(root, root)

    def resolve(self, ty: Type, memo: dict[Type, Type] | None = None) -> Type:
        """Return `ty` with every bound unknown replaced by its type. `memo` may be kept while nothing is bound."""
        if not self.meets_unknown(ty):
            return ty
        done: dict[Type, Type] = {} if memo is None else memo
        stack = [ty]
        while stack:  # a part stays on the stack until all that it consists of is done
            part = stack[-1]
            if part in done:
                stack.pop()
            elif not self.meets_unknown(part):
                done[part] = part
            elif type(part) is IncompleteType:
                head = self.head(part)
                if type(head) is IncompleteType:
                    done[part] = head
                elif head in done:
                    done[part] = done[head]
                else:
                    stack.append(head)
            else:
                unresolved = [child for child in type_children(part) if child not in done]
                if unresolved:
                    stack += unresolved
                else:
                    done[part] = rebuild_type(part, done.__getitem__)
        return done[ty]

    def unknowns_in(self, types: Iterable[Type], also_bound: bool = False) -> list[Type]:
        """Return the free unknowns inside `types`, and with `also_bound` the roots of the bound ones as well."""
        unknowns: list[Type] = []
        seen: set[Type] = set()
        stack = [ty for ty in types if self.meets_unknown(ty)]
        while stack:
            part = stack.pop()
            if type(part) is IncompleteType:
                part = self.root(part)
                if part in seen:
                    continue
                seen.add(part)
                linked = self.links.get(part)
                if linked is None or also_bound:
                    unknowns.append(part)
                if linked is not None and self.meets_unknown(linked):
                    stack.append(linked)
            elif part not in seen:
                seen.add(part)
                stack += [child for child in type_children(part) if self.meets_unknown(child)]
        return unknowns

    # ------------------------------------------------------------ bindings
    def bind(self, root: Type, ty: Type) -> None:
        """Bind the free unknown `root` to `ty`, a type or a root. Raises `MismatchError` if it occurs in `ty`."""
        if self.meets_unknown(ty) and root in self.unknowns_in([ty]):  # the occurs check
            resolved = self.resolve(ty)
            raise MismatchError(
                root, resolved, f"the unknown type occurs in {brief(resolved)}, which would be infinite"
            )
        self.links[root] = ty
        self._wake(root)

    def join(self, a: Type, b: Type) -> None:
        """Link two different roots, which are both free, or bound to equal types."""
        watchers = self._watchers
        if len(watchers.get(a, ())) > len(watchers.get(b, ())):  # the root with fewer watchers is linked: fewer move
            a, b = b, a
        waiting = watchers.pop(a, None)
        if waiting:
            watchers.setdefault(b, {}).update(waiting)
        self.links[a] = b

    def weaken(self, root: Type, ty: Type) -> None:
        """Replace what the unknown `root` is bound to by a weaker type. Raises `WeakenedError` in the quick mode."""
        if not self.exact:
            raise WeakenedError
        self.links[root] = ty
        self._wake(root)

    def _wake(self, root: Type) -> None:
        # Watchers are taken off: a relation that is tried again watches what is unknown by then.
        for pending in self._watchers.pop(root, ()):
            if not pending.queued:
                pending.queued = True
                self._queue.append(pending)

    # ------------------------------------------------------------ relations
    def add(self, pending: Pending) -> bool:
        """Try a relation now, and keep it if it has to wait. Returns whether it is finished."""
        return self._try(pending)  # at once, for most calls stand below all that they need

    def _try(self, pending: Pending) -> bool:
        pending.queued = False
        finished = pending.attempt()
        if finished:
            self._unfinished.pop(pending, None)
        else:
            self._unfinished[pending] = None
        if not finished or self.exact:  # in the exact mode a finished relation is tried again when an unknown weakens
            for unknown in self.unknowns_in(pending.mentions, also_bound=self.exact):
                self._watchers.setdefault(unknown, {})[pending] = None
        return finished

    def solve(self) -> None:
        """Try every relation with an unknown that has been bound since its last attempt, until none is left."""
        queue = self._queue
        while queue:
            self._try(queue.popleft())

    def waiting_relations(self) -> list[Pending]:
        """Return the relations that still wait."""
        return list(self._unfinished)


def brief(ty: Type) -> str:
    """Return the text of a type for a message, cut short where it gets long."""
    return brief_type_text(ty, _SHOWN_PARTS)
