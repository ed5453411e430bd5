"""Detections, regions and boxes, one at a time by their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from passlab.definitions.sampling import sample
from passlab.definitions.vision import iou, suppress
from passlab.errors import RunError
from passlab.ir.expr import Var
from passlab.ir.op import Op
from passlab.ir.tuple_wrapper import TupleWrapper
from passlab.ir.types import ANY, TupleType
from tests.op_nn.running import T, close, refused, relate, run

RNG = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def boxes(*shape: int) -> np.ndarray:
    low = RNG.random((*shape, 2))
    return np.concatenate((low, low + RNG.random((*shape, 2)) * 0.6), axis=-1).astype(np.float32)


# ---------------------------------------------------------------- suppression
def test_get_valid_counts_moves_detections_to_the_front():
    x = normal(2, 6, 6)
    x[:, :, 0] = [[0, -1, 2, 1, 0, 1], [1, 1, -1, -1, 2, 0]]
    counts, moved, places = run("vision.get_valid_counts", x, np.float32(0.1).reshape(()))
    for i in range(2):
        expected = [j for j in range(6) if x[i, j, 1] > 0.1 and x[i, j, 0] >= 0]
        assert counts[i] == len(expected)
        np.testing.assert_array_equal(moved[i, : len(expected)], x[i, expected])
        assert (moved[i, len(expected) :] == -1).all()
        np.testing.assert_array_equal(places[i], expected + [-1] * (6 - len(expected)))


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(("limit", "top_k"), [(-1, -1), (3, -1), (-1, 5), (0, -1)])
def test_non_max_suppression(force, limit, top_k):
    x = np.concatenate((RNG.integers(0, 2, (2, 12, 1)), RNG.random((2, 12, 1)) + 0.01, boxes(2, 12)), axis=2).astype(
        np.float32
    )
    counts, indices = np.array([12, 7], np.int32), np.arange(24, dtype=np.int32).reshape(2, 12)
    args = (counts, indices, np.int32(limit).reshape(()), np.float32(0.3).reshape(()))
    options = {"force_suppress": force, "top_k": top_k}
    numbers, totals = run("vision.non_max_suppression", x, *args, **options)
    plain = run("vision.non_max_suppression", x, *args, **options, return_indices=False, invalid_to_bottom=True)
    for i in range(2):
        kept = suppress(x[i, : counts[i]].tolist(), limit, 0.3, force, top_k)
        assert totals[i, 0] == len(kept)
        np.testing.assert_array_equal(numbers[i], [int(indices[i, k]) for k in kept] + [-1] * (12 - len(kept)))
        np.testing.assert_array_equal(plain[i, : len(kept)], x[i, kept])
        assert (plain[i, len(kept) :] == -1).all()


def test_without_a_threshold_everything_stays():
    x = np.concatenate((np.zeros((1, 3, 1)), RNG.random((1, 3, 1)), boxes(1, 3)), axis=2).astype(np.float32)
    args = (np.array([2], np.int32), np.zeros((1, 3), np.int32), np.array(-1, np.int32), np.array(0, np.float32))
    got = run("vision.non_max_suppression", x, *args, return_indices=False)
    np.testing.assert_array_equal(got[0, :2], x[0, :2])
    assert (got[0, 2] == -1).all()


@pytest.mark.parametrize("output_format", ["onnx", "tensorflow"])
def test_all_class_non_max_suppression(output_format):
    inputs, scores = boxes(2, 8), RNG.random((2, 3, 8)).astype(np.float32)
    limits = (np.array(3, np.int32), np.array(0.4, np.float32), np.array(0.3, np.float32))
    got = run("vision.all_class_non_max_suppression", inputs, scores, *limits, output_format=output_format)
    chosen = {}
    for n, c in np.ndindex(2, 3):
        rows = [(0, scores[n, c, i], *inputs[n, i]) if scores[n, c, i] > 0.3 else None for i in range(8)]
        numbers = [i for i, row in enumerate(rows) if row]
        kept = suppress([rows[i] for i in numbers], 3, 0.4, True, -1)
        chosen[n, c] = [numbers[k] for k in kept]
    if output_format == "onnx":
        want = [(n, c, i) for (n, c), kept in chosen.items() for i in kept]
        assert got[1].tolist() == [len(want)]
        assert [tuple(row) for row in got[0][: len(want)].tolist()] == want
        return
    for n in range(2):
        want = [(c, i) for c in range(3) for i in chosen[n, c]]
        assert got[2][n] == len(want)
        assert [tuple(row) for row in got[0][n, : len(want)].tolist()] == want
        np.testing.assert_array_equal(got[1][n, : len(want)], [scores[n, c, i] for c, i in want])


def test_regular_non_max_suppression_keeps_the_best_of_all_classes():
    inputs, scores = boxes(2, 10), RNG.random((2, 10, 4)).astype(np.float32)
    got = run(
        "vision.regular_non_max_suppression", inputs, scores, max_detections_per_class=3, max_detections=5, num_classes=3,
        iou_threshold=0.4, score_threshold=0.2,
    )  # fmt: skip
    for n in range(2):
        best = []
        for c in range(3):
            rows = [(0, scores[n, i, c + 1], *inputs[n, i]) for i in range(10)]
            numbers = [i for i in range(10) if rows[i][1] >= 0.2]
            order = sorted(numbers, key=lambda i: -rows[i][1])
            kept = []
            for i in order:
                if len(kept) < 3 and all(iou(rows[k][2:], rows[i][2:]) <= 0.4 for k in kept):
                    kept.append(i)
            best += [(float(rows[i][1]), c, i) for i in kept]
        best = sorted(best, key=lambda item: -item[0])[:5]
        assert got[3][n] == len(best)
        np.testing.assert_array_equal(got[0][n, : len(best)], [inputs[n, i] for _, _, i in best])
        np.testing.assert_array_equal(got[1][n, : len(best)], [c for _, c, _ in best])
        np.testing.assert_allclose(got[2][n, : len(best)], [s for s, _, _ in best])


def test_suppression_refuses():
    ints, indices = T(2, dtype="int32"), T(2, 8, dtype="int32")
    name = "vision.non_max_suppression"
    assert "must have three dimensions" in str(refused(name, T(8, 6), ints, indices, T(), T()))
    assert "too few numbers" in str(refused(name, T(2, 8, 5), ints, indices, T(), T()))
    assert "valid_count does not fit" in str(refused(name, T(2, 8, 6), T(3, dtype="int32"), indices, T(), T()))
    assert "must be a single number" in str(refused(name, T(2, 8, 6), ints, indices, T(2), T()))
    assert relate(name, T(2, 8, 6), ints, indices, T(), T()) == TupleType(
        (T(2, 8, dtype="int32"), T(2, 1, dtype="int32"))
    )
    assert relate(name, T(2, ANY, 6), ints, indices, T(), T(), return_indices=False) == T(2, ANY, 6)
    assert "indices has one integer for each detection" in str(refused(name, T(2, 8, 6), ints, T(2, 8, 6), T(), T()))
    assert relate(name, T(2, 8, 6), ints, T(2, 8, 6), T(), T(), return_indices=False) == T(2, 8, 6)
    assert "a score for each box" in str(
        refused("vision.all_class_non_max_suppression", T(1, 5, 4), T(1, 2, 6), T(), T(), T())
    )
    builder = Op.get(name).spec.builder
    assert builder is not None
    assert isinstance(builder(Var("x"), Var("n"), Var("i")), TupleWrapper)


# ---------------------------------------------------------------- regions
def regions(count: int, batch: int) -> np.ndarray:
    low = RNG.random((count, 2)) * 10
    image = RNG.integers(0, batch, (count, 1))
    return np.concatenate((image, low, low + RNG.random((count, 2)) * 12), axis=1).astype(np.float32)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [2, -1])
def test_roi_align(layout, mode, ratio):
    x, rois, scale = normal(2, 3, 8, 9), regions(4, 2), 0.7
    want = np.zeros((4, 3, 3, 2))
    for n, i, j in np.ndindex(4, 3, 2):
        left, top, right, bottom = rois[n, 1:].astype(np.float64) * scale
        tall, wide = max(bottom - top, 1.0) / 3, max(right - left, 1.0) / 2
        ny, nx = (ratio, ratio) if ratio > 0 else (math.ceil(tall), math.ceil(wide))
        image = x[int(rois[n, 0])].astype(np.float64)
        results = [
            sample(image, top + (i + (a + 0.5) / ny) * tall, left + (j + (b + 0.5) / nx) * wide)
            for a in range(ny)
            for b in range(nx)
        ]
        want[n, :, i, j] = np.max(results, axis=0) if mode == "max" else np.mean(results, axis=0)
    order = (0, 1, 2, 3) if layout == "NCHW" else (0, 2, 3, 1)
    options = {"pooled_size": (3, 2), "spatial_scale": scale, "sample_ratio": ratio, "layout": layout, "mode": mode}
    array = np.ascontiguousarray(x.transpose(order))
    close(run("vision.roi_align", array, rois, **options), want.transpose(order), 1e-3)
    with pytest.raises(RunError, match="outside the batch of 2"):
        run("vision.roi_align", array, rois + np.array([5, 0, 0, 0, 0], np.float32), **options)


def test_roi_pool():
    x, rois, scale = normal(2, 3, 8, 9), regions(5, 2), 0.5
    want = np.zeros((5, 3, 2, 3))
    for n, i, j in np.ndindex(5, 2, 3):
        left, top, right, bottom = (math.floor(v * scale + 0.5) for v in rois[n, 1:])
        tall, wide = max(bottom - top + 1, 1) / 2, max(right - left + 1, 1) / 3
        rows = slice(min(max(top + math.floor(i * tall), 0), 8), min(max(top + math.ceil((i + 1) * tall), 0), 8))
        columns = slice(min(max(left + math.floor(j * wide), 0), 9), min(max(left + math.ceil((j + 1) * wide), 0), 9))
        part = x[int(rois[n, 0]), :, rows, columns]
        want[n, :, i, j] = part.max(axis=(1, 2)) if part.size else 0
    close(run("vision.roi_pool", x, rois, pooled_size=(2, 3), spatial_scale=scale), want)


def test_regions_are_refused():
    attrs = {"pooled_size": (2, 2), "spatial_scale": 1.0}
    assert "a region is five numbers" in str(refused("vision.roi_pool", T(1, 3, 8, 8), T(4, 4), **attrs))
    assert "data must be images" in str(refused("vision.roi_align", T(3, 8, 8), T(4, 5), **attrs))
    assert "pooled_size must be positive" in str(
        refused("vision.roi_align", T(1, 3, 8, 8), T(4, 5), pooled_size=(0, 2), spatial_scale=1.0)
    )


# ---------------------------------------------------------------- prior boxes and proposals
@pytest.mark.parametrize("clip", [False, True])
def test_multibox_prior(clip):
    x = normal(1, 2, 3, 4)
    options = {
        "sizes": (0.5, 0.3),
        "ratios": (1.0, 2.0, 0.5),
        "steps": (0.4, -1.0),
        "offsets": (0.5, 0.25),
        "clip": clip,
    }
    got = run("vision.multibox_prior", x, **options)
    shapes = [(s * 3 / 4 / 2, s / 2) for s in (0.5, 0.3)]
    shapes += [(0.5 * 3 / 4 * math.sqrt(r) / 2, 0.5 / math.sqrt(r) / 2) for r in (2.0, 0.5)]
    want = []
    for i, j in np.ndindex(3, 4):
        cy, cx = (i + 0.5) * 0.4, (j + 0.25) / 4
        want += [(cx - w, cy - h, cx + w, cy + h) for w, h in shapes]
    close(got[0], np.clip(want, 0, 1) if clip else want)
    assert "positive ratios" in str(refused("vision.multibox_prior", T(1, 2, 3, 4), ratios=(0.0,)))


def test_multibox_transform_loc():
    p, loc, anchor = RNG.random((2, 4, 5)).astype(np.float32), normal(2, 20), boxes(1, 5)
    result, counts = run("vision.multibox_transform_loc", p, loc, anchor, threshold=0.7, clip=False)
    for n in range(2):
        row = 0
        for a in range(5):
            scores = p[n, 1:, a]
            if scores.max() < 0.7:
                continue
            left, top, right, bottom = anchor[0, a]
            move = loc[n].reshape(5, 4)[a] * np.array([0.1, 0.1, 0.2, 0.2])
            wide, tall = right - left, bottom - top
            cx, cy = (left + right) / 2 + move[0] * wide, (top + bottom) / 2 + move[1] * tall
            half = math.exp(move[2]) * wide / 2, math.exp(move[3]) * tall / 2
            box = (cx - half[0], cy - half[1], cx + half[0], cy + half[1])
            close(result[n, row], [scores.argmax(), scores.max(), *box])
            row += 1
        assert counts[n] == row
        assert (result[n, row:] == -1).all()
    assert "four numbers for each anchor" in str(
        refused("vision.multibox_transform_loc", T(1, 2, 5), T(1, 9), T(1, 5, 4))
    )


def test_proposals_are_the_best_boxes_that_do_not_overlap():
    scores, moves = RNG.random((2, 4, 3, 4)).astype(np.float32), normal(2, 8, 3, 4) * 0.2
    info = np.array([[48, 64, 1], [40, 60, 1]], np.float32)
    options = {
        "scales": (1.0,),
        "ratios": (0.5, 2.0),
        "rpn_pre_nms_top_n": 20,
        "rpn_post_nms_top_n": 6,
        "rpn_min_size": 4,
    }
    got = run("vision.proposal", scores, moves, info, **options, threshold=0.5).reshape(2, 6, 5)
    for n in range(2):
        rows = []
        for i, j, k in np.ndindex(3, 4, 2):
            ratio = (0.5, 2.0)[k]
            width = math.floor(math.sqrt(math.floor(256 / ratio)) + 0.5)
            height = math.floor(width * ratio + 0.5)
            cx, cy = 7.5 + j * 16, 7.5 + i * 16
            dx, dy, dw, dh = moves[n, 4 * k : 4 * k + 4, i, j].astype(np.float64)
            cx, cy, wide, tall = cx + dx * width, cy + dy * height, math.exp(dw) * width, math.exp(dh) * height
            box = [cx - 0.5 * (wide - 1), cy - 0.5 * (tall - 1), cx + 0.5 * (wide - 1), cy + 0.5 * (tall - 1)]
            limits = [info[n, 1] - 1, info[n, 0] - 1] * 2
            box = [max(min(b, e), 0) for b, e in zip(box, limits, strict=True)]
            score = float(scores[n, 2 + k, i, j])
            if i >= int(info[n, 0] / 16) or j >= int(info[n, 1] / 16):
                score = -1.0
            if box[2] - box[0] + 1 < 4 or box[3] - box[1] + 1 < 4:
                box, score = [box[0] - 2, box[1] - 2, box[2] + 2, box[3] + 2], -1.0
            rows.append((score, box))
        rows = sorted(rows, key=lambda row: -row[0])[:20]
        kept = []
        for _, box in rows:
            if all(iou(other, box, 1.0) <= 0.5 for other in kept):
                kept.append(box)
        want = [kept[m % len(kept)] for m in range(6)]
        close(got[n, :, 0], np.full(6, n))
        close(got[n, :, 1:], want, 1e-3)


def test_yolo_reorg_moves_pixels_into_channels():
    x = np.arange(2 * 8 * 4 * 6, dtype=np.float32).reshape(2, 8, 4, 6)
    got = run("vision.yolo_reorg", x, stride=2)
    assert got.shape == (2, 32, 2, 3)
    # Darknet: element (k, j, i) of a tensor like the data reads row j*2 + offset/2, column i*2 + offset%2 of channel
    # k % 2 of the data seen as (2, 8, 12), offset being k / 2; the result is then seen in its own shape.
    wide, want = x.reshape(2, 2, 8, 12), np.zeros_like(x)
    for k, j, i in np.ndindex(8, 4, 6):
        offset = k // 2
        want[:, k, j, i] = wide[:, k % 2, j * 2 + offset // 2, i * 2 + offset % 2]
    np.testing.assert_array_equal(got, want.reshape(got.shape))
    np.testing.assert_array_equal(np.sort(got.ravel()), x.ravel())
    assert "cannot be cut into blocks" in str(refused("vision.yolo_reorg", T(1, 4, 3, 4), stride=2))
