"""`record_compilation`: the passes of the compiler of an executor, as a recording to validate and bisect.

    rec = lab.record_compilation(mod, "vm")              # or "graph", as `relay.build` does, or "aot"
    lab.validate(rec), lab.bisect(rec), rec.steps

The steps are the passes of that compiler in order, down to those that make allocations explicit for the virtual
machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.errors import Diagnostic, PasslabError, RunError, did_you_mean
from passlab.executor.aot.module_source import lower
from passlab.executor.building import build_graph
from passlab.infer import infer_module
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import Recorder, Recording
from passlab.transform.context import PassContext
from passlab.vm.compiling.compiler import compile as compile_module

COMPILERS: dict[str, Callable[[IRModule], Any]] = {"vm": compile_module, "graph": build_graph, "aot": lower}


def record_compilation(mod: IRModule, executor: str = "vm") -> Recording:
    """Compile a module for an executor and return the recording of its passes, under the options in force.

    A pass that raises ends it. Raises `RunError` for an executor without a compiler, and where a compiler refuses the
    program before any pass.
    """
    if executor not in COMPILERS:
        hint = did_you_mean(executor, COMPILERS) or f"there are {', '.join(COMPILERS)}"
        raise RunError(Diagnostic(f"`{executor}` has no compiler", hint=hint))
    typed = infer_module(mod)
    recorder = Recorder()
    try:
        with PassContext.current().derived(instruments=[recorder]):
            COMPILERS[executor](typed)
    except PasslabError:
        if not recorder.roots:
            raise
    return Recording(recorder.roots, recorder.input or typed.snapshot(), f"compiled for {executor}")
