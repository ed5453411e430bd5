"""`relay.op.op`: the names of `relay.op` at the address of Relay's sources."""

from passlab.lazy import module_alias

__getattr__, __dir__ = module_alias(__name__, "passlab.relay.op")
