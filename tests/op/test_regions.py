"""Regions of images pooled in bins, beside their definitions: regions beyond the edges, empty ones, both layouts."""

from __future__ import annotations

import numpy as np

from passlab.definitions import vision
from passlab.ir.op import Op
from tests.each import each


@each("seed", range(60))
@each("name", ["roi_align", "roi_pool"])
def test_regions_are_what_they_mean(name, seed):
    rng = np.random.default_rng(seed)
    height, width, channels = rng.integers(1, 9, 3)
    layout = str(rng.choice(["NCHW", "NHWC"]))
    data = rng.standard_normal((2, channels, height, width) if layout == "NCHW" else (2, height, width, channels))
    rois = np.concatenate([rng.integers(0, 2, (4, 1)), rng.uniform(-4, 14, (4, 4))], axis=1).astype("float32")
    options = {"pooled_size": rng.integers(1, 4, 2).tolist(), "spatial_scale": float(rng.choice([0.5, 1, 2]))}
    if name == "roi_align":
        options |= {"sample_ratio": int(rng.choice([-1, 1, 2])), "mode": str(rng.choice(["avg", "max"]))}
    spec = Op.get(f"vision.{name}").spec
    attrs = spec.attrs(**options, layout=layout)
    expected = getattr(vision, name)(attrs, data.astype("float32"), rois)
    np.testing.assert_allclose(spec.raw(attrs, data.astype("float32"), rois), expected, rtol=2e-4, atol=2e-4)


def test_no_regions_give_no_results():
    spec = Op.get("vision.roi_align").spec
    attrs = spec.attrs(pooled_size=[2, 2], spatial_scale=1.0)
    assert spec.raw(attrs, np.ones((1, 2, 3, 3), "float32"), np.ones((0, 5), "float32")).shape == (0, 2, 2, 2)
