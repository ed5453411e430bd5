"""`Coverage`: which steps a search compared, on which inputs, and which it did not, with the reasons."""

from __future__ import annotations

from passlab.diffing.diff import count_operators
from passlab.errors import counted
from passlab.instrument.events import Event
from passlab.oracle.coverage_evaluator import has_sides
from passlab.oracle.trial import GIVEN, Trial
from passlab.oracle.validation import Check
from passlab.table import Table
from passlab.transform.sequential import Sequential


class Coverage:
    """The steps that were compared, on which kinds of inputs, and those that were not, with the reason."""

    def __init__(self) -> None:
        self.checks: list[tuple[Event, Check]] = []
        self.skipped: list[tuple[Event, str]] = []
        self.has_failed = False  # whether a step failed
        self.trial: Trial | None = None
        self.notes: list[str] = []  # further omissions, as text
        self.executors: list[str] = []  # those that agreed with the reference evaluator

    def add(self, event: Event, check: Check) -> None:
        """Note the check of a step."""
        self.checks.append((event, check))

    def skip(self, event: Event) -> None:
        """Note a step that did not run; a pipeline inside another is compared by its passes.

        A step that failed is what the search found, so it is not left out.
        """
        if event.status == "skipped" and not isinstance(event.pass_, Sequential):
            self.skipped.append((event, f"skipped: {event.reason}"))
        self.has_failed |= event.status == "failed"

    @property
    def comparisons(self) -> list[tuple[Event, Check]]:
        """The steps whose programs were run, with their checks."""
        return [(event, check) for event, check in self.checks if check.compared or check.outcome == "broken"]

    @property
    def kinds(self) -> list[str]:
        """The kinds of inputs on which some step was compared."""
        kinds = dict.fromkeys(kind for _, check in self.checks for kind in (*check.compared, check.inputs) if kind)
        return list(kinds)

    def left_out(self) -> list[str]:
        """Return what was not examined and why, one line for each omission."""
        lines = [f"step {event.id}, {event.name}, did not run ({why})" for event, why in self.skipped]
        reasons: dict[str, list[str]] = {}
        for event, check in self.checks:
            if check.outcome in ("not checked", "no contract") and not check.compared and check.finding is None:
                lines.append(f"step {event.id}, {event.name}, was not compared ({check.why or check.left_out[0]})")
            else:
                for reason in dict.fromkeys(check.left_out):
                    reasons.setdefault(reason, []).append(event.id)
        lines += [f"{reason} (step {', '.join(steps)})" for reason, steps in reasons.items()]
        missing = self.trial.missing() if self.trial is not None else set()
        sides = sum(has_sides(node) for node, _ in missing)
        if branches := len(missing) - sides:
            lines.append(f"{branches:,} branch{'' if branches == 1 else 'es'} of the program never ran")
        if sides:
            lines.append(
                f"{counted(sides, 'side')} of comparisons and clips {'was' if sides == 1 else 'were'} never met"
            )
        return [*lines, *self.notes]

    def reached(self) -> Table:
        """Return one row for each operator of a step that changed the program: how many kinds of inputs reached it."""
        rows = []
        for event, check in self.comparisons:
            kinds = check.compared + ((check.inputs,) if check.inputs else ())
            names = {**count_operators(event.before), **count_operators(event.after)}
            rows += [(event.id, event.name, name, len(kinds), ", ".join(kinds)) for name in names]
        return Table(("step", "pass", "operator", "kinds", "inputs"), rows)

    def all_reached(self) -> str:
        """Say on how many inputs each step was compared at least; for a search that left nothing out."""
        return f"{self._steps_reached()}{self._agreement()}"

    def _steps_reached(self) -> str:
        compared = [check for _, check in self.comparisons]
        if not compared:
            which = "No step before it" if self.has_failed else "No step"
            return f"{which} changed the program, so there was nothing to compare."
        if self.kinds == [GIVEN]:
            return "Every step that changed the program was compared, on the inputs given."
        least = min(len(check.compared) + bool(check.inputs) for check in compared)
        operators = {row[2] for row in self.reached().rows}
        on = f"on inputs of {counted(least, 'kind')} or more"
        reach = f"which reach {counted(len(operators), 'operator')}"
        return f"Every step that changed the program was compared {on}, {reach}."

    def _agreement(self) -> str:
        """Say which executors agreed."""
        first, last = ", ".join(self.executors[:-1]), self.executors[-1:]
        names = " and ".join(filter(None, (first, *last)))
        verb = "agree" if first else "agrees"
        return f" On the last program {names} {verb} with the reference evaluator." if names else ""

    def text(self, full: bool = True, ended: bool = True) -> str:
        """Return what was compared and, with `full`, what was not, in a sentence. `ended`: no step is still to come."""
        changed = [check for _, check in self.checks if check.outcome != "unchanged"]
        if not changed and not self.skipped:
            if not ended:
                return f"the {counted(len(self.checks), 'step')} that it reached changed nothing"
            return "no step before it changed the program" if self.has_failed else "none changed it"
        kinds = self.kinds
        on = "the inputs given" if kinds == [GIVEN] else f"inputs of {counted(len(kinds), 'kind')}"
        steps = len(self.comparisons)
        which = "changed it" if ended else "changed it so far"
        parts = [f"{steps} of {counted(len(changed), 'step')} that {which} {'was' if steps == 1 else 'were'} compared"]
        if kinds:
            parts[0] += f", on {on}"
        lines = self.left_out() if full else []
        if lines:
            parts.append(f"not examined: {'; '.join(lines)}")
        return "; ".join(parts)

    def table(self) -> Table:
        """Return one row for each step: the inputs it was compared on, and what was left out."""
        rows = [
            (event.id, event.name, check.outcome, ", ".join(check.compared), "; ".join(check.left_out))
            for event, check in self.checks
        ]
        rows += [(event.id, event.name, "not checked", "", why) for event, why in self.skipped]
        return Table(("step", "pass", "outcome", "compared_on", "left_out"), rows)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__
