"""What programs compute with, under the names that Relay's interpreter gives it."""

from passlab.evaluate.values import Closure, RefValue
from passlab.relay.constructors import ConstructorValue

__all__ = ["Closure", "ConstructorValue", "RefValue"]
