"""A `match` as a decision tree: which tag to read next, and which arm is reached when nothing is left to ask.

The arms form a matrix of tests. A place of the value that the first arm asks for is taken apart: each constructor named
there keeps the rows that still fit, the rest goes on without it, so no tag is read twice on a path. Among the places
that the first arm asks for, the one is taken that most of the first arms ask for without a gap, then the one with the
fewest branches, then the fewest fields, then the leftmost: the heuristic `pba` of Maranget ("Compiling Pattern Matching
to Good Decision Trees", 2008, section 8). Equal rest problems are one node, and so is each arm: the tree is an acyclic
graph, whose nodes code jumps to.

Trees of patterns that interlock can be exponentially large. So the tree may have `GROWTH` times the tests of the
patterns and no more; where that is not enough, the arms are tried in order, tags that are known still being read once.
Cost: near linear in the size of the patterns, and at most `WORK` rows beyond. Knows patterns, not instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from passlab.ir.adt import (
    Clause,
    Constructor,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from passlab.ir.expr import Var

GROWTH = 4  # tests in the tree for each test in the patterns
SPARE = 64  # tests that any tree may have
WORK = 1_000_000  # rows looked at for any tree
ROWS = 64  # rows looked at for each test in the patterns, besides
CANDIDATES = 8  # places of the first arm that are compared, from the left

ROOT = 0  # the place of the value itself
_Row = tuple[int, tuple[int, ...]]  # an arm, and the numbers of its tests that are still to be made
_Rows = tuple[_Row, ...]


@dataclass(eq=False, repr=False, slots=True)
class Leaf:
    """Here an arm is known to fit; None: no arm does."""

    arm: int | None


@dataclass(eq=False, repr=False, slots=True)
class Switch:
    """Here the tag at a place is read: it is that of a case, else `otherwise`. None: there is no other constructor."""

    place: int
    cases: tuple[tuple[Constructor, Node], ...]
    otherwise: Node | None


Node = Leaf | Switch


@dataclass(frozen=True, eq=False)
class DecisionTree:
    """The tree of a `match`.

    `places` has for each place of the value its whole and its field there, `bound` for each arm its variables with
    their places. `nodes` are all nodes, each behind those it leads to; the last is the root.
    """

    places: Sequence[tuple[int, int]]
    bound: Sequence[Sequence[tuple[Var, int]]]
    nodes: Sequence[Node]

    @property
    def root(self) -> Node:
        """Where the decision begins."""
        return self.nodes[-1]


def decision_tree(clauses: Sequence[Clause], siblings: Callable[[Constructor], int]) -> DecisionTree:
    """Return the decision tree of the arms of a `match`: the first that fits is reached.

    `siblings` says how many constructors the type of a constructor has, 0 when that is not known. The arms are
    well-typed. An arm that others leave nothing for is in no leaf.
    """
    matrix = _Matrix(clauses, siblings)
    try:
        nodes = matrix.tree()
    except _InterlockedError:
        nodes = matrix.in_order()
    return DecisionTree(matrix.places, [arm.bound for arm in matrix.arms], nodes)


class _InterlockedError(Exception):
    """The tree would become too large."""


@dataclass(slots=True)
class _Test:
    """One constructor in a pattern: its place, and the tests inside it that follow when it fits."""

    place: int
    constructor: Constructor
    inner: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Arm:
    """One pattern: its tests, outer before inner and left to right, found also by place; the variables it binds."""

    tests: list[_Test] = field(default_factory=list)
    first: list[int] = field(default_factory=list)  # tests that no other precedes
    at: dict[int, int] = field(default_factory=dict)
    bound: list[tuple[Var, int]] = field(default_factory=list)


class _Matrix:
    """The arms of one `match` as rows of tests."""

    def __init__(self, clauses: Sequence[Clause], siblings: Callable[[Constructor], int]) -> None:
        self.siblings = siblings
        self.places: list[tuple[int, int]] = [(-1, -1)]
        self._numbers: dict[tuple[int, int], int] = {}
        self.arms = [self._arm(clause.lhs) for clause in clauses]
        count = sum(len(arm.tests) for arm in self.arms)
        self.rows_left = WORK + ROWS * count
        self.tests_left = SPARE + GROWTH * count

    def _arm(self, pattern: Pattern) -> _Arm:
        """Read a pattern. Tuples, and types of one constructor, have nothing to be tested themselves."""
        arm = _Arm()
        stack = [(pattern, ROOT, arm.first)]
        while stack:
            at, place, group = stack.pop()
            if isinstance(at, PatternVar):
                arm.bound.append((at.var, place))
            elif isinstance(at, (PatternConstructor, PatternTuple)):
                if isinstance(at, PatternConstructor) and self.siblings(at.constructor) != 1:
                    group.append(len(arm.tests))
                    arm.at[place] = len(arm.tests)
                    arm.tests.append(_Test(place, at.constructor))
                    group = arm.tests[-1].inner
                for i in range(len(at.patterns) - 1, -1, -1):
                    stack.append((at.patterns[i], self._place(place, i), group))
        return arm

    def _place(self, whole: int, index: int) -> int:
        number = self._numbers.setdefault((whole, index), len(self.places))
        if number == len(self.places):
            self.places.append((whole, index))
        return number

    # ------------------------------------------------------------ the tree
    def tree(self) -> list[Node]:
        """Return the nodes of the decision tree. Raises `_InterlockedError` when it would become too large."""
        start: list[_Row] = []
        for number, arm in enumerate(self.arms):
            start.append((number, tuple(arm.first)))
            if not arm.first:
                break
        result: dict[_Rows, Node] = {}
        split: dict[_Rows, tuple[int, list[tuple[Constructor, _Rows]], _Rows | None]] = {}
        waiting: list[_Rows] = [tuple(start)]
        while waiting:
            rows = waiting[-1]
            if rows in result:
                waiting.pop()
            elif not rows or not rows[0][1]:
                result[rows] = Leaf(rows[0][0] if rows else None)
            elif rows not in split:
                place = self._choice(rows)
                cases, rest = self._split(rows, place)
                split[rows] = place, cases, rest
                waiting += [] if rest is None else [rest]
                waiting += [inner for _, inner in reversed(cases)]
            else:
                place, cases, rest = split.pop(rows)
                branches = tuple([(constructor, result[inner]) for constructor, inner in cases])
                result[rows] = Switch(place, branches, None if rest is None else result[rest])
        return list(result.values())

    def _choice(self, rows: _Rows) -> int:
        """Return the place to be looked at next."""
        first, pending = rows[0]
        places = [self.arms[first].tests[n].place for n in pending[:CANDIDATES]]
        if len(places) == 1:
            return places[0]
        self._spend(len(places) * len(rows))
        return min(places, key=lambda place: self._badness(rows, place))

    def _badness(self, rows: _Rows, place: int) -> tuple[int, int, int]:
        prefix, unbroken = 0, True
        heads: dict[int, Constructor] = {}
        for number, _ in rows:
            test = self.arms[number].at.get(place)
            unbroken = unbroken and test is not None
            prefix += unbroken
            if test is not None:
                constructor = self.arms[number].tests[test].constructor
                heads[constructor.tag] = constructor
        complete = len(heads) == self.siblings(next(iter(heads.values())))
        return -prefix, len(heads) + (not complete), sum(len(c.inputs) for c in heads.values())

    def _split(self, rows: _Rows, place: int) -> tuple[list[tuple[Constructor, _Rows]], _Rows | None]:
        """Return the rows that are left for each constructor at a place, and for all others if there are others.

        Rows behind one that has nothing to be tested are out of reach, and left out.
        """
        cases: dict[int, tuple[Constructor, list[_Row]]] = {}
        unfinished: dict[int, list[_Row]] = {}  # of these, those that later rows can reach
        rest: list[_Row] = []
        for row in rows:
            number, pending = row
            test = self.arms[number].at.get(place)
            if test is None:
                rest.append(row)
                self._spend(1 + len(unfinished))
                for kept in unfinished.values():
                    kept.append(row)
                if not pending:
                    break
                continue
            constructor, inner = self.arms[number].tests[test].constructor, self.arms[number].tests[test].inner
            tag = constructor.tag
            if tag not in cases:
                cases[tag] = constructor, list(rest)
                unfinished[tag] = cases[tag][1]
                self._spend(len(rest))
            if tag in unfinished:
                at = pending.index(test)
                unfinished[tag].append((number, (*pending[:at], *inner, *pending[at + 1 :])))
                self._spend(1 + len(pending) // 16)
                if len(pending) == 1 and not inner:
                    del unfinished[tag]
        self.tests_left -= len(cases)
        self._spend(0)
        groups = [(constructor, tuple(kept)) for constructor, kept in cases.values()]
        return groups, None if len(groups) == self.siblings(groups[0][0]) else tuple(rest)

    def _spend(self, rows: int) -> None:
        self.rows_left -= rows
        if self.rows_left < 0 or self.tests_left < 0:
            raise _InterlockedError

    # ------------------------------------------------------------ without a tree
    def in_order(self) -> list[Node]:
        """Return the nodes that try the arms one after the other."""
        reachable = next((n + 1 for n, arm in enumerate(self.arms) if not arm.first), len(self.arms))
        nodes: list[Node] = [Leaf(None)] if reachable == len(self.arms) and self.arms[-1].first else []
        for number in range(reachable - 1, -1, -1):
            failed = nodes[-1] if nodes else None
            nodes.append(Leaf(number))
            for test in reversed(self.arms[number].tests):
                nodes.append(Switch(test.place, ((test.constructor, nodes[-1]),), failed))
        return nodes
