"""The names of `passlab.relay.op.random`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.relay.random import *
