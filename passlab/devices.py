"""Devices and targets as light values, so that programs written for other machines read unchanged.

Everything runs on this CPU: any target is accepted, kept and printed back, without further effect.
"""

from __future__ import annotations

import json
import re
import shlex
from contextvars import ContextVar
from dataclasses import InitVar, dataclass, field
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, DiagnosticError, NodeValueError, did_you_mean, type_in_words

# Relay's numbers of the kinds of devices, which its texts use (`device_type=1`).
DEVICE_KINDS = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10}
KIND_ALIASES = {"gpu": "cuda", "llvm": "cpu", "c": "cpu", "nvptx": "cuda"}


@dataclass(frozen=True)
class Device:
    """A device by kind and number. Every device means this CPU.

    >>> passlab.Device("cpu", 2).device_id
    2
    """

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
    """Return the device of a kind ("cpu", "cuda:1", Relay's number 1).

    Raises `NodeValueError` for an unknown kind, `DiagnosticError` for other values.

    >>> passlab.device("cuda:1"), passlab.device("cpu")
    (cuda(1), cpu(0))
    """
    if isinstance(kind, Device):
        return kind
    if isinstance(kind, int):
        name = next((n for n, number in DEVICE_KINDS.items() if number == kind), str(kind))
    elif not isinstance(kind, str):
        raise DiagnosticError(Diagnostic(f"a device is named by a string or a number, not by {type_in_words(kind)}"))
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
    """Return a CPU device.

    >>> passlab.cpu(), passlab.cpu(1).device_id
    (cpu(0), 1)
    """
    return Device("cpu", device_id)


def cuda(device_id: int = 0) -> Device:
    """Return a CUDA device. Programs placed on it run on this CPU.

    >>> passlab.cuda(1), passlab.cuda(1) == passlab.gpu(1)
    (cuda(1), True)
    """
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


