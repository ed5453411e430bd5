"""`relay.op.op`: the names of `relay.op` at the address of Relay's sources."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.relay.op")
