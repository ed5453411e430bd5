"""Fold channel-wise scales into weights, in both directions, and compute what became constant.

before:
    def @main(%x: Tensor[(1, 3), float32]) {
      multiply(nn.dense(%x, meta[relay.Constant][0], units=2), meta[relay.Constant][1])
    }
"""

from __future__ import annotations

from passlab.transform.base import Pass
from passlab.transform.declare import Promise, standard_pass
from passlab.transform.registry import get_pass
from passlab.transform.sequential import Sequential


@standard_pass(opt_level=0, promise=Promise(ulps=8192, finite_only=True))
class FoldScaleAxis(Sequential):
    """Run BackwardFoldScaleAxis, ForwardFoldScaleAxis and FoldConstant, each where the context's level allows it."""

    def make_passes(self) -> list[Pass]:
        return [get_pass(name) for name in ("BackwardFoldScaleAxis", "ForwardFoldScaleAxis", "FoldConstant")]
