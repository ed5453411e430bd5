"""The operators `random.*` under Relay's longer name: the same functions as in `relay.random`."""

from passlab.lazy import alias_package

alias_package(__name__, "passlab.relay.random")
