"""`relay.analysis`: the names of `passlab.analysis` at the address Relay's examples use."""

from passlab.faces import forward

# Relay fuses the program first; the analysis of that name looks at a program as it is.
__getattr__, __dir__ = forward(
    __name__, "passlab.analysis", {"extract_fused_functions": "passlab.transform.expressions:fused_functions"}
)
