"""`relay.backend`: what Relay's programs name when they say how something is to be built.

    relay.build(mod, executor=relay.backend.Executor("aot"), runtime=relay.backend.Runtime("cpp"))

`vm` is the virtual machine once more, at the address of Relay's own sources; `interpreter` has the classes of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from passlab.relay import vm
from passlab.relay.backend import interpreter


@dataclass(frozen=True)
class Executor:
    """The name of an executor, "graph" or "aot", with options that change nothing here."""

    name: str = "graph"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Runtime:
    """The name of a runtime, "cpp" or "crt", with options. Everything runs in this one."""

    name: str = "cpp"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


__all__ = ["Executor", "Runtime", "interpreter", "vm"]
