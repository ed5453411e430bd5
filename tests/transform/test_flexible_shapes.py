"""`FlexibleShapeDispatch`: one program for inputs of many sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from passlab import parse, relay, transform
from passlab.analysis import well_formed
from passlab.errors import PassValueError
from tests.each import each

DENSE = """
def @main(%x: Tensor[(1, 3), float32], %w: Tensor[(2, 3), float32]) {
  let %y = nn.dense(%x, %w);
  add(%y, 1f)
}
"""
W = np.arange(6, dtype="float32").reshape(2, 3)


def numbers(rows: int) -> np.ndarray[Any, Any]:
    return np.arange(rows * 3, dtype="float32").reshape(rows, 3)


def run(mod: Any, *arguments: Any, executor: str = "vm") -> Any:
    return relay.create_executor(executor, mod).evaluate()(*arguments)


@each("executor", ["debug", "vm"])
@each("auto_pad", [False, True])
@each("rows", [1, 2, 3, 4, 5])
def test_every_length_gives_what_its_own_program_gives(rows: int, auto_pad: bool, executor: str) -> None:
    mod = transform.FlexibleShapeDispatch(buckets=[4, 2], auto_pad=auto_pad)(parse(DENSE))
    got = run(mod, numbers(rows), W, executor=executor)
    np.testing.assert_allclose(np.asarray(got), numbers(rows) @ W.T + 1, rtol=1e-6)


def test_there_is_a_version_for_each_bucket_and_one_for_the_rest() -> None:
    module = parse(DENSE)
    mod = transform.FlexibleShapeDispatch(buckets=[1, 8])(module)
    assert sorted(name for name, _ in mod.items()) == ["main", "main_1", "main_8", "main_any"]
    assert [str(mod[name].ret_type) for name in ("main_8", "main_any", "main")] == [
        "Tensor[(8, 2), float32]",
        "Tensor[(?, 2), float32]",
        "Tensor[(?, 2), float32]",
    ]
    assert well_formed(mod)
    assert [name for name, _ in module.items()] == ["main"]


def test_only_the_bucket_that_fits_is_run() -> None:
    mod = transform.FlexibleShapeDispatch(buckets=[2])(parse(DENSE))
    wrong = parse(
        "def @main_2(%x: Tensor[(2, 3), float32], %w: Tensor[(2, 3), float32]) { nn.dense(%x, negative(%w)) }"
    )
    mod.update(wrong)
    assert (np.asarray(run(mod, numbers(2), W)) == numbers(2) @ -W.T).all()
    assert (np.asarray(run(mod, numbers(3), W)) == numbers(3) @ W.T + 1).all()


def test_two_inputs_along_another_axis_with_a_result_that_does_not_grow() -> None:
    text = """
    def @main(%a: Tensor[(2, 1), int32], %s: int32, %b: Tensor[(2, 1), int32]) {
      sum(multiply(multiply(%a, %b), %s), axis=[1])
    }
    """
    dispatch = transform.FlexibleShapeDispatch(
        axis=1, buckets=[4], auto_pad=True, input_indices=[0, 2], affects_output=False
    )
    mod = dispatch(parse(text))
    a = np.arange(6, dtype="int32").reshape(2, 3)
    assert np.asarray(run(mod, a, np.int32(2), a + 1)).tolist() == (a * (a + 1) * 2).sum(1).tolist()
    assert str(mod["main"].ret_type) == "Tensor[(2), int32]"


@each("axis", [-2, -1, 0, 1])
@each("auto_pad", [False, True])
def test_an_axis_may_be_counted_from_the_end(auto_pad: bool, axis: int) -> None:
    dispatch = transform.FlexibleShapeDispatch(axis=axis, buckets=[2, 4], auto_pad=auto_pad)
    mod = dispatch(parse("def @main(%x: Tensor[(3, 3), float32]) { negative(%x) }"))
    for length in range(1, 6):
        x = np.arange(3 * length, dtype="float32").reshape((3, length) if axis % 2 else (length, 3))
        assert (np.asarray(run(mod, x)) == -x).all()


def test_no_function_is_replaced() -> None:
    dispatch = transform.FlexibleShapeDispatch(buckets=[2])
    own = """def @main(%x: Tensor[(1), int8]) { add(%x, @main_2(1i8)) }
             def @main_2(%x: int8) -> int8 { negative(%x) }"""
    for length in (2, 3):
        assert np.asarray(run(dispatch(parse(own)), np.ones(length, "int8"))).tolist() == [0] * length
    twice = dispatch(dispatch(parse(DENSE)))
    assert (np.asarray(run(twice, numbers(2), W)) == numbers(2) @ W.T + 1).all()


def test_padding_has_the_value_that_is_asked_for_and_is_cut_off_every_result() -> None:
    text = "def @main(%x: Tensor[(1), float32]) { (nn.relu(%x), add(%x, sum(%x))) }"
    mod = transform.FlexibleShapeDispatch(buckets=[4], auto_pad=True, pad_value=10)(parse(text))
    first, second = run(mod, np.array([1, 2], "float32"))
    assert (np.asarray(first).tolist(), np.asarray(second).tolist()) == ([1, 2], [24, 25])


def test_it_runs_in_a_pipeline() -> None:
    mod = transform.Sequential([transform.FlexibleShapeDispatch(buckets=[2]), transform.FoldConstant()])(parse(DENSE))
    assert (np.asarray(run(mod, numbers(2), W)) == numbers(2) @ W.T + 1).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"buckets": [0]}, "a bucket is a length of at least 1"),
        ({"input_indices": [2]}, "main has 2 parameters"),
        ({"axis": 2}, "%x has no axis 2"),
    ],
)
def test_what_cannot_be_is_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PassValueError, match=message):
        transform.FlexibleShapeDispatch(**options)(parse(DENSE))


@each("value", [0.5, 300, float("nan"), float("-inf")])
def test_a_padding_value_is_a_number_of_the_dtype(value: float) -> None:
    mod = parse("def @main(%x: Tensor[(1), int8]) { %x }")
    with pytest.raises(PassValueError, match="the padding value is not a number of int8"):
        transform.FlexibleShapeDispatch(auto_pad=True, pad_value=value)(mod)


def test_inputs_are_tensors() -> None:
    with pytest.raises(PassValueError, match="%x is not a tensor"):
        transform.FlexibleShapeDispatch()(parse("def @main(%x: (int32,)) { %x.0 }"))
