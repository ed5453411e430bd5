"""Kernels are numbered in the order in which they run."""

from __future__ import annotations

import passlab
from passlab import relay, transform
from passlab.ir.expr import Call, GlobalVar
from passlab.ir.walk import post_order

LAYERS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32], %a: Tensor[(4, 4), float32], %b: Tensor[(3, 4), float32],
          %c: Tensor[(2, 3), float32]) {
  %0 = nn.relu(nn.dense(%x, %a));
  %1 = nn.relu(nn.dense(%0, %b));
  nn.relu(nn.dense(%1, %c))
}"""


def test_kernels_of_one_name_are_numbered_as_they_run():
    fused = transform.FuseOps(fuse_opt_level=2)(transform.InferType()(passlab.parse(LAYERS)))
    lowered = relay.transform.LowerTE()(fused)
    calls = [node.op.name_hint for node in post_order(lowered["main"]) if isinstance(node, Call)
             if isinstance(node.op, GlobalVar)]  # fmt: skip
    stem = "fused_nn_dense_nn_relu"
    assert calls == [stem, f"{stem}_1", f"{stem}_2"]
