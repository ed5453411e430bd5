"""get_calibration_data: the arguments and results of functions that another compiler takes."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import RunError

PROGRAM = """
def @ours(%p: Tensor[(2), float32]) { negative(%p) }
def @theirs(%p: Tensor[(2), float32], %q: Tensor[(2), float32], Compiler="x") { (add(%p, %q), subtract(%p, %q)) }
def @main(%x: Tensor[(2), float32]) {
  %0 = @theirs(exp(%x), 2f * %x);
  add(%0.0, @ours(%0.1))
}
"""


def test_what_flows_in_and_out_of_external_functions():
    mod = passlab.parse(PROGRAM)
    x = np.array([0, 1], "float32")
    result = relay.analysis.get_calibration_data(mod, {"x": x})
    assert [var.name_hint for var in result] == ["theirs"]
    (held,) = result.values()
    for output, expected in zip(held["inputs"], [np.exp(x), 2 * x], strict=True):
        np.testing.assert_allclose(output, expected, rtol=1e-6)
    for output, expected in zip(held["outputs"], [np.exp(x) + 2 * x, np.exp(x) - 2 * x], strict=True):
        np.testing.assert_allclose(output, expected, rtol=1e-6)


def test_data_that_is_missing_is_named():
    with pytest.raises(RunError, match="no data for %x"):
        relay.analysis.get_calibration_data(passlab.parse(PROGRAM), {"y": np.zeros(2)})


def test_the_names_of_the_analysis_room_are_still_there():
    assert relay.analysis.free_vars is passlab.analysis.free_vars
