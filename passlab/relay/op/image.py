"""The operators `image.*` under Relay's longer name: a second address of `relay.image`."""

from passlab.lazy import alias_package

alias_package(__name__, "passlab.relay.image")
