"""Values as Python that makes them again in a new process: functions, closures, classes, objects, arrays, passes.

What belongs to an installed package is imported; what users wrote is written again. A function or a class is written
with all that it reads, and a closure as a function that is called with the variables of its cells. An object becomes a
call of its class with its attributes, or these alone. Nothing is run. `UnwritableError` names what cannot be written.
"""

from __future__ import annotations

import ast
import base64
import builtins
import functools
import inspect
import keyword
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from textwrap import indent
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.ir.expr import Constant, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.lab.reducer.definitions import Written, cells_of, functions_of, names_read, written
from passlab.transform.base import FunctionPass, Pass
from passlab.transform.pipeline_text import as_pass
from passlab.transform.sequential import Sequential

LITERAL = 64  # elements up to which an array is written as a list
LARGEST = 1 << 20  # bytes of an array that is written at all
DEEPEST = 60  # values inside values
_OF_SCRIPTS = ("net", "bisection", "inputs", "made", "replay", "culprit", "base64")
_SCALARS = (NoneType, bool, int, str, bytes, EllipsisType)
_OF_PYTHON = ("__dict__", "__slots__", "__weakref__")  # one of them is in a class that Python code derives from object
_PASS_DECORATORS = ("function_pass", "module_pass")


class UnwritableError(Exception):
    """A value that cannot be written as Python. Its text says which."""


@dataclass(frozen=True)
class _Member:
    """A function or a class to define: the name in its text, and its name in the script."""

    value: Any
    source: Written
    local: str
    target: str
    text: str


