"""`ir.transform`: the names of `passlab.transform` at the address of Relay's sources."""

from passlab.lazy import module_alias

__getattr__, __dir__ = module_alias(__name__, "passlab.transform")
