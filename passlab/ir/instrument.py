"""`ir.instrument`: the names of `passlab.instrument` at the address from which Relay's tutorials import them."""

from passlab.lazy import module_alias

__getattr__, __dir__ = module_alias(__name__, "passlab.instrument")
