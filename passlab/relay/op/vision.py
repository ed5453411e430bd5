"""The operators `vision.*` under Relay's longer name: a second address of `relay.vision`."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.relay.vision")