class Writer:
    """Writes values as expressions, and the statements that have to come before them."""

    def __init__(self) -> None:
        self.lazy = False  # whether a definition needs `from __future__ import annotations`
        self._imports: dict[str, None] = {}
        self._blocks: list[str] = []
        # The names in the script, with their values; those of its own variables have no value.
        self._names: dict[str, Any] = dict.fromkeys(_OF_SCRIPTS, _OF_SCRIPTS)
        self._names |= {name: sys.modules.get(f"passlab.{name}") for name in ("lab", "relay", "transform")}
        self._names |= {"np": np, "passlab": sys.modules["passlab"]}
        self._known: dict[int, str] = {}
        self._open: set[int] = set()  # what is being defined
        self._kept: list[Any] = []  # so that no other value gets the id of one that is known
        self._depth = 0

    def definition(self) -> str:
        """Return the statements that come before the expressions."""
        paths = [line for line in self._imports if line.startswith("sys.")]
        head = ["import sys", *paths] if paths else []
        head += sorted(line for line in self._imports if not line.startswith("sys."))
        return "\n\n".join(filter(None, ["".join(f"{line}\n" for line in head), *self._blocks]))

    def last(self, value: Any) -> str:
        """Return the expression of the last value: a call that would get a name stands without it."""
        name = self.expression(value)
        head = f"{name} = "
        if self._blocks and self._blocks[-1].startswith(head):
            return self._blocks.pop().removeprefix(head).rstrip("\n")
        return name

    # recurses: at most DEEPEST values inside values
    def expression(self, value: Any, hint: str = "value", *, now: bool = True) -> str:
        """Return the expression of a value, named by `hint` where it needs a name.

        With `now` it must be defined by then, as the argument of a call must. Raises `UnwritableError`.
        """
        if type(value) in _SCALARS:
            return repr(value)
        if id(value) in self._known:
            if now and id(value) in self._open:
                raise UnwritableError(f"{_kind(value)} that contains itself")
            return self._known[id(value)]
        if self._depth == DEEPEST:
            raise UnwritableError(f"values inside values, more than {DEEPEST} deep")
        self._depth += 1
        try:
            text = self._write(value, hint)
        finally:
            self._depth -= 1
        self._kept.append(value)
        return text

    def _write(self, value: Any, hint: str) -> str:
        if (exact := _EXACT.get(type(value))) is not None:
            return exact(self, value, hint)
        for kinds, write in _KINDS:
            if isinstance(value, kinds):
                return write(self, value, hint)
        return self._object(value, hint)

    @contextmanager
    def _attempt(self) -> Iterator[None]:
        """Take back what was written for a value that turns out to be unwritable."""
        imports, blocks, names, known = self._imports, self._blocks, self._names, self._known
        self._imports, self._blocks, self._names, self._known = dict(imports), [*blocks], dict(names), dict(known)
        before = set(self._open)
        try:
            yield
        except UnwritableError:
            self._imports, self._blocks, self._names, self._known = imports, blocks, names, known
            self._open = before
            raise

    # ---------------------------------------------------------------- names
    def _claim(self, wanted: str, value: Any) -> str:
        """Return a name that nothing else in the script has."""
        base = identifier(wanted)
        number, name = 1, base
        while name in self._names or hasattr(builtins, name):
            number += 1
            name = f"{base}_{number}"
        self._names[name] = value
        return name

    def _assign(self, hint: str, value: Any, expression: str) -> str:
        name = self._claim(hint, value)
        self._blocks.append(f"{name} = {expression}\n")
        self._known[id(value)] = name
        return name

    def _refer(self, name: str, value: Any) -> str:
        """Return the expression of a variable of a module: its own name where the script can have that for it."""
        expression = self.expression(value, name, now=False)
        if expression == name or name in self._names:
            return expression
        self._names[name] = value
        self._blocks.append(f"{name} = {expression}\n")
        if type(value) not in _SCALARS:
            self._known[id(value)] = name
        return name

    # ---------------------------------------------------------------- modules and their members
    def _module(self, module: ModuleType, hint: str) -> str:
        name = module.__name__
        if name == "__main__" or not all(map(str.isidentifier, name.split("."))):
            raise UnwritableError(f"the module {name!r}")
        self._add_path(name)
        own = hint if self._names.get(hint, module) is module else self._claim(hint, module)
        self._names[own] = module
        package, _, last = name.rpartition(".")
        self._imports[f"from {package} import {last}" if last == own and package else _as(f"import {name}", own)] = None
        return own

    def _add_path(self, name: str) -> None:
        """Add the folder from which a module of the user is imported."""
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and not _is_installed(name):
            steps = name.count(".") + (Path(file).name == "__init__.py")
            self._imports[f"sys.path.insert(0, {str(Path(file).resolve().parents[steps])!r})"] = None

    def _imported(self, value: Any, hint: str) -> str:
        """Import a function or a class, which `_is_importable`."""
        module = value.__module__
        self._add_path(module)
        first, *rest = value.__qualname__.split(".")
        holder = getattr(sys.modules[module], first)
        wanted = first if rest or not hint.isidentifier() else hint
        name = wanted if self._names.get(wanted, holder) is holder else self._claim(wanted, holder)
        self._names[name] = holder
        self._imports[_as(f"from {module} import {first}", name)] = None
        self._known[id(value)] = ".".join([name, *rest])
        return self._known[id(value)]

    def _ours(self, name: str) -> str:
        """Import a part of passlab, or NumPy, under its usual name."""
        line = {"np": "import numpy as np", "passlab": "import passlab"}.get(name, f"from passlab import {name}")
        self._imports[line] = None
        return name

    # ---------------------------------------------------------------- functions and classes
    def _function_or_class(self, value: Any, hint: str) -> str:
        importable = _is_importable(value)
        if not (importable and _is_installed(value.__module__)):
            try:
                with self._attempt():
                    return self._defined(value, hint)
            except UnwritableError:
                if not importable:
                    raise
        return self._imported(value, hint)

    def _defined(self, value: Any, hint: str) -> str:
        source = written(value)
        if source is None:
            raise UnwritableError(f"{_kind(value)}, whose source is not available")
        if source.is_of_module and _space(value).get(source.name) is value:
            return self._statement(value, source, _space(value))
        group = [(v, w) for v in _group(value) if (w := written(v)) is not None]
        cells: dict[str, Any] = {}
        for member, _ in group:
            for name, held in cells_of(member).items():
                if cells.setdefault(name, held) is not held:
                    raise UnwritableError(f"functions around which `{name}` differs")
        # What the group reads of itself keeps the name by which it is read.
        local = {id(held): name for name, held in cells.items() if any(held is v for v, _ in group)}
        space = _space(value)
        members = [self._member(v, w, hint, local.get(id(v), ""), cells, space) for v, w in group]
        self._define(members, cells, space)
        return self._known[id(value)]

    def _member(
        self, value: Any, source: Written, hint: str, local: str, cells: dict[str, Any], space: Mapping[str, Any]
    ) -> _Member:
        """Return a member; what it read when it was defined goes to the cells, under new names."""
        wanted = source.name or local or identifier(hint.replace("<lambda>", "changed"))
        if not local and _is_other(cells.get(wanted, space.get(wanted)), value):
            wanted = f"{wanted}_of_pass"  # its text may read that name, of something else
        target = self._claim(wanted, value)
        decorators = [d for d in source.decorators if isinstance(value, type) and _called(d) not in _PASS_DECORATORS]
        replaced = {}
        for number, (old, held) in enumerate(_read_at_definition(value, source)):
            replaced[old] = f"{target}_{number}"
            cells[replaced[old]] = held
        return _Member(value, source, local or target, target, source.text(local or target, decorators, replaced))

    def _statement(self, value: Any, source: Written, space: Mapping[str, Any]) -> str:
        """Write a statement of a module with its decorators; `value` is what it binds."""
        target = self._claim(source.name, value)
        reads_itself = source.name in names_read(source.text(source.name, source.decorators), source.lazy)
        local = source.name if reads_itself else target
        self._define([_Member(value, source, local, target, source.text(local, source.decorators))], {}, space)
        return target

    def _define(self, members: Sequence[_Member], cells: Mapping[str, Any], space: Mapping[str, Any]) -> None:
        """Add definitions below what they read, inside a function where they read variables of functions around."""
        for member in members:
            self._known[id(member.value)] = member.target
            self._open.add(id(member.value))
            # Annotations that read no names do no harm.
            self.lazy |= member.source.lazy and names_read(member.text, True) != names_read(member.text, False)
        texts = [member.text for member in members]
        read = {name for member in members for name in names_read(member.text, member.source.lazy)}
        params: dict[str, str] = {}
        for name in sorted(read - {member.local for member in members}):
            if name in cells:
                expression = self.expression(cells[name], name)
            elif name in space:
                expression = self._refer(name, space[name])
            elif hasattr(builtins, name) or not any(isinstance(m.value, type) for m in members):
                continue
            else:
                raise UnwritableError(f"a class that reads `{name}` of a function around it")
            if expression != name:
                params[name] = expression
        if params or any(member.local != member.target for member in members):
            texts = [self._maker(members, params)]
        self._blocks += texts
        for member in members:
            self._open.discard(id(member.value))
            for name, held in vars(member.value).items() if isinstance(member.value, FunctionType) else ():
                if name.isidentifier() and name != "__wrapped__":
                    self._blocks.append(f"{member.target}.{name} = {self.expression(held, name)}\n")

    def _maker(self, members: Sequence[_Member], params: Mapping[str, str]) -> str:
        make = self._claim(f"make_{members[0].target}", None)
        body = "\n".join(_indented(member.text) for member in members)
        results, targets = (", ".join(getattr(m, part) for m in members) for part in ("local", "target"))
        head = f"def {make}({', '.join(params)}):\n{body}\n    return {results}\n"
        return f"{head}\n\n{targets} = {make}({', '.join(params.values())})\n"

    # ---------------------------------------------------------------- objects
    def _object(self, value: Any, hint: str) -> str:
        kind = type(value)
        if not all(map(_is_python, kind.__mro__)):
            return self._reduced(value, hint)
        class_ = self.expression(kind, kind.__name__)
        return self._instance(value, hint, class_, kind, _state(value))

    def _instance(self, value: Any, hint: str, class_: str, kind: type, state: Mapping[str, Any]) -> str:
        """Write an object by a call of its class where the attributes have the names of the parameters, or by these."""
        arguments = _arguments(kind, state)
        if arguments is not None and (arguments or not state):
            return self._assign(hint, value, f"{class_}({self._keywords(arguments)})")
        try:
            with self._attempt():
                name = self._assign(hint, value, f"object.__new__({class_})")
                for attribute, held in state.items():
                    text = self.expression(held, attribute)
                    self._blocks.append(f"object.__setattr__({name}, {attribute!r}, {text})\n")
                return name
        except UnwritableError:
            if arguments is None:
                raise
        return self._assign(hint, value, f"{class_}()")

    def _keywords(self, arguments: Mapping[str, Any]) -> str:
        return ", ".join(f"{name}={self.expression(held, name)}" for name, held in arguments.items())

    def _reduced(self, value: Any, hint: str) -> str:
        """Write an object of a type of the standard library by the call with which it is copied."""
        kind = type(value)
        try:
            parts: Any = value.__reduce_ex__(4) if kind.__module__ in sys.stdlib_module_names else None
        except TypeError:  # it cannot be copied
            parts = None
        if not isinstance(parts, tuple) or len(parts) < 2 or getattr(parts[0], "__module__", "") == "copyreg":
            raise UnwritableError(_kind(value))
        made, arguments, state, items, pairs = (*parts, None, None, None)[:5]
        if state:
            raise UnwritableError(_kind(value))
        call = f"{self.expression(made, kind.__name__)}({', '.join(map(self.expression, arguments))})"
        name = self._assign(hint, value, call)
        if items is not None and (listed := list(items)):
            self._blocks.append(f"{name}.extend({self.expression(listed)})\n")
        if pairs is not None and (listed := list(pairs)):
            self._blocks.append(f"{name}.update({self.expression(listed)})\n")
        return name

    # ---------------------------------------------------------------- passes
    def _pass(self, pass_: Pass, hint: str) -> str:
        text, info, held = pass_.as_text(), pass_.info, vars(pass_)
        if is_known(pass_, text):
            return f"{self._ours('transform')}.Sequential.from_text({text!r}).passes[0]"
        if type(pass_) is Sequential:
            passes = ", ".join(self.expression(child, "member") for child in pass_.passes)
            return (
                f"{self._ours('transform')}.Sequential([{passes}], {info.opt_level}, {info.name!r}, {info.required!r})"
            )
        if "_pass_func" in held:
            function = held["_pass_func"]
            if (home := _home(function, pass_)) is not None:
                return self._statement(pass_, home, function.__globals__)
            own = self.expression(function, info.name if hint == "value" else hint)
            return self._assign(info.name, pass_, self._declared(own, pass_))
        if "_user_object" in held:
            user, kind = held["_user_object"], type(pass_)
            class_ = self.pass_class(pass_)
            state = held if _arguments(kind, _state(user)) is None else _state(user)
            return self._instance(pass_, info.name, class_, kind, state)
        return self._object(pass_, info.name)

    def pass_class(self, pass_: Pass) -> str:
        """Return the expression of the class of a pass. Raises `UnwritableError`."""
        kind = type(pass_)
        if "_user_object" not in vars(pass_) or id(kind) in self._known:
            return self.expression(kind, kind.__name__)
        own = type(vars(pass_)["_user_object"])
        if (home := _home(own, kind)) is not None:
            return self._statement(kind, home, _space(own))
        self._kept.append(kind)
        return self._assign(own.__name__, kind, self._declared(self.expression(own, own.__name__), pass_))

    def _declared(self, target: str, pass_: Pass) -> str:
        kind = "function_pass" if isinstance(pass_, FunctionPass) else "module_pass"
        info, options = pass_.info, ""
        if info.required:
            options += f", required={info.required!r}"
        if pass_.contract is not None:
            options += f", contract={self.expression(pass_.contract, 'contract')}"
        return f"{self._ours('transform')}.{kind}({target}, opt_level={info.opt_level}, name={info.name!r}{options})"

    # ---------------------------------------------------------------- data
    def _list(self, value: Any, hint: str) -> str:
        self._open.add(id(value))
        self._known[id(value)] = ""
        parts = [self.expression(item, hint) for item in value]
        self._open.discard(id(value))
        del self._known[id(value)]
        match value:
            case tuple():
                return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
            case list():
                return f"[{', '.join(parts)}]"
        name = "set" if isinstance(value, set) else "frozenset"
        return f"{name}([{', '.join(parts)}])"

    def _dict(self, value: Any, hint: str) -> str:
        keys, values = self._list(list(value), hint), self._list(list(value.values()), hint)
        return f"dict(zip({keys}, {values}))" if value else "{}"

    def _array(self, value: Any, hint: str) -> str:
        self._ours("np")
        if value.dtype.name not in np.sctypeDict or value.dtype.hasobject or value.nbytes > LARGEST:
            raise UnwritableError(f"an array of {value.nbytes:,} bytes of {value.dtype}")
        if value.size <= LITERAL and value.dtype.kind in "fiub":
            return array_literal(value)
        self._imports["import base64"] = None
        packed = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return f'np.frombuffer(base64.b64decode("{packed}"), "{value.dtype.name}").reshape({value.shape})'

    def _scalar(self, value: Any, hint: str) -> str:
        return f"{self._array(np.asarray(value), hint)}[()]"

    def _constant(self, value: Constant, hint: str) -> str:
        dtype = value.tensor_type.dtype
        return self._assign(hint, value, f"{self._ours('relay')}.const({self._array(value.data, hint)}, {dtype!r})")

    def _program(self, value: IRModule, hint: str) -> str:
        return self._assign(hint, value, f"{self._ours('passlab')}.parse({value.astext(annotate=lambda expr: '')!r})")

    def _relay_function(self, value: Function, hint: str) -> str:
        text = IRModule.from_expr(value).astext(annotate=lambda expr: "")
        return self._assign(hint, value, f'{self._ours("passlab")}.parse({text!r})["main"]')

    def _node(self, value: Expr, hint: str) -> str:
        raise UnwritableError(f"a node of a program ({type(value).__name__})")

    def _operator(self, value: Op, hint: str) -> str:
        return f"{self._ours('relay')}.op.get({value.name!r})"

    def _member_of_enum(self, value: Enum, hint: str) -> str:
        return f"{self.expression(type(value), type(value).__name__)}[{value.name!r}]"

    def _method(self, value: Any, hint: str) -> str:
        return f"{self.expression(value.__self__, hint)}.{value.__name__}"

    def _partial(self, value: functools.partial[Any], hint: str) -> str:
        parts = [self.expression(value.func, hint), *(self.expression(v, hint) for v in value.args)]
        parts += [f"{name}={self.expression(v, name)}" for name, v in value.keywords.items()]
        self._imports["import functools"] = None
        return self._assign(hint, value, f"functools.partial({', '.join(parts)})")

    def _pattern(self, value: re.Pattern[Any], hint: str) -> str:
        self._imports["import re"] = None
        return f"re.compile({value.pattern!r}, {value.flags})"

    def _builtin(self, value: Any, hint: str) -> str:
        name: str = value.__name__
        if getattr(builtins, name, None) is value:
            return name
        if isinstance(value.__self__, ModuleType) or value.__self__ is None:
            return self._imported(value, hint) if _is_importable(value) else self._unknown(value)
        return self._method(value, hint)

    def _type(self, value: type, hint: str) -> str:
        name: str = value.__name__
        if getattr(builtins, name, None) is value:
            return name
        return self._function_or_class(value, hint)

    def _float(self, value: complex, hint: str) -> str:
        return repr(value) if np.isfinite(value) else f'{type(value).__name__}("{value}")'

    def _dtype(self, value: Any, hint: str) -> str:
        return f"{self._ours('np')}.dtype({value.str!r})"

    def _ufunc(self, value: Any, hint: str) -> str:
        name: str = value.__name__
        return f"{self._ours('np')}.{name}" if getattr(np, name, None) is value else self._unknown(value)

    def _unknown(self, value: Any) -> str:
        raise UnwritableError(_kind(value))


