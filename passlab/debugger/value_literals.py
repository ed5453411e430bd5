"""Values typed by users into a field or a terminal: numbers, lists, and a few ways to fill a tensor.

    3    -1e-3    nan    [1, 2, 3]    [[0.5], [1]]    zeros    ones    full 2    arange    random 7    eye    x

Nothing is evaluated: a text has one of these forms, or is the name of a variable. The result has the type of the
value that it replaces: numbers fill a tensor of the same shape, lists are broadcast to that shape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from passlab.debugger.values import Unwritten, kind_text
from passlab.errors import Diagnostic, RunError, did_you_mean
from passlab.evaluate.values import Value

Array = np.ndarray[Any, Any]
MOST = 1 << 20  # characters
_CALL = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?:\(\s*(?P<in>[^()]*)\)|(?P<after>[-+.\w]*))\s*\Z")
FILLS: dict[str, Callable[[tuple[int, ...], float | None], Array]] = {
    "zeros": lambda shape, _: np.zeros(shape),
    "ones": lambda shape, _: np.ones(shape),
    "full": lambda shape, number: np.full(shape, 0.0 if number is None else number),
    "arange": lambda shape, start: np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape) + (start or 0),
    "random": lambda shape, seed: np.random.default_rng(int(seed or 0)).standard_normal(shape),
    "eye": lambda shape, _: _identity(shape),
}
_NUMBERS = {"nan": np.nan, "inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "true": 1.0, "false": 0.0}


def _identity(shape: tuple[int, ...]) -> Array:
    """Return ones on the diagonals of the last two dimensions; all ones for fewer than two dimensions."""
    if len(shape) < 2:
        return np.ones(shape)
    return np.broadcast_to(np.eye(shape[-2], shape[-1]), shape)


def value_of(text: str, old: Value, names: Mapping[str, Any] | None = None) -> Value:
    """Return the value that a text describes, to replace `old`. `names` are variables that it may name.

    Raises `RunError` for a text of another form, and for a list that does not fit the shape.
    """
    text = text.strip()
    if not text or len(text) > MOST:
        raise _unknown(text, names)
    name = text.removeprefix("%")
    if names is not None and name in names and name not in FILLS:
        return _value_of_variable(names[name], old)
    number = _number(text)
    if number is not None:
        return _fill(number, old)
    if text[0] == "[":
        return _with_shape(_parse_list(text), old)
    call = _CALL.match(text)
    if call is None or call["name"] not in FILLS:
        raise _unknown(text, names)
    argument = (call["in"] or call["after"] or "").strip()
    number = _number(argument) if argument else None
    if argument and (number is None or call["name"] in ("zeros", "ones", "eye") or not _usable(call["name"], number)):
        raise RunError(Diagnostic(f"`{call['name']}` does not take `{argument}`", hint="full 2, arange 1, random 7"))
    if not isinstance(old, (np.ndarray, Unwritten)):
        raise RunError(f"`{call['name']}` is a tensor and cannot replace a {kind_text(old) or type(old).__name__}")
    return _with_shape(FILLS[call["name"]](old.shape, number), old)


def _usable(name: str, number: float) -> bool:
    return name != "random" or (number >= 0 and number == int(number))


def _number(text: str) -> float | None:
    if text.lower() in _NUMBERS:
        return _NUMBERS[text.lower()]
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
        return None
    # Integers of up to 18 digits fit into 64 bits; others become floats.
    return int(text) if re.fullmatch(r"[-+]?\d{1,18}", text) else float(text)


def _fill(number: float, old: Value) -> Value:
    if isinstance(old, (np.ndarray, Unwritten)):
        return _cast(np.full(old.shape, number), old)
    if isinstance(old, int) and number == number and abs(number) < 1 << 62:  # `number == number` excludes NaN
        return int(number)
    raise RunError(
        Diagnostic(f"a number cannot replace a {kind_text(old) or type(old).__name__}", hint="name a variable")
    )


def _parse_list(text: str) -> Array:
    try:
        array = np.array(json.loads(text), dtype=np.float64)
    except (ValueError, TypeError, RecursionError) as error:
        raise RunError(
            Diagnostic(f"this is not a list of numbers: {str(error)[:80]}", hint="as in [[1, 2], [3, 4]]")
        ) from None
    return array


def _with_shape(array: Array, old: Value) -> Array:
    if not isinstance(old, (np.ndarray, Unwritten)):
        raise RunError(f"a list cannot replace a {kind_text(old) or type(old).__name__}")
    try:
        return _cast(np.broadcast_to(array, old.shape), old)
    except ValueError:
        what = f"a list of the shape {array.shape} does not fit {kind_text(old)}"
        raise RunError(Diagnostic(what, expected=str(old.shape), found=str(array.shape))) from None


def _cast(array: Array, old: Any) -> Array:
    """Return an array in the dtype of the value it replaces. Raises `RunError` for numbers outside of its range."""
    if old.dtype.kind in "iu":
        bounds = np.iinfo(old.dtype)
        if not np.isfinite(array).all() or (array < bounds.min).any() or (array > bounds.max).any():
            raise RunError(f"these numbers do not fit into {old.dtype.name}")
    with np.errstate(all="ignore"):
        return np.array(array.astype(old.dtype))


def _value_of_variable(value: Value, old: Value) -> Value:
    """Return the value of a variable; numbers that replace a tensor are broadcast to its shape."""
    if isinstance(old, (np.ndarray, Unwritten)) and isinstance(value, (np.ndarray, np.generic, int, float, list)):
        try:
            return _with_shape(np.asarray(value), old)
        except (ValueError, TypeError) as error:
            raise RunError(f"this variable is not a tensor of numbers: {error}") from None
    return value


def _unknown(text: str, names: Mapping[str, Any] | None) -> RunError:
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    words = [*FILLS, *(names or ())]
    hint = did_you_mean(text, words) or f"a number, a list, {', '.join(FILLS)}{', a variable' if names else ''}"
    return RunError(Diagnostic(f"`{shown}` is not a value" if text else "a value is missing", hint=hint))
