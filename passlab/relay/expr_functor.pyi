"""The names of `passlab.relay.expr_functor`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.ir.functor import *
