"""Annotation: selects the operators to run on integers, and the kind of each tensor between them.

A tensor to be quantized becomes a call of `simulated_quantize`, whose scale and bounds are variables until calibration
sets them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from passlab.ir.expr import Call, Constant, Expr, Tuple, Var
from passlab.ir.op import Op, OpCall, is_call_of
from passlab.ir.types import TensorType
from passlab.ir.walk import post_order
from passlab.op import make
from passlab.relay.quantize.config import QConfig, current_qconfig
from passlab.relay.quantize.forward import RECTIFIERS, PendingResult, Rule, write

SIMULATED = "relay.op.annotation.simulated_quantize"


class QAnnotateKind:
    """The kinds of quantized tensors: the options give each kind a width and a dtype."""

    IDENTITY = 0
    INPUT = 1
    WEIGHT = 2
    ACTIVATION = 3


def kind2str(kind: int) -> str:
    """Return the name of a kind: `input`, `weight`, `activation` or `identity`."""
    return ("identity", "input", "weight", "activation")[kind]


def simulated_calls(root: Expr) -> list[OpCall]:
    """Return the calls of `simulated_quantize` in a program, in its order."""
    return [node for node in post_order(root) if is_call_of(node, SIMULATED)]


def attach_simulated_quantize(data: Expr, kind: int, sign: bool = True, rounding: str = "round") -> Expr:
    """Return `simulated_quantize` of an expression with new variables for scale and bounds.

    A call of it for the same kind, sign and rounding stays as it is.
    """
    settings = {"kind": kind, "sign": sign, "rounding": rounding}
    if is_call_of(data, SIMULATED) and all(data.attrs[name] == value for name, value in settings.items()):
        return data
    bounds = [Var(name, TensorType((), "float32")) for name in ("dom_scale", "clip_min", "clip_max")]
    return make(SIMULATED, data, *bounds, **settings)


class Annotated(PendingResult):
    """An expression to be computed on integers, and its kind."""

    def __init__(self, expr: Expr, kind: int) -> None:
        super().__init__(expr)
        self.kind = kind


def _annotation(value: Any) -> tuple[Expr, int | None]:
    return (value.expr, value.kind) if isinstance(value, Annotated) else (write(value), None)


class Annotator:
    """The rules for one function. They count convolutions, and no longer apply after the first global pool."""

    def __init__(self) -> None:
        self.config: QConfig = current_qconfig()
        self.convolutions = 0
        self.stopped = False
        self.simulated: dict[tuple[Expr, int], Expr] = {}
        rules: dict[Rule, Sequence[str]] = {
            self._layer: ("nn.conv1d", "nn.conv2d", "nn.conv2d_transpose", "nn.dense"),
            self._multiply: ("multiply",),
            self._add: ("add",),
            self._follow: (
                *("reshape", "clip", "strided_slice", "nn.avg_pool2d", "nn.batch_flatten", "transpose"),
                *(*RECTIFIERS, "annotation.stop_fusion"),
            ),
            self._as_input: ("nn.max_pool1d", "nn.max_pool2d"),
            self._concatenate: ("concatenate",),
            self._global_pool: ("nn.global_avg_pool2d",),
            self._product: ("nn.batch_matmul",),
        }
        self.rules = {name: self._guard(rule) for rule, names in rules.items() for name in names}
        self.rules["annotation.cast_hint"] = self._hint

    def _guard(self, rule: Rule) -> Rule:
        """Return a rule that skips operators which the options exclude."""

        @functools.wraps(rule)
        def rule_if_enabled(call: Call, args: list[Any]) -> object:
            assert isinstance(call.op, Op)
            enabled = self.config.debug_enabled_ops
            return rule(call, args) if enabled is None or call.op.name in map(str, enabled) else None

        return rule_if_enabled

    def attach(self, expr: Expr, kind: int) -> Expr:
        """Return `simulated_quantize` of an expression, one call for each expression and kind."""
        if is_call_of(expr, SIMULATED) and expr.attrs.kind == kind:
            return expr
        if (expr, kind) not in self.simulated:
            self.simulated[expr, kind] = attach_simulated_quantize(expr, kind)
        return self.simulated[expr, kind]

    def _attach_narrow(self, expr: Expr) -> Expr:
        """Return `simulated_quantize` of a constant as weight, of any other expression as input."""
        return self.attach(expr, QAnnotateKind.WEIGHT if isinstance(expr, Constant) else QAnnotateKind.INPUT)

    def _is_skipped(self, name: str) -> bool:
        if name == "nn.dense":
            return self.config.skip_dense_layer
        if name != "nn.conv2d":
            return False
        self.convolutions += 1
        return self.convolutions - 1 in (self.config.skip_conv_layers or ())

    def _layer(self, call: Call, args: list[Any]) -> Annotated | None:
        assert isinstance(call.op, Op)
        (data, kind), weight = _annotation(args[0]), write(args[1])
        if self.stopped or self._is_skipped(call.op.name) or not isinstance(weight, Constant):
            return None
        if kind != QAnnotateKind.INPUT:
            data = self.attach(data, QAnnotateKind.INPUT)
        operands = [data, self.attach(weight, QAnnotateKind.WEIGHT)]
        return Annotated(Call(call.op, operands, call.attrs), QAnnotateKind.ACTIVATION)

    def _multiply(self, call: Call, args: list[Any]) -> Annotated | None:
        parts = [_annotation(arg) for arg in args]
        if self.stopped or all(kind is None for _, kind in parts):
            return None
        operands = [expr if kind == QAnnotateKind.INPUT else self._attach_narrow(expr) for expr, kind in parts]
        return Annotated(Call(call.op, operands, call.attrs), QAnnotateKind.ACTIVATION)

    def _add(self, call: Call, args: list[Any]) -> Annotated | None:
        (left, left_kind), (right, right_kind) = (_annotation(arg) for arg in args)
        if self.stopped or (left_kind is None and right_kind is None):
            return None
        if left_kind is None:
            left = self.attach(left, QAnnotateKind.INPUT)
        elif right_kind is None:
            right = self._attach_narrow(right)
        elif left_kind == right_kind == QAnnotateKind.ACTIVATION:
            right = self.attach(right, QAnnotateKind.INPUT)
        return Annotated(Call(call.op, [left, right], call.attrs), QAnnotateKind.ACTIVATION)

    def _follow(self, call: Call, args: list[Any]) -> Annotated | None:
        expr, kind = _annotation(args[0])
        rest = [write(arg) for arg in args[1:]]
        return None if self.stopped or kind is None else Annotated(Call(call.op, [expr, *rest], call.attrs), kind)

    def _as_input(self, call: Call, args: list[Any]) -> Annotated | None:
        expr, kind = _annotation(args[0])
        if self.stopped or kind is None:
            return None
        if kind == QAnnotateKind.ACTIVATION:
            expr = self.attach(expr, QAnnotateKind.INPUT)
        return Annotated(Call(call.op, [expr], call.attrs), QAnnotateKind.INPUT)

    def _hint(self, call: Call, args: list[Any]) -> Annotated | Expr:
        return self._as_input(call, args) or args[0]  # a value that stays a float needs no hint

    def _concatenate(self, call: Call, args: list[Any]) -> Annotated | None:
        if self.stopped or not isinstance(args[0], list):
            return None
        parts = [_annotation(field) for field in args[0]]
        # Floats get the width of an input. Relay uses that of an activation, which overflows in the scale of the
        # other fields.
        fields = [self.attach(expr, QAnnotateKind.INPUT) if kind is None else expr for expr, kind in parts]
        return Annotated(Call(call.op, [Tuple(fields)], call.attrs), QAnnotateKind.ACTIVATION)

    def _global_pool(self, call: Call, args: list[Any]) -> Expr | None:
        if self.stopped or _annotation(args[0])[1] is None:
            return None
        self.stopped = True
        return Call(call.op, [write(args[0])], call.attrs)

    def _product(self, call: Call, args: list[Any]) -> Annotated | None:
        if self.stopped:
            return None
        parts = [_annotation(arg) for arg in args]
        operands = [expr if kind == QAnnotateKind.INPUT else self._attach_narrow(expr) for expr, kind in parts]
        return Annotated(Call(call.op, operands, call.attrs), QAnnotateKind.ACTIVATION)
