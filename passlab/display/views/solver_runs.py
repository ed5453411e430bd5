"""The view of a watched analysis: the program with the state of each line, before and after each decision."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from passlab.display.code_lines import Listing
from passlab.display.nodes import NO_NODE, line_node, number_of
from passlab.display.protocol.analyses import SolvingData
from passlab.display.rows import Rows
from passlab.display.view import BriefView, HasFrame, checked_view
from passlab.display.view_parts import Fold, Part, Sentence
from passlab.display.views.module import ModuleView, code_line
from passlab.errors import visible
from passlab.ir.expr import Expr
from passlab.lab.solver_runs import Solving


class SolvingView(BriefView):
    """An analysis: its decisions, and the states of the program's lines before and after each."""

    kind = script = "solving"

    def __init__(self, run: Solving) -> None:
        self.run = run
        self.module = ModuleView(run.mod)

    @property
    def title(self) -> str:
        """Which analysis it is, and how many decisions it took."""
        summary = self.run.summary()
        return visible(summary[:1].upper() + summary[1:])

    @cached_property
    def nodes(self) -> list[Expr | None]:
        """The node of each line that has a state, else None."""
        states = self.run.state(len(self.run.steps))
        return [node if node in states else None for node in map(line_node, self.module.lines)]

    def parts(self) -> Iterable[Part]:
        """Yield the sentence, the decisions, and the program with the final state of each line."""
        yield Sentence(self.title)
        yield Rows(self.run.table(), brief=self.brief)
        yield Fold("in the end", [self._program(len(self.run.steps))], opened=True)

    def source(self) -> HasFrame:
        """Return one row per decision."""
        return self.run

    def _program(self, number: int) -> Listing:
        state = self.run.state(number)
        facts = (state.get(node) if node is not None else None for node in self.nodes)
        pairs = zip(self.module.lines, facts, strict=True)
        lines = [code_line(line, f"  // {fact}" if fact else "", fact or "") for line, fact in pairs]
        return Listing(lines, rest=f"state({number}) of the solving has the state of each node", brief=self.brief)

    def data(self) -> SolvingData:
        program = self.module.data()
        shown = self.nodes[: len(program["rows"])]
        lines = [line_node(line) for line in self.module.lines[: len(shown)]]
        line_of = {node: at for at, node in enumerate(shown) if node is not None}
        return {
            **program,
            "kind": self.kind,
            "title": self.title,
            "nodes": [NO_NODE if node is None else number_of(self.run.original(node)) for node in lines],
            "start": [visible(self.run.start.get(node, "")) if node is not None else None for node in shown],
            "steps": [
                {
                    "sentence": visible(step.said),
                    "phase": visible(step.phase),
                    "node": number_of(self.run.original(step.node)),
                    "line": line_of.get(step.node, -1),
                    "changed": [(line_of[n], visible(text)) for n, text in step.changed.items() if n in line_of],
                }
                for step in self.run.steps
            ],
        }


@checked_view(Solving, hint='lab.watch_solver(mod, "types") returns one')
def solving_view(run: Solving) -> SolvingView:
    """Return the view of a watched analysis (`lab.watch_solver`).

    >>> mod = passlab.parse("def @main(%x: float32) { tanh(exp(%x)) }")
    >>> type(display.solving_view(lab.watch_solver(mod, "fusion"))).__name__
    'SolvingView'
    """
    return SolvingView(run)
