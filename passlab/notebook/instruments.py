"""The instruments of `%instruments`: passlab's by short names, the notebook's own by theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from passlab import instrument
from passlab.errors import Diagnostic, PassError, did_you_mean, type_in_words


class _Nowhere:
    """A file that drops the text of an instrument whose view is shown instead."""

    def write(self, text: str) -> None:
        """Drop the text; the instrument itself keeps what it printed."""


NOWHERE = _Nowhere()


class BuiltIn(NamedTuple):
    """An instrument of passlab: the name of its class in `passlab.instrument`, and its options."""

    kind: str
    options: Mapping[str, Any] = {}


# The instruments `%instruments` knows, by the name typed there.
INSTRUMENTS: dict[str, BuiltIn] = {
    "timing": BuiltIn("PassTimingInstrument"),
    "print": BuiltIn("PrintIRAfter", {"file": NOWHERE}),
    "diff": BuiltIn("PrintIRAfter", {"only_changed": True, "diff": True, "file": NOWHERE}),
    "memory": BuiltIn("MemoryInstrument"),
    "statistics": BuiltIn("StatisticsInstrument"),
    "progress": BuiltIn("ProgressInstrument"),
    "verify": BuiltIn("VerifyInstrument"),
    "validate": BuiltIn("Validate"),
}


def instrument_of(name: str, namespace: Mapping[str, Any]) -> Any:
    """Return the instrument of a name: a new one of passlab's, or one of the notebook (for a class, a new instance).

    Raises `PassError` for any other name.
    """
    value = namespace.get(name)
    if isinstance(value, type) and issubclass(value, instrument.PassInstrument):
        return value()
    if isinstance(value, instrument.PassInstrument):
        return value
    if name in INSTRUMENTS:
        kind, options = INSTRUMENTS[name]
        return getattr(instrument, kind)(**options)
    if value is not None:
        kind = "a class" if isinstance(value, type) else type_in_words(value)
        hint = f"decorate the class with `@passlab.instrument.pass_instrument`; `{name}` is {kind}"
        raise PassError(Diagnostic(f"`{name}` is not an instrument", hint=hint))
    own = [n for n, v in namespace.items() if not n.startswith("_") and _is_instrument(v)]
    hint = did_you_mean(name, [*INSTRUMENTS, *own]) or f"there are {', '.join([*INSTRUMENTS, *own])}"
    raise PassError(Diagnostic(f"there is no instrument `{name}`", hint=hint))


def _is_instrument(value: Any) -> bool:
    """Whether a value is an instrument, or a class of instruments that the notebook defines."""
    if isinstance(value, type):
        return issubclass(value, instrument.PassInstrument) and value.__module__ == "__main__"
    return isinstance(value, instrument.PassInstrument)
