"""The names of `passlab.relay.op.image`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.relay.image import *
