"""Fold channel-wise scales into weights, in both directions, then fold constants.

before:
    def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(2, 4), float32], %s: Tensor[(2), float32]) {
      multiply(nn.dense(%x, %w, units=2), %s)
    }
after:
    def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(2, 4), float32], %s: Tensor[(2), float32]) {
      nn.dense(%x, multiply(%w, expand_dims(%s, axis=1)), units=2)
    }

keep:
    def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(2, 4), float32], %s: Tensor[(3, 1), float32]) {
      multiply(nn.dense(%x, %w, units=2), %s)
    }
"""

from __future__ import annotations

from passlab.transform.base import Pass
from passlab.transform.declare import FINITE, Rounds, standard_pass
from passlab.transform.registry import get_pass
from passlab.transform.sequential import Sequential


@standard_pass(opt_level=0, contract=Rounds(8192) + FINITE)
class FoldScaleAxis(Sequential):
    """Run BackwardFoldScaleAxis, ForwardFoldScaleAxis and FoldConstant, each if the level of the context enables it."""

    def make_passes(self) -> list[Pass]:
        return [get_pass(name) for name in ("BackwardFoldScaleAxis", "ForwardFoldScaleAxis", "FoldConstant")]
