"""The operators `annotation.*` under Relay's longer name: a second address of `relay.annotation`."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.relay.annotation")
