r"""Numbers, strings and names: parsing and printing.

Numbers are printed with as few digits as identify the same bits, and at least as many as TVM prints. Strings have the
escapes of C (`
`, `\"`, `\033`) and `\xNN`, `\uNNNN`, `\UNNNNNNNN`; an unknown escape is kept as it is. Names that are not valid bare
(special characters, keywords) are written as strings: `%"a.b:0"`, and a plain `"odd name"` for types, type parameters,
constructors and attribute keys.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np

from passlab import limits
from passlab.op.dtypes import array_dtype

Array = np.ndarray[Any, Any]

KEYWORDS = frozenset(
    (
        *("let", "fn", "def", "if", "else", "type", "match", "extern", "free_var"),
        *("ref", "ref_read", "ref_write", "True", "False", "_"),
    )
)

_BARE = re.compile(r"[A-Za-z_]\w*(?:/\w+)*\Z", re.ASCII)
_BARE_LOCAL = re.compile(r"[A-Za-z_]\w*(?:/\w+)*(?:(?:\.\w+)*\.[A-Za-z_]\w*(?:/\w+)*)?\Z", re.ASCII)
_BARE_KEY = re.compile(r"[A-Za-z_]\w*(?:/\w+)*(?:\.[A-Za-z_]\w*(?:/\w+)*)*\Z", re.ASCII)
_NUMBER = re.compile(
    r"(?P<sign>-*)(?:(?P<word>inf|nan)|(?P<digits>\d+)(?P<rest>(?:\.\d*)?(?:[eE][+-]?\d+)?))(?P<suffix>bf16|f(?:16|32|64)?|i|[iu]\d+)?\Z"
)
LITERAL_WORD = re.compile(r"-*(?:inf|nan)(?:bf16|f16|f32|f64|f)\Z")
_SUFFIXES = {
    "f": "float32", "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16",
    "i": "int32", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
}  # fmt: skip
_SUFFIX_OF = {dtype: suffix for suffix, dtype in reversed(_SUFFIXES.items())} | {"int32": ""}


class LiteralError(ValueError):
    """An invalid literal; the parser adds the location. `hint` is the correct form."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


# ---------------------------------------------------------------- numbers
def read_number(text: str, wide: bool = False) -> tuple[int | float, str]:
    """Return the value and dtype name of a number. Raises `LiteralError` for a malformed or unrepresentable one.

    With `wide`, floats have double precision, whatever their suffix.
    """
    limits.check("numeral_digits", len(text), "this number")
    match = _NUMBER.match(text)
    if match is None:
        raise LiteralError(f"invalid number `{text}`", "a number is digits and a suffix: 1, 1i64, 1.5f, 1e-3f16, 2u8")
    sign, word, digits, rest, suffix = match.group("sign", "word", "digits", "rest", "suffix")
    negative = len(sign) % 2 == 1
    if suffix and suffix not in _SUFFIXES:
        raise LiteralError(f"invalid numeric suffix `{suffix}`", f"the suffixes are {', '.join(_SUFFIXES)}")
    if word or (suffix and "f" in suffix):
        body = word or digits + rest
        value, dtype = float(body), _SUFFIXES["f64" if wide else suffix or "f"]
        if body != "inf" and value > _largest(dtype):
            raise LiteralError(
                f"floating point number `{text}` unrepresentable in width {array_dtype(dtype).itemsize * 8}"
            )
        return -value if negative else value, dtype
    if rest:
        raise LiteralError(f"invalid integer number `{text}`", f"a float needs its suffix: `{text}f`")
    return _read_int(text, -int(digits) if negative else int(digits), suffix)


def read_integer(text: str) -> int:
    """Return the value of digits without a suffix, of any width: attributes hold integers of any size."""
    limits.check("numeral_digits", len(text), "this number")
    digits = text.lstrip("-")
    return -int(digits) if (len(text) - len(digits)) % 2 else int(digits)


