"""Many small samples are computed together; the result is that of each one alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import passlab
from passlab.vm import VirtualMachine, compile
from tests.each import each

SAMPLES = 70


def run(text, *args):
    return VirtualMachine(compile(passlab.parse(text))).run(*args)


def whole(rng, *shape):
    """Whole numbers, whose sums are exact in any order."""
    return rng.integers(-9, 10, shape).astype("float32")


@pytest.mark.rotating
@pytest.mark.parametrize(
    "attrs", ["padding=[1, 1]", "strides=[2, 1], padding=[0, 1, 2, 0]", "dilation=[2, 1], padding=[2, 2]"]
)
@pytest.mark.parametrize("times", [1, 3])
def test_depthwise_convolutions(times, attrs, rng):
    data, weight = whole(rng, SAMPLES, 4, 5, 6), whole(rng, 4 * times, 1, 3, 2)

    def convolve(samples):
        return run(
            f"""def @main(%x: Tensor[({len(samples)}, 4, 5, 6), float32], %w: Tensor[{weight.shape}, float32]) {{
            nn.conv2d(%x, %w, {attrs}, groups=4, channels={4 * times}, kernel_size=[3, 2]) }}""",
            samples,
            weight,
        )

    expected = np.concatenate([convolve(data[i : i + 1]) for i in range(SAMPLES)])
    np.testing.assert_array_equal(convolve(data), expected)


@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_of_weights(groups, rng):
    data, grad = whole(rng, SAMPLES, 4, 6, 5), whole(rng, SAMPLES, 6, 3, 3)

    def gradient(x, g):
        return run(
            f"""def @main(%g: Tensor[{g.shape}, float32], %x: Tensor[{x.shape}, float32]) {{
            nn.conv2d_backward_weight(%g, %x, kernel_size=[3, 3], strides=[2, 2], padding=[1, 1], groups={groups},
                                      kernel_layout="NCHW", out_layout="OIHW") }}""",
            g,
            x,
        )

    alone = [gradient(data[i : i + 1], grad[i : i + 1]) for i in range(SAMPLES)]
    np.testing.assert_array_equal(gradient(data, grad), np.sum(alone, axis=0))


@each("shape", [(90, 2), (5, 30, 3), (70, 2, 2), (9, 9, 16), (90, 17), (3, 4), (90, 1)])
@each("dtype", ["float32", "int8", "float64"])
@each("keepdims", [True, False])
def test_extrema_of_short_rows(shape, dtype, keepdims, rng):
    x = (rng.standard_normal(shape) * 50).astype(dtype)
    if dtype != "int8":
        x.flat[::7] = np.nan
        x.flat[3::11] = -np.inf
    axes = [[-1], list(range(1, len(shape)))]
    for axis in axes:
        text = f"def @main(%x: Tensor[{shape}, {dtype}]) {{ (max(%x, axis={axis}, keepdims={keepdims}), min(%x, axis={axis}, keepdims={keepdims})) }}"
        for result, function in zip(run(text, x), (np.max, np.min), strict=True):
            np.testing.assert_array_equal(result, function(x, axis=tuple(axis), keepdims=keepdims))


def test_maxima_of_small_images(rng):
    x = rng.standard_normal((SAMPLES, 3, 2, 4)).astype("float32")
    x[0], x[1, 0, 0, 0], x[2, 0, 0, 1:] = -np.inf, np.nan, np.inf
    result = run("def @main(%x: Tensor[(70, 3, 2, 4), float32]) { nn.global_max_pool2d(%x) }", x)
    expected = np.maximum(x.max(axis=(2, 3), keepdims=True), np.finfo("float32").min)  # Relay begins with the least
    np.testing.assert_array_equal(result, expected)


def test_detections_are_moved_to_the_front(rng):
    data = rng.standard_normal((SAMPLES, 5, 6)).astype("float32")
    counts, moved, places = run(
        "def @main(%x: Tensor[(70, 5, 6), float32]) { vision.get_valid_counts(%x, 0.1f) }", data
    )
    for i, boxes in enumerate(data):
        chosen = [j for j, box in enumerate(boxes) if box[0] >= 0 and box[1] > 0.1]
        rest = 5 - len(chosen)
        assert counts[i] == len(chosen)
        assert places[i].tolist() == chosen + [-1] * rest
        np.testing.assert_array_equal(moved[i], np.concatenate([boxes[chosen], np.full((rest, 6), -1)]))


def test_regions_of_a_few_of_many_images(rng):
    data = rng.standard_normal((SAMPLES, 2, 6, 7)).astype("float32")
    regions = np.array([[60, 0, 0, 4, 4], [3, 1, 1, 5, 2], [60, 2, 1, 3, 5]], "float32")
    alone = regions * np.array([0, 1, 1, 1, 1], "float32")

    def align(images, rois):
        return run(
            f"""def @main(%x: Tensor[{images.shape}, float32], %r: Tensor[{rois.shape}, float32]) {{
            vision.roi_align(%x, %r, pooled_size=[2, 2], spatial_scale=1f) }}""",
            images,
            rois,
        )

    expected = [align(data[[int(r[0])]], a[None]) for r, a in zip(regions, alone, strict=True)]
    np.testing.assert_array_equal(align(data, regions), np.concatenate(expected))


@pytest.mark.rotating
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.floats(width=32), st.floats(width=32), st.integers(-(2**21), 2**21)), min_size=1))
def test_floor_divide_gives_numpys_bits(numbers):
    a, b, factors = (np.array(column, "float32") for column in zip(*numbers, strict=True))
    with np.errstate(all="ignore"):
        near = factors * b  # quotients beside whole numbers
        pairs = [(a, b), (near, b), (np.nextafter(near, np.float32(np.inf)), b), (np.nextafter(near, -near), b)]
        x, y = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        expected = np.floor_divide(x, y)
    size = len(x)
    text = f"def @main(%x: Tensor[({size}), float32], %y: Tensor[({size}), float32]) {{ floor_divide(%x, %y) }}"
    result = run(text, x, y)
    np.testing.assert_array_equal(result, expected)
    numbers_alone = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result[numbers_alone]), np.signbit(expected[numbers_alone]))
