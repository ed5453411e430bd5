"""The operators `nn.*` under Relay's longer name: a second address of `relay.nn`."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.relay.nn")
