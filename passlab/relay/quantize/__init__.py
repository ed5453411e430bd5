"""`relay.quantize`: a network of floats computes its convolutions and dense layers with integers of eight bits.

    with relay.quantize.qconfig(calibrate_mode="kl_divergence", weight_scale="max"):
        small = relay.quantize.quantize(mod, params, dataset=[{"data": image}, ...])

`config` holds the options, `calibration` finds scales, `quantizing` writes the program.
"""

from __future__ import annotations

from passlab.relay.quantize import calibration as kl_divergence
from passlab.relay.quantize.config import QConfig, current_qconfig, qconfig
from passlab.relay.quantize.quantizing import prerequisite_optimize, quantize

__all__ = ["QConfig", "current_qconfig", "kl_divergence", "prerequisite_optimize", "qconfig", "quantize"]
