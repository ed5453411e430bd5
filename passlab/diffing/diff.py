"""What changed between two programs, as data: structural first, so that renaming and renumbering are no changes.

`diff(a, b)` takes modules, functions or expressions. The result says for every node whether it stayed, moved (into a
fused function, under a let), changed in some field, appeared or went; it counts operators before and after and can say
all of it in a sentence. It knows nothing of HTML: `display` draws it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from passlab.diffing.matching import Matching, is_carrier, resolve
from passlab.errors import Diagnostic, PassTypeError, counted
from passlab.ir.attrs import Attrs
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_op_call
from passlab.ir.walk import CHILDREN, children, post_order

_KINDS = frozenset(
    ("call", "constant", "function", "fused function", "let", "projection")
)  # nodes that are counted by kind


class Change(Enum):
    """What became of a node."""

    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True)
class FieldChange:
    """One field of a node that changed: an attribute, an operand (`args[1]`), the operator, the type."""

    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.name}: {short(self.before)} -> {short(self.after)}"


@dataclass(frozen=True, repr=False)
class NodeChange:
    """One node's fate; `before` is None for an added node, `after` for a removed one."""

    change: Change
    before: Expr | None
    after: Expr | None
    fields: tuple[FieldChange, ...] = ()

    @property
    def what(self) -> str:
        """The operator's name, or the kind of node."""
        return node_name(self.after if self.after is not None else self.before)  # type: ignore[arg-type]

    def __str__(self) -> str:
        detail = f" ({'; '.join(map(str, self.fields))})" if self.fields else ""
        return f"{self.change.value} {self.what}{detail}"

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True, repr=False)
class FunctionDiff:
    """What changed in one function; `before` or `after` is None when it was added or removed."""

    name: str
    before: Expr | None
    after: Expr | None

    def __str__(self) -> str:
        many = Counter(node.change.value for node in self.touched)
        return f"@{self.name} {', '.join(f'{count:,} {what}' for what, count in many.items()) or self.change.value}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def change(self) -> Change:
        """What became of the function as a whole."""
        if self.before is None:
            return Change.ADDED
        if self.after is None:
            return Change.REMOVED
        return Change.SAME if self.before is self.after or not self.touched else Change.CHANGED

    @cached_property
    def matching(self) -> Matching:
        """The pairs of nodes."""
        return Matching(_roots(self.before), _roots(self.after))

    @cached_property
    def nodes(self) -> tuple[NodeChange, ...]:
        """The fate of every node: those of the new program in post-order, then those that went."""
        if self.before is self.after:
            return ()
        return tuple(_node_changes(self.matching))

    @cached_property
    def touched(self) -> tuple[NodeChange, ...]:
        """The nodes that did not stay as they were."""
        return tuple(n for n in self.nodes if n.change is not Change.SAME)

    @cached_property
    def of_new(self) -> dict[Expr, NodeChange]:
        """The fate of each node of the new program."""
        return {n.after: n for n in self.nodes if n.after is not None}

    @cached_property
    def of_old(self) -> dict[Expr, NodeChange]:
        """The fate of each node of the old program."""
        return {n.before: n for n in self.nodes if n.before is not None}


@dataclass(frozen=True, repr=False)
class Diff:
    """What changed between two programs, function by function. Falsy when nothing did."""

    before: Any
    after: Any
    functions: tuple[FunctionDiff, ...]

    @cached_property
    def changed(self) -> tuple[FunctionDiff, ...]:
        """The functions that did not stay as they were."""
        return tuple(f for f in self.functions if f.change is not Change.SAME)

    def __bool__(self) -> bool:
        return bool(self.changed)

    def __repr__(self) -> str:
        return f"<Diff: {'; '.join(map(str, self.changed)) or 'nothing changed'}>"

    def nodes(self, *kinds: Change) -> Iterator[NodeChange]:
        """The fates of nodes, over all functions, of the given kinds (of all that were touched, without kinds)."""
        for function in self.changed:
            yield from (n for n in function.nodes if (n.change in kinds if kinds else n.change is not Change.SAME))

    @cached_property
    def op_counts(self) -> dict[str, tuple[int, int]]:
        """Operator -> (calls before, calls after), for every operator on either side, in order of name."""
        before, after = count_operators(self.before), count_operators(self.after)
        return {name: (before[name], after[name]) for name in sorted(before | after)}

    @cached_property
    def summary(self) -> str:
        """The change in one sentence."""
        return summarise(self)

    def __str__(self) -> str:
        return self.summary


def diff(before: Any, after: Any) -> Diff:
    """Compare two modules, or two expressions. Raises `PassTypeError` for anything else."""
    if isinstance(before, Expr) and isinstance(after, Expr):
        return Diff(before, after, (FunctionDiff("main", before, after),))
    if not isinstance(before, IRModule) or not isinstance(after, IRModule):
        kinds = f"{type(before).__name__} and {type(after).__name__}"
        hint = 'a function of a module is `mod["main"]`' if IRModule in (type(before), type(after)) else None
        raise PassTypeError(Diagnostic("two modules are compared, or two expressions", found=kinds, hint=hint))
    old, new = dict(before.items()), dict(after.items())
    names = [*old, *(n for n in new if n not in old)]
    return Diff(before, after, tuple(FunctionDiff(n, old.get(n), new.get(n)) for n in names))


