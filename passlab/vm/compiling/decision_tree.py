"""A `match` as a decision tree: inner nodes read a tag, leaves are arms.

The arms form a matrix of tests. An occurrence is a part of the matched value. The tree branches on an occurrence that
the first arm tests. Each constructor keeps the rows that still match, and the default branch keeps the rows without a
test there, so no tag is read twice on a path. The heuristic `pba` of Maranget ("Compiling Pattern Matching to Good
Decision Trees", 2008, section 8) chooses the occurrence: the longest prefix of arms that test it, then the fewest
branches, then the fewest fields, then the leftmost. Equal submatrices share a node, and so do equal leaves: the tree is
an acyclic graph.

Decision trees can be exponentially large. So the tree may have `GROWTH` times the tests of the patterns; where that
does not suffice, the arms are tried in order, still without reading a tag twice. Cost: nearly linear in the size of
the patterns, plus at most `WORK` rows. This module depends on patterns, not on instructions.
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

GROWTH = 4  # tests allowed in the tree, per test in the patterns
SPARE = 64  # tests allowed in any tree
WORK = 1_000_000  # rows visited for any tree
ROWS = 64  # rows visited in addition, per test in the patterns
CANDIDATES = 8  # leftmost occurrences of the first arm that are compared

ROOT = 0  # the occurrence of the value itself
_Row = tuple[int, tuple[int, ...]]  # an arm, and the numbers of its open tests
_Rows = tuple[_Row, ...]


@dataclass(eq=False, repr=False, slots=True)
class Leaf:
    """The leaf of an arm that matches; None: no arm does."""

    arm: int | None


@dataclass(eq=False, repr=False, slots=True)
class Switch:
    """A node that reads the tag of an occurrence. `otherwise` is the default, None if the cases are exhaustive."""

    occurrence: int
    cases: tuple[tuple[Constructor, Node], ...]
    otherwise: Node | None


Node = Leaf | Switch


@dataclass(frozen=True, eq=False)
class DecisionTree:
    """The decision tree of a `match`.

    `occurrences` has for each occurrence the enclosing occurrence and the field; `bound` has for each arm its variables
    with their occurrences. `nodes` are all nodes in postorder; the last is the root.
    """

    occurrences: Sequence[tuple[int, int]]
    bound: Sequence[Sequence[tuple[Var, int]]]
    nodes: Sequence[Node]

    @property
    def root(self) -> Node:
        """The root of the tree."""
        return self.nodes[-1]


def decision_tree(clauses: Sequence[Clause], siblings: Callable[[Constructor], int]) -> DecisionTree:
    """Return the decision tree of the arms of a `match`, which selects the first arm that matches.

    `siblings` returns the number of constructors of a constructor's type, 0 where it is unknown. The arms are
    well-typed. An unreachable arm has no leaf.
    """
    matrix = _Matrix(clauses, siblings)
    try:
        nodes = matrix.tree()
    except _TreeTooLargeError:
        nodes = matrix.in_order()
    return DecisionTree(matrix.occurrences, [arm.bound for arm in matrix.arms], nodes)


class _TreeTooLargeError(Exception):
    """The tree would exceed its budget of tests or rows."""


@dataclass(slots=True)
class _Test:
    """One constructor in a pattern: its occurrence, and the tests of its fields."""

    occurrence: int
    constructor: Constructor
    inner: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Arm:
    """One pattern: its tests, outer before inner and left to right, their numbers by occurrence, and its variables."""

    tests: list[_Test] = field(default_factory=list)
    first: list[int] = field(default_factory=list)  # the outermost tests
    at: dict[int, int] = field(default_factory=dict)
    bound: list[tuple[Var, int]] = field(default_factory=list)


class _Matrix:
    """The arms of one `match` as rows of tests."""

    def __init__(self, clauses: Sequence[Clause], siblings: Callable[[Constructor], int]) -> None:
        self.siblings = siblings
        self.occurrences: list[tuple[int, int]] = [(-1, -1)]
        self._numbers: dict[tuple[int, int], int] = {}
        self.arms = [self._arm(clause.lhs) for clause in clauses]
        count = sum(len(arm.tests) for arm in self.arms)
        self.rows_left = WORK + ROWS * count
        self.tests_left = SPARE + GROWTH * count

    def _arm(self, pattern: Pattern) -> _Arm:
        """Return the tests of a pattern. Tuples, and types of one constructor, need none themselves."""
        arm = _Arm()
        stack = [(pattern, ROOT, arm.first)]
        while stack:
            part, occurrence, group = stack.pop()
            if isinstance(part, PatternVar):
                arm.bound.append((part.var, occurrence))
            elif isinstance(part, (PatternConstructor, PatternTuple)):
                if isinstance(part, PatternConstructor) and self.siblings(part.constructor) != 1:
                    group.append(len(arm.tests))
                    arm.at[occurrence] = len(arm.tests)
                    arm.tests.append(_Test(occurrence, part.constructor))
                    group = arm.tests[-1].inner  # the fields are tested once this test has succeeded
                # Reversed, so that the stack yields the fields from left to right.
                for i in range(len(part.patterns) - 1, -1, -1):
                    stack.append((part.patterns[i], self._occurrence(occurrence, i), group))
        return arm

    def _occurrence(self, whole: int, index: int) -> int:
        # The length of the list is the number of the entry that is appended if the pair is new.
        number = self._numbers.setdefault((whole, index), len(self.occurrences))
        if number == len(self.occurrences):
            self.occurrences.append((whole, index))
        return number

    # ------------------------------------------------------------ the tree
    def tree(self) -> list[Node]:
        """Return the nodes of the decision tree. Raises `_TreeTooLargeError`."""
        start: list[_Row] = []
        for number, arm in enumerate(self.arms):
            start.append((number, tuple(arm.first)))
            if not arm.first:  # the arm matches everything, so later arms are unreachable
                break
        # Equal submatrices are equal keys, so they share a node (hash-consing).
        result: dict[_Rows, Node] = {}
        split: dict[_Rows, tuple[int, list[tuple[Constructor, _Rows]], _Rows | None]] = {}
        # Postorder without recursion: rows stay on the stack until their branches have nodes.
        stack: list[_Rows] = [tuple(start)]
        while stack:
            rows = stack[-1]
            if rows in result:
                stack.pop()
            elif not rows or not rows[0][1]:  # no arm is left, or the first one has passed all its tests
                result[rows] = Leaf(rows[0][0] if rows else None)
            elif rows not in split:
                occurrence = self._choice(rows)
                cases, rest = self._split(rows, occurrence)
                split[rows] = occurrence, cases, rest
                stack += [] if rest is None else [rest]
                stack += [inner for _, inner in reversed(cases)]
            else:
                occurrence, cases, rest = split.pop(rows)
                branches = tuple([(constructor, result[inner]) for constructor, inner in cases])
                result[rows] = Switch(occurrence, branches, None if rest is None else result[rest])
        return list(result.values())

    def _choice(self, rows: _Rows) -> int:
        """Return the occurrence to test next."""
        first, pending = rows[0]
        occurrences = [self.arms[first].tests[n].occurrence for n in pending[:CANDIDATES]]
        if len(occurrences) == 1:
            return occurrences[0]
        self._spend(len(occurrences) * len(rows))
        # `min` returns the first of several minima: the leftmost.
        return min(occurrences, key=lambda occurrence: self._cost(rows, occurrence))

    def _cost(self, rows: _Rows, occurrence: int) -> tuple[int, int, int]:
        prefix, unbroken = 0, True
        heads: dict[int, Constructor] = {}
        for number, _ in rows:
            test = self.arms[number].at.get(occurrence)
            unbroken = unbroken and test is not None
            prefix += unbroken
            if test is not None:
                constructor = self.arms[number].tests[test].constructor
                heads[constructor.tag] = constructor
        # With all constructors among the cases there is no default branch.
        complete = len(heads) == self.siblings(next(iter(heads.values())))
        # The criteria p, b and a: prefix, branches, arity.
        return -prefix, len(heads) + (not complete), sum(len(c.inputs) for c in heads.values())

    def _split(self, rows: _Rows, occurrence: int) -> tuple[list[tuple[Constructor, _Rows]], _Rows | None]:
        """Return the rows that remain for each constructor at an occurrence, and for the default if there is one.

        Rows behind one without open tests are unreachable and left out.
        """
        cases: dict[int, tuple[Constructor, list[_Row]]] = {}
        unfinished: dict[int, list[_Row]] = {}  # the cases that later rows can still reach
        rest: list[_Row] = []
        for row in rows:
            number, pending = row
            test = self.arms[number].at.get(occurrence)
            if test is None:
                rest.append(row)
                self._spend(1 + len(unfinished))
                # A row without a test here matches all constructors.
                for kept in unfinished.values():
                    kept.append(row)
                # This row matches everything, so later rows are unreachable.
                if not pending:
                    break
                continue
            constructor, inner = self.arms[number].tests[test].constructor, self.arms[number].tests[test].inner
            tag = constructor.tag
            if tag not in cases:
                # Earlier rows without a test here match this constructor, too.
                cases[tag] = constructor, list(rest)
                unfinished[tag] = cases[tag][1]  # the same list, so rows appended to one are in both
                self._spend(len(rest))
            if tag in unfinished:
                index = pending.index(test)
                # The tests of the fields replace the test that succeeded, in its place: this keeps them left to right.
                unfinished[tag].append((number, (*pending[:index], *inner, *pending[index + 1 :])))
                self._spend(1 + len(pending) // 16)  # copying sixteen tests costs about as much as visiting a row
                # The row has no open test left in this case, so it hides all later rows there.
                if len(pending) == 1 and not inner:
                    del unfinished[tag]
        self.tests_left -= len(cases)
        self._spend(0)  # `tests_left` changed: check the budget
        groups = [(constructor, tuple(kept)) for constructor, kept in cases.values()]
        return groups, None if len(groups) == self.siblings(groups[0][0]) else tuple(rest)

    def _spend(self, rows: int) -> None:
        self.rows_left -= rows
        if self.rows_left < 0 or self.tests_left < 0:
            raise _TreeTooLargeError

    # ------------------------------------------------------------ without a tree
    def in_order(self) -> list[Node]:
        """Return the nodes that try the arms one after the other."""
        reachable = next((n + 1 for n, arm in enumerate(self.arms) if not arm.first), len(self.arms))
        # The leaf without an arm is needed only where the last arm can fail.
        nodes: list[Node] = [Leaf(None)] if reachable == len(self.arms) and self.arms[-1].first else []
        # Backwards: an arm that fails leads to the next arm, whose nodes must exist.
        for number in range(reachable - 1, -1, -1):
            failed = nodes[-1] if nodes else None
            nodes.append(Leaf(number))
            for test in reversed(self.arms[number].tests):
                nodes.append(Switch(test.occurrence, ((test.constructor, nodes[-1]),), failed))
        return nodes
