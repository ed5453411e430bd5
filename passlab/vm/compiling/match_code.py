"""The instructions of a `match`: the nodes and arms of its decision tree, each once, with jumps between them.

Each part of the matched value has one register, and so has its tag. Both are filled if they are first needed;
where paths join, a register is filled if it is filled on all of them. So the variables of an arm that several leaves
lead to are in the same registers on all paths. Variables that an arm binds and never reads get no code.

The file begins with a `match` as a decision tree: inner nodes read a tag, leaves are arms.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from passlab.ir.adt import Clause, Constructor, Pattern, PatternConstructor, PatternTuple, PatternVar
from passlab.ir.expr import Match, Var
from passlab.vm.isa import Instruction, Opcode

if TYPE_CHECKING:
    from passlab.vm.compiling.codegen import FunctionCode

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

    `siblings` returns the number of constructors of a constructor's type, 0 if it is unknown. The arms are
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
                    # The length of the list is the number of the entry that is appended if the pair is new.
                    number = self._numbers.setdefault((occurrence, i), len(self.occurrences))
                    if number == len(self.occurrences):
                        self.occurrences.append((occurrence, i))
                    stack.append((part.patterns[i], number, group))
        return arm

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
                # Earlier rows without a test here match this constructor as well.
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


Work = Generator[Any, int, int]  # yields the generators of operands, is sent their registers, returns its register
_Label = Leaf | tuple[Switch, int]  # a leaf, or the test of one case of a switch


class MatchCode:
    """Generates the code of one `match` on the value in the register `data`."""

    def __init__(self, code: FunctionCode, expr: Match, data: int) -> None:
        self.code = code
        self.expr = expr
        self.tree = decision_tree(expr.clauses, code.pool.siblings)
        self.bound = [[(var, occurrence) for var, occurrence in arm if var in code.read] for arm in self.tree.bound]
        self.registers = {ROOT: data}
        self.tags: dict[int, int] = {}
        self.fills, self.reads = self._plan()
        self.starts: dict[_Label, int] = {}
        self.jumps: list[tuple[int, int, int, _Label, _Label]] = []  # pc, registers of tag and expected tag; yes, no
        self.exits: list[int] = []

    def generate(self) -> Work:
        """Emit the code; return the register of the result."""
        code, expr = self.code, self.expr
        merged = code.register()  # all arms write their result here
        worklist = [_label(self.tree.root)]
        while worklist:
            label = worklist.pop()
            if label in self.starts:
                continue  # jumps lead there
            self.starts[label] = len(code.code)
            if isinstance(label, tuple):
                worklist += self._test(*label)
            elif label.arm is None:
                code.emit(Opcode.FATAL, node=expr)
            else:
                self._fill_places(label)
                # A variable for the whole value gets a copy: the two have different live ranges.
                for var, occurrence in self.bound[label.arm]:
                    register = self.registers[occurrence]
                    if occurrence == ROOT:
                        register = self.code.into(Opcode.MOVE, register, ..., node=self.expr)
                    self.code.registers[var] = register
                rhs = expr.clauses[label.arm].rhs
                result = yield code.value(rhs)
                code.emit(Opcode.MOVE, result, merged, node=rhs)
                self.exits.append(code.later())
        self._emit_jumps()
        return merged

    def _emit_jumps(self) -> None:
        """Emit the jumps into their reserved instructions."""
        code = self.code.code
        for pc, tag, expected, yes, no in self.jumps:
            offsets = self.starts[yes] - pc, self.starts[no] - pc
            code[pc] = Instruction(Opcode.IF, tag, expected, *offsets, node=self.expr)
        for pc in self.exits:
            code[pc] = Instruction(Opcode.GOTO, len(code) - pc, node=self.expr)  # behind the match

    # ------------------------------------------------------------ nodes
    def _test(self, switch: Switch, case: int) -> list[_Label]:
        """Emit the test of one case; return the labels of both outcomes, the one to emit next last."""
        code, expr, occurrence = self.code, self.expr, switch.occurrence
        # The first test of a switch reads the tag; the tests of the other cases compare the same register.
        if case == 0:
            self._fill_places(switch)
            if switch in self.reads:
                # `code.count` is the number of the next register, which is taken only if the tag has none yet.
                tag = self.tags.setdefault(occurrence, code.count)
                if tag == code.count:
                    code.register()
                code.emit(Opcode.GET_TAG, self.registers[occurrence], tag, node=expr)
        constructor, inner = switch.cases[case]
        expected = code.into(Opcode.LOAD_CONSTI, constructor.tag, ..., node=expr)
        yes, no = _label(inner), _following(switch, case)
        self.jumps.append((code.later(), self.tags[occurrence], expected, yes, no))
        return [no, yes]

    def _fill_places(self, node: Node) -> None:
        for occurrence in self.fills[node]:
            whole, index = self.tree.occurrences[occurrence]
            register = self.registers.get(occurrence)
            if register is None:
                register = self.registers[occurrence] = self.code.register()
            self.code.emit(Opcode.GET_FIELD, self.registers[whole], index, register, node=self.expr)

    # ------------------------------------------------------------ planning which node fills which registers
    def _plan(self) -> tuple[dict[Node, list[int]], set[Node]]:
        """Return for each node the parts it has to fill, the outermost first, and the switches that read their tag.

        The parts filled on all paths to a node are a set of bits: one for each part, and one for its tag.
        """
        fills: dict[Node, list[int]] = {}
        reads: set[Node] = set()
        filled: dict[Node, int] = {self.tree.root: _occurrence_bit(ROOT)}
        # Reversed postorder is a topological order: all predecessors of a node come before it.
        for node in reversed(self.tree.nodes):
            here = filled.pop(node)
            needed: list[int] = []
            fills[node] = needed
            if isinstance(node, Leaf):
                for _, occurrence in self.bound[node.arm] if node.arm is not None else ():
                    here = self._note_filled(occurrence, here, needed)
                continue
            here = self._note_filled(node.occurrence, here, needed)
            if not here & _tag_bit(node.occurrence):
                reads.add(node)
                here |= _tag_bit(node.occurrence)
            for following in [inner for _, inner in node.cases] + ([] if node.otherwise is None else [node.otherwise]):
                # The intersection over all paths: a forward must-analysis. Without cycles one round is enough.
                filled[following] = filled.get(following, here) & here
        return fills, reads

    def _note_filled(self, occurrence: int, here: int, needed: list[int]) -> int:
        """Append a part that is not filled, and those around it, to `needed`; return the bits filled then."""
        missing = []
        while not here & _occurrence_bit(occurrence):
            here |= _occurrence_bit(occurrence)
            missing.append(occurrence)
            occurrence = self.tree.occurrences[occurrence][0]
        needed += reversed(missing)
        return here


def _label(node: Node) -> _Label:
    return (node, 0) if isinstance(node, Switch) else node


def _following(switch: Switch, case: int) -> _Label:
    """Return the label after a case that does not match. The last of all constructors needs no test."""
    if switch.otherwise is not None:
        return (switch, case + 1) if case + 1 < len(switch.cases) else _label(switch.otherwise)
    return (switch, case + 1) if case + 2 < len(switch.cases) else _label(switch.cases[case + 1][1])


def _occurrence_bit(occurrence: int) -> int:
    return 1 << 2 * occurrence  # the even bits


def _tag_bit(occurrence: int) -> int:
    return 2 << 2 * occurrence  # the odd bits
