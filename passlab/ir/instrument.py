"""`ir.instrument`: the names of `passlab.instrument` at the address Relay's tutorials import them from."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.instrument")
