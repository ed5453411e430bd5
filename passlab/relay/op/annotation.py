"""The operators `annotation.*` under Relay's longer name: a second address of `relay.annotation`."""

from passlab.lazy import alias_package

alias_package(__name__, "passlab.relay.annotation")
