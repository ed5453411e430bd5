"""The names of `passlab.relay.op.nn`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.relay.nn import *
