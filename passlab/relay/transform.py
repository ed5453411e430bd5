"""`relay.transform`: the names of `passlab.transform` at the address Relay's examples use."""

from passlab.faces import forward

__getattr__, __dir__ = forward(
    __name__, "passlab.transform", {"build_config": "passlab.relay.build_module:build_config"}
)