def _roots(expr: Expr | None) -> list[Expr]:
    return [] if expr is None else [expr]


# ---------------------------------------------------------------- the fate of nodes
def _node_changes(m: Matching) -> Iterator[NodeChange]:
    homes_old, homes_new = _homes(m.orders[0]), _homes(m.orders[1])
    source_old, source_new = m.sources
    pairs = m.backward
    for node in m.new:
        old = pairs.get(node)
        if old is None:
            yield NodeChange(Change.ADDED, None, node)
            continue
        if node in m.same:
            moved = old is not node and _kind_of_home(homes_old.get(old)) != _kind_of_home(homes_new.get(node))
            yield NodeChange(Change.MOVED if moved else Change.SAME, old, node)
            continue
        fields = tuple(_field_changes(old, node, m, source_old, source_new))
        yield NodeChange(Change.CHANGED if fields else Change.SAME, old, node, fields)
    for node in m.old:
        if node not in m.forward:
            yield NodeChange(Change.REMOVED, node, None)


def _homes(order: list[Expr]) -> dict[Expr, Expr]:
    """Return for each node the function literal or let it stands right under, found from the outside in."""
    home: dict[Expr, Expr] = {}
    setdefault = home.setdefault
    for node in reversed(order):
        kind = type(node)
        if type(node) is Let:
            setdefault(node.value, node)
        place = node if type(node) is Function else home.get(node)
        if place is not None:
            for kid in CHILDREN[kind](node):
                setdefault(kid, place)
    return home


def _kind_of_home(home: Expr | None) -> str:
    if isinstance(home, Function):
        return "primitive" if home.is_primitive else "function"
    return "let" if isinstance(home, Let) else ""


def _field_changes(
    old: Expr, new: Expr, m: Matching, source_old: dict[Expr, Expr], source_new: dict[Expr, Expr]
) -> Iterator[FieldChange]:
    if isinstance(old, Call) and isinstance(new, Call):
        if old.op is not new.op and isinstance(old.op, Op):
            yield FieldChange("op", old.op, new.op)
        yield from _attr_changes(old.attrs, new.attrs)
    if isinstance(old, Function) and isinstance(new, Function):
        yield from _attr_changes(old.attrs, new.attrs)
    if isinstance(old, TupleGetItem) and isinstance(new, TupleGetItem) and old.index != new.index:
        yield FieldChange("index", old.index, new.index)
    if isinstance(old, Constant):
        yield FieldChange("data", old, new)
    names = _operand_names(new)
    olds, news = children(old), children(new)
    for i in range(max(len(olds), len(news))):
        a = resolve(olds[i], source_old) if i < len(olds) else None
        b = resolve(news[i], source_new) if i < len(news) else None
        if a is None or b is None or (m.forward.get(a, a) is not b and not _same_name(a, b)):
            yield FieldChange(names[i] if i < len(names) else f"args[{i}]", a, b)
    if old.checked_type_ is not new.checked_type_ and old.checked_type_ is not None and new.checked_type_ is not None:
        yield FieldChange("type", old.checked_type_, new.checked_type_)


def _same_name(a: Expr, b: Expr) -> bool:
    """Names of either side correspond when they read the same; a renamed binder is no change."""
    return is_carrier(a) and type(a) is type(b) and getattr(a, "name_hint", a) == getattr(b, "name_hint", b)


def _operand_names(node: Expr) -> list[str]:
    if isinstance(node, Call):
        names = node.op.spec.inputs if isinstance(node.op, Op) else ()
        return ["callee", *(names[i] if i < len(names) else f"args[{i}]" for i in range(len(node.args)))]
    if isinstance(node, Tuple):
        return [f"fields[{i}]" for i in range(len(node.fields))]
    if isinstance(node, Function):
        return [*(f"params[{i}]" for i in range(len(node.params))), "body"]
    return [name for name in node.field_names if isinstance(getattr(node, name), Expr)]


def _attr_changes(old: Attrs | None, new: Attrs | None) -> Iterator[FieldChange]:
    if old == new:
        return
    a, b = dict(old.items()) if old else {}, dict(new.items()) if new else {}
    for name in {**a, **b}:
        if name not in a or name not in b or a[name] != b[name]:
            yield FieldChange(name, a.get(name), b.get(name))


# ---------------------------------------------------------------- counting and saying
def node_name(node: Expr) -> str:
    """The name a person would use for a node: the operator of a call, else the kind of node."""
    if isinstance(node, Call):
        return node.op.name if isinstance(node.op, Op) else "call"
    if isinstance(node, Function):
        return "fused function" if node.is_primitive else "function"
    return {"TupleGetItem": "projection"}.get(type(node).__name__, type(node).__name__.lower())


