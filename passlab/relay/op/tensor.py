"""The operators on elements where Relay's source has them: a second address of the functions of `relay`."""

from passlab.relay.operators import operator_module

__getattr__, __dir__ = operator_module(__name__, "")