@checked
@dataclass(frozen=True)
class Target:
    """What a program is compiled for: a kind such as "llvm" and its options, as written in Relay's target strings.

    `Target("llvm -mcpu=native", host="llvm")` and `Target({"kind": "llvm"})` read what Relay's programs write.
    `with Target("llvm"):` makes it the current one, as programs do around passes; here that has no further effect.

    >>> print(passlab.Target("llvm -mcpu=skylake").kind)
    llvm
    """

    kind: str = "llvm"  # a TargetKind after `__post_init__`
    options: tuple[tuple[str, str], ...] = field(default=())
    host: Target | None = None
    target: InitVar[Any] = None  # Relay's name of the first argument

    def __post_init__(self, target: Any) -> None:
        written: Any = self.kind if target is None else target
        second: Any = self.options
        host: Any = self.host
        if isinstance(second, (str, dict, Target)):  # Relay's second argument is the host
            host, second = second, ()
        second = second or ()  # Target(target, None)
        if not isinstance(written, str) or written.split() != [written] or _gpu(written) is not None:
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
        """What rules are registered for: the option `keys`, else the option `device` and the keys of the kind."""
        written = dict(self.options)
        if "keys" in written:
            return tuple(written["keys"].split(","))
        keys = _KEYS.get(self.kind, (str(self.kind),))
        return keys if "device" not in written else (written["device"], *(k for k in keys if k != written["device"]))

    def export(self) -> dict[str, Any]:
        """Return the target as a dict, from which `Target` makes an equal one."""
        host = {} if self.host is None else {"host": self.host.export()}
        return {"kind": str(self.kind), **dict(self.options), **self.attrs, **host}

    @staticmethod
    def list_kinds() -> list[str]:
        """Return the kinds of targets that have keys of their own; any other word is a kind too."""
        return sorted(_KEYS)

    @staticmethod
    def of(target: Any, host: Any = None) -> Target:
        """Return a target from a target, a string such as "llvm -mcpu=native", a dict with "kind", or None.

        Of a list, or a dict by device, it is the target of what no device is named for: the only one, or a CPU. Raises
        `DiagnosticError` for anything else.
        """
        if _is_several(target):
            several = Target.canon_multi_target(target)
            target = next((one for one in several if len(several) == 1 or "cpu" in one.keys), None)
        result = _parse_text(target)
        return result if host is None else Target(result.kind, result.options, _parse_text(host))

    @staticmethod
    def canon_target(target: Any) -> Target | None:
        """Return a target from a target, a string or a dict; None for None. Raises `DiagnosticError` for others."""
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
        """Return a list of targets from one, from a list of them, or from a dict of them by device.

        Raises `DiagnosticError` for anything else.
        """
        if isinstance(multi_targets, dict) and "kind" not in multi_targets:
            multi_targets = list(multi_targets.values())
        several = multi_targets if isinstance(multi_targets, (list, tuple)) else [multi_targets]
        return [_parse_text(target) for target in several if target is not None]

    @staticmethod
    def canon_multi_target_and_host(target: Any, target_host: Any = None) -> list[Target]:
        """Return a list of targets, each with its host."""
        return [Target.of(one, target_host) for one in Target.canon_multi_target(target)]

    @staticmethod
    def canon_target_map_and_host(
        target_map: dict[Any, Any], target_host: Any = None
    ) -> tuple[dict[Target, Any], Target | None]:
        """Return a dict whose keys are targets with their host, and the host."""
        return {Target.of(one, target_host): value for one, value in target_map.items()}, Target.canon_target(
            target_host
        )

    def with_host(self, host: Any) -> Target:
        """Return the target with another host. Raises `DiagnosticError` if `host` does not name a target."""
        return Target(self.kind, self.options, _parse_text(host))

    def __getattr__(self, name: str) -> Any:
        """Return an option by Relay's name for it (`mcpu`, `arch`, `libs`, ...), its default if it is not written."""
        if name not in _DEFAULTS:
            raise AttributeError(f"a target has no `{name}`", name=name, obj=self)
        options = dict(self.options)
        written = options.get({"device_name": "device"}.get(name, name.replace("_", "-")), options.get(name))
        default = _OF_KINDS.get((self.kind, name), _DEFAULTS[name])
        if written is None:
            return default
        return written.split(",") if isinstance(default, list) else type(default)(written)

    @property
    def attrs(self) -> dict[str, Any]:
        """The options by name: lists, numbers and targets where Relay has them, else strings."""
        return {name: _option_value(name, value) for name, value in self.options}

    def __str__(self) -> str:
        return " ".join(
            [self.kind, *(f"-{name}={_quoted(value)}" if value else f"-{name}" for name, value in self.options)]
        )


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
# The keys of the kinds of targets, by which programs register rules.
_KEYS = {
    **dict.fromkeys(("c", "llvm", "hybrid", "stackvm"), ("cpu",)),
    **{kind: (kind, "gpu") for kind in ("cuda", "metal", "opencl", "rocm", "vulkan", "webgpu")},
    **{kind: (kind,) for kind in ("composite", "ext_dev", "hexagon", "nvptx")},
}
_LISTS = ("cl-opt", "keys", "libs", "mattr")
# The GPUs of NVIDIA that target strings name: their architecture and the number of registers of a block.
_GPUS = {
    "geforce-gtx-1080-ti": ("sm_61", 65536),
    "geforce-rtx-2080-ti": ("sm_75", 65536),
    "geforce-rtx-3090": ("sm_86", 65536),
    "jetson-agx-xavier": ("sm_72", 65536),
    "jetson-nano": ("sm_53", 32768),
    "nvidia-a100": ("sm_80", 65536),
    "nvidia-t4": ("sm_75", 65536),
    "nvidia-v100": ("sm_70", 65536),
}
# Options of targets from the time before Relay had executors and runtimes.
_OF_BUILDS = ("executor", "interface-api", "link-params", "runtime", "system-lib", "unpacked-api")
_OPTION = re.compile(r"-+([\w-]+)(?:=(.*))?\Z", re.DOTALL)


