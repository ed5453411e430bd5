"""Programs that reach every part of the machine, with makers of their arguments."""

from __future__ import annotations

import numpy as np

LOOP = """
def @loop(%i: int32, %acc: int32) -> int32 { if (%i == 0) { %acc } else { @loop(%i - 1, %acc + %i) } }
def @main(%n: int32) -> int32 { @loop(%n, 0) }
"""
PROGRAMS = {
    "dense": ("def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) { nn.relu(nn.dense(%x, %w)) }",
              lambda r: [r.random((2, 8), "float32"), r.random((4, 8), "float32")]),
    "tuple": ("def @main(%x: Tensor[(4), float32]) { %0 = split(%x, indices_or_sections=2); (%0.1, (%0.0 + 1f, %x)) }",
              lambda r: [r.random(4, "float32")]),
    "branch": ("def @main(%c: bool, %x: float32) { if (%c) { exp(%x) } else { if (%x < 0f) { -1f } else { %x } } }",
               lambda r: [np.array(False), np.float32(3)]),
    "loop": (LOOP, lambda r: [np.int32(100)]),
    "shape": ("def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(1, 3), float32]) { reshape(%x + %y, newshape=[-1]) }",
              lambda r: [r.random((5, 3), "float32"), r.random((1, 3), "float32")]),
    "data": ("def @main(%n: int64) { cast(arange(0i64, %n, 1i64, start=None, stop=None, step=None, dtype=\"int64\"), dtype=\"float32\") }",
             lambda r: [np.int64(7)]),
    "adt": ("""
            type Shape { Circle(float32), Box(float32, float32), Point }
            def @area(%s: Shape[]) -> float32 {
              match (%s) { Circle(%r) => %r * %r * 3f, Box(%w, %h) => %w * %h, Point => 0f }
            }
            def @main(%x: float32) { (@area(Circle(%x)), @area(Box(%x, 2f)), @area(Point)) }
            """, lambda r: [np.float32(2)]),
}  # fmt: skip


def same(a, b) -> bool:
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=True)
