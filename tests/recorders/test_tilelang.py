"""TileLang's lowering, live: its own copy of TVM works with the recorder of TVM's passes."""

from importlib import import_module
from importlib.util import find_spec

import pytest

from passlab.recorders import tvm as live

pytestmark = pytest.mark.nightly

if find_spec("tilelang") is None:
    pytest.skip("needs tilelang, which brings a TVM of its own", allow_module_level=True)


def kernel():
    """A product of matrices in tiles."""
    lang = import_module("tilelang.language")
    half, single = "float16", "float32"

    @lang.prim_func
    def matmul(a: lang.Tensor((256, 256), half), b: lang.Tensor((256, 256), half), c: lang.Tensor((256, 256), single)):
        with lang.Kernel(2, 2, threads=128) as (bx, by):
            left, right = lang.alloc_shared((128, 32), half), lang.alloc_shared((32, 128), half)
            total = lang.alloc_fragment((128, 128), single)
            lang.clear(total)
            for k in lang.Pipelined(8, num_stages=2):
                lang.copy(a[by * 128, k * 32], left)
                lang.copy(b[k * 32, bx * 128], right)
                lang.gemm(left, right, total)
            lang.copy(total, c[by * 128, bx * 128])

    return matmul


def test_the_passes_of_a_lowering_are_recorded():
    tilelang, tvm = import_module("tilelang"), import_module("tvm")
    with live.recording("TileLang") as recorder, tvm.target.Target("cuda"):
        tilelang.lower(kernel())
    recording = recorder.recording()
    names = {step.name for step in recording.steps}
    assert {"tl.LayoutInference", "tl.LowerTileOp", "tl.MakePackedAPI"} <= names
    assert recording["tl.LowerTileOp"].verdict == "changed"
    assert recording["tl.LowerTileOp"].diff()
