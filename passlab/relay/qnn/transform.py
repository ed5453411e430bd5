"""The passes over quantized operators, in `relay.qnn.transform`."""

from passlab.lazy import lazy_module

__getattr__, __dir__ = lazy_module(
    __name__,
    {
        "CanonicalizeOps": "passlab.passes.precision.qnn_canonicalize_ops:QnnCanonicalizeOps",
        "Legalize": "passlab.passes.precision.qnn_legalize:QnnLegalize",
    },
)
