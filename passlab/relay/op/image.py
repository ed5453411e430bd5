"""The operators `image.*` under Relay's longer name: a second address of `relay.image`."""

from passlab.lazy import module_alias

__getattr__, __dir__ = module_alias(__name__, "passlab.relay.image")
