"""The names of `passlab.relay.op.op`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.relay.op import *