_Write = Callable[[Writer, Any, str], str]
# An object of a class derived from these is another matter.
_EXACT: dict[type, _Write] = dict.fromkeys((tuple, list, set, frozenset), Writer._list)
_EXACT |= {dict: Writer._dict, float: Writer._float, complex: Writer._float}
_KINDS: list[tuple[Any, _Write]] = [
    (ModuleType, Writer._module),
    (FunctionType, Writer._function_or_class),
    (type, Writer._type),
    (MethodType, Writer._method),
    (BuiltinFunctionType, Writer._builtin),
    (functools.partial, Writer._partial),
    (np.ndarray, Writer._array),
    (np.generic, Writer._scalar),
    (np.dtype, Writer._dtype),
    (np.ufunc, Writer._ufunc),
    (Pass, Writer._pass),
    (Constant, Writer._constant),
    (Function, Writer._relay_function),
    (Op, Writer._operator),
    (Expr, Writer._node),
    (IRModule, Writer._program),
    (Enum, Writer._member_of_enum),
    (re.Pattern, Writer._pattern),
]


def is_known(pass_: Pass, text: str) -> bool:
    """Whether the pipeline language makes the same pass in a process that knows the standard passes only."""
    try:
        pipeline = as_pass([text])
    except PasslabError:
        return False
    members = pipeline.passes if isinstance(pipeline, Sequential) else [pipeline]
    alike = [p for p in members if type(p) is type(pass_) and p.as_text() == text]
    return len(members) == len(alike) == 1 and type(pass_).__module__.startswith("passlab.")


