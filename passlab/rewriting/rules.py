"""Rewrite rules as data: a pattern, a condition, a result, and a numeric contract.

    Rule("cast to own type", "cast(x)", "x", when=lambda m: m.type("x") is m.type("root"))

A pattern is written like an expression. A call names its operator, or several: `a|b(x)`. A name beginning with c
matches a constant, any other name any expression; a repeated name must match the same node each time. `label:op(...)`
names a call inside the pattern; the whole is `root`. Operands of commutative operators match in either order. Results
are written the same way, or computed by a function of the match.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from passlab.analysis.purity import LocalPurity
from passlab.errors import type_in_words
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Constant, Expr, ExprT, set_span
from passlab.ir.op import Op, Trait, is_op_call
from passlab.ir.types import TensorType, Type
from passlab.ir.walk import CHILDREN, may_rewrite, note_rewrite, rebuild_typed, result_of
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
        """Return the node of a name or label."""
        return self.nodes[name]

    def type(self, name: str) -> Type | None:
        """Return the type of the node of a name or label."""
        return self.types.of(self.nodes[name])

    def tensor(self, name: str) -> TensorType | None:
        """Return the type of the node of a name or label if it is a tensor."""
        return self.types.tensor(self.nodes[name])

    def attrs(self, label: str) -> Attrs:
        """Return the attributes of the call of a label."""
        attrs: Attrs = self.nodes[label].attrs
        return attrs

    def pure(self, name: str) -> bool:
        """Return True if the node of a name may be dropped: evaluating it neither reads nor changes state."""
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

    A result function may also return None to reject the match. `contract` is a numeric contract, as for a pass. A rule
    with `needs` matches only calls with an argument of one of these kinds: operators by name, or `Constant`.
    """

    name: str
    pattern: str
    result: str | Callable[[RuleMatch], Expr | None]
    when: Callable[[RuleMatch], bool] | None = None
    contract: NumericContract = EXACT
    needs: frozenset[Any] = frozenset()
    terms: tuple[Term, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple(_variants(_parse_text(self.pattern))))

    def apply(
        self, call: Call, types: NodeTypes, purity: LocalPurity, terms: tuple[Term, ...] | None = None
    ) -> Expr | None:
        """Return the replacement of `call`, or None if the rule does not match. Only `terms` are tried, if not None."""
        for term in self.terms if terms is None else terms:
            nodes = _match(term, call)
            if nodes is None:
                continue
            match = RuleMatch(nodes, types, purity)
            if self.when is not None and not self.when(match):
                continue
            result = self.result(match) if callable(self.result) else _build(_parse_text(self.result), nodes)
            if result is not None:
                return result
        return None

    def miss(self, call: Call, types: NodeTypes, purity: LocalPurity) -> NearMiss | None:
        """Return why the rule does not rewrite a call, or None if it does."""
        nearest = NearMiss(self, -1, 1, "")
        for term in self.terms:
            nodes = _match(term, call)
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
        return f"{self.name}: {self.pattern} -> {right}  [{self.contract}]"


# ---------------------------------------------------------------- patterns
def _parse_text(text: str) -> Term | str | None:
    """Parse a pattern: return a term, or a name."""
    tokens = _TOKEN.findall(text)
    open_calls: list[tuple[str, str, list[Any]]] = []
    label, result, i = "", None, 0
    while i < len(tokens):
        token, following = tokens[i], tokens[i + 1] if i + 1 < len(tokens) else ""
        if following == ":":
            label, i = token, i + 2
            continue
        if token == ")":
            name, call_label, args = open_calls.pop()
            result = Term(tuple(name.split("|")), tuple(args), call_label)
        elif token == ",":
            i += 1
            continue
        elif following == "(":
            open_calls.append((token, label, []))
            label, i = "", i + 2
            continue
        else:
            result = token
        if open_calls:
            open_calls[-1][2].append(result)
        i += 1
    return result


def _variants(term: Any) -> Iterable[Any]:  # recurses: no deeper than the pattern of a rule
    """Return all forms of a term, with the operands of commutative calls in either order."""
    if isinstance(term, str):
        return [term]
    choices = list(itertools.product(*[_variants(a) for a in term.args]))
    result = [term._replace(args=args) for args in choices]
    commutative = all(Trait.COMMUTATIVE in Op.get(name).spec.traits for name in term.ops)
    if commutative and term.args[0] != term.args[1]:
        result += [term._replace(args=args[::-1]) for args in choices]
    return result


def _match(term: Term, call: Call) -> dict[str, Any] | None:
    """Return the node of each name and label of a pattern, or None if it does not match."""
    nodes: dict[str, Any] = {"root": call}
    stack: list[tuple[Any, Expr]] = [(term, call)]
    while stack:
        part, node = stack.pop()
        if type(part) is str:
            if nodes.setdefault(part, node) is not node or (part[0] == "c" and type(node) is not Constant):
                return None
            continue
        if type(node) is not Call or type(node.op) is not Op or node.op.name not in part.ops:
            return None
        if len(node.args) != len(part.args):
            return None
        if part.label:
            nodes[part.label] = node
        stack += zip(part.args, node.args, strict=True)
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
        mismatch = _mismatch(part, node, nodes)
        if not mismatch:
            matched += 1
            stack += zip(part.args, node.args, strict=True) if type(part) is Term and type(node) is Call else ()
        elif not reason:
            reason = mismatch
    return matched, _size(term), reason


