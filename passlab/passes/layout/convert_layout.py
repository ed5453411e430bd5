"""Convert convolutions, and the operators between them, to another data layout.

before: desired_layouts={"nn.conv2d": ["NHWC", "default"]}
    def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32], %b: Tensor[(4), float32]) {
      %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
      %1 = add(%0, expand_dims(%b, axis=1, num_newaxis=2));
      nn.conv2d(nn.relu(%1), %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3])
    }
after:
    def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32], %b: Tensor[(4), float32]) {
      %0 = layout_transform(%x, src_layout="NCHW", dst_layout="NHWC");
      %1 = layout_transform(%w, src_layout="OIHW", dst_layout="HWIO");
      %2 = nn.conv2d(%0, %1, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], data_layout="NHWC",
                     kernel_layout="HWIO");
      %3 = expand_dims(expand_dims(%b, axis=1, num_newaxis=2), axis=0);
      %4 = add(%2, layout_transform(%3, src_layout="NCHW", dst_layout="NHWC"));
      %5 = nn.conv2d(nn.relu(%4), %1, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], data_layout="NHWC",
                     kernel_layout="HWIO");
      layout_transform(%5, src_layout="NHWC", dst_layout="NCHW")
    }

before: desired_layouts={"nn.conv2d": ["NCHW", "OIHW"]}
    def @main(%x: Tensor[(1, 8, 8, 4), float32], %w: Tensor[(3, 3, 4, 2), float32]) {
      %0 = nn.conv2d(%x, %w, channels=2, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO");
      mean(concatenate((%0, %0), axis=3), axis=[1, 2])
    }
after:
    def @main(%x: Tensor[(1, 8, 8, 4), float32], %w: Tensor[(3, 3, 4, 2), float32]) {
      %0 = layout_transform(%x, src_layout="NHWC", dst_layout="NCHW");
      %1 = layout_transform(%w, src_layout="HWIO", dst_layout="OIHW");
      %2 = nn.conv2d(%0, %1, channels=2, kernel_size=[3, 3]);
      mean(concatenate((%2, %2), axis=1), axis=[2, 3])
    }

keep: desired_layouts={"nn.conv2d": ["NCHW", "default"]}
    def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
      nn.relu(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]))
    }
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from typing import Any

from passlab.errors import Diagnostic, PassValueError, did_you_mean
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpCall, find_op, is_op_call
from passlab.ir.types import TensorType
from passlab.ir.walk import post_order
from passlab.op.layout_names import parse_layout
from passlab.op.layout_rules import OneLayout, TwoLayouts
from passlab.passes.layout.layout_rewriting import in_other_layouts
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import Part, standard_pass
from passlab.transform.numeric_contract import Rounds

# `LayoutConfig` selects convolutions that keep their layout within a block of code.

_current: ContextVar[LayoutConfig | None] = ContextVar("passlab_layout_config", default=None)


class LayoutConfig:
    """Within `with LayoutConfig(skip_layers=[0]):`, ConvertLayout skips the convolutions with these numbers.

    Convolutions are counted from 0, in program order, over the whole block.
    """

    def __init__(self, skip_layers: Iterable[int] = ()) -> None:
        self.skip_layers = frozenset(skip_layers)
        self._count = 0
        self._tokens: list[Token[Any]] = []

    def __enter__(self) -> LayoutConfig:
        self._count = 0
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _current.reset(self._tokens.pop())

    @staticmethod
    def skips() -> bool:
        """Count one convolution; return whether the enclosing block skips it."""
        config = _current.get()
        if config is None:
            return False
        config._count += 1
        return config._count - 1 in config.skip_layers


_log = logging.getLogger("passlab.ConvertLayout")

_BLOCKED_CONV2D = "nn.contrib_conv2d_NCHWc"  # which replaces nn.conv2d in blocked layouts
_HOOK = "FTVMConvertOpLayout"
_PACKED = re.compile(r"NCHW(\d+)c\Z")


# Another layout changes the order in which a convolution adds its products. That moves a result by up to three units in
# the last place of the sum of the *magnitudes* of the products, for any number of products (measured to 4,608). Where
# they cancel, this is many units of the result: 3,456 as validation counts, from 1/1024 of the largest element up.
_SUMS_REORDERED = Rounds(8192)


@standard_pass(opt_level=3, required=("InferType", "CanonicalizeOps"), contract=_SUMS_REORDERED)
class ConvertLayout(FunctionPass):
    """Convert the operators named in `desired_layouts` to the layouts listed there: of the data, then of the weight.

    The layout of a weight may be "default": the usual one for the layout of the data. Pooling and resizing take one
    layout. Operators in between adapt; others get their data in the original layout by `layout_transform`. FoldConstant
    folds the transforms of weights. Sums may be added in another order. `with LayoutConfig(skip_layers=[0]):` skips
    convolutions; those that are not listed are named in a warning in the log. Functions that users register by
    `relay.op.register_convert_op_layout` take precedence over the built-in rules. Other operators are ignored.

    Raises `PassValueError` for unknown operators and invalid layouts.
    """

    desired_layouts: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        for name, layouts in self.desired_layouts.items():
            if find_op(name) is None:
                hint = did_you_mean(name, filter(_names_layouts, Op.list_op_names()))
                hint = hint or "convolutions, pooling and resizing have"
                raise PassValueError(Diagnostic(f"`{name}` is not an operator", hint=hint))
            for layout in layouts if _names_layouts(name) and not _has_hook(name) else ():
                if layout != "default" and parse_layout(layout) is None:
                    raise PassValueError(
                        Diagnostic(f'"{layout}" is not a layout', expected='such as "NHWC" or "NCHW4c"')
                    )

    def acts_on(self) -> Iterable[Part]:
        return *self.desired_layouts, _convolves  # the pass warns of convolutions that are not listed

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        result = in_other_layouts(func, self._desired_layouts, self._replace)
        calls = (n for n in post_order(func) if is_op_call(n))
        names = {c.op.name for c in calls if _is_convolution(c)} - set(self.desired_layouts) - {_BLOCKED_CONV2D}
        if names:
            message = "no layouts are desired for %s: their operands are transformed back to the original layouts"
            _log.warning(message, ", ".join(sorted(names)))
        return result

    def _hook(self, call: OpCall) -> Callable[..., Any] | None:
        """Return the function registered for a listed operator, or None."""
        op: Any = call.op
        return op.spec.extra.get(_HOOK) if op.name in self.desired_layouts else None

    def _replace(self, call: OpCall, args: list[Expr]) -> Expr | None:
        """Return the replacement that the registered function returns for a call."""
        hook, name = self._hook(call), call.op.name
        if hook is None or (_is_convolution(call) and LayoutConfig.skips()):
            return None
        types, layouts = [a.checked_type for a in call.args], list(self.desired_layouts[name])
        result: Expr | None = hook(call.attrs, args, types, layouts)
        return result

    def _desired_layouts(self, call: OpCall) -> Attrs | None:
        if self._hook(call) is not None:
            return None
        name = call.op.name
        attrs: Attrs | None = call.attrs
        desired = self.desired_layouts.get(name)
        skips = _is_convolution(call) and LayoutConfig.skips()
        if not desired or attrs is None or skips or desired[0] == "default" or not _names_layouts(name):
            return None
        if not _is_convolution(call):
            of_result = {"out_layout": desired[0]} if "out_layout" in dict(attrs.items()) else {}
            return attrs.with_fields(layout=desired[0], **of_result)
        kernel = desired[1] if len(desired) > 1 and desired[1] != "default" else _kernel(call, desired[0])
        return attrs.with_fields(
            data_layout=desired[0], kernel_layout=kernel, out_layout=desired[0] if attrs["out_layout"] else ""
        )


def _convolves(op: Op) -> bool:
    return isinstance(op.spec.layout, TwoLayouts)


def _is_convolution(call: OpCall) -> bool:
    return _convolves(call.op)


def _names_layouts(name: str) -> bool:
    op = find_op(name)
    return op is not None and isinstance(op.spec.layout, (OneLayout, TwoLayouts))


def _has_hook(name: str) -> bool:
    op = find_op(name)
    return op is not None and _HOOK in op.spec.extra


def _kernel(call: OpCall, data: str) -> str:
    """Return the default layout of the weight for a layout of the data."""
    name: str = call.op.name
    attrs: Any = call.attrs
    if name.endswith("conv2d") and data == "NHWC" and _is_depthwise(call):
        return "HWOI"
    packed = _PACKED.match(data)
    if packed and attrs.groups == 1:
        return f"OIHW{packed[1]}o{packed[1]}i"
    rule = call.op.spec.layout
    assert isinstance(rule, TwoLayouts)
    kernel = rule.weights.get(data)
    if kernel is None:
        what = f"the weight of {name} has no default layout for data in {data}"
        raise PassValueError(Diagnostic(what, call.span, hint="name one in desired_layouts"))
    return kernel


def _is_depthwise(call: OpCall) -> bool:
    attrs: Any = call.attrs
    ty = call.args[1].checked_type
    return (
        isinstance(ty, TensorType)
        and attrs.groups > 1
        and attrs.kernel_layout in ("OIHW", "HWOI", "HWIO")
        and ty.shape[attrs.kernel_layout.index("I")] == 1
    )
