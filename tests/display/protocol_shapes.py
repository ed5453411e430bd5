"""The shapes of `passlab.display.protocol`: as declarations for TypeScript, and as a check of data against them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import types
import typing
from functools import cache
from typing import Any

from typing_extensions import NotRequired, is_typeddict

from passlab.display import protocol
from passlab.display.protocol.widgets import ANSWERS, DATA, REQUESTS, STATES

MODULES = [
    importlib.import_module(f"{protocol.__name__}.{found.name}") for found in pkgutil.iter_modules(protocol.__path__)
]
CLASSES = {
    name: cls
    for module in MODULES
    for name, cls in vars(module).items()
    if inspect.isclass(cls) and cls.__module__ == module.__name__
}
UNIONS = {
    name: union
    for module in MODULES
    for name, union in vars(module).items()
    if isinstance(union, types.UnionType) and not name.startswith("_")
}
HEAD = "// Written by `make bless` from passlab/display/protocol: change the shapes there.\n"
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", None: "null"}


@cache
def fields_of(cls: type) -> dict[str, tuple[Any, bool]]:
    """The type of each field of a class, and whether it is required."""
    hints = typing.get_type_hints(cls, localns={"NotRequired": NotRequired}, include_extras=True)
    fields = {}
    for name, hint in hints.items():
        optional = typing.get_origin(hint) is NotRequired
        needed = not is_typeddict(cls) or name in cls.__required_keys__  # type: ignore[attr-defined]
        fields[name] = (typing.get_args(hint)[0] if optional else hint, needed and not optional)
    return fields


# ---------------------------------------------------------------- declarations
def declarations() -> str:
    """All shapes as declarations of TypeScript."""
    rows = [HEAD]
    for cls in CLASSES.values():
        rows.append(_declared(cls))
    rows += [f"export type {name} = {_type(union)};\n" for name, union in UNIONS.items()]
    states = {name: cls.__name__ for name, cls in STATES.items()}
    states |= {name: f"SelectionState & {{ data: {data.__name__} }}" for name, data in DATA.items()}
    requests = {name: REQUESTS[name].__name__ if name in REQUESTS else "never" for name in states}
    names = {id(union): name for name, union in UNIONS.items()}
    answers = {
        name: names.get(id(ANSWERS[name])) or ANSWERS[name].__name__ if name in ANSWERS else "never" for name in states
    }
    rows.append(_by_script("States", "What the model of each widget holds, by the name of its script.", states))
    rows.append(_by_script("Requests", "What the script of each widget asks of the kernel.", requests))
    rows.append(_by_script("Answers", "What the kernel answers.", answers))
    return "\n".join(rows)


def _by_script(name: str, doc: str, types_: dict[str, str]) -> str:
    lines = "".join(f"  {script}: {types_[script]};\n" for script in sorted(types_))
    return f"/** {doc} */\nexport interface {name} {{\n{lines}}}\n"


def _declared(cls: type) -> str:
    doc = " ".join((cls.__doc__ or "").split())
    fields = fields_of(cls)
    if is_typeddict(cls):
        lines = [f"  {name}{'' if needed else '?'}: {_type(hint)};\n" for name, (hint, needed) in fields.items()]
        return f"/** {doc} */\nexport interface {cls.__name__} {{\n{''.join(lines)}}}\n"
    defaults = cls._field_defaults  # type: ignore[attr-defined]
    parts = [f"{name}{'?' if name in defaults else ''}: {_type(hint)}" for name, (hint, _) in fields.items()]
    return f"/** {doc} */\nexport type {cls.__name__} = [{', '.join(parts)}];\n"


def _type(hint: Any) -> str:
    """A type hint in TypeScript."""
    if hint in PLAIN:
        return PLAIN[hint]
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(dict.fromkeys(map(_type, args)))
    if origin is typing.Literal:
        return " | ".join(str(arg).lower() if isinstance(arg, int) else f'"{arg}"' for arg in args)
    if origin is list:
        inner = _type(args[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(map(_type, args))}]"
    if origin is dict:
        return f"Record<string, {_type(args[1])}>"
    assert hint in CLASSES.values(), hint
    return str(hint.__name__)


# ---------------------------------------------------------------- data
def problems(value: Any, hint: Any, place: str = "data") -> list[str]:
    """What is wrong with some data as JSON has it; nothing where it has the shape `hint`."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        tries = [problems(value, arg, place) for arg in args]
        return [] if [] in tries else min(tries, key=len)
    if origin is typing.Literal:
        return [] if value in args else [f"{place}: {value!r} is none of {args}"]
    if hint in (None, type(None)):
        return [] if value is None else [f"{place}: {value!r} is not null"]
    if hint in (str, int, float, bool):
        kinds = (int, float) if hint is float else hint
        fits = isinstance(value, kinds) and (hint is bool or not isinstance(value, bool))
        return [] if fits else [f"{place}: {value!r} is no {hint.__name__}"]
    if origin is dict:
        if not isinstance(value, dict):
            return [f"{place}: {value!r} is no object"]
        return [one for key, item in value.items() for one in problems(item, args[1], f"{place}.{key}")]
    if origin is list:
        if not isinstance(value, list):
            return [f"{place}: {value!r} is no array"]
        return [one for at, item in enumerate(value) for one in problems(item, args[0], f"{place}[{at}]")]
    if origin is tuple:
        return _array_problems(value, dict(enumerate(args)), len(args), place)
    fields = fields_of(hint)
    if not is_typeddict(hint):
        least = len(fields) - len(hint._field_defaults)
        return _array_problems(value, {name: field for name, (field, _) in fields.items()}, least, place)
    if not isinstance(value, dict):
        return [f"{place}: {value!r} is no object"]
    wrong = [f"{place}.{key} is not declared in {hint.__name__}" for key in value if key not in fields]
    wrong += [f"{place}.{key} is missing" for key, (_, needed) in fields.items() if needed and key not in value]
    known = ((key, item) for key, item in value.items() if key in fields)
    return wrong + [one for key, item in known for one in problems(item, fields[key][0], f"{place}.{key}")]


def _array_problems(value: Any, fields: dict[Any, Any], least: int, place: str) -> list[str]:
    if not isinstance(value, list) or not least <= len(value) <= len(fields):
        return [f"{place}: {value!r} is no array of {len(fields)}"]
    pairs = zip(value, fields.items(), strict=False)
    return [one for item, (name, field) in pairs for one in problems(item, field, f"{place}.{name}")]
