"""The values of programs, under the names that Relay's interpreter gives them."""

from passlab.evaluate.values import Closure, RefValue
from passlab.relay.constructors import ConstructorValue

__all__ = ["Closure", "ConstructorValue", "RefValue"]
