"""The names of `passlab.relay.qnn.op.canonicalizations`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.passes.precision.lookup_tables import create_integer_lookup_op as create_integer_lookup_op
from passlab.passes.precision.lookup_tables import create_integer_lookup_table as create_integer_lookup_table
from passlab.passes.precision.lookup_tables import run_const_expr as run_const_expr
