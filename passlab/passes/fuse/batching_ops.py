"""Combine parallel branches of all kinds: convolutions, dense layers, batched products.

before:
    def @main(%x: Tensor[(3, 4), float32], %a: Tensor[(5, 4), float32], %b: Tensor[(5, 4), float32],
              %c: Tensor[(5, 4), float32]) {
      (nn.dense(%x, %a), nn.dense(%x, %b), nn.dense(%x, %c))
    }
after:
    def @main(%x: Tensor[(3, 4), float32], %a: Tensor[(5, 4), float32], %b: Tensor[(5, 4), float32],
              %c: Tensor[(5, 4), float32]) {
      %0 = split(nn.batch_matmul(stack((%x, %x, %x)), stack((%a, %b, %c)), transpose_b=True), indices_or_sections=3);
      (squeeze(%0.0, axis=[0]), squeeze(%0.1, axis=[0]), squeeze(%0.2, axis=[0]))
    }

keep:
    def @main(%x: Tensor[(3, 4), float32], %a: Tensor[(5, 4), float32]) { nn.dense(%x, %a) }
"""

from __future__ import annotations

from passlab.transform.base import Pass
from passlab.transform.declare import Rounds, standard_pass
from passlab.transform.registry import get_pass
from passlab.transform.sequential import Sequential

_PARTS = ("CombineParallelConv2D", "CombineParallelDense", "CombineParallelBatchMatmul")


@standard_pass(opt_level=0, contract=Rounds(2048), name="sequential")
class BatchingOps(Sequential):
    """Run CombineParallelConv2D, CombineParallelDense and CombineParallelBatchMatmul where the context allows them."""

    def make_passes(self) -> list[Pass]:
        return [get_pass(name) for name in _PARTS]
