"""`LayoutConfig` selects convolutions that keep their layout within a block of code."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar, Token
from typing import Any

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
