"""The operators `memory.*` as functions: `relay.memory.NAME(...)`."""

from passlab.relay.operators import operator_module

__getattr__, __dir__ = operator_module(__name__, "memory.")
