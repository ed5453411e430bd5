"""`relay.analysis`: the names of `passlab.analysis` at the address Relay uses, and what has to run programs."""

from passlab.faces import forward

__getattr__, __dir__ = forward(
    __name__, "passlab.analysis", {"get_calibration_data": "passlab.relay.calibration:get_calibration_data"}
)
