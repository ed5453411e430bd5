"""The names of `passlab.relay.transform`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.relay.build_module import build_config as build_config
from passlab.transform import *
