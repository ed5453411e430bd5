"""`relay.function`: where Relay's sources keep `Function`."""

from passlab.ir.expr import Function

__all__ = ["Function"]