def identifier(name: str) -> str:
    """Return a name as an identifier."""
    text = re.sub(r"\W|^(?=\d)", "_", name, flags=re.ASCII) or "_"  # the second alternative precedes a leading digit
    return f"{text}_" if keyword.iskeyword(text) else text


def _as(line: str, name: str) -> str:
    return line if line.endswith(f" {name}") else f"{line} as {name}"


def _kind(value: Any) -> str:
    if isinstance(value, (type, FunctionType)):
        return f"the {'class' if isinstance(value, type) else 'function'} `{value.__name__}`"
    return f"an object of the class `{type(value).__qualname__}`"


def _called(decorator: ast.expr) -> str:
    """The last name of what decorates: `function_pass` of `@transform.function_pass(opt_level=0)`."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return str(getattr(target, "attr", getattr(target, "id", "")))


def _space(value: Any) -> dict[str, Any]:
    """The variables of the module in which a function or a class was written."""
    functions = [value] if isinstance(value, FunctionType) else functions_of(value)
    spaces = [f.__globals__ for f in functions if f.__module__ == value.__module__]
    return spaces[0] if spaces else vars(sys.modules.get(value.__module__, sys))


def _home(function: Any, bound: Any) -> Written | None:
    """The statement of a module that made a function or a class, if what it bound is `bound`."""
    if not isinstance(function, (FunctionType, type)):
        return None
    source = written(function)
    return source if source and source.is_of_module and _space(function).get(source.name) is bound else None


def _is_importable(value: Any) -> bool:
    found: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    if not isinstance(found, ModuleType) or found.__name__ == "__main__" or "<" in value.__qualname__:
        return False
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


@functools.lru_cache(maxsize=1)
def _installed_folders() -> tuple[str, ...]:
    return tuple(
        {str(Path(path).resolve()) for name, path in sysconfig.get_paths().items() if name.endswith(("lib", "stdlib"))}
    )


def _is_installed(module: str) -> bool:
    """Whether a module belongs to Python, to passlab or to a package in site-packages."""
    if module.partition(".")[0] == "passlab":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or str(Path(file).resolve()).startswith(_installed_folders())


def _group(value: Any) -> list[Any]:
    """Return a function or a class with the functions around it that read it and that it reads."""
    found: dict[int, Any] = {}

    def reached(start: Any) -> dict[int, Any]:
        seen, worklist = dict[int, Any](), [start]
        while worklist:
            for held in cells_of(worklist.pop()).values():
                if isinstance(held, (FunctionType, type)) and id(held) not in seen and cells_of(held):
                    seen[id(held)] = held
                    worklist.append(held)
        return seen

    found = {key: other for key, other in reached(value).items() if id(value) in reached(other)}
    return [value, *(other for key, other in found.items() if key != id(value))]


def _read_at_definition(value: Any, source: Written) -> list[tuple[ast.expr, Any]]:
    """Return the values of defaults, and of what a class computed from variables of a function around it."""
    node = source.node
    if not isinstance(node, ast.ClassDef):
        pairs: list[tuple[ast.expr, Any]] = list(zip(node.args.defaults, value.__defaults__ or (), strict=False))
        by_name = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        return pairs + [(old, (value.__kwdefaults__ or {}).get(arg.arg)) for arg, old in by_name if old is not None]
    known = {*dir(builtins), *_space(value), *cells_of(value)}
    pairs = list(zip(node.bases, value.__bases__, strict=False))
    for statement in node.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            pairs.append((statement.value, vars(value).get(statement.targets[0].id)))
    return [(old, new) for old, new in pairs if names_read(ast.unparse(old), True) - known]


def _is_python(kind: type) -> bool:
    """Whether a class keeps no state of its own beyond attributes: those written in C may."""
    return kind is object or object not in kind.__bases__ or not vars(kind).keys().isdisjoint(_OF_PYTHON)


def _is_other(held: Any, value: Any) -> bool:
    """Whether a name holds another function or class than `value`, and not one that was made around it."""
    return isinstance(held, (FunctionType, type)) and inspect.unwrap(held) is not value


def _state(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, also those in slots."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    held = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**held, **getattr(value, "__dict__", {})}


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return [slots] if isinstance(slots, str) else [s for s in slots if s not in ("__dict__", "__weakref__")]


def _arguments(kind: type, state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments with which a class is called for these attributes; None where they do not say."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return None
    arguments = {}
    for parameter in parameters:
        own = next((name for name in (parameter.name, f"_{parameter.name}") if name in state), None)
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            return None
        if own is not None:
            arguments[parameter.name] = state[own]
        elif parameter.default is parameter.empty:
            return None
    return arguments


def _indented(text: str) -> str:
    """Return statements as the body of a function."""
    shifted = indent(text, "    ")
    try:
        if ast.dump(ast.Module(ast.parse(f"def f():\n{shifted}").body[0].body, [])) == ast.dump(ast.parse(text)):  # type: ignore[attr-defined]
            return shifted
    except SyntaxError:  # a string continues on the next line
        pass
    return indent(f"{ast.unparse(ast.parse(text))}\n", "    ")


def array_literal(value: Any) -> str:
    """Return the NumPy expression of an array, exact but for the payload of NaNs."""
    array = np.asarray(value)
    dtype = f'"{array.dtype.name}"'
    if array.size and array.ndim and bool((array == array.flat[0]).all()):
        return f"np.full({array.shape}, {_number_literal(array.flat[0])}, {dtype})"
    if not array.size:
        return f"np.zeros({array.shape}, {dtype})"
    flat = f"[{', '.join(_number_literal(v) for v in array.ravel())}]"
    if array.ndim == 0:
        return f"np.array({_number_literal(array[()])}, {dtype})"
    shape = "" if array.ndim == 1 else f".reshape({array.shape})"
    return f"np.array({flat}, {dtype}){shape}"


def _number_literal(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if np.asarray(value).dtype.kind in "iu":
        return str(int(value))
    wide = float(value)  # exact: float64 holds the values of all narrower floats
    if np.isnan(wide):
        return "np.nan"
    if np.isinf(wide):
        return "np.inf" if wide > 0 else "-np.inf"
    return repr(wide)
