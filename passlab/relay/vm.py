"""`relay.vm`: the names of `passlab.vm` at the address Relay's examples use."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.vm")
