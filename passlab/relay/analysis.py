"""`relay.analysis`: the names of `passlab.analysis` at the address Relay's examples use."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.analysis")
