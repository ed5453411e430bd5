"""The operators `random.*` as functions: `relay.random.NAME(...)`."""

from passlab.relay.operators import operator_module

__getattr__, __dir__ = operator_module(__name__, "random.", ("kernel",))
