"""The operators, dtypes and numbers that the code of a pass mentions: programs that contain them make it do something.

Code objects are read, with the functions, closures and globals that they use; nothing is run.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from passlab.ir.op import Op
from passlab.transform.base import Pass
from passlab.transform.sequential import Sequential

DTYPES = ("float32", "int32", "uint8", "int8", "int64", "float16", "bool", "float64")
MOST = 200  # functions and values that are read


@dataclass
class ConstantsInPass:
    """Names of operators, dtypes and numbers, each once, in the order of their first mention."""

    operators: list[str] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)


def constants_in_pass(pass_: Pass) -> ConstantsInPass:
    """Return what the code of a pass, or of the passes of a pipeline, mentions."""
    result = ConstantsInPass()
    by_last: dict[str, list[str]] = {}  # `conv2d` for `nn.conv2d`: code names the last part only
    for name in Op.list_op_names():
        by_last.setdefault(name.rsplit(".", 1)[-1], []).append(name)
    for value in _values(pass_):
        if isinstance(value, str):
            names = [value] if value in Op.list_op_names() else by_last.get(value, []) if value.isidentifier() else []
            result.operators += [name for name in names if name not in result.operators]
            if value in DTYPES and value not in result.dtypes:
                result.dtypes.append(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e6:
            if float(value) not in result.numbers:
                result.numbers.append(float(value))
    return result


def _values(pass_: Pass) -> Iterator[Any]:
    """Yield names and constants in the code of a pass."""
    worklist: list[Any] = [pass_]
    seen: set[int] = set()
    while worklist and len(seen) < MOST:
        value = worklist.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (str, int, float)):
            yield value
        elif isinstance(value, CodeType):
            yield from value.co_names
            worklist += value.co_consts
        elif isinstance(value, FunctionType):
            worklist.append(value.__code__)
            worklist += [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
            used = (value.__globals__.get(name) for name in _names_in(value.__code__))
            worklist += [v for v in used if isinstance(v, (FunctionType, str, int, float, tuple)) and _is_own(v, value)]
        elif isinstance(value, (tuple, list, frozenset, set)):
            worklist += list(value)[:MOST]
        elif isinstance(value, Op):
            yield value.name
        elif isinstance(value, Sequential):
            worklist += value.passes
        elif isinstance(value, Pass):
            own = getattr(value, "_user_object", value)
            methods = inspect.getmembers(type(own), inspect.isfunction)
            worklist += [method for _, method in methods if method.__module__ != Pass.__module__]  # the user's own
            worklist += [getattr(value, "pass_func", None), *vars(own).values()]
        elif inspect.ismethod(value):
            worklist.append(value.__func__)


def _names_in(code: CodeType) -> Iterator[str]:
    """Yield the names that a function uses, including names in functions inside it."""
    worklist = [code]
    while worklist:
        inner = worklist.pop()
        yield from inner.co_names
        worklist += [const for const in inner.co_consts if isinstance(const, CodeType)]


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading an empty cell raises
    except ValueError:
        return False
    return True


def _is_own(value: Any, user: FunctionType) -> bool:
    """Whether a global is data, or a function of the same package as the function that uses it."""
    return not isinstance(value, FunctionType) or _package(value) == _package(user)


def _package(function: FunctionType) -> str:
    return (function.__module__ or "").partition(".")[0]
