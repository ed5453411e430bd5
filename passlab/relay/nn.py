"""The operators `nn.*` as functions: `relay.nn.NAME(...)`."""

from passlab.relay.operators import operator_module

__getattr__, __dir__ = operator_module(__name__, "nn.", ("nn",))
