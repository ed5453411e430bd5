"""`relay.analysis`: the names of `passlab.analysis` at Relay's address, and the analyses that run programs."""

from passlab.lazy import module_alias

# Relay's function fuses the program first; the analysis of that name takes a program as it is.
__getattr__, __dir__ = module_alias(
    __name__,
    "passlab.analysis",
    {
        "extract_fused_functions": "passlab.passes.program.expressions:fused_functions",
        "feature": "passlab.analysis.features",
        "get_calibration_data": "passlab.relay.calibration:get_calibration_data",
    },
)