def _mismatch(part: Any, node: Expr, nodes: dict[str, Expr]) -> str:
    """Return why a part of a pattern does not match a node, "" if it does."""
    if type(part) is str:
        if nodes.setdefault(part, node) is not node:
            return f"{part} stands for two different values"
        return f"{part} is not a constant" if part[0] == "c" and type(node) is not Constant else ""
    name = node.op.name if is_op_call(node) else type_in_words(node)
    if name not in part.ops:
        return f"expected {' or '.join(part.ops)}, found {name}"
    assert type(node) is Call
    return "" if len(node.args) == len(part.args) else f"{name} has {len(node.args)} arguments here"


def _build(term: Any, nodes: dict[str, Any]) -> Expr:  # recurses: no deeper than the result of a rule
    if isinstance(term, str):
        return nodes[term]  # type: ignore[no-any-return]
    return compute(make(term.ops[0], *[_build(a, nodes) for a in term.args]))


def compute(call: Expr) -> Expr:
    """Return a call, or its value if all its arguments are constant."""
    return (folded_call(call) if type(call) is Call else None) or call


# ---------------------------------------------------------------- applying
class RuleSet:
    """Rules, indexed by the operators at the root of their patterns: `operators`. `simplify` is linear in nodes and
    rewrites.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self.operators = frozenset(name for rule in self.rules for term in rule.terms for name in term.ops)
        self._by_heads: dict[tuple[_Head, ...], list[tuple[Rule, tuple[Term, ...]]]] = {}

    def simplify(self, root: ExprT) -> ExprT:
        """Return the program with rules applied until none matches, from the leaves up; the same object if none does.

        The result of a rule is simplified again, its new children first. If the rules do not terminate, rewriting stops
        after a hundred rewrites for each node.
        """
        types, purity = NodeTypes(), LocalPurity()
        final: dict[Expr, Expr] = {}
        rule_names: dict[Expr, str] = {}  # of the rule that replaced each node
        fuel = 1000  # rewrites; each visited node adds some
        # A node and None: visit it. A node twice: its children are done. Else the result of a rule, which is done.
        stack: list[tuple[Expr, Expr | None]] = [(root, None)]

        def new(node: Expr) -> Expr:
            return final.get(node, node)

        while stack:
            node, successor = stack.pop()
            if successor is None:
                if node in final:
                    continue
                fuel += 100
                kids = CHILDREN[type(node)](node)
                if kids:
                    stack.append((node, node))
                    stack += [(kid, None) for kid in kids[::-1] if kid not in final]
                else:
                    final[node] = node
                continue
            if successor is not node:
                final[node] = result = final[successor]
                set_span(result, node.span)
                note_rewrite(node, result, rule_names[node])
                continue
            post = rebuild_typed(node, new)
            replacement = self._apply_first(post, types, purity) if fuel > 0 and type(post) is Call else None
            if replacement is not None:
                result, rule_names[node] = replacement
                fuel -= 1
                stack += [(node, result), (result, None)]
                continue
            final[node] = final[post] = post
            if post is not node:
                note_rewrite(node, post)
        return result_of(root, final)

    def _apply_first(self, call: Call, types: NodeTypes, purity: LocalPurity) -> tuple[Expr, str] | None:
        """Return the result and the name of the first rule that applies to a call, or None."""
        if type(call.op) is Op:
            for rule, terms in self._candidates(call):
                result = rule.apply(call, types, purity, terms)
                if result is not None and result is not call:
                    return (result, rule.name) if may_rewrite(rule.name) else None
        return None

    def _candidates(self, call: Call) -> list[tuple[Rule, tuple[Term, ...]]]:
        """Return the rules that may match a call, by its head and the heads of its arguments (cached: there are
        few).
        """
        heads = (_head(call), *[_head(arg) for arg in call.args])
        rules = self._by_heads.get(heads)
        if rules is None:
            candidates = (
                (rule, tuple([term for term in rule.terms if _may_match(term, heads)]))
                for rule in self.rules
                if not (rule.needs and rule.needs.isdisjoint(heads[1:]))
            )
            rules = self._by_heads[heads] = [(rule, terms) for rule, terms in candidates if terms]
        return rules


_Head = str | type[Constant] | None  # an operator by name, a constant, or anything else


def _head(node: Expr) -> _Head:
    if type(node) is Call and type(node.op) is Op:
        return node.op.name
    return Constant if type(node) is Constant else None


def _may_match(term: Term, heads: tuple[_Head, ...]) -> bool:
    """Return False if a pattern cannot match a call whose head and heads of arguments are `heads`."""
    if heads[0] not in term.ops or len(term.args) != len(heads) - 1:
        return False
    for part, head in zip(term.args, heads[1:], strict=True):
        if (head not in part.ops) if type(part) is Term else (part[0] == "c" and head is not Constant):
            return False
    return True