def _read_int(text: str, value: int, suffix: str | None) -> tuple[int, str]:
    if suffix is None:
        if -(2**31) <= value < 2**31:
            return value, "int32"
        suffix = "i64"
    bits = int(suffix[1:] or 32)
    low, high = (0, 2**bits) if suffix[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    if not low <= value < high:
        raise LiteralError(
            f"integer number `{text}` unrepresentable in width {bits}", f"{_SUFFIXES[suffix]} holds {low} to {high - 1}"
        )
    return value, _SUFFIXES[suffix]


@lru_cache(maxsize=8)
def _largest(dtype: str) -> float:
    """Return the largest literal of a float dtype: its maximum, or the shortest text of it, which may be larger."""
    kind = array_dtype(dtype)
    bits = {"float16": 0x7BFF, "bfloat16": 0x7F7F}.get(dtype)
    largest = float(np.array(bits, np.uint16).view(kind)) if bits is not None else float(np.finfo(kind).max)
    return max(largest, float(_digits(largest, dtype)))


def _as_scalar(value: float, dtype: str) -> Any:
    with np.errstate(all="ignore"):
        return array_dtype(dtype).type(value)


@lru_cache(maxsize=4096)
def number_array(text: str) -> Array:
    """Return the read-only 0-d array of a numeric literal."""
    value, dtype = read_number(text)
    array: Array = np.array(_as_scalar(value, dtype), dtype=array_dtype(dtype))
    array.flags.writeable = False
    return array


TRUE: Array = np.array(True)
FALSE: Array = np.array(False)
TRUE.flags.writeable = FALSE.flags.writeable = False


def scalar_text(array: Array) -> str | None:
    """Return a 0-d array as a literal; None if no literal reproduces it (other ranks and dtypes, most NaNs)."""
    if array.ndim:
        return None
    dtype = array.dtype.name
    if dtype == "bool":
        return "True" if array else "False"
    suffix = _SUFFIX_OF.get(dtype)
    if suffix is None:
        return None
    if "float" not in dtype:
        return f"{int(array)}{suffix}"
    if math.isnan(float(array)):
        return f"nan{suffix}" if array.tobytes() == np.array(np.nan, array.dtype).tobytes() else None
    value = float(array)
    return (_digits(value, dtype) if value else "-0" if math.copysign(1, value) < 0 else "0") + suffix


@lru_cache(maxsize=4096)
def _digits(value: float, dtype: str) -> str:
    """Return the shortest decimal of six digits or more that reproduces `value` in its dtype."""
    for precision in range(6, 18):
        text = f"{value:.{precision}g}"
        back = float(text)
        if back == value or (precision < 12 and dtype != "float64" and float(_as_scalar(back, dtype)) == value):
            return text
    return repr(value)


def float_text(value: float) -> str:
    """Return an attribute's float as text; attributes hold double precision whatever their suffix."""
    if value == 0 or value != value:
        return "nanf" if value != value else "-0f" if math.copysign(1, value) < 0 else "0f"
    return _digits(value, "float64") + "f"


# ---------------------------------------------------------------- strings
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    '"': '"',
    "\\": "\\",
    "'": "'",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "?": "?",
    "0": "\0",
}
_ESCAPE = re.compile(
    r"((?:\\[0-3][0-7]{2})+)|\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\(.)", re.DOTALL
)
_PLAIN = re.compile(r'[^"\\]*\Z')
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def read_string(text: str) -> str:
    """Return the value of a quoted string."""
    inner = text[1:-1]
    return _ESCAPE.sub(_unescape, inner) if "\\" in inner else inner


def _unescape(match: re.Match[str]) -> str:
    octal, *codes, char = match.groups()
    if octal:  # TVM escapes the bytes of UTF-8
        raw = bytes(int(digits, 8) for digits in octal.split("\\")[1:])
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("latin-1")
    code = next((c for c in codes if c), None)
    if code is not None:
        return chr(int(code, 16)) if int(code, 16) < 0x110000 else match[0]
    return _ESCAPES.get(char, match[0])


def quote(text: str) -> str:
    """Return a string in quotes, with all special characters escaped."""
    if text.isprintable() and _PLAIN.match(text):
        return f'"{text}"'
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else _escape(c) for c in text) + '"'


def _escape(char: str) -> str:
    code = ord(char)
    return _SHORT.get(char) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


# ---------------------------------------------------------------- names
@lru_cache(maxsize=65536)
def name_text(name: str) -> str:
    """Return the text of a name: bare if the grammar allows, otherwise quoted."""
    return name if _BARE.match(name) and name not in KEYWORDS and not LITERAL_WORD.match(name) else quote(name)


@lru_cache(maxsize=65536)
def local_text(name: str) -> str:
    """Return the text of a local or global name after its `%` or `@`: bare if the grammar allows.

    Dots are allowed in it, as in `%layer1.0.weight`, unless a number comes last: `%x.0` is a projection.
    """
    return name if _BARE_LOCAL.match(name) else quote(name)


@lru_cache(maxsize=4096)
def key_text(name: str) -> str:
    """Return the text of an attribute's name; dots are allowed in it."""
    bare = _BARE_KEY.match(name) and name not in KEYWORDS and not LITERAL_WORD.match(name)
    return name if bare and name not in ("virtual_device", "attrs_type_key") else quote(name)
