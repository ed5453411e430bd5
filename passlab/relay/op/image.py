"""The operators `image.*` under Relay's longer name: a second address of `relay.image`."""

from passlab.faces import forward

__getattr__, __dir__ = forward(__name__, "passlab.relay.image")
