"""Devices and targets as light values, so that programs written for other machines read unchanged.

Everything runs on this CPU: any target is accepted, kept and printed back, without further effect.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from passlab.errors import Diagnostic, DiagnosticError, NodeValueError, did_you_mean

# Relay's numbers of the kinds of devices, which its texts use (`device_type=1`).
DEVICE_KINDS = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10}
KIND_ALIASES = {"gpu": "cuda", "llvm": "cpu", "c": "cpu", "nvptx": "cuda"}


@dataclass(frozen=True)
class Device:
    """A device by kind and number. Every device means this CPU."""

    kind: str = "cpu"
    device_id: int = 0

    @property
    def device_type(self) -> int:
        """Relay's number of the kind."""
        return DEVICE_KINDS[self.kind]

    @property
    def exist(self) -> bool:
        """Whether code for the device can run here; it runs on the CPU."""
        return True

    def sync(self) -> None:
        """Wait for the device. Nothing runs asynchronously, so this returns at once."""

    def __str__(self) -> str:
        return f"{self.kind}({self.device_id})"

    __repr__ = __str__


def device(kind: Any, device_id: int = 0) -> Device:
    """Return the device of a kind ("cpu", "cuda:1", Relay's number 1). Raises `DiagnosticError` for an unknown kind."""
    if isinstance(kind, Device):
        return kind
    if isinstance(kind, int):
        name = next((n for n, number in DEVICE_KINDS.items() if number == kind), str(kind))
    elif not isinstance(kind, str):
        raise DiagnosticError(Diagnostic(f"a device is named by a string or a number, not by a {type(kind).__name__}"))
    else:
        words = kind.split()
        name, _, number = (words[0] if words else "").partition(":")
        device_id = int(number) if number.isdecimal() else device_id
        name = KIND_ALIASES.get(name, name)
    if name not in DEVICE_KINDS:
        hint = did_you_mean(name, [*DEVICE_KINDS, *KIND_ALIASES]) or f"known: {', '.join(DEVICE_KINDS)}"
        raise NodeValueError(Diagnostic(f"there is no kind of device `{name}`", hint=hint))
    return Device(name, device_id)


def cpu(device_id: int = 0) -> Device:
    """Return a CPU device."""
    return Device("cpu", device_id)


def cuda(device_id: int = 0) -> Device:
    """Return a CUDA device. Programs placed on it run on this CPU."""
    return Device("cuda", device_id)


gpu = cuda


class TargetKind(str):
    """The kind of a target: a string with a property `name`, as in TVM."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The kind as a plain string."""
        return str(self)


_TARGETS: ContextVar[tuple[Target, ...]] = ContextVar("targets", default=())


