"""The names of `passlab.relay.testing`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.testing import *
