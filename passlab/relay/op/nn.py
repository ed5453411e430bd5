"""The operators `nn.*` under Relay's longer name: a second address of `relay.nn`."""

from passlab.lazy import alias_package

alias_package(__name__, "passlab.relay.nn")
