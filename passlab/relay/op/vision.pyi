"""The names of `passlab.relay.op.vision`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.relay.vision import *
