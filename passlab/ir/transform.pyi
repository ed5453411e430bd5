"""The names of `passlab.ir.transform`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.transform import *
