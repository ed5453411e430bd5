"""`relay.backend`: the executors and runtimes that Relay's programs name in build options.

    relay.build(mod, executor=relay.backend.Executor("aot"), runtime=relay.backend.Runtime("cpp"))

`vm` is the virtual machine at the address of Relay's own sources; `interpreter` has the classes of values, `_backend`
the memory plan of a function.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from passlab.errors import Diagnostic, RunError, did_you_mean
from passlab.relay import vm
from passlab.relay.backend import _backend, interpreter

_TYPE_KEYS = {bool: "IntImm", int: "IntImm", str: "runtime.String"}  # Relay's names of the types of options


class _ConfiguredName:
    """A registered name with options. `choice[option]` is an option's value, None if it has none."""

    registered: ClassVar[dict[str, dict[str, tuple[type, Any]]]]  # name -> option -> its type and its default

    def __init__(self, name: str, options: Mapping[str, Any] | None = None) -> None:
        declared = self._declare(name)
        for key, value in (options or {}).items():
            if key not in declared:
                raise RunError(
                    Diagnostic(
                        f'Attribute "{key}" is not available on this {type(self).__name__}',
                        hint=did_you_mean(str(key), declared) or f"there are {', '.join(declared) or 'none'}",
                    )
                )
            expected = declared[key][0]
            if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
                type_key = _TYPE_KEYS.get(type(value), type(value).__name__)
                message = f'Attribute "{key}" should have type "{_TYPE_KEYS[expected]}" but instead found "{type_key}"'
                raise RunError(message)
        self.name = name
        self.options = {key: default for key, (_, default) in declared.items() if default is not None}
        self.options.update(options or {})

    @classmethod
    def _declare(cls, name: Any) -> dict[str, tuple[type, Any]]:
        if not isinstance(name, str) or name not in cls.registered:
            hint = did_you_mean(str(name), cls.registered) or f"there are {', '.join(cls.registered)}"
            raise RunError(Diagnostic(f'{cls.__name__} "{name}" is not defined', hint=hint))
        return cls.registered[name]

    @classmethod
    def list_registered(cls) -> list[str]:
        """Return the registered names."""
        return list(cls.registered)

    @classmethod
    def list_registered_options(cls, choice: Any) -> dict[str, str]:
        """Return the options of a name and Relay's names of their types. Raises `RunError` for an unknown name."""
        declared = cls._declare(getattr(choice, "name", choice))
        return {key: _TYPE_KEYS[kind] for key, (kind, _) in declared.items()}

    def __getitem__(self, option: str) -> Any:
        return self.options.get(option)

    def __contains__(self, option: object) -> bool:
        return option in self.options

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self.name, self.options) == (other.name, other.options)

    def __hash__(self) -> int:
        return hash((type(self), self.name, tuple(sorted(self.options.items()))))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.options!r})"


class Executor(_ConfiguredName):
    """The name of an executor, "graph" or "aot". The options are Relay's; they change nothing here."""

    registered: ClassVar = {
        "aot": {
            "link-params": (bool, True),
            "unpacked-api": (bool, None),
            "interface-api": (str, None),
            "workspace-byte-alignment": (int, None),
            "constant-byte-alignment": (int, None),
        },
        "graph": {"link-params": (bool, False)},
    }

    def __init__(self, name: str = "graph", options: Mapping[str, Any] | None = None) -> None:
        super().__init__(name, options)


class Runtime(_ConfiguredName):
    """The name of a runtime, "cpp" or "crt". The options are Relay's; they change nothing here."""

    registered: ClassVar = {
        "cpp": {"system-lib": (bool, None), "system-lib-prefix": (str, None)},
        "crt": {"system-lib": (bool, None), "system-lib-prefix": (str, None)},
    }

    def __init__(self, name: str = "cpp", options: Mapping[str, Any] | None = None) -> None:
        super().__init__(name, options)


__all__ = ["Executor", "Runtime", "_backend", "interpreter", "vm"]
