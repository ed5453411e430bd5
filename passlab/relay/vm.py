"""`relay.vm`: the names of `passlab.vm` at the address that Relay's examples use."""

from passlab.lazy import module_alias

__getattr__, __dir__ = module_alias(__name__, "passlab.vm")
