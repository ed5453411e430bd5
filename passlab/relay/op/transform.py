"""The operators that reshape and select, at the address of Relay's source: the same functions as in `relay`."""

from passlab.relay.operators import operator_module

__getattr__, __dir__ = operator_module(__name__, "")
