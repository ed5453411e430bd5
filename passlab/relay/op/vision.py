"""The operators `vision.*` under Relay's longer name: the same functions as in `relay.vision`."""

from passlab.lazy import alias_package

alias_package(__name__, "passlab.relay.vision")
