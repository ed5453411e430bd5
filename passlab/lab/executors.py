"""Which executor computes something else than the reference evaluator, and which of its kernels does?

Each executor runs the program on draws of many kinds. Where one is wrong, the program is fused as that executor fuses
it, and each kernel runs by itself, on inputs of its own, so that the answer names operators and not a whole program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from passlab.diffing.diff import node_name
from passlab.errors import Diagnostic, PasslabError, RunError, did_you_mean
from passlab.evaluate.agreement import Disagreement, disagreement
from passlab.executor.create import create_executor
from passlab.infer import infer_module
from passlab.instrument.draws import Draw
from passlab.instrument.tolerance import LEAST_NOISE, beyond
from passlab.instrument.validation import UNDECLARED, Trial
from passlab.instrument.watched import noisy_runs
from passlab.ir.expr import Call, Function
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order
from passlab.lab.script import array_literal, program_source
from passlab.transform.context import PassContext
from passlab.transform.pipeline import as_pass

KINDS = ("debug", "graph", "vm", "aot")


@dataclass(frozen=True)
class ExecutorFault:
    """An executor that is wrong: on which kind of inputs, how, and the kernel (its operators) where one was found."""

    executor: str
    module: IRModule
    draw: Draw
    why: str
    finding: Disagreement | None
    operators: tuple[str, ...] = ()

    def sentences(self) -> tuple[str, ...]:
        """What is wrong, and where."""
        what = f"No pass is at fault; the executor `{self.executor}` is wrong on {self.draw}: {self.why}."
        if not self.operators:
            return (what, "Each of its kernels is right by itself: the fault lies between them.")
        return (what, f"The kernel of {', '.join(f'`{name}`' for name in self.operators)} gives it by itself.")

    def script(self) -> str:
        """Return a script that runs the program on both executors."""
        program, bindings = program_source(self.module)
        values = ", ".join(array_literal(value) for value in self.draw.arguments)
        lines = [
            "import numpy as np",
            "import passlab",
            "from passlab import relay",
            program,
            *bindings,
            f"args = [{values}]",
            f'for kind in ("debug", "{self.executor}"):',
            "    print(kind, relay.create_executor(kind, net).evaluate()(*args))",
        ]
        return "\n".join(lines) + "\n"


def compare_executors(
    mod: IRModule, executors: Sequence[str], options: dict[str, Any], notes: list[str]
) -> ExecutorFault | None:
    """Return the first executor that disagrees with the evaluator, None when all agree. `notes` gets what was left out.

    Raises `RunError` for an executor that does not exist.
    """
    for kind in executors:
        if kind not in KINDS:
            hint = did_you_mean(kind, KINDS) or ", ".join(KINDS)
            raise RunError(Diagnostic(f"there is no executor `{kind}`", hint=hint))
    typed = infer_module(mod)
    trial = Trial(options.get("inputs"), options.get("entry", "main"), options.get("seed", 0))
    if trial.entry != "main":
        notes.append(f"executors: they run @main, not @{trial.entry}")
        return None
    for kind in executors:
        fault = _fault(typed, kind, trial, notes)
        if fault is not None:
            return _kernel_fault(typed, kind, options.get("seed", 0)) or fault
    return None


def _fault(mod: IRModule, kind: str, trial: Trial, notes: list[str] | None = None) -> ExecutorFault | None:
    """Return how one executor disagrees with the evaluator, None where it agrees on all draws."""
    try:
        function = create_executor(kind, mod).evaluate()
    except PasslabError as error:
        if notes is not None:
            notes.append(f"the executor `{kind}` ({error.diagnostics[0].message})")
        return None
    for number, draw in enumerate(trial.draws(mod)):
        run = trial.run(mod, number)
        if run.error is not None or draw.extreme:
            continue
        try:
            value = function(*draw.arguments)
        except PasslabError as error:
            return ExecutorFault(kind, mod, draw, f"it fails: {error.diagnostics[0].message}", None)
        difference = disagreement(run.value, value, UNDECLARED.ulps, finite_only=not draw.special)
        if difference is not None:
            noisy = noisy_runs(mod, trial.entry, draw.arguments, LEAST_NOISE)
            difference = beyond(difference, run.value, value, noisy, finite_only=True)
        if difference is not None:
            return ExecutorFault(kind, mod, draw, str(difference), difference)
    return None


def _kernel_fault(mod: IRModule, kind: str, seed: int) -> ExecutorFault | None:
    """Run each kernel of a program by itself and return the first that is wrong."""
    with PassContext(opt_level=3):
        fused = as_pass("InferType, SimplifyInference, FuseOps, InferType")(mod)
    kernels = [
        node
        for function in fused.functions.values()
        for node in post_order(function)
        if isinstance(node, Function) and node.is_primitive
    ]
    for kernel in kernels:
        alone = infer_module(IRModule.from_expr(Function(kernel.params, kernel.body, kernel.ret_type)))
        try:
            fault = _fault(alone, kind, Trial(seed=seed))
        except PasslabError:
            continue  # its parameters have no values of their own
        if fault is not None:
            names = tuple(node_name(n) for n in post_order(kernel.body) if isinstance(n, Call))
            return ExecutorFault(kind, alone, fault.draw, fault.why, fault.finding, names)
    return None


__all__ = ["ExecutorFault", "compare_executors"]
