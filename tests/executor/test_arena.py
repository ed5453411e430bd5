"""Offsets in one piece of memory: what is alive together never overlaps, and little is wasted."""

from __future__ import annotations

import time

import numpy as np
import pytest

from passlab import relay, transform
from passlab.executor import build
from passlab.executor.graph_module import ALIGNMENT, position


def assert_apart(lives, sizes, offsets) -> None:
    for a in range(len(lives)):
        for b in range(a):
            together = lives[a][0] <= lives[b][1] and lives[b][0] <= lives[a][1]
            apart = offsets[a] + sizes[a] <= offsets[b] or offsets[b] + sizes[b] <= offsets[a]
            assert apart or not together or 0 in (sizes[a], sizes[b])


@pytest.mark.parametrize("seed", range(30))
def test_what_is_alive_together_does_not_overlap(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 60))
    births = np.sort(rng.integers(0, 40, count))
    lives = [(int(b), int(b + rng.integers(0, 12))) for b in births]
    sizes = [int(s) for s in rng.integers(0, 5000, count)]
    for most in (2000, 0):
        monkeypatch.setattr("passlab.executor.graph_module.MOST_COMPARED", most)
        offsets, total = position(lives, sizes)
        assert_apart(lives, sizes, offsets)
        assert all(o % ALIGNMENT == 0 for o in offsets)
        assert total == max(o + s for o, s in zip(offsets, sizes, strict=True))
        bound = max(sum(s for (b, d), s in zip(lives, sizes, strict=True) if b <= t <= d) for t in range(60))
        assert bound <= total <= 2 * bound + count * ALIGNMENT


def test_a_long_chain_is_placed_in_linear_time_and_constant_memory():
    n = 50_000
    start = time.perf_counter()
    offsets, total = position([(i, i + 1) for i in range(n)], [256] * n)
    assert total == 512
    assert set(offsets) == {0, 256}
    assert time.perf_counter() - start < 20  # a quadratic plan takes minutes


def test_a_residual_network_takes_hardly_more_than_it_must():
    mod, params = relay.testing.resnet.get_workload(num_layers=50, image_shape=(3, 64, 64))
    with transform.PassContext(opt_level=3):
        factory = build(mod, params=params)
    lives = factory.graph.lives()
    sizes = {r: int(np.prod(factory.graph.shapes[r])) * np.dtype(factory.graph.dtypes[r]).itemsize for r in lives}
    times = range(len(factory.graph.nodes) + 1)
    bound = max(sum(sizes[r] for r, (birth, death) in lives.items() if birth <= t <= death) for t in times)
    assert factory.module().storage_bytes <= 1.1 * bound
