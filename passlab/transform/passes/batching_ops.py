"""Combine parallel branches of all kinds: convolutions, dense layers, batched products."""

from __future__ import annotations

from passlab.transform.base import Pass
from passlab.transform.declare import Rounds, standard_pass
from passlab.transform.registry import get_pass
from passlab.transform.sequential import Sequential

_PARTS = ("CombineParallelConv2D", "CombineParallelDense", "CombineParallelBatchMatmul")


@standard_pass(opt_level=0, promise=Rounds(2048), name="sequential")
class BatchingOps(Sequential):
    """Run CombineParallelConv2D, CombineParallelDense and CombineParallelBatchMatmul where the context allows them."""

    def make_passes(self) -> list[Pass]:
        return [get_pass(name) for name in _PARTS]
