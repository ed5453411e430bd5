"""`relay.quantize`: converts a network of floats to compute convolutions and dense layers with 8-bit integers.

    with relay.quantize.qconfig(calibrate_mode="kl_divergence", weight_scale="max"):
        small = relay.quantize.quantize(mod, params, dataset=[{"data": image}, ...])

`config` has the options. `quantizing` runs the steps, and creates the integer arithmetic: `annotating` chooses the
operators on integers, `calibration` finds scales, `conversions` separates conversions from computation.
"""

from __future__ import annotations

from passlab.relay.quantize import calibration as kl_divergence
from passlab.relay.quantize.annotating import QAnnotateKind, kind2str
from passlab.relay.quantize.config import QConfig, current_qconfig, qconfig
from passlab.relay.quantize.conversions import NotIntegralError, partition_conversions
from passlab.relay.quantize.quantizing import annotate, calibrate, partition, prerequisite_optimize, quantize, realize

__all__ = [
    "NotIntegralError",
    "QAnnotateKind",
    "QConfig",
    "annotate",
    "calibrate",
    "current_qconfig",
    "kind2str",
    "kl_divergence",
    "partition",
    "partition_conversions",
    "prerequisite_optimize",
    "qconfig",
    "quantize",
    "realize",
]