def _option_value(name: str, text: str) -> Any:
    """Return the value of an option that is written as `text`."""
    if name in _LISTS:
        return text.split(",")
    if name == "devices":
        return [_parse_text(target) for target in text.split(",")]
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    is_number = name.startswith(("max", "registers", "thread")) and text.isdecimal()
    return int(text) if is_number else text


def _is_several(target: Any) -> bool:
    """Whether this is a list of targets, or a dict of them by device: by `Device`, its number, or its name."""
    if isinstance(target, dict):
        names = {*DEVICE_KINDS, *KIND_ALIASES}
        return bool(target) and all(isinstance(key, (Device, int)) or key in names for key in target)
    return isinstance(target, (list, tuple))


def _quoted(text: str) -> str:
    return f"'{text}'" if text.split() != [text] else text


def _option_text(name: Any, value: Any) -> str:
    """Return the text of the value of a target's option: the parts of a list with commas between them."""
    if isinstance(value, dict):
        raise NodeValueError(Diagnostic(f"the option `{name}` of a target is a list or one value", found=repr(value)))
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _gpu(name: str) -> Target | None:
    """Return the target of an NVIDIA GPU named as in `nvidia/jetson-nano`; None for another name."""
    maker, _, model = name.partition("/")
    if maker != "nvidia" or model not in _GPUS:
        return None
    arch, registers = _GPUS[model]
    limits = {"max_shared_memory_per_block": 49152, "max_threads_per_block": 1024, "thread_warp_size": 32}
    options = {"arch": arch, **limits, "registers_per_block": registers, "tag": name}
    return Target("cuda", tuple((option, str(value)) for option, value in options.items()))


def _parse_text(target: Any) -> Target:
    if target is None:
        return Target()
    if isinstance(target, Target):
        return target
    if isinstance(target, str) and target.lstrip().startswith("{"):
        target = json.loads(target)
    if isinstance(target, dict):
        pairs = tuple((str(k), _option_text(k, v)) for k, v in target.items() if k not in ("kind", "host"))
        return Target(str(target.get("kind", "llvm")), pairs, target.get("host"))
    if not isinstance(target, str) or not target.split():
        raise DiagnosticError(
            Diagnostic('a target is a string such as "llvm", a dict, a Target, or a list of them', found=repr(target))
        )
    try:
        kind, *words = shlex.split(target)
    except ValueError as error:
        raise DiagnosticError(Diagnostic(f"this is not a target: {error}", found=repr(target))) from error
    return _gpu(kind) or _with_options(kind, words)


def _with_options(kind: str, words: list[str]) -> Target:
    """Return the target of a kind with options such as `-mcpu=x`, and with a host after `--host`."""
    options: list[tuple[str, str]] = []
    host = None
    while words:
        word = words.pop(0)
        match = _OPTION.match(word)
        if match is None:
            raise DiagnosticError(Diagnostic(f"`{word}` is not an option of a target", hint="write it as -name=value"))
        if match[1] in _OF_BUILDS:
            hint = "give it to `relay.build(executor=Executor(...), runtime=Runtime(...))`"
            raise NodeValueError(Diagnostic(f"Cannot recognize '{word}': it is an option of a build", hint=hint))
        if match[1] == "host":
            host = match[2] or (words.pop(0) if words else None)
        else:
            options.append((match[1], match[2] or ""))
    return Target(kind, tuple(options)) if host is None else Target(kind, tuple(options)).with_host(host)


@dataclass(frozen=True)
class VirtualDevice:
    """The planned location of a value: a device, the target of its code, and a memory scope.

    >>> passlab.VirtualDevice(passlab.cpu(0)).device
    cpu(0)
    """

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
        """The number of the device among the devices of its kind."""
        return self.device.device_id
