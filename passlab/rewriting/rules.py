"""Rewrite rules as data: a pattern, a condition, a result, and a numeric contract.

    Rule("cast to own type", "cast(x)", "x", when=lambda m: m.type("x") is m.type("root"))

A pattern is written like an expression. Operators are named, and `a|b` matches either; a name beginning with c matches
a constant, any other name anything; a repeated name must match the same node each time. `label:op(...)` names a call
inside the pattern; the whole is `root`. Operands of commutative operators match in either order. Results are written
the same way, or computed by a function of the match. Knows nothing of passes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from passlab.analysis.purity import LocalPurity
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Constant, Expr, ExprT, set_span
from passlab.ir.op import Op, Trait, is_op_call
from passlab.ir.types import TensorType, Type
from passlab.ir.walk import CHILDREN, may_rewrite, note_rewrite, rebuild, result_of
from passlab.op import make
from passlab.rewriting.constant_values import folded_call
from passlab.rewriting.node_types import NodeTypes
from passlab.transform.numeric_contract import EXACT, NumericContract

_TOKEN = re.compile(r"\s*([A-Za-z_][\w.|]*|[(),:])")


class Term(NamedTuple):
    """A call in a pattern: the names of its possible operators, its arguments (terms or names), its label."""

    ops: tuple[str, ...]
    args: tuple[Any, ...]
    label: str


@dataclass(frozen=True)
class RuleMatch:
    """A match of a pattern: the node of each name and label, and the types and purity of nodes."""

    nodes: dict[str, Any]
    types: NodeTypes
    purity: LocalPurity

    def __getitem__(self, name: str) -> Any:
        """Return the node that a name or label matched."""
        return self.nodes[name]

    def type(self, name: str) -> Type | None:
        """Return the type of that node."""
        return self.types.of(self.nodes[name])

    def tensor(self, name: str) -> TensorType | None:
        """Return the type of that node if it is a tensor."""
        return self.types.tensor(self.nodes[name])

    def attrs(self, label: str) -> Attrs:
        """Return the attributes of that call."""
        attrs: Attrs = self.nodes[label].attrs
        return attrs

    def pure(self, name: str) -> bool:
        """Whether that node may be dropped: evaluating it certainly neither reads nor changes state."""
        return self.purity.of(self.nodes[name])


@dataclass(frozen=True)
class NearMiss:
    """How close a rule came to a call that it does not match: `matched` of `total` calls and names of the pattern."""

    rule: Rule
    matched: int
    total: int
    reason: str

    @property
    def share(self) -> float:
        """The matched fraction of the pattern."""
        return self.matched / self.total

    def __str__(self) -> str:
        return f"{self.rule.name}: {self.matched} of {self.total} parts of {self.rule.pattern} fit; {self.reason}"


@dataclass(frozen=True)
class Rule:
    """One rewrite. `when` may reject a match; `result` is a pattern over the same names, or computes the new node.

    A result function may also return None to reject the match. `promise` is the numeric contract of the rewrite.
    """

    name: str
    pattern: str
    result: str | Callable[[RuleMatch], Expr | None]
    when: Callable[[RuleMatch], bool] | None = None
    promise: NumericContract = EXACT
    terms: tuple[Term, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple(_variants(_parse_text(self.pattern))))

    def apply(
        self, call: Call, types: NodeTypes, purity: LocalPurity, terms: tuple[Term, ...] | None = None
    ) -> Expr | None:
        """Return the replacement of `call`, or None if the rule does not match. `terms` are those that may match."""
        for term in self.terms if terms is None else terms:
            nodes = _fits(term, call)
            if nodes is None:
                continue
            match = RuleMatch(nodes, types, purity)
            if self.when is not None and not self.when(match):
                continue
            result = self.result(match) if callable(self.result) else _built(_parse_text(self.result), nodes)
            if result is not None:
                return result
        return None

    def miss(self, call: Call, types: NodeTypes, purity: LocalPurity) -> NearMiss | None:
        """Return why the rule leaves a call as it is, or None if it applies."""
        nearest = NearMiss(self, -1, 1, "")
        for term in self.terms:
            nodes = _fits(term, call)
            if nodes is None:
                matched, total, reason = _nearness(term, call)
                if matched > nearest.matched:
                    nearest = NearMiss(self, matched, total, reason)
                continue
            size = _size(term)
            match = RuleMatch(nodes, types, purity)
            if self.when is not None and not self.when(match):
                nearest = NearMiss(self, size, size + 1, "its condition does not hold")
            elif callable(self.result) and self.result(match) is None:
                nearest = NearMiss(self, size, size + 1, "it has no correct result here")
            else:
                return None
        return nearest

    def __str__(self) -> str:
        right = self.result if isinstance(self.result, str) else "..."
        return f"{self.name}: {self.pattern} -> {right}  [{self.promise}]"


# ---------------------------------------------------------------- patterns
def _parse_text(text: str) -> Term | str | None:
    """Return a pattern as a term, or as a name."""
    words = _TOKEN.findall(text)
    open_calls: list[tuple[str, str, list[Any]]] = []
    label, done, i = "", None, 0
    while i < len(words):
        word, after = words[i], words[i + 1] if i + 1 < len(words) else ""
        if after == ":":
            label, i = word, i + 2
            continue
        if word == ")":
            name, tag, args = open_calls.pop()
            done = Term(tuple(name.split("|")), tuple(args), tag)
        elif word == ",":
            i += 1
            continue
        elif after == "(":
            open_calls.append((word, label, []))
            label, i = "", i + 2
            continue
        else:
            done = word
        if open_calls:
            open_calls[-1][2].append(done)
        i += 1
    return done


def _variants(term: Any) -> Iterable[Any]:  # recurses: no deeper than the pattern of a rule
    """Return all forms of a term, with the operands of commutative calls in either order. Patterns nest two or three
    deep.
    """
    if isinstance(term, str):
        return [term]
    choices = list(itertools.product(*[_variants(a) for a in term.args]))
    result = [term._replace(args=args) for args in choices]
    commute = all(Trait.COMMUTATIVE in Op.get(name).spec.traits for name in term.ops)
    if commute and term.args[0] != term.args[1]:
        result += [term._replace(args=args[::-1]) for args in choices]
    return result


def _fits(term: Term, call: Call) -> dict[str, Any] | None:
    nodes: dict[str, Any] = {"root": call}
    stack: list[tuple[Any, Expr]] = [(term, call)]
    while stack:
        want, node = stack.pop()
        if type(want) is str:
            if nodes.setdefault(want, node) is not node or (want[0] == "c" and type(node) is not Constant):
                return None
            continue
        if type(node) is not Call or type(node.op) is not Op or node.op.name not in want.ops:
            return None
        if len(node.args) != len(want.args):
            return None
        if want.label:
            nodes[want.label] = node
        stack += zip(want.args, node.args, strict=True)
    return nodes


def _size(term: Any) -> int:
    """Return the number of calls and names in a pattern."""
    stack, count = [term], 0
    while stack:
        part = stack.pop()
        count += 1
        stack += [] if type(part) is str else part.args
    return count


def _nearness(term: Term, call: Call) -> tuple[int, int, str]:
    """Return how many parts of a pattern match, how many it has, and why the first other part does not match."""
    nodes: dict[str, Expr] = {}
    stack: list[tuple[Any, Expr]] = [(term, call)]
    matched, reason = 0, ""
    while stack:
        part, node = stack.pop()
        problem = _problem(part, node, nodes)
        if not problem:
            matched += 1
            stack += zip(part.args, node.args, strict=True) if type(part) is Term and type(node) is Call else ()
        elif not reason:
            reason = problem
    return matched, _size(term), reason


def _problem(part: Any, node: Expr, nodes: dict[str, Expr]) -> str:
    """Return why a part of a pattern does not match a node, "" if it does."""
    if type(part) is str:
        if nodes.setdefault(part, node) is not node:
            return f"{part} stands for two different values"
        return f"{part} is no constant" if part[0] == "c" and type(node) is not Constant else ""
    name = node.op.name if is_op_call(node) else f"a {type(node).__name__}"
    if name not in part.ops:
        return f"expected {' or '.join(part.ops)}, found {name}"
    assert type(node) is Call
    return "" if len(node.args) == len(part.args) else f"{name} has {len(node.args)} arguments here"


def _built(term: Any, nodes: dict[str, Any]) -> Expr:  # recurses: no deeper than the result of a rule
    if isinstance(term, str):
        return nodes[term]  # type: ignore[no-any-return]
    return compute(make(term.ops[0], *[_built(a, nodes) for a in term.args]))


def compute(call: Expr) -> Expr:
    """Return a call, or its value if all its arguments are constant."""
    return (folded_call(call) if type(call) is Call else None) or call


# ---------------------------------------------------------------- applying
class RuleSet:
    """Rules indexed by the operator they start at. A pass over a program is linear in its nodes and rewrites."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_heads: dict[tuple[_Head, ...], list[tuple[Rule, tuple[Term, ...]]]] = {}

    def simplify(self, root: ExprT) -> ExprT:
        """Return the program with rules applied until none matches, from the leaves up; the same object if none does.

        The result of a rule is simplified again, its new children first. Rules are meant to terminate; if they do not,
        rewriting stops after some hundred rewrites for each node.
        """
        types, purity = NodeTypes(), LocalPurity()
        final: dict[Expr, Expr] = {}
        used: dict[Expr, str] = {}  # the name of the rule that replaced each node
        left = 1000
        # (node, its replacement; itself once its children are done)
        stack: list[tuple[Expr, Expr | None]] = [(root, None)]

        def new(node: Expr) -> Expr:
            return final.get(node, node)

        while stack:
            node, became = stack.pop()
            if became is None:
                if node in final:
                    continue
                left += 100
                kids = CHILDREN[type(node)](node)
                if kids:
                    stack.append((node, node))
                    stack += [(kid, None) for kid in kids[::-1] if kid not in final]
                else:
                    final[node] = node
                continue
            if became is not node:  # a rule replaced the node, and the replacement is done
                final[node] = settled = final[became]
                set_span(settled, node.span)
                note_rewrite(node, settled, used[node])
                continue
            post = rebuild(node, new)
            replacement = self._once(post, types, purity) if left > 0 and type(post) is Call else None
            if replacement is not None:
                result, used[node] = replacement
                left -= 1
                stack += [(node, result), (result, None)]
                continue
            final[node] = final[post] = post
            if post is not node:
                note_rewrite(node, post)
        return result_of(root, final)

    def _once(self, call: Call, types: NodeTypes, purity: LocalPurity) -> tuple[Expr, str] | None:
        """Return the result and the name of the first rule that applies to a call, or None."""
        if type(call.op) is Op:
            for rule, terms in self._candidates(call):
                result = rule.apply(call, types, purity, terms)
                if result is not None and result is not call:
                    return (result, rule.name) if may_rewrite(rule.name) else None
        return None

    def _candidates(self, call: Call) -> list[tuple[Rule, tuple[Term, ...]]]:
        """Return the rules that may fit a call, by what it and its arguments are; few calls differ in that."""
        heads = (_head(call), *[_head(arg) for arg in call.args])
        rules = self._by_heads.get(heads)
        if rules is None:
            terms = ((rule, tuple([term for term in rule.terms if _may_fit(term, heads)])) for rule in self.rules)
            rules = self._by_heads[heads] = [(rule, fitting) for rule, fitting in terms if fitting]
        return rules


_Head = str | type[Constant] | None  # an operator by name, a constant, or anything else


def _head(node: Expr) -> _Head:
    if type(node) is Call and type(node.op) is Op:
        return node.op.name
    return Constant if type(node) is Constant else None


def _may_fit(term: Term, heads: tuple[_Head, ...]) -> bool:
    """Whether a pattern may fit a call, by what the call and its arguments are."""
    if heads[0] not in term.ops or len(term.args) != len(heads) - 1:
        return False
    for part, head in zip(term.args, heads[1:], strict=True):
        if (head not in part.ops) if type(part) is Term else (part[0] == "c" and head is not Constant):
            return False
    return True
