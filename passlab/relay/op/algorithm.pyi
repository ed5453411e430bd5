"""The names of `passlab.relay.op.algorithm`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.relay.op.tensor import *