@dataclass(frozen=True)
class Target:
    """What a program is compiled for: a kind such as "llvm" and its options, as written in Relay's target strings.

    `Target("llvm -mcpu=native", host="llvm")` and `Target({"kind": "llvm"})` read what Relay's programs write.
    `with Target("llvm"):` makes it the current one, as programs do around passes; here that has no further effect.
    """

    kind: str = "llvm"  # a TargetKind after `__post_init__`
    options: tuple[tuple[str, str], ...] = field(default=())
    host: Target | None = None

    def __post_init__(self) -> None:
        written: Any = self.kind
        second: Any = self.options
        host: Any = self.host
        if isinstance(second, (str, Target)):  # Relay's second argument is the host
            host, second = second, ()
        if not isinstance(written, str) or written.split() != [written]:
            parsed = _parse_text(written)
            written, second, host = parsed.kind, (*parsed.options, *second), host or parsed.host
        object.__setattr__(self, "kind", TargetKind(written))
        object.__setattr__(self, "options", tuple(second))
        object.__setattr__(self, "host", None if host is None else _parse_text(host))

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """Return the target of the innermost `with`. Raises `DiagnosticError` outside when it must be there."""
        entered = _TARGETS.get()
        if not entered and not allow_none:
            hint = 'write `with Target("llvm"):` around it'
            raise DiagnosticError(Diagnostic("no target is current", hint=hint))
        return entered[-1] if entered else None

    def __enter__(self) -> Target:
        _TARGETS.set((*_TARGETS.get(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        _TARGETS.set(_TARGETS.get()[:-1])

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the target: the option `keys`, by default "cpu"."""
        return tuple(self.attrs.get("keys", "cpu").split(","))

    def export(self) -> dict[str, Any]:
        """Return the target as a dict, from which `Target` makes an equal one."""
        options = {**self.attrs, "keys": list(self.keys)} if "keys" in self.attrs else self.attrs
        return {"kind": str(self.kind), **options, **({} if self.host is None else {"host": self.host.export()})}

    @staticmethod
    def of(target: Any, host: Any = None) -> Target:
        """Return a target from a target, a string such as "llvm -mcpu=native", a dict with "kind", or None."""
        result = _parse_text(target)
        return result if host is None else Target(result.kind, result.options, _parse_text(host))

    @staticmethod
    def canon_target(target: Any) -> Target | None:
        """Return a target from a target, a string or a dict; None for None."""
        return None if target is None else _parse_text(target)

    @staticmethod
    def canon_target_and_host(target: Any, target_host: Any = None, *_: Any) -> tuple[Target | None, Target | None]:
        """Return a target with its host, and the host."""
        if target is None:
            return None, Target.canon_target(target_host)
        result = Target.of(target, target_host)
        return result, result.host

    @staticmethod
    def canon_multi_target(multi_targets: Any) -> list[Target]:
        """Return a list of targets from one, from a list of them, or from a dict of them by device."""
        if isinstance(multi_targets, dict) and "kind" not in multi_targets:
            multi_targets = list(multi_targets.values())
        several = multi_targets if isinstance(multi_targets, (list, tuple)) else [multi_targets]
        return [_parse_text(target) for target in several if target is not None]

    @staticmethod
    def canon_multi_target_and_host(target: Any, target_host: Any = None) -> list[Target]:
        """Return a list of targets, each with its host."""
        return [Target.of(one, target_host) for one in Target.canon_multi_target(target)]

    def with_host(self, host: Any) -> Target:
        """Return the target with another host."""
        return Target(self.kind, self.options, _parse_text(host))

    def __getattr__(self, name: str) -> Any:
        """Return an option by Relay's name for it (`mcpu`, `arch`, `libs`, ...), its default if it is not written."""
        if name not in _DEFAULTS:
            raise AttributeError(f"a target has no `{name}`", name=name, obj=self)
        written = self.attrs.get({"device_name": "device"}.get(name, name.replace("_", "-")))
        default = _OF_KINDS.get((self.kind, name), _DEFAULTS[name])
        if written is None:
            return default
        return written.split(",") if isinstance(default, list) else type(default)(written)

    @property
    def attrs(self) -> dict[str, str]:
        """The options by name."""
        return dict(self.options)

    def __str__(self) -> str:
        return " ".join([self.kind, *(f"-{name}={value}" if value else f"-{name}" for name, value in self.options)])


# The options that programs read as properties of a target, with their defaults.
_DEFAULTS: dict[str, Any] = {
    "arch": "",
    "device_name": "",
    "libs": [],
    "mattr": [],
    "max_function_args": 0,
    "max_num_threads": 1,
    "mcpu": "",
    "model": "unknown",
    "tag": "",
    "thread_warp_size": 1,
}
# Defaults that differ by kind. `max_function_args` is how many arguments a kernel takes; 0 stands for any number.
_OF_KINDS: dict[tuple[str, str], Any] = {
    ("cuda", "arch"): "sm_50",  # Relay's, where no GPU is found
    ("metal", "max_function_args"): 31,
    ("opencl", "max_function_args"): 128,
}
# Options of targets from the time before Relay had executors and runtimes.
_OF_BUILDS = ("executor", "interface-api", "link-params", "runtime", "system-lib", "unpacked-api")
_OPTION = re.compile(r"-+([\w-]+)(?:=(\S*))?\Z")


def _parse_text(target: Any) -> Target:
    if target is None:
        return Target()
    if isinstance(target, Target):
        return target
    if isinstance(target, dict):
        rest = {k: v for k, v in target.items() if k not in ("kind", "host")}
        pairs = tuple(
            (str(k), ",".join(map(str, v)) if isinstance(v, (list, tuple)) else str(v)) for k, v in rest.items()
        )
        return Target(str(target.get("kind", "llvm")), pairs, target.get("host"))
    if not isinstance(target, str) or not target.split():
        raise DiagnosticError(Diagnostic('a target is a string such as "llvm", a dict or a Target', found=repr(target)))
    kind, *words = target.split()
    options: list[tuple[str, str]] = []
    for word in words:
        match = _OPTION.match(word)
        if match is None:
            raise DiagnosticError(Diagnostic(f"`{word}` is not an option of a target", hint="write it as -name=value"))
        if match[1] in _OF_BUILDS:
            hint = "give it to `relay.build(executor=Executor(...), runtime=Runtime(...))`"
            raise NodeValueError(Diagnostic(f"Cannot recognize '{word}': it is an option of a build", hint=hint))
        options.append((match[1], match[2] or ""))
    return Target(kind, tuple(options))


@dataclass(frozen=True)
class VirtualDevice:
    """The planned location of a value: a device, the target of its code, and a memory scope."""

    device: Device = field(default_factory=Device)
    target: Target | None = None
    memory_scope: str = ""

    @property
    def device_type_int(self) -> int:
        """Relay's number of the kind of device."""
        return self.device.device_type

    device_type = device_type_int

    @property
    def virtual_device_id(self) -> int:
        """The number of the device among those of its kind."""
        return self.device.device_id
