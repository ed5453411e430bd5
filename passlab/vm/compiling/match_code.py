"""The instructions of a `match`: the nodes and arms of its decision tree, each once, with jumps between them.

Each part of the matched value has one register, and so has its tag. Both are filled where they are first needed;
where paths join, a register is filled if it is filled on all of them. So the variables of an arm that several leaves
lead to are in the same registers on all paths. Variables that an arm binds and never reads get no code.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from passlab.ir.expr import Match
from passlab.vm.compiling.decision_tree import ROOT, Leaf, Node, Switch, decision_tree
from passlab.vm.isa import Instruction, Opcode

if TYPE_CHECKING:
    from passlab.vm.compiling.codegen import FunctionCode

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
                self._bind(label, label.arm)
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

    def _bind(self, leaf: Leaf, arm: int) -> None:
        """Fill the registers of an arm's variables. The whole value is copied: its live range is not the variable's."""
        self._fill_places(leaf)
        for var, occurrence in self.bound[arm]:
            register = self.registers[occurrence]
            if occurrence == ROOT:
                register = self.code.into(Opcode.MOVE, register, ..., node=self.expr)
            self.code.registers[var] = register

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
            for following in _all_following(node):
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


def _all_following(switch: Switch) -> list[Node]:
    return [inner for _, inner in switch.cases] + ([] if switch.otherwise is None else [switch.otherwise])


def _occurrence_bit(occurrence: int) -> int:
    return 1 << 2 * occurrence  # the even bits


def _tag_bit(occurrence: int) -> int:
    return 2 << 2 * occurrence  # the odd bits
