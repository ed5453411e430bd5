"""The names of `passlab.relay.op.annotation`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.relay.annotation import *
