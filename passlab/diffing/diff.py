"""`diff`: the structural difference of two programs, as data; renaming and renumbering are not changes.

`diff(a, b)` takes modules, functions or expressions. The result says for every node whether it stayed, moved (into a
fused function, under a let), changed in some field, was added or removed. It counts operators before and after, and has
a summary in one sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

from passlab.arguments import checked
from passlab.diffing.matching import Correspondence, Matching, Window, is_carrier, resolve
from passlab.errors import Diagnostic, PassTypeError, counted
from passlab.ir.attrs import Attrs
from passlab.ir.equal import structural_equal
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
)
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_op_call
from passlab.ir.walk import CHILDREN, post_order
from passlab.lazy import late, notebook_forms

# Nodes that are counted by kind.
_KINDS = frozenset(("call", "constant", "function", "fused function", "let", "projection"))


class Change(Enum):
    """How a node differs between two programs."""

    SAME = "same"
    MOVED = "moved"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"


@dataclass(frozen=True)
class FieldChange:
    """One field of a node that changed: an attribute, an operand (`args[1]`), the operator, the type.

    `role` names the field in sentences, as in `operand` or `moving mean`; None for an attribute, which keeps its name.
    """

    name: str
    before: Any
    after: Any
    role: str | None = None

    def __str__(self) -> str:
        return f"{self.name}: {short(self.before)} -> {short(self.after)}"


class NodeChange(NamedTuple):
    """A node and its change; `before` is None for an added node, `after` for a removed one."""

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


class Crossings:
    """The nodes that left one function for another: the old node of each new one, and the new one of each old one."""

    def __init__(self, lineage: Correspondence | None) -> None:
        self.lineage = lineage
        self.functions: tuple[FunctionDiff, ...] = ()

    @cached_property
    def old_of(self) -> dict[Expr, Expr]:
        """The old node of each new one: the same object, or by the lineage a node with the same operation."""
        changed = [function for function in self.functions if function.before is not function.after]
        if len(changed) < 2:
            return {}
        matchings = [function.matching for function in changed]
        olds = {node: None for m in matchings for node in m.old if node not in m.forward or node in m.replaced}
        news = [node for m in matchings for node in m.new if node not in m.backward or node in m.replaced]
        result = {node: node for node in news if node in olds}
        if self.lineage is not None:
            pairs = self.lineage.pairs([n for n in olds if n not in result], [n for n in news if n not in result])
            surely = ((new, old) for new, old in pairs.of.items() if new not in pairs.unsure)
            result.update((new, old) for new, old in surely if _is_same_operation(old, new))
        return result

    @cached_property
    def new_of(self) -> dict[Expr, Expr]:
        """The new node of each old one."""
        return {old: new for new, old in self.old_of.items()}


def _is_same_operation(old: Expr, new: Expr) -> bool:
    if type(old) is not type(new) or type(old) is Constant:
        return False
    return not isinstance(old, Call) or not isinstance(new, Call) or (old.op is new.op and old.attrs == new.attrs)


@dataclass(frozen=True, repr=False)
class FunctionDiff:
    """What changed in one function; `before` or `after` is None when it was added or removed."""

    name: str
    before: Expr | None
    after: Expr | None
    lineage: Correspondence | None = None
    window: Window | None = None
    crossings: Crossings | None = field(default=None, compare=False)

    def __str__(self) -> str:
        many = Counter(node.change.value for node in self.changed_nodes)
        return f"@{self.name} {', '.join(f'{count:,} {what}' for what, count in many.items()) or self.change.value}"

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def change(self) -> Change:
        """The change of the function as a whole."""
        if self.before is None:
            return Change.ADDED
        if self.after is None:
            return Change.REMOVED
        return Change.SAME if self.before is self.after or not self.changed_nodes else Change.CHANGED

    def within(self, window: Window) -> FunctionDiff:
        """Return the diff of some nodes of the function, where a lineage pairs all nodes; else the diff itself."""
        complete = self.lineage is not None and self.lineage.complete and self.before is not self.after
        return replace(self, window=window, crossings=None) if complete else self

    @cached_property
    def matching(self) -> Matching:
        """The pairs of nodes."""
        with building():
            return Matching(_roots(self.before), _roots(self.after), self.lineage, self.window)

    @cached_property
    def nodes(self) -> tuple[NodeChange, ...]:
        """The change of every node: first the nodes of the new program in post-order, then the removed ones."""
        if self.before is self.after:
            return ()
        with building():
            return tuple(_node_changes(self.matching, self.crossings or Crossings(None)))

    def partners(self) -> tuple[dict[Expr, Expr], dict[Expr, Expr]]:
        """Return the old node of each new one that stayed or moved, and of each one that changed."""
        m = self.matching
        kept: dict[Expr, Expr] = {}
        changed: dict[Expr, Expr] = {}
        for node, old in m.backward.items():
            if node in m.same:
                kept[node] = old
            elif node not in m.replaced:
                is_kept = next(_field_changes(old, node, m), None) is None
                (kept if is_kept else changed)[node] = old
        return kept, changed

    @cached_property
    def changed_nodes(self) -> tuple[NodeChange, ...]:
        """The nodes that moved, changed, were added or removed."""
        return tuple(n for n in self.nodes if n.change is not Change.SAME)

    @cached_property
    def of_new(self) -> dict[Expr, NodeChange]:
        """The change of each node of the new program."""
        return {n.after: n for n in self.nodes if n.after is not None}

    @cached_property
    def of_old(self) -> dict[Expr, NodeChange]:
        """The change of each node of the old program."""
        return {n.before: n for n in self.nodes if n.before is not None}


@checked
@dataclass(frozen=True, repr=False)
class Diff:
    """What changed between two programs, function by function. Falsy when nothing did."""

    _repr_mimebundle_ = notebook_forms

    before: Any
    after: Any
    functions: tuple[FunctionDiff, ...]

    @cached_property
    def changed(self) -> tuple[FunctionDiff, ...]:
        """The functions that changed, were added or removed."""
        return tuple(f for f in self.functions if f.change is not Change.SAME)

    def __bool__(self) -> bool:
        return bool(self.changed)

    def __repr__(self) -> str:
        return f"<Diff: {'; '.join(map(str, self.changed)) or 'nothing changed'}>"

    def first_changes(self) -> list[Expr]:
        """Return the first changed nodes of the first function that changed, in the order of names; of all functions
        where no lineage knows them.
        """
        for function in sorted(self.functions, key=lambda function: function.name):
            old, new, lineage = function.before, function.after, function.lineage
            if old is new:
                continue
            if lineage is None or not lineage.complete:
                fates = [fate for function in self.changed for fate in function.changed_nodes]
                return [node for fate in fates for node in (fate.before, fate.after) if node is not None]
            changes = [old or new] if old is None or new is None else lineage.first_changes(old, new)
            if changes:
                return [node for node in changes if node is not None]
        return []

    def nodes(self, *kinds: Change) -> Iterator[NodeChange]:
        """Yield the changes of nodes of the given kinds over all functions; without kinds, all but `SAME`."""
        for function in self.changed:
            yield from (n for n in function.nodes if (n.change in kinds if kinds else n.change is not Change.SAME))

    @cached_property
    def op_counts(self) -> dict[str, tuple[int, int]]:
        """(calls before, calls after) of every operator on either side, by name."""
        before, after = count_operators(self.before), count_operators(self.after)
        return {name: (before[name], after[name]) for name in sorted(before | after)}

    @cached_property
    def summary(self) -> str:
        """The change in one sentence."""
        return summarise(self)

    def text(self) -> str:
        """Return the change as a sentence, the operators counted, and all lines of a unified diff."""
        text: str = late("passlab.display.views.diffs", "diff_view")(self).text()
        return text

    def __str__(self) -> str:
        return self.summary


def diff(before: Any, after: Any, lineage: Correspondence | None = None) -> Diff:
    """Compare two modules, or two expressions. Raises `PassTypeError` for anything else.

    Nodes correspond by a `lineage`; without one they are matched by structure.

    >>> before = passlab.parse("def @main(%x: float32) { exp(%x) }")
    >>> after = passlab.parse("def @main(%x: float32) { tanh(%x) }")
    >>> passlab.diff(before, after).summary, bool(passlab.diff(before, before))
    ('removed 1 exp; added 1 tanh', False)
    """
    if isinstance(before, Expr) and isinstance(after, Expr):
        return Diff(before, after, (FunctionDiff("main", before, after, lineage),))
    if not isinstance(before, IRModule) or not isinstance(after, IRModule):
        kinds = f"{type(before).__name__} and {type(after).__name__}"
        hint = 'a function of a module is `mod["main"]`' if IRModule in (type(before), type(after)) else None
        raise PassTypeError(Diagnostic("two modules are compared, or two expressions", found=kinds, hint=hint))
    old, new = dict(before.items()), dict(after.items())
    names = [*old, *(n for n in new if n not in old)]
    crossings = Crossings(lineage)
    crossings.functions = tuple(FunctionDiff(n, old.get(n), new.get(n), lineage, None, crossings) for n in names)
    return Diff(before, after, crossings.functions)


def _roots(expr: Expr | None) -> list[Expr]:
    return [] if expr is None else [expr]


# ---------------------------------------------------------------- changes of nodes
def _node_changes(m: Matching, crossings: Crossings) -> Iterator[NodeChange]:
    for node in m.new:
        old = m.backward.get(node)
        if old is None or node in m.replaced:
            old = crossings.old_of.get(node)
            yield NodeChange(Change.ADDED if old is None else Change.MOVED, old, node)
            continue
        if node in m.same:
            moved = old is not node and _kind_of_owner(m.owners[0].get(old)) != _kind_of_owner(m.owners[1].get(node))
            yield NodeChange(Change.MOVED if moved else Change.SAME, old, node)
            continue
        fields = tuple(_field_changes(old, node, m))
        yield NodeChange(Change.CHANGED if fields else Change.SAME, old, node, fields)
    for node in m.old:
        if node not in m.forward or node in m.replaced:
            new = crossings.new_of.get(node)
            yield NodeChange(Change.REMOVED if new is None else Change.MOVED, node, new)


def _kind_of_owner(owner_of: Expr | None) -> str:
    if isinstance(owner_of, Function):
        return "primitive" if owner_of.is_primitive else "function"
    return "let" if isinstance(owner_of, Let) else ""


def _field_changes(old: Expr, new: Expr, m: Matching) -> Iterator[FieldChange]:
    if type(old) is Call and type(new) is Call:
        if old.op is not new.op and type(old.op) is Op:
            yield FieldChange("op", old.op, new.op, "operator")
        yield from _attr_changes(old.attrs, new.attrs)
    elif type(old) is Function and type(new) is Function:
        yield from _attr_changes(old.attrs, new.attrs)
    elif type(old) is TupleGetItem and type(new) is TupleGetItem and old.index != new.index:
        yield FieldChange("index", old.index, new.index, "index")
    elif type(old) is Constant:
        yield FieldChange("data", old, new, "value")
    yield from _operand_changes(old, new, m)
    if old.checked_type_ is not new.checked_type_ and old.checked_type_ is not None and new.checked_type_ is not None:
        yield FieldChange("type", old.checked_type_, new.checked_type_, "type")


def _operand_changes(old: Expr, new: Expr, m: Matching) -> Iterator[FieldChange]:
    (source_old, source_new), partner_of = m.sources, m.forward.get
    names: list[str] | None = None
    for i, (a, b) in enumerate(zip_longest(CHILDREN[type(old)](old), CHILDREN[type(new)](new))):
        if a is b and type(a) is Op:
            continue
        a = a if a is None else resolve(a, source_old)
        b = b if b is None else resolve(b, source_new)
        if a is None or b is None or b in m.replaced or (partner_of(a, a) is not b and not _same_name(a, b)):
            names = names or _operand_names(new)
            name = names[i] if i < len(names) else f"args[{i}]"
            yield FieldChange(name, a, b, _role(new, i, name))


def _same_name(a: Expr, b: Expr) -> bool:
    """Whether two carriers have the same name. (Renamed binders correspond by the matching, so they do not change.)"""
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


# How sentences name the children of a node. Names of inputs that say nothing become `operand`.
_OPERANDS = frozenset(("lhs", "rhs", "x", "y", "tensor_a", "tensor_b", "data1", "data2"))
_INPUTS = {"data": "input", "newshape": "new shape", "sparse_lhs": "left matrix"}
_ROLES: dict[type[Expr], tuple[str, ...]] = {
    If: ("condition", "branch", "branch"),
    Let: ("variable", "value", "body"),
    TupleGetItem: ("tuple",),
    RefCreate: ("value",),
    RefRead: ("reference",),
    RefWrite: ("reference", "value"),
    Match: ("matched value",),
}
_COUNTED = frozenset(("operand", "argument", "branch", "clause", "field"))  # a node may have several of them


def _role(node: Expr, i: int, name: str) -> str:
    """Return how sentences name the child number `i` of a node, whose field is `name`."""
    if isinstance(node, Call):
        if i == 0:
            return "callee"
        if not isinstance(node.op, Op):
            return "argument"
        if name in _OPERANDS or "[" in name:
            return "operand"
        return _INPUTS.get(name) or name.replace("lhs_", "left ").replace("rhs_", "right ").replace("_", " ")
    if isinstance(node, Function):
        return "parameter" if i < len(node.params) else "body"
    roles = _ROLES.get(type(node), ())
    return roles[i] if i < len(roles) else "clause" if isinstance(node, Match) else "field"


def _attr_changes(old: Attrs | None, new: Attrs | None) -> Iterator[FieldChange]:
    if old == new:
        return
    a, b = dict(old.items()) if old else {}, dict(new.items()) if new else {}
    for name in {**a, **b}:
        if name not in a or name not in b or a[name] != b[name]:
            yield FieldChange(name, a.get(name), b.get(name))


# ---------------------------------------------------------------- counts and sentences
def node_name(node: Expr) -> str:
    """Return the name of a node in sentences: the operator of a call, else the kind of node."""
    if isinstance(node, Call):
        return node.op.name if isinstance(node.op, Op) else "call"
    if isinstance(node, Function):
        return "fused function" if node.is_primitive else "function"
    names = {"TupleGetItem": "projection", "RefCreate": "ref", "RefRead": "ref_read", "RefWrite": "ref_write"}
    return names.get(type(node).__name__, type(node).__name__.lower())


def count_operators(program: Any) -> Counter[str]:
    """Return the number of calls of each operator in a module or expression."""
    roots = [f for _, f in program.items()] if isinstance(program, IRModule) else _roots(program)
    calls = (n for n in post_order(*roots) if is_op_call(n))
    return Counter(n.op.name for n in calls)


def short(value: Any, width: int = 60) -> str:
    """Return a value in a few words."""
    if isinstance(value, Constant):
        return f"constant {value.tensor_type}" if value.tensor_type.shape else f"constant {value.data}"
    if isinstance(value, Call):
        return f"{node_name(value)}(...)"
    text = str(value) if not isinstance(value, Expr) or is_carrier(value) else node_name(value)
    return text if len(text) <= width else text[: width - 3] + "..."


_REARRANGED = "bindings and names were rearranged; every value is the same"
_REORDERED = "effects come in another order"


def summarise(difference: Diff) -> str:
    """Return a diff in one sentence, the largest things first."""
    if not difference:
        if same_programs(difference.before, difference.after):
            return "nothing changed"
        if _newly_typed(difference.before, difference.after):
            return "only types were inferred"
        return _REORDERED if _is_reordered(difference) else _REARRANGED
    added = [n.after for n in difference.nodes(Change.ADDED) if isinstance(n.after, Function) and n.after.is_primitive]
    removed = [
        n.before for n in difference.nodes(Change.REMOVED) if isinstance(n.before, Function) and n.before.is_primitive
    ]
    inside = {node for group in added for node in post_order(group.body)}
    grouped = [*_fusion_sentences(added, removed)]
    grouped += _regrouped_sentences(difference)
    others = [*_function_sentences(difference), *_node_sentences(difference, inside)]
    effects = [_REORDERED] if _is_reordered(difference) else []
    if not grouped and not others:
        return _REORDERED if effects else _REARRANGED
    return "; ".join([*grouped, *others, *(effects or ([] if others else ["nothing else changed"]))])


def _is_reordered(difference: Diff) -> bool:
    """Whether a write to a reference that both programs have comes in another order with reads and other writes."""
    for function in difference.functions:
        if function.before is None or function.after is None or function.before is function.after:
            continue
        effects = [node for node in post_order(function.after) if isinstance(node, (RefRead, RefWrite))]
        if not effects:
            continue
        order = {node: at for at, node in enumerate(post_order(function.before))}
        last, last_write = -1, -1  # the places, in the program before, of what came so far
        for node in effects:
            place = order.get(function.matching.backward.get(node, node), -1)
            if 0 <= place < (last if isinstance(node, RefWrite) else last_write):
                return True
            last = max(last, place)
            last_write = max(last_write, place) if isinstance(node, RefWrite) else last_write
    return False


def same_programs(before: Any, after: Any) -> bool:
    """Whether two modules or expressions are structurally equal, and `after` has no types that `before` lacks."""
    return not _newly_typed(before, after) and structural_equal(before, after, exact=True)


def _newly_typed(before: Any, after: Any) -> bool:
    """Whether some function or expression without a type has one afterwards."""
    old, new = (dict(part.items()) if isinstance(part, IRModule) else {"": part} for part in (before, after))
    kept = ((was, new[name]) for name, was in old.items() if name in new)
    return any(was.checked_type_ is None and is_.checked_type_ is not None for was, is_ in kept)


def _function_sentences(difference: Diff) -> Iterator[str]:
    for kind in (Change.ADDED, Change.REMOVED):
        names = [f"@{f.name}" for f in difference.functions if f.change is kind and not f.name.isdecimal()]
        # functions of Relay that are named by a hash are counted, not listed
        hashed = sum(f.name.isdecimal() for f in difference.functions if f.change is kind)
        if names or hashed:
            yield f"{kind.value} {_join_words([*names, *([counted(hashed, 'function')] if hashed else [])])}"


def _fusion_sentences(added: list[Function], removed: list[Function]) -> Iterator[str]:
    if removed:
        yield f"opened {len(removed)} fused function{'s' if len(removed) > 1 else ''}"
    sizes = [[node_name(n) for n in post_order(group.body) if isinstance(n, Call)] for group in added]
    if len(added) > 3:
        most = max(map(len, sizes))
        yield f"put {sum(map(len, sizes))} operators into {len(added)} fused functions, the largest of {most}"
        return
    for names in sorted(sizes, key=len, reverse=True):
        words = _join_words(names)
        yield f"fused {words} into one function" if names[1:] else f"put {words} into its own function"


def _regrouped_sentences(difference: Diff) -> Iterator[str]:
    """Say how many operators fused functions on both sides lost and gained."""
    lost: list[int] = []
    gained: list[int] = []
    for node in difference.nodes(*Change):
        if isinstance(node.before, Function) and isinstance(node.after, Function) and node.after.is_primitive:
            more = sum(count_operators(node.after).values()) - sum(count_operators(node.before).values())
            (gained if more > 0 else lost).append(abs(more))
    for verb, numbers in (("took {} out of {}", lost), ("added {} to {}", gained)):
        changed = [number for number in numbers if number]
        if changed:
            yield verb.format(counted(sum(changed), "operator"), counted(len(changed), "fused function"))


def _node_sentences(difference: Diff, fused: set[Expr]) -> Iterator[str]:
    seen: dict[Change, Counter[str]] = {kind: Counter() for kind in Change}
    fields: dict[str, list[tuple[FieldChange, ...]]] = {}
    crossed: set[Expr] = set()  # a node that left one function for another is a change of both, and counts once
    for node in difference.nodes():
        if isinstance(node.after or node.before, (Function, Tuple)):
            continue
        if node.change is Change.MOVED and (node.after in fused or node.after in crossed):
            continue
        if node.change is Change.MOVED and node.after is not None:
            crossed.add(node.after)
        seen[node.change][node.what] += 1
        if node.change is Change.CHANGED:
            fields.setdefault(node.what, []).append(node.fields)
    for kind in (Change.REMOVED, Change.ADDED):
        if seen[kind]:
            yield f"{kind.value} {_counts_sentence(seen[kind])}"
    for what, count in seen[Change.CHANGED].most_common(4):
        yield f"changed {_fields_words(fields[what])} of {count} {_plural(what, count)}"
    moved = sum(seen[Change.MOVED].values())
    if moved:
        yield f"moved {moved} {'node' if moved == 1 else 'nodes'}"


def _fields_words(nodes: list[tuple[FieldChange, ...]], most: int = 4) -> str:
    """Return the fields that changed of nodes of one kind: `both operands`, `the weight or kernel_layout`."""
    words: dict[tuple[bool, str], int] = {}  # how many nodes changed each
    for fields in nodes:
        for (is_attribute, name), many in Counter((f.role is None, f.role or f.name) for f in fields).items():
            if is_attribute:
                word = name
            elif name not in _COUNTED:
                word = f"the {name}"
            elif len(nodes) > 1:
                word = _several(name)
            else:
                an = "an" if name[0] in "ao" else "a"
                word = {1: f"{an} {name}", 2: f"both {_several(name)}"}.get(many, f"{many} {_several(name)}")
            words[is_attribute, word] = words.get((is_attribute, word), 0) + 1
    shown = sorted(words, key=lambda word: (-words[word], word))[:most]
    each = all(words[word] == len(nodes) for word in shown)
    return _join_words([word for _, word in shown], last="and" if each else "or")


def _several(name: str) -> str:
    return f"{name}es" if name.endswith("ch") else f"{name}s"


def _counts_sentence(counts: Counter[str], most: int = 5) -> str:
    shown = [f"{count} {_plural(name, count)}" for name, count in counts.most_common(most)]
    rest = sum(counts.values()) - sum(count for _, count in counts.most_common(most))
    return _join_words([*shown, *([f"{rest} more"] if rest else [])])


def _plural(what: str, count: int) -> str:
    """Return the noun for `count` of something: kinds of nodes have a plural, names of operators have none."""
    return f"{what}s" if count != 1 and what in _KINDS else what


def _join_words(words: list[str], most: int = 6, last: str = "and") -> str:
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    if not words:
        return "nothing"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
