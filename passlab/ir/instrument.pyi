"""The names of `passlab.ir.instrument`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.instrument import *
