"""When two results agree: bit for bit, within units in the last place, or where everything was finite."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import passlab
from passlab.errors import RunError
from passlab.evaluate import ADTValue, RefValue
from passlab.evaluate.agreement import disagreement
from passlab.evaluate.samples import random_arguments
from passlab.ir import IRModule
from passlab.relay import Prelude

ONE = np.float32(1)
NEXT = np.nextafter(ONE, np.float32(2))


def f32(*values):
    return np.array(values, np.float32)


def test_exact_means_every_bit_but_one_nan_is_as_good_as_another():
    assert disagreement(f32(1, np.nan, np.inf), f32(1, np.nan, np.inf)) is None
    assert disagreement(f32(0.0), f32(-0.0)) is not None
    assert disagreement(f32(ONE), f32(NEXT)).ulps == 1
    assert disagreement(f32(1), f32(np.nan)).ulps == np.inf


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_units_are_those_of_the_dtype(dtype):
    unit = float(ml_dtypes.finfo(dtype).eps)
    a, b = np.array([1, 1], dtype), np.array([1, 1 + 3 * unit], dtype)
    assert disagreement(a, b, ulps=3) is None
    difference = disagreement(a, b, ulps=2)
    assert (difference.ulps, difference.path, difference.count, difference.size) == (3, "[1]", 1, 2)


def test_small_elements_beside_large_ones_are_as_exact_as_cancellation_leaves_them():
    assert disagreement(f32(1000, 1e-7), f32(1000, 1.5e-7), ulps=1) is None
    assert disagreement(f32(1e-7), f32(2e-7), ulps=1) is not None


def test_with_finite_only_what_was_not_finite_counts_no_longer_and_zeros_have_no_sign():
    assert disagreement(f32(np.inf, 0.0), f32(1, -0.0), finite_only=True) is None
    assert disagreement(f32(1), f32(np.inf), finite_only=True) is not None
    assert disagreement(f32(1), f32(2), finite_only=True) is not None


def test_integers_and_booleans_are_the_same_or_not():
    assert disagreement(np.array([1, 2]), np.array([1, 2])) is None
    difference = disagreement(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [5, 4]]), ulps=100)
    assert (difference.path, difference.before, difference.after) == ("[1, 0]", "3", "5")
    assert disagreement(np.array(True), np.array(False)).path == ""


def test_shapes_and_dtypes_are_part_of_a_result():
    assert str(disagreement(f32(1), f32(1, 2))) == "the value: Tensor[(1), float32] became Tensor[(2), float32]"
    assert disagreement(f32(1), np.float64([1])) is not None


def test_the_place_in_a_tuple_is_named():
    assert disagreement((f32(1), (f32(2), f32(3))), (f32(1), (f32(2), f32(4)))).path == ".1.1[0]"
    assert disagreement((f32(1),), (f32(1), f32(1))) is not None


@pytest.mark.rotating
def test_data_is_compared_by_constructor_and_fields_however_long():
    mod = IRModule()
    Prelude(mod)
    _, cons, nil = mod.get_type("List")

    def listed(*values):
        result = ADTValue(nil, ())
        for value in reversed(values):
            result = ADTValue(cons, (np.asarray(value, np.float32), result))
        return result

    long = [1.0] * 20_000
    assert disagreement(listed(*long), listed(*long)) is None
    assert disagreement(listed(*long), listed(*long[:-1])) is not None
    assert disagreement(listed(1, 2), listed(1, 3)).path == ".1.0"


def test_a_value_of_a_data_type_is_a_sequence_of_its_fields():
    mod = IRModule()
    Prelude(mod)
    _, cons, nil = mod.get_type("List")
    empty = ADTValue(nil, ())
    value = ADTValue(cons, (f32(1), empty))
    assert list(value) == [value[0], value[1]] == list(value.fields)
    assert (len(value), len(empty), list(empty)) == (2, 0, [])
    assert value.tag == cons.tag != empty.tag


def test_cells_may_hold_themselves():
    a, b = RefValue(None), RefValue(None)
    a.value, b.value = (a, f32(1)), (b, f32(1))
    assert disagreement(a, b) is None
    b.value = (b, f32(2))
    assert disagreement(a, b).path == ".0.1[0]"


def test_empty_tensors_agree():
    assert disagreement(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)) is None


def test_made_up_arguments_fit_and_are_the_same_for_the_same_seed():
    text = (
        "def @main(%x: Tensor[(2, 3), bfloat16], %p: (int32, Tensor[(4), bool]), %gamma: Tensor[(3), float32]) { %x }"
    )
    main = passlab.parse(text)["main"]
    x, (number, flags), gamma = random_arguments(main, 1)
    assert (x.shape, x.dtype.name, number.shape, flags.dtype.name) == ((2, 3), "bfloat16", (), "bool")
    assert (gamma > 0).all()
    assert disagreement((x, gamma), tuple(random_arguments(main, 1)[::2])) is None
    assert disagreement(x, random_arguments(main, 2)[0]) is not None


def test_a_parameter_of_unknown_shape_is_named():
    with pytest.raises(RunError, match="%x has no random value"):
        random_arguments(passlab.parse("def @main(%x: Tensor[(?), float32]) { %x }")["main"], 0)
