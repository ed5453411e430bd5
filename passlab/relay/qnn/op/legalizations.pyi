"""The names of `passlab.relay.qnn.op.legalizations`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.passes.precision.lookup_tables import hardswish_func as hardswish_func
