"""`relay.expr_functor`: visitors and mutators at the address Relay's examples use."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.ir.functor")
