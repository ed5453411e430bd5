"""`relay.testing`: the names of `passlab.testing` at the address Relay's examples use."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.testing")
