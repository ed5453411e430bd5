"""The heart: recordings of pipelines, what changed between programs, where nodes came from. Plain data, no markup."""

from passlab.faces import face

__getattr__, __dir__ = face(
    __name__,
    {
        **{name: f"passlab.lab.recording:{name}" for name in ("Recording", "record")},
        **{name: f"passlab.lab.diffing:{name}" for name in ("Diff", "diff")},
        "Provenance": "passlab.lab.provenance:Provenance",
        "prospects": "passlab.lab.prospects:prospects",
        "validate": "passlab.lab.validating:validate",
        **{name: f"passlab.lab.bisecting:{name}" for name in ("Bisection", "bisect")},
        **{name: f"passlab.lab.reducing:{name}" for name in ("Reduction", "reduce")},
        "Exercise": "passlab.lab.exercise:Exercise",
        "Trace": "passlab.lab.time_travel.trace:Trace",
        "Debugger": "passlab.lab.time_travel.debugger:Debugger",
        "Fork": "passlab.lab.time_travel.forks:Fork",
    },
)
