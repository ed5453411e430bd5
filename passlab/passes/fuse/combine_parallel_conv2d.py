"""Combine convolutions of the same input.

before: min_num_branches=2
    def @main(%x: Tensor[(1, 4, 8, 8), float32],
              %w1: Tensor[(2, 4, 1, 1), float32], %w2: Tensor[(3, 4, 1, 1), float32]) {
      (nn.relu(nn.conv2d(%x, %w1, kernel_size=[1, 1])), nn.relu(nn.conv2d(%x, %w2, kernel_size=[1, 1])))
    }
after:
    def @main(%x: Tensor[(1, 4, 8, 8), float32],
              %w1: Tensor[(2, 4, 1, 1), float32], %w2: Tensor[(3, 4, 1, 1), float32]) {
      %0 = nn.relu(nn.conv2d(%x, concatenate((%w1, %w2)), channels=5, kernel_size=[1, 1]));
      (strided_slice(%0, begin=[0, 0], end=[-1, 2], strides=[1, 1], slice_mode="size"),
       strided_slice(%0, begin=[0, 2], end=[-1, 3], strides=[1, 1], slice_mode="size"))
    }

keep: min_num_branches=2
    def @main(%x: Tensor[(1, 4, 8, 8), float32],
              %w1: Tensor[(2, 4, 1, 1), float32], %w2: Tensor[(3, 4, 3, 3), float32]) {
      (nn.conv2d(%x, %w1, kernel_size=[1, 1]), nn.conv2d(%x, %w2, padding=[1, 1], kernel_size=[3, 3]))
    }
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from passlab.ir.expr import Call, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import OpCall
from passlab.op.autodiff import dtype_of, shape_of
from passlab.op.layout_names import parse_layout
from passlab.passes.fuse.combine_parallel import Combiner, combine_parallel, is_static, joined_along, slices
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import Rounds, standard_pass

_SAME = ("strides", "padding", "dilation", "groups", "data_layout", "kernel_layout", "out_dtype", "out_layout")


@standard_pass(
    opt_level=4, required=("InferType",), contract=Rounds(1024), name="CombineParallelConv2d", acts_on=("nn.conv2d",)
)
class CombineParallelConv2D(FunctionPass):
    """Replace `min_num_branches` or more 2-d convolutions of one input, equal but for the number of channels, by one.

    The weights are concatenated along the output channels; elementwise and broadcasting operators that follow every
    branch are combined as well; then the result is sliced. Only branches that do not depend on each other are combined.
    A matrix library may sum a wider product in another order, so results round differently on some processors.
    """

    min_num_branches: int = 3

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return combine_parallel(func, mod, _Conv2D(), self.min_num_branches)


def _parts(layout: str) -> list[str]:
    """Return the axes of a layout in order, split-off parts in small letters; empty for an invalid layout."""
    parsed = parse_layout(layout)
    return [letter.lower() if factor else letter for letter, factor in parsed.parts] if parsed else []


class _Conv2D(Combiner):
    op_name = "nn.conv2d"

    def supports(self, call: Call) -> bool:
        attrs: Any = call.attrs
        static = is_static(call) and is_static(call.args[1])
        return static and attrs.groups == 1 and "O" in _parts(attrs.kernel_layout) and "C" in _parts(self._layout(call))

    def _layout(self, call: Call) -> str:
        attrs: Any = call.attrs
        return str(attrs.out_layout or attrs.data_layout)

    def _channel(self, call: Call) -> int:
        return _parts(self._layout(call)).index("C")

    def _rank(self, call: Call) -> int:
        return len(_parts(self._layout(call)))

    def _weight(self, call: Call) -> tuple[int, list[Any]]:
        """Return the index of the output channels in the weight's shape, and the sizes of all other axes."""
        attrs: Any = call.attrs
        axis = _parts(attrs.kernel_layout).index("O")
        return axis, [d for i, d in enumerate(shape_of(call.args[1])) if i != axis]

    def compatible(self, a: Call, b: Call) -> bool:
        same = all(getattr(a.attrs, name) == getattr(b.attrs, name) for name in _SAME)
        return same and self._weight(a) == self._weight(b) and dtype_of(a.args[1]) == dtype_of(b.args[1])

    def combine(self, calls: Sequence[OpCall]) -> Expr:
        self.first = calls[0]
        axis, _ = self._weight(calls[0])
        weight = joined_along([c.args[1] for c in calls], axis)
        self.sizes = [shape_of(c.args[1])[axis] for c in calls]
        parsed = parse_layout(calls[0].attrs.kernel_layout)
        assert parsed is not None
        attrs = calls[0].attrs.with_fields(channels=sum(self.sizes) * parsed.factor("O"))
        return Call(calls[0].op, (calls[0].args[0], weight), attrs)

    def fits(self, calls: Sequence[OpCall], parent: int, index: int) -> bool:
        """Each argument must have the whole channel axis, and all must agree on the other axes."""
        channel, rank = self._channel(self.first), self._rank(self.first)
        shapes = [shape_of(c.args[index]) for c in calls]
        at = channel - rank + len(shapes[0])
        if at < 0 or any(len(s) != len(shapes[0]) or len(s) > rank for s in shapes):
            return False
        if len({dtype_of(c.args[index]) for c in calls}) > 1 or len({(*s[:at], *s[at + 1 :]) for s in shapes}) > 1:
            return False
        return all(
            s[at] == size and shape_of(c) == shape_of(c.args[parent])
            for s, size, c in zip(shapes, self.sizes, calls, strict=True)
        )

    def join_argument(self, calls: Sequence[OpCall], parent: int, index: int) -> Expr:
        axis = self._channel(self.first) - self._rank(self.first) + len(shape_of(calls[0].args[index]))
        return joined_along([c.args[index] for c in calls], axis)

    def parts(self, whole: Expr, calls: Sequence[OpCall]) -> Iterable[Expr]:
        channel = self._channel(self.first)
        return slices(whole, channel + 1, channel, self.sizes)
