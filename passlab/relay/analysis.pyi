"""The names of `passlab.relay.analysis`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.analysis import *
from passlab.analysis import census as census
from passlab.passes.program.plain_functions import fused_functions as _extract_fused_functions
from passlab.relay.calibration import get_calibration_data as get_calibration_data

extract_fused_functions = _extract_fused_functions
feature = census
