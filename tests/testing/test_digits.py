"""The network of the course: its program, its weights, and its images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from passlab.errors import PasslabError
from passlab.executor import create_executor
from passlab.testing import digits

ROOT = Path(__file__).parents[2]


def test_the_lessons_and_the_package_have_the_same_program() -> None:
    assert (ROOT / "notebooks" / "digits.relay").read_bytes() == (digits.FOLDER / "digits.relay").read_bytes()


def test_there_is_a_weight_for_each_parameter_but_the_image() -> None:
    mod, weights = digits.get_workload()
    expected = {p.name_hint: p.checked_type.concrete_shape for p in mod["main"].params[1:]}
    assert {name: array.shape for name, array in weights.items()} == expected
    assert {array.dtype for array in weights.values()} == {np.dtype("float32")}


def test_the_weights_tell_digits_apart_and_others_do_not() -> None:
    mod, weights = digits.get_workload()
    assert digits.accuracy(mod, weights) > 0.95
    assert digits.accuracy(mod, {name: np.zeros_like(array) for name, array in weights.items()}) < 0.3


def test_a_batch_gives_what_single_images_give() -> None:
    pictures, labels = digits.images(40, seed=7)
    mod, weights = digits.get_workload(batch_size=40)
    result = create_executor("debug", mod).evaluate()(pictures, *weights.values())
    assert result.shape == (40, 10)
    single, _ = digits.get_workload()
    one = create_executor("debug", single).evaluate()
    for picture, row in zip(pictures[:5], result, strict=False):
        np.testing.assert_allclose(one(picture[None], *weights.values())[0], row, rtol=1e-4, atol=1e-6)
    assert (result.argmax(axis=1) == labels).mean() > 0.9


def test_images_are_the_same_for_the_same_seed_and_show_all_digits() -> None:
    (first, labels), (again, _), (other, _) = digits.images(100, 3), digits.images(100, 3), digits.images(100, 4)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert set(labels) == set(range(10))


def test_accuracy_refuses_a_network_without_weights() -> None:
    with pytest.raises(PasslabError):
        digits.accuracy(digits.get_workload()[0])
