"""The operators `nn.*` as functions: `relay.nn.NAME(...)`."""

from passlab.relay.operators import EXPRESSIONS, operator_module

__getattr__, __dir__ = operator_module(__name__, "nn.", ("nn",), EXPRESSIONS)
