"""The options of quantization, which apply inside a `with` block."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, fields
from typing import Any

from passlab.errors import ConfigError, did_you_mean


@dataclass(frozen=True)
class QConfig:
    """The options of quantization; names and defaults are Relay's.

    `calibrate_mode` is `global_scale`, `kl_divergence` or `percentile`; `weight_scale` is `power2` or `max`.
    `skip_conv_layers` lists convolutions to skip, counted from 0; dense layers are skipped unless `skip_dense_layer` is
    False. With `debug_enabled_ops`, only these operators are quantized. `do_simulation` keeps floats with the values
    of the integers. `round_for_shift` and `rounding` (`UPWARD`, `TONEAREST`) control the rounding from one scale
    to another. `partition_conversions` splits the result into functions: `disabled`, `enabled`, or `fully_integral`,
    which rejects floats between inputs and outputs. `calibrate_chunk_by` is accepted and ignored: all numbers are
    collected in one run.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: Sequence[int] | None = (0,)
    do_simulation: bool = False
    round_for_shift: bool = True
    debug_enabled_ops: Sequence[str] | None = None
    rounding: str = "UPWARD"
    calibrate_chunk_by: int = -1
    partition_conversions: str = "disabled"
    _tokens: list[Token[QConfig | None]] = field(default_factory=list, repr=False, compare=False)

    def __enter__(self) -> QConfig:
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._tokens.pop())


_current: ContextVar[QConfig | None] = ContextVar("passlab_qconfig", default=None)
MODES = {
    "calibrate_mode": ("global_scale", "kl_divergence", "percentile"),
    "weight_scale": ("power2", "max"),
    "rounding": ("UPWARD", "TONEAREST"),
    "partition_conversions": ("disabled", "enabled", "fully_integral"),
}


def qconfig(**options: Any) -> QConfig:
    """Return options for a `with` block. Raises `ConfigError` for an unknown option or mode."""
    names = [f.name for f in fields(QConfig) if not f.name.startswith("_")]
    for name, value in options.items():
        if name not in names:
            raise ConfigError(f"qconfig has no option `{name}`: {did_you_mean(name, names) or ', '.join(names)}")
        if name in MODES and value not in MODES[name]:
            raise ConfigError(f"{name} is one of {', '.join(MODES[name])}, not {value!r}")
    return QConfig(**options)


def current_qconfig() -> QConfig:
    """Return the options of the innermost `with` block, the defaults outside of one."""
    return _current.get() or QConfig()
