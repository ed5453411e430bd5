"""`relay.transform`: the names of `passlab.transform` at the address that Relay's examples use."""

from passlab.lazy import module_alias

__getattr__, __dir__ = module_alias(
    __name__, "passlab.transform", {"build_config": "passlab.relay.build_module:build_config"}
)
