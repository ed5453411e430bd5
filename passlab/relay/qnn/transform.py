"""The passes over quantized operators, in `relay.qnn.transform`."""

from passlab.faces import face

__getattr__, __dir__ = face(
    __name__,
    {
        "CanonicalizeOps": "passlab.transform.passes.qnn_canonicalize_ops:QnnCanonicalizeOps",
        "Legalize": "passlab.transform.passes.qnn_legalize:QnnLegalize",
    },
)
