"""`TempOpAttr`: a registered attribute of an operator for the duration of a `with` statement."""

from __future__ import annotations

from typing import Any

from passlab.arguments import checked
from passlab.ir.op import Op


@checked
class TempOpAttr:
    """Register `attr_value` for the operator `op_name` under `attr_key` inside a `with`, and restore the former value.

        with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter_conv2d):
            mod = relay.transform.AlterOpLayout()(mod)

    Raises `OpNotFoundError` for an unknown operator.
    """

    def __init__(self, op_name: str, attr_key: str, attr_value: Any) -> None:
        self._op = Op.get(op_name)
        self._key = attr_key
        self._value = attr_value
        self._before: tuple[Any, int] | None = None

    def __enter__(self) -> TempOpAttr:
        spec = self._op.spec
        if self._key in spec.extra:
            self._before = spec.extra[self._key], spec.levels.get(self._key, 10)
        self._op.reset_attr(self._key)
        self._op.set_attr(self._key, self._value)
        return self

    def __exit__(self, *exception: object) -> None:
        self._op.reset_attr(self._key)
        if self._before is not None:
            self._op.set_attr(self._key, *self._before)
