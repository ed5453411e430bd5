"""`LayoutConfig`: which convolutions a block of code leaves in their layout."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar, Token
from typing import Any

_current: ContextVar[LayoutConfig | None] = ContextVar("passlab_layout_config", default=None)


class LayoutConfig:
    """Within `with LayoutConfig(skip_layers=[0]):`, ConvertLayout leaves out the convolutions of these numbers.

    They are counted from 0, in the order in which a program computes them, over the whole block.
    """

    def __init__(self, skip_layers: Iterable[int] = ()) -> None:
        self.skip_layers = frozenset(skip_layers)
        self._counted = 0
        self._tokens: list[Token[Any]] = []

    def __enter__(self) -> LayoutConfig:
        self._counted = 0
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _current.reset(self._tokens.pop())

    @staticmethod
    def skips() -> bool:
        """Count one convolution; answer whether the block of code around leaves it out."""
        config = _current.get()
        if config is None:
            return False
        config._counted += 1
        return config._counted - 1 in config.skip_layers
