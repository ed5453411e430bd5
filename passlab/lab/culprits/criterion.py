"""`Criterion`: how a search tells good programs from bad ones: by a predicate, or by their values on some inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from passlab.diffing.diff import node_name
from passlab.instrument.statistics import count_module
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.oracle.predicate import Predicate
from passlab.oracle.signature import same_failure
from passlab.oracle.trial import SECONDS, Inputs, Trial
from passlab.oracle.validation import Check
from passlab.transform.numeric_contract import NumericContract

PATIENCE = 5.0  # seconds that a pass or program may always take; the limit grows where the good one took longer
SMALL = 60  # nodes up to which a candidate of a reduction is run on inputs of all kinds
QUICK = 0.05  # seconds for all of these runs together
SHORT_RUN = 0.06  # seconds for one of them where functions are called: such a program may not terminate
LONG_RUN = 0.5  # the same for a larger candidate, unless the programs themselves take longer


@dataclass(frozen=True)
class Criterion:
    """Tells good programs from bad ones: by the predicate `good`, or by their values on inputs if it is None."""

    good: Predicate | None
    inputs: Inputs
    entry: str
    seed: int
    default_contract: NumericContract | None
    without_contract: bool = False
    seconds: float = SECONDS  # of processor time, after which a step is compared on no further inputs
    slowest: float = 0.0  # seconds of the slowest run of the programs that were compared

    def trial(self) -> Trial:
        """Return the trial that runs programs for this criterion."""
        options: dict[str, Any] = {"without_contract": self.without_contract, "patience": PATIENCE}
        return Trial(self.inputs, self.entry, self.seed, self.seconds, **options)

    def small_trial(self, check: Check | None, mod: IRModule) -> Trial:
        """Return a trial for a candidate of a reduction: the kind of inputs that showed the fault first, then others.

        A program that is not small yet runs on that kind alone. The user's own inputs serve only programs with as many
        parameters; other programs run on inputs of all kinds.
        """
        options: dict[str, Any] = {"without_contract": self.without_contract, "patience": PATIENCE}
        if self.inputs is not None and self.entry in mod and len(self.inputs) == len(mod[self.entry].params):
            return Trial(self.inputs, self.entry, self.seed, **options)
        kind = check.inputs if check is not None and self.inputs is None else ""
        limit = run_limit(mod)
        if count_module(mod)[0] > SMALL:
            if limit is not None:  # a loop that lost its end may fill the memory
                limit = max(LONG_RUN, 4 * self.slowest)
            return Trial(None, self.entry, self.seed, kinds=(kind,) if kind else (), limit=limit, **options)
        return Trial(None, self.entry, self.seed, seconds=QUICK, first=kind, limit=limit, **options)


def same_fault(check: Check, other: Check) -> bool:
    """Whether two checks found the same error, or a wrong value at the same operator."""
    if check.error is not None or other.error is not None:
        return same_failure(check.error, other.error)
    # Where an operator is unknown, did not change, or got a result of another type, which a rewrite may well intend, it
    # does not say what is wrong: any difference counts as the same fault.
    if check.node is None or other.node is None or not check.node.changed or check.node.finding.kinds_differ:
        return True
    return node_name(check.node.node) == node_name(other.node.node) and check.node.removed == other.node.removed


def run_limit(mod: IRModule) -> float | None:
    """Return the seconds that one run of a small program may take; None if it is certain to terminate."""
    nodes = (n for function in mod.functions.values() for n in post_order(function))
    return SHORT_RUN if any(type(n) is Call and not isinstance(n.op, (Op, Constructor)) for n in nodes) else None
