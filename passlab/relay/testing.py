"""`relay.testing`: the package `passlab.testing` at the address that Relay's examples use."""

from passlab.lazy import alias_package

alias_package(__name__, "passlab.testing")
