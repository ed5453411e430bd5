"""The names of `passlab.relay.dataflow_pattern`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.pattern import *
