"""`ir.transform`: the names of `passlab.transform` at the address of Relay's sources."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.transform")
