"""The operators `image.*` under Relay's longer name: the same functions as in `relay.image`."""

from passlab.lazy import alias_package

alias_package(__name__, "passlab.relay.image")