def count_operators(program: Any) -> Counter[str]:
    """Return operator -> number of calls in a module or expression."""
    roots = [f for _, f in program.items()] if isinstance(program, IRModule) else _roots(program)
    calls = (n for n in post_order(*roots) if is_op_call(n))
    return Counter(n.op.name for n in calls)


def short(value: Any, width: int = 60) -> str:
    """Return a value in a few words."""
    if isinstance(value, Constant):
        return f"constant {value.tensor_type}" if value.data.ndim else f"constant {value.data}"
    if isinstance(value, Call):
        return f"{node_name(value)}(...)"
    text = str(value) if not isinstance(value, Expr) or is_carrier(value) else node_name(value)
    return text if len(text) <= width else text[: width - 3] + "..."


_REARRANGED = "bindings and names were rearranged; every value is the same"


def summarise(difference: Diff) -> str:
    """Return a diff in one sentence, the largest things first."""
    if not difference:
        if _newly_typed(difference.before, difference.after):
            return "only types were inferred"
        return "nothing changed" if structural_equal(difference.before, difference.after) else _REARRANGED
    added = [n.after for n in difference.nodes(Change.ADDED) if isinstance(n.after, Function) and n.after.is_primitive]
    gone = [
        n.before for n in difference.nodes(Change.REMOVED) if isinstance(n.before, Function) and n.before.is_primitive
    ]
    inside = {node for group in added for node in post_order(group.body)}
    grouped, others = [*_fusion(added, gone)], [*_whole_functions(difference), *_nodes(difference, inside)]
    if not grouped and not others:
        return _REARRANGED
    return "; ".join([*grouped, *(others or ["nothing else changed"])])


def _newly_typed(before: Any, after: Any) -> bool:
    """Whether some function or expression without a type has one afterwards."""
    old, new = (dict(part.items()) if isinstance(part, IRModule) else {"": part} for part in (before, after))
    return any(was.checked_type_ is None and new[name].checked_type_ is not None for name, was in old.items())


def _whole_functions(difference: Diff) -> Iterator[str]:
    for kind in (Change.ADDED, Change.REMOVED):
        names = [f"@{f.name}" for f in difference.functions if f.change is kind and not f.name.isdecimal()]
        hashed = sum(
            f.name.isdecimal() for f in difference.functions if f.change is kind
        )  # of Relay: named by their hash
        if names or hashed:
            yield f"{kind.value} {_list([*names, *([counted(hashed, 'function')] if hashed else [])])}"


def _fusion(added: list[Function], gone: list[Function]) -> Iterator[str]:
    if gone:
        yield f"opened {len(gone)} fused function{'s' if len(gone) > 1 else ''}"
    sizes = [[node_name(n) for n in post_order(group.body) if isinstance(n, Call)] for group in added]
    if len(added) > 3:
        most = max(map(len, sizes))
        yield f"put {sum(map(len, sizes))} operators into {len(added)} fused functions, the largest of {most}"
        return
    for names in sorted(sizes, key=len, reverse=True):
        yield f"fused {_list(names)} into one function" if names[1:] else f"put {_list(names)} into its own function"


def _nodes(difference: Diff, fused: set[Expr]) -> Iterator[str]:
    seen: dict[Change, Counter[str]] = {kind: Counter() for kind in Change}
    fields: dict[str, set[str]] = {}
    for node in difference.nodes():
        if isinstance(node.after or node.before, (Function, Tuple)):
            continue
        if node.change is Change.MOVED and node.after in fused:
            continue
        seen[node.change][node.what] += 1
        if node.change is Change.CHANGED:
            fields.setdefault(node.what, set()).update(f.name for f in node.fields)
    for kind in (Change.REMOVED, Change.ADDED):
        if seen[kind]:
            yield f"{kind.value} {_count_of(seen[kind])}"
    for what, count in seen[Change.CHANGED].most_common(4):
        yield f"changed {_list(sorted(fields[what])[:4])} of {count} {_plural(what, count)}"
    moved = sum(seen[Change.MOVED].values())
    if moved:
        yield f"moved {moved} {'node' if moved == 1 else 'nodes'}"


def _count_of(counts: Counter[str], most: int = 5) -> str:
    shown = [f"{count} {_plural(name, count)}" for name, count in counts.most_common(most)]
    rest = sum(counts.values()) - sum(count for _, count in counts.most_common(most))
    return _list([*shown, *([f"{rest} more"] if rest else [])])


def _plural(what: str, count: int) -> str:
    """What there is `count` of: kinds of nodes have a plural, operators stay as they are called."""
    return f"{what}s" if count != 1 and what in _KINDS else what


def _list(words: list[str], most: int = 6) -> str:
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    if not words:
        return "nothing"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
