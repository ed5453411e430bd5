"""The stubs of modules whose names are found at run time, written from the declarations: operators, passes, addresses.

`pytest tests/package --bless` writes them; a test compares them. They are files of the repository, not of the build:
the package reads stubs itself (`passlab.lazy`), editors read them in a checkout, and building a wheel needs no NumPy.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import keyword
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import passlab
from passlab.ir.attrs import REQUIRED, Field
from passlab.ir.expr import Constant
from passlab.ir.op import Op
from passlab.op.declare import OpBuilder
from passlab.passes import ALIASES, FUNCTIONS, PASSES
from passlab.relay.addresses import ADDRESSES, _Names, _Operators, _Same
from passlab.relay.operators import COMPOSITIONS

PACKAGE = Path(passlab.__path__[0])
HEADER = (
    '"""{doc}\n\nWritten from the declarations by `pytest tests/package --bless`; a test holds it to them.\n"""\n\n'
)

# ------------------------------------------------------------------------------------------------------------- operators

# What the conversions of `passlab.op.attr_fields` accept. A law holds these to the conversions themselves.
TYPES = {
    "int": "SupportsIndex",
    "float": "SupportsFloat",
    "bool": "bool",
    "str": "str",
    "dtype": "DTypeLike",
    "shape": "Iterable[SupportsIndex | Dim]",
    "list of int": "Iterable[SupportsIndex]",
    "int or list of int": "SupportsIndex | Iterable[SupportsIndex]",
    "list of float": "Iterable[SupportsFloat]",
    "list of lists of int": "Iterable[Iterable[SupportsIndex]]",
    "expression": "Expr",
    "value": "object",
}
OPERAND = "Operand"
IMPORTS = {
    "collections.abc": ("Callable", "Iterable", "Sequence"),
    "typing": ("Any", "Literal", "SupportsFloat", "SupportsIndex", "overload"),
    "numpy.typing": ("DTypeLike",),
    "passlab.ir.expr": ("Call", "Constant", "Expr", "Tuple"),
    "passlab.ir.tuple_wrapper": ("TupleWrapper",),
    "passlab.ir.types": ("Dim",),
    "passlab.op.declare": ("Operand",),
    "passlab.relay.operators": ("Axis",),
}


def kind_type(kind: str) -> str:
    """The Python type of an attribute of a kind."""
    base = kind.removesuffix(" or None")
    if base != kind:
        return f"{kind_type(base)} | None"
    return f"Literal[{kind.replace(' | ', ', ')}]" if kind.startswith("'") else TYPES[kind]


class Operator:
    """The Python function of one operator, as a stub writes it."""

    def __init__(self, builder: OpBuilder) -> None:
        self.builder = builder
        self.spec = builder._spec
        self.python = builder._python
        self.fields = {field.name: field for field in self.spec.attrs.schema} if self.spec.attrs else {}
        self.types = {name: self.type_of(name, p) for name, p in builder.__signature__.parameters.items()}

    def type_of(self, name: str, parameter: inspect.Parameter) -> str:
        """The type of a parameter: that of the input or attribute which it becomes."""
        if parameter.annotation is not parameter.empty:
            return str(parameter.annotation)
        convert = self.python.convert.get(name) if self.python else None
        target = self.python.names.get(name, name) if self.python else name
        dynamic = Op.get(self.python.dynamic.name).spec.inputs if self.python and self.python.dynamic else ()
        if target in self.spec.inputs:
            parts = [OPERAND]
            if convert is not None and accepts(convert, 1):
                parts += ["SupportsFloat", "Iterable[SupportsFloat]"]
            elif isinstance(parameter.default, float):  # drawn from such a distribution
                parts.append("SupportsFloat")
            if isinstance(parameter.default, str):
                parts.append("str")
        elif target in self.fields:
            field = self.fields[target]
            parts = kind_type(field.kind).split(" | ")
            if "Iterable" in parts[0] and accepts(convert, 1, field):
                parts.insert(0, "SupportsIndex" if "Index" in parts[0] else "SupportsFloat")
            if name in dynamic or target in dynamic:
                parts.append("Expr")
            elif accepts(convert, Constant(1), field):
                parts.append("Constant")
        else:  # several names receive the elements of the value: the conversion says what it takes
            assert convert is not None, (self.spec.name, name)
            parts = next(iter(convert.__annotations__.values())).split(" | ")
        if parameter.default is None:
            parts.append("None")
        return " | ".join(sorted(dict.fromkeys(parts), key=lambda part: part == "None"))

    def results(self) -> list[tuple[dict[str, str], str]]:
        """The types of results, each with the parameters that decide for it."""
        finish = self.python.finish if self.python else None
        if finish is not None:
            return [({}, annotation(finish))]
        if not callable(self.builder._results):
            return [({}, "Call" if self.builder._results == 1 else "TupleWrapper")]
        default = self.result_type({})
        for name, choices in self.choices().items():
            types = {value: self.result_type({name: value}) for value in choices}
            if len(set(types.values())) == 1:
                continue
            first = self.fields[name].default
            others = [value for value in choices if types[value] != default]
            same = [value for value in choices if types[value] == default]
            assert first in same
            return [
                ({name: f"Literal[{', '.join(map(repr, same))}]"}, default),
                ({name: f"Literal[{', '.join(map(repr, others))}]"}, types[others[0]]),
            ]
        return [({}, default)]

    def choices(self) -> dict[str, tuple[Any, ...]]:
        """The values of each attribute that has few."""
        table: dict[str, tuple[Any, ...]] = {}
        for name, field in self.fields.items():
            if field.kind == "bool":
                table[name] = (False, True)
            elif field.kind.startswith("'"):
                table[name] = tuple(ast.literal_eval(word) for word in field.kind.split(" | "))
        return table

    def result_type(self, values: Mapping[str, Any]) -> str:
        """The type of the result for attributes that have these values, and their defaults."""
        needed = {
            name: {"int": 1, "str": "", "bool": False}.get(field.kind, (1,))
            for name, field in self.fields.items()
            if field.default is REQUIRED and field.fallback is REQUIRED
        }
        assert self.spec.attrs is not None
        assert callable(self.builder._results)
        return "Call" if self.builder._results(self.spec.attrs(**{**needed, **values})) is None else "TupleWrapper"

    def definitions(self, name: str, indent: str) -> Iterator[str]:
        """The lines of the function `name`: one definition, or an overload for each type of its result."""
        results = self.results()
        doc = quoted(inspect.getdoc(self.builder) or "", f"{indent}    ")
        for index, (chosen, result) in enumerate(results):
            if indent:
                yield f"{indent}@staticmethod"
            if len(results) > 1:
                yield f"{indent}@overload"
            parts = []
            star = False
            for parameter, p in self.builder.__signature__.parameters.items():
                text = f"{parameter}: {chosen.get(parameter, self.types[parameter])}"
                needs_value = index > 0 and parameter in chosen
                if needs_value and not star:
                    parts.append("*")
                    star = True
                parts.append(text if p.default is p.empty or needs_value else f"{text} = {p.default!r}")
            yield f"{indent}def {name}({', '.join(parts)}) -> {result}:"
            yield f"{indent}    {doc}" if index == len(results) - 1 else f"{indent}    ..."


def accepts(convert: Callable[[Any], Any] | None, value: Any, field: Field | None = None) -> bool:
    """Whether the conversions of a parameter take a value."""
    try:
        converted = convert(value) if convert is not None else value
        if field is not None:
            field.convert(converted)
    except Exception:  # noqa: BLE001 - whatever it raises, it is no value of the parameter
        return False
    return True


def annotation(function: Callable[..., Any]) -> str:
    """The type that a function says it returns."""
    result = function.__annotations__["return"]
    return result if isinstance(result, str) else str(result.__name__)


def quoted(doc: str, indent: str) -> str:
    """A docstring as it stands in a file, at an indent."""
    text = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    lines = text.split("\n")
    closing = f"\n{indent}" if len(lines) > 1 or text.endswith('"') else ""
    return (
        '"""' + f"\n{indent}".join(line.rstrip() for line in lines).replace(f"\n{indent}\n", "\n\n") + closing + '"""'
    )


def function_lines(name: str, function: Callable[..., Any], indent: str) -> Iterator[str]:
    """The definition of a Python function that is written out, with the annotations of its source."""
    if indent:
        yield f"{indent}@staticmethod"
    parameters = [
        f"{p.name}: {p.annotation}" + ("" if p.default is p.empty else f" = {p.default!r}")
        for p in inspect.signature(function).parameters.values()
    ]
    yield f"{indent}def {name}({', '.join(parameters)}) -> {annotation(function)}:"
    yield f"{indent}    {quoted(inspect.getdoc(function) or '', f'{indent}    ')}"


def operator_lines(prefix: str, taken: frozenset[str] = frozenset(), indent: str = "") -> Iterator[str]:
    """The functions of the operators under a prefix; those of longer prefixes stand in a class."""
    names = sorted(n for n in {*Op.list_op_names(), *COMPOSITIONS} if n.startswith(prefix))
    tails = [name[len(prefix) :] for name in names]
    for tail in sorted({t for t in tails if "." not in t and t.isidentifier() and not keyword.iskeyword(t)}):
        if tail.startswith("_") or tail in taken:
            continue
        found = COMPOSITIONS.get(prefix + tail) or Op.get(prefix + tail).spec.builder
        if isinstance(found, OpBuilder):
            yield from Operator(found).definitions(tail, indent)
        else:
            assert callable(found)
            if found.__module__ == "passlab.relay.operators":
                yield from function_lines(tail, found, indent)
            else:
                yield f"{indent}from {found.__module__} import {found.__name__} as {tail}"
    for inner in sorted({tail.partition(".")[0] for tail in tails if "." in tail}):
        if prefix or not (f"relay.{inner}" in ADDRESSES or inner in taken):
            yield f"{indent}class {inner}:"
            yield from operator_lines(f"{prefix}{inner}.", frozenset(), f"{indent}    ")


# ------------------------------------------------------------------------------------------------------ modules of names


def module_lines(names: list[str], origins: Mapping[str, str]) -> Iterator[str]:
    """Imports that give a module its names, each from the module that defines it."""
    later = []
    for name in names:
        origin, _, original = home(origins[name]).partition(":")
        if not original:
            package, _, last = origin.rpartition(".")
            yield f"from {package} import {last} as {last}"
            if last != name:
                later.append(f"{name} = {last}")
        elif original == name:
            yield f"from {origin} import {name} as {name}"
        else:
            yield f"from {origin} import {original} as _{name}"
            later.append(f"{name} = _{name}")
    yield from later


def home(target: str) -> str:
    """The target of a name in the module that defines it: stubs may not import what another module imports."""
    module, _, name = target.partition(":")
    value = getattr(importlib.import_module(module), name) if name else None
    plain = inspect.isfunction(value) or inspect.isclass(value)
    return f"{value.__module__}:{name}" if plain and value.__qualname__ == name else target


def imported_names(module: str) -> dict[str, str]:
    """The names that the source of a package imports and offers, with their targets."""
    source = PACKAGE.joinpath(*module.split(".")[1:], "__init__.py").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
    table = {a.asname or a.name: f"{node.module}:{a.name}" for node in imports for a in node.names}
    offered = sys.modules[module].__all__
    return {name: target for name, target in table.items() if name in offered}


def passes() -> dict[str, str]:
    """The standard passes, their second names and the functions beside them, with their targets."""
    table = {**PASSES, **{alias: PASSES[name] for alias, name in ALIASES.items() if alias.isidentifier()}, **FUNCTIONS}
    return {name: f"passlab.passes.{target}" for name, target in table.items()}


# ----------------------------------------------------------------------------------------------------------- all of them

OPERATORS = "relay.op.tensor"  # where operators without a dot are written out; their other addresses import them


def names_stub(doc: str, table: Mapping[str, str], below: str = "") -> str:
    """The stub of a module of names, which also has all names of the module `below`."""
    star = [f"from {below} import *"] if below else []
    return HEADER.format(doc=doc) + "\n".join([*star, *module_lines(sorted(table), table)]) + "\n"


def operators_stub(doc: str, prefix: str, names: Mapping[str, str], taken: frozenset[str] = frozenset()) -> str:
    """The stub of a module of operators, which also has other `names`."""
    lines = list(operator_lines(prefix, taken | frozenset(names)))
    body = "\n".join(line for line in lines if not line.startswith("from "))
    words = set(ast_names(body))
    imports = [
        f"from {module} import {', '.join(w for w in wanted if w in words and w not in names)}"
        for module, wanted in IMPORTS.items()
        if words & set(wanted) - set(names)
    ]
    others = [*module_lines(sorted(names), names), *(line for line in lines if line.startswith("from "))]
    return HEADER.format(doc=doc) + "\n".join([*imports, *others, "", body]) + "\n"


def ast_names(text: str) -> Iterator[str]:
    """The names that a text of Python uses."""
    return (node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


@functools.cache
def stubs() -> dict[Path, str]:
    """Every generated stub as it is before it is formatted, by its file."""
    import passlab.ir
    import passlab.transform
    import passlab.vm

    qnn = {name: f"passlab.relay.qnn.{name}" for name in ("op", "transform")}
    texts: dict[str, str] = {
        "relay/qnn/__init__": names_stub("The names of `passlab.relay.qnn`.", qnn, "passlab.relay.qnn.op"),
        "relay/qnn/op/__init__": operators_stub("The names of `passlab.relay.qnn.op`.", "qnn.", {}),
        "transform/__init__": names_stub(
            "The names of `passlab.transform`: the pass manager, and every standard pass.",
            {**imported_names("passlab.transform"), **passes()},
        ),
        "vm/__init__": names_stub(
            "The names of `passlab.vm`.",
            {**imported_names("passlab.vm"), "Debugger": "passlab.debugger.debugger:Debugger"},
        ),
        "ir/__init__": names_stub("The names of `passlab.ir`.", {**imported_names("passlab.ir"), **passlab.ir._LATE}),
        "relay/frontend": names_stub(
            "The names of `passlab.relay.frontend`.",
            {
                "from_onnx": "passlab.frontend.onnx.importing:from_onnx",
                "from_pytorch": "passlab.frontend.pytorch.importing:from_pytorch",
            },
        ),
    }
    for address, row in ADDRESSES.items():
        path = address.replace(".", "/")
        if (PACKAGE / path).is_dir():
            path += "/__init__"
        doc = f"The names of `passlab.{address}`."
        if isinstance(row, _Same):
            texts[path] = HEADER.format(doc=doc) + f"from {row.target} import *\n"
        elif isinstance(row, _Names):
            texts[path] = names_stub(doc, row.names, row.below)
        elif isinstance(row, _Operators):
            if not row.prefix and address != OPERATORS:
                texts[path] = HEADER.format(doc=doc) + f"from passlab.{OPERATORS} import *\n"
            else:
                texts[path] = operators_stub(doc, row.prefix, row.names, TAKEN.get(address, frozenset()))
    from passlab.relay import op

    texts["relay/op/__init__"] = names_stub(
        "The names of `passlab.relay.op`: operators, and functions about them.",
        {**op._NAMES, **imported_names("passlab.relay.op")},
        f"passlab.{OPERATORS}",
    )
    return {PACKAGE / f"{path}.pyi": text for path, text in texts.items()}


# Namespaces of operators that are modules of other things in `relay`.
TAKEN = {OPERATORS: frozenset({"contrib", "qnn", "vm", "relay"})}


def formatted(text: str) -> str:
    """The text in the format of the house, with its imports in order."""
    for arguments in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", "passlab/stub.pyi", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=PACKAGE.parent)
        assert done.returncode == 0, done.stderr + text
        text = done.stdout
    return text
