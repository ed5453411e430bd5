"""The operators `annotation.*` under Relay's longer name: the same functions as in `relay.annotation`."""

from passlab.lazy import alias_package

alias_package(__name__, "passlab.relay.annotation")
