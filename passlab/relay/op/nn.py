"""The operators `nn.*` under Relay's longer name: the same functions as in `relay.nn`."""

from passlab.lazy import alias_package

alias_package(__name__, "passlab.relay.nn")
