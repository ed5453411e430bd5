"""The names of `passlab.relay.qnn.transform`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.passes.precision.qnn_canonicalize_ops import QnnCanonicalizeOps as _CanonicalizeOps
from passlab.passes.precision.qnn_legalize import QnnLegalize as _Legalize

CanonicalizeOps = _CanonicalizeOps
Legalize = _Legalize
