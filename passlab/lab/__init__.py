"""Recordings of pipelines and what is computed from them: differences, origins, faults. Plain data, no markup."""

from passlab.lazy import lazy_module

__getattr__, __dir__ = lazy_module(
    __name__,
    {
        **{name: f"passlab.lab.recordings.recording:{name}" for name in ("Recording", "record")},
        "Diff": "passlab.diffing.diff:Diff",
        "diff": "passlab.lab.recordings.lineage:diff",
        "Provenance": "passlab.lab.recordings.provenance:Provenance",
        "prospects": "passlab.lab.variants.prospects:prospects",
        "validate": "passlab.lab.recordings.validation:validate",
        **{name: f"passlab.lab.culprits.bisection:{name}" for name in ("Bisection", "bisect")},
        **{name: f"passlab.lab.reducer.reduction:{name}" for name in ("Reduction", "reduce")},
        **{name: f"passlab.lab.culprits.culprit_search:{name}" for name in ("Culprit", "culprit")},
        **{name: f"passlab.lab.culprits.executors:{name}" for name in ("ExecutorFault", "compare_executors")},
        "what_if": "passlab.lab.variants.what_if:what_if",
        "orders": "passlab.lab.variants.pass_orders:orders",
        "record_compilation": "passlab.lab.culprits.executors:record_compilation",
        **{name: f"passlab.lab.fuzzer.fuzzing:{name}" for name in ("Campaign", "fuzz")},
        **{name: f"passlab.lab.simplification:{name}" for name in ("Simplification", "simplify")},
        **{name: f"passlab.lab.recordings.comparison:{name}" for name in ("Comparison", "compare")},
        **{name: f"passlab.lab.node_values:{name}" for name in ("NodeValues", "watch")},
        **{name: f"passlab.lab.recordings.rewrites:{name}" for name in ("rewrites_of", "why_not")},
        **{name: f"passlab.lab.solving:{name}" for name in ("Solving", "watch_solver")},
        "WhatIf": "passlab.lab.variants.pipeline_variants:WhatIf",
        "Trace": "passlab.debugger.trace:Trace",
        "Debugger": "passlab.debugger.debugger:Debugger",
        "Fork": "passlab.debugger.trace:Fork",
    },
)
