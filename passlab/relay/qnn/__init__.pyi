"""The names of `passlab.relay.qnn`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.relay.qnn import op as op
from passlab.relay.qnn import transform as transform
from passlab.relay.qnn.op import *
