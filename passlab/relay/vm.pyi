"""The names of `passlab.relay.vm`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.vm import *
