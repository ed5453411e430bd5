"""The values of programs, under the names that Relay's interpreter gives them."""

from passlab.evaluate.values import Closure as Closure
from passlab.evaluate.values import RefValue as RefValue
from passlab.relay.constructors import ConstructorValue as ConstructorValue
