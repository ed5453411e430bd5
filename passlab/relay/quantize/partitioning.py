"""Partition: inserts a cast hint where wide integers leave a layer and its followers, to narrow them again."""

from __future__ import annotations

from typing import Any

from passlab.ir.expr import Call, Constant, Expr
from passlab.op import make
from passlab.relay.quantize.config import current_qconfig
from passlab.relay.quantize.forward import RECTIFIERS, PendingResult, Rule, write


class Wide(PendingResult):
    """The wide results of a layer."""

    def _create(self) -> Expr:
        hint = make("annotation.cast_hint", self.expr, dtype=current_qconfig().dtype_input)
        return make("annotation.stop_fusion", hint)


def _expr(value: Any) -> Expr:
    return value.expr if isinstance(value, Wide) else write(value)


def _layer(call: Call, args: list[Any]) -> Wide:
    return Wide(Call(call.op, [write(arg) for arg in args], call.attrs))


def _follow(call: Call, args: list[Any]) -> Wide | None:
    return Wide(Call(call.op, [args[0].expr], call.attrs)) if isinstance(args[0], Wide) else None


def _clip(call: Call, args: list[Any]) -> Wide | None:
    return _layer(call, args) if isinstance(args[0], Wide) else None


def _add(call: Call, args: list[Any]) -> Expr | Wide | None:
    left, right = (isinstance(arg, Wide) for arg in args)
    if left and isinstance(args[1], Constant):
        return Wide(Call(call.op, [_expr(args[0]), args[1]], call.attrs))
    if left and right:
        return _layer(call, args)
    return Call(call.op, [write(arg) for arg in args], call.attrs) if left or right else None


def _multiply(call: Call, args: list[Any]) -> Wide | None:
    return _layer(call, args) if any(isinstance(arg, Wide) for arg in args) else None


def _global_pool(call: Call, args: list[Any]) -> Expr:
    value = args[0] if isinstance(args[0], Wide) else Wide(write(args[0]))
    return Call(call.op, [value.write()], call.attrs)


PARTITION_RULES: dict[str, Rule] = {
    "nn.conv2d": _layer,
    **dict.fromkeys((*RECTIFIERS, "nn.max_pool2d"), _follow),
    "clip": _clip,
    "add": _add,
    "multiply": _multiply,
    "nn.global_avg_pool2d": _global_pool,
}
