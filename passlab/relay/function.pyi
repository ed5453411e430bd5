"""`relay.function`: the address of `Function` in Relay's sources."""

from passlab.ir.expr import Function as Function
