"""Copies the source of passlab's kernels into a compiled module: each function with its dependencies and comments.

The kernels are Python functions on NumPy arrays, so the module gets their source unchanged but for names. The captured
variables of a kernel become the arguments of a factory function; errors, limits and thread pools of passlab are
replaced by the small definitions of `prelude`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, VerifyError, type_in_words
from passlab.executor.aot import prelude
from passlab.ir.op import Op
from passlab.ir.types import ANY, TensorType
from passlab.op.declare import quiet, raw_kernel, with_out
from passlab.vm.kernels.kernel_text import Names

Definition = ast.FunctionDef | ast.ClassDef | ast.Lambda
Change = tuple[int, int, int, str]  # line, column, end column, new text
_IMPORTABLE = "define it with `def` at the top of a module; the other executors need no name for it"
OWN = ("passlab.op.", "passlab.executor.aot.prelude")  # the modules of kernels, which need no others of passlab
COPIED_DECORATORS = ("lru_cache", "cache", "dataclass", "staticmethod", "property")  # others register or guard a kernel


class ModuleText:
    """The source of one module, with an index of its definitions."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.lines = inspect.getsource(module).encode().splitlines()  # bytes, since `ast` counts columns in bytes
        self.tree = ast.parse(b"\n".join(self.lines))
        self.functions: dict[int, list[ast.FunctionDef | ast.Lambda]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                # Python's code objects name the line of the first decorator.
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
                self.functions.setdefault(first, []).append(node)
        self.name_uses: dict[ast.AST, NameUses] = {}
        self.bindings: dict[str, ast.stmt] = {}
        for statement in self.tree.body:
            for name in _bound_names(statement):
                self.bindings[name] = statement

    def uses(self, node: ast.AST) -> NameUses:
        """Return how a node uses names."""
        if node not in self.name_uses:
            self.name_uses[node] = NameUses(self, node)
        return self.name_uses[node]

    def text(self, node: ast.AST, changes: list[Change]) -> str:
        """Return the source of a node, with (line, column, end column, new text) replaced."""
        first, last, start, end = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        lines = {n: self.lines[n - 1] for n in range(first, last + 1)}
        lines[last] = lines[last][:end]
        # From right to left, so that the columns of the other changes stay valid.
        for line, column, stop, new in sorted(changes, reverse=True):
            lines[line] = lines[line][:column] + new.encode() + lines[line][stop:]
        if isinstance(node, ast.stmt):
            return textwrap.dedent("\n".join(line.decode() for line in lines.values()))
        lines[first] = lines[first][start:]
        text = "\n".join(line.decode() for line in lines.values())
        return f"({text})" if first < last and text[0] not in "([{" else text


class NameUses:
    """The names that a definition binds (`local`) and reads (`names`), and the type annotations to be removed from it.

    Annotations name classes that do not exist outside passlab. Those of the fields of a data class declare the fields,
    so they stay.
    """

    def __init__(self, source: ModuleText, root: ast.AST) -> None:
        nodes = list(ast.walk(root))
        self.local = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.local |= {n.arg for n in nodes if isinstance(n, ast.arg)}
        for at in nodes:
            if isinstance(at, (ast.FunctionDef, ast.Import, ast.ImportFrom)) and at is not root:
                self.local |= set(_bound_names(at))
        self.calls = {id(n.func): n for n in nodes if isinstance(n, ast.Call)}
        self.attribute_of = {id(n.value): n for n in nodes if isinstance(n, ast.Attribute)}
        ignored = {id(n) for d in getattr(root, "decorator_list", ()) for n in ast.walk(d)}
        fields = [f for n in nodes if isinstance(n, ast.ClassDef) for f in n.body]
        self.removals: list[Change] = []
        for at in nodes:
            annotation = at.returns if isinstance(at, ast.FunctionDef) else getattr(at, "annotation", None)
            if isinstance(annotation, ast.expr):
                ignored.update(id(n) for n in ast.walk(annotation))
                if at not in fields or isinstance(at, ast.FunctionDef):
                    self.removals += _annotation_removal(source, at, annotation)
        self.names = [n for n in nodes if isinstance(n, ast.Name) and id(n) not in ignored]


def _annotation_removal(source: ModuleText, at: ast.AST, annotation: ast.expr) -> Iterator[Change]:
    """Yield the change that removes the annotation of a parameter, a variable or a function."""
    last = annotation.end_col_offset
    if annotation.lineno == annotation.end_lineno and last is not None and getattr(at, "value", True):
        line = source.lines[annotation.lineno - 1]
        arrow = isinstance(at, ast.FunctionDef)
        start = line.rindex(b"->" if arrow else b":", 0, annotation.col_offset) - arrow
        default = line[last:].startswith(b" = ") and isinstance(at, ast.arg)  # `x: int = 1` becomes `x=1`
        yield annotation.lineno, start, last + 3 * default, "=" * default


@cache
def module_text(name: str) -> ModuleText:
    """Return the source of a module by name."""
    return ModuleText(importlib.import_module(name))


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
            yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0]


class VendoredDefinitions:
    """The copies of definitions in a compiled module (`blocks`), each once and after its dependencies."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.blocks: list[str] = []
        self.imports: dict[str, None] = {"from __future__ import annotations": None, "import numpy as np": None}
        # The names of the copies, by `id` of the object, (module, name) of a constant, or text of an import.
        self.copy_names: dict[Any, str] = {
            f"from {module} import {name}": name
            for module, name in (("dataclasses", "dataclass"), ("typing", "ClassVar"), ("pathlib", "Path"))
        }
        names.take(self.copy_names.values())
        self.reserved: dict[int, str] = {}

    def reserve(self, definition: type) -> str:
        """Return the name that the copy of a definition will have."""
        return self.reserved.setdefault(id(definition), self.names.make(definition.__name__))

    def kernel(self, function: Callable[..., Any], hint: str) -> str:
        """Return the name of the copy of a kernel. Raises `VerifyError` if it cannot be copied."""
        while isinstance(function, FunctionType) and function.__code__ in _GUARDS:
            function = function.__wrapped__  # type: ignore[attr-defined]
        return self.value(function, hint)

    # recurses: along the dependencies of passlab's own definitions, at most a dozen levels
    def value(self, value: Any, hint: str) -> str:
        """Return an expression for a value that a definition uses, and copy the definitions that it needs.

        `hint` is the operator's name, for messages and names. Raises `VerifyError` for values without an expression.
        """
        if isinstance(owner := getattr(value, "__self__", None), np.ufunc):
            return f"{self.value(owner, hint)}.{value.__name__}"  # np.add.reduce
        simple = self._simple(value)
        if simple is not None:
            return simple
        if id(value) in self.copy_names:
            return self.copy_names[id(value)]
        if isinstance(value, partial):
            arguments = [self.value(value.func, hint), *[self.value(a, hint) for a in value.args]]
            arguments += [f"{k}={self.value(v, hint)}" for k, v in value.keywords.items()]
            self.imports["from functools import partial"] = None
            self.copy_names[id(value)] = name = self.names.make(hint)
            self.blocks.append(f"{name} = partial({', '.join(arguments)})\n")
            return name
        if isinstance(value, (tuple, list)):
            inner = "".join(f"{self.value(v, hint)}, " for v in value)
            return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{self.value(k, hint)}: {self.value(v, hint)}' for k, v in value.items())}}}"
        if isinstance(value, type) and value.__module__ == "passlab.errors":
            return self.value(prelude.Finding if value is Diagnostic else prelude.ProgramError, hint)
        if getattr(value, "__module__", "") == "passlab.threads":
            return self.value(getattr(prelude, value.__name__), hint)
        if isinstance(value, (type, FunctionType)) or isinstance(getattr(value, "__wrapped__", None), FunctionType):
            return self._definition(value, hint)
        message = f"the kernel of {hint} holds {type_in_words(value)}, which cannot be written in Python"
        raise VerifyError(Diagnostic(message, hint="define it with `def` at the top of a module"))

    def _simple(self, value: Any) -> str | None:
        """Return literals, and the names of objects of NumPy, the standard library and user modules; else None."""
        if value is None or value is Ellipsis or isinstance(value, (bool, int, str, bytes)):
            return repr(value)
        if isinstance(value, float):
            return repr(value) if np.isfinite(value) else f'float("{value}")'
        if isinstance(value, np.dtype):
            return f'np.dtype("{value.name}")'
        if isinstance(value, (np.iinfo, np.finfo)):
            return f'np.{type(value).__name__}("{value.dtype.name}")'
        if isinstance(value, re.Pattern):
            self.imports["import re"] = None
            return f"re.compile({value.pattern!r})"
        name = getattr(value, "__name__", "")
        if name and getattr(np, name, None) is value:
            return f"np.{name}"
        home = getattr(value, "__module__", None) or ""
        if name and not isinstance(value, ModuleType) and home and not home.startswith("passlab"):
            if home != "builtins":
                if not name.isidentifier() or getattr(sys.modules.get(home), name, None) is not value:
                    message = f"compiled Python cannot import `{name}` from `{home}`"
                    raise VerifyError(Diagnostic(message, hint=_IMPORTABLE))
                self.imports[f"from {home} import {name}"] = None
            return str(name)
        return None

    # ------------------------------------------------------------ functions and classes
    def _definition(self, value: Any, hint: str) -> str:
        """Copy a function or class and return the name of the copy."""
        function = value if isinstance(value, FunctionType) else getattr(value, "__wrapped__", value)
        home = function.__globals__.get("__name__") if isinstance(function, FunctionType) else function.__module__
        if not home:  # it was made by `exec` in names of its own
            message = f"compiled Python cannot import `{function.__name__}`, which has no module"
            raise VerifyError(Diagnostic(message, hint=_IMPORTABLE))
        if not home.startswith(OWN):
            raise VerifyError(f"the kernel of {hint} needs {home}.{function.__name__}")
        source = module_text(home)
        node = _node_of(source, function, hint)
        own = getattr(node, "name", "")
        reserved = self.reserved.get(id(value))
        name = reserved or self.names.make(hint if own in ("", "run", "kernel", "compute") else own)
        self.copy_names[id(value)] = name  # before its text is resolved: a definition may use itself
        cells: dict[str, Any] = {}
        if isinstance(function, FunctionType):
            for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                cells[variable] = cell.cell_contents
        text = self._text(source, node, name, cells)
        if isinstance(node, ast.Lambda):
            text = f"{name} = {text}\n"
        if cells:
            cells_text = ", ".join(self.value(v, f"{hint}_{k}") for k, v in cells.items())
            text = f"{name} = {self._factory(function, list(cells), text, name)}({cells_text})\n"
        self.blocks.append(text)
        return name

    def _factory(self, function: FunctionType, cells: list[str], text: str, name: str) -> str:
        """Return the name of a factory: a function of the captured variables that returns the function in `text`."""
        own = function.__name__
        if own == "<lambda>":
            text = f"return {text.partition(' = ')[2]}"
        else:
            text = text.replace(f"def {name}(", f"def {own}(", 1)
        key = (function.__code__, text)
        if key not in self.copy_names:
            outer = function.__qualname__.split(".")[0]
            self.copy_names[key] = factory = self.names.make(outer if outer != own else f"make_{own}")
            end = f"\n    return {own}\n" if own != "<lambda>" else ""
            self.blocks.append(f"def {factory}({', '.join(cells)}):\n{textwrap.indent(text, '    ')}{end}")
        return self.copy_names[key]

    def _text(self, source: ModuleText, node: Definition, name: str, cells: dict[str, Any]) -> str:
        """Return the source of a definition under a new name, with the names it uses resolved."""
        changes: list[Change] = []
        head = ""
        if not isinstance(node, ast.Lambda):
            keyword = b"class " if isinstance(node, ast.ClassDef) else b"def "
            column = source.lines[node.lineno - 1].index(keyword, node.col_offset) + len(keyword)
            changes.append((node.lineno, column, column + len(node.name), name))
            for decorator in node.decorator_list:
                decorator_text = ast.unparse(decorator)
                if re.sub(r"\(.*", "", decorator_text).rpartition(".")[2] in COPIED_DECORATORS:
                    self._resolve_all(source, decorator, {}, [])
                    head += f"@{decorator_text}\n"
        self._resolve_all(source, node, cells | {getattr(node, "name", ""): None}, changes)
        return head + source.text(node, changes) + ("" if isinstance(node, ast.Lambda) else "\n")

    def _resolve_all(self, source: ModuleText, node: ast.AST, cells: dict[str, Any], changes: list[Change]) -> None:
        """Copy the definitions of the global names under a node, and add the changes of these names in the copy."""
        uses = source.uses(node)
        changes += uses.removals
        local, attributes = uses.local | set(cells), uses.attribute_of
        for at in uses.names:
            if at.id not in local:
                old: Any = at
                value = getattr(source.module, at.id, _BUILTIN)
                if value is _BUILTIN:
                    continue
                if value is raw_kernel and id(at) in uses.calls:
                    changes.append(self._other_kernel(uses.calls[id(at)], cells))
                    continue
                if isinstance(value, ModuleType) and value.__name__.startswith("passlab.op.") and id(at) in attributes:
                    old = attributes[id(at)]
                    new = self._name_in(module_text(value.__name__), old.attr)
                else:
                    new = self._name_in(source, at.id)
                if new != at.id or old is not at:
                    changes.append((old.lineno, old.col_offset, old.end_col_offset, new))

    def _other_kernel(self, call: Any, cells: dict[str, Any]) -> Change:
        """Replace `raw_kernel(name)`, the kernel of another operator, by the name of its copy."""
        (argument,) = call.args
        name = argument.value if isinstance(argument, ast.Constant) else cells.get(getattr(argument, "id", ""))
        return call.lineno, call.col_offset, call.end_col_offset, self.kernel(raw_kernel(str(name)), str(name))

    # recurses: along the dependencies of definitions, as `value` does
    def _name_in(self, source: ModuleText, name: str) -> str:
        """Return the name in the copy for a global name of a module."""
        source, name = _defining_module(source, name)
        value = getattr(source.module, name)
        if value is ANY:
            return "None"
        if value is TensorType:
            return self.value(prelude.ArrayType, name)
        if isinstance(value, ModuleType) and value.__name__ == "passlab.limits":
            return self.value(prelude.limits, "limits")
        statement = source.bindings.get(name)
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return self._import(statement, name)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            return self._assign(source, statement, name)
        if isinstance(value, Op):
            return self.kernel(value.spec.raw or value.spec.kernel, name)  # type: ignore[arg-type]
        if isinstance(value, (FunctionType, type)) or hasattr(value, "__wrapped__"):
            return self.value(value, name)
        raise VerifyError(f"the kernels use `{name}` of {source.module.__name__}, which cannot be copied")

    def _import(self, statement: ast.Import | ast.ImportFrom, name: str) -> str:
        alias = next(a for a in statement.names if (a.asname or a.name.partition(".")[0]) == name)
        if name == "np":
            return name
        prefix = f"from {statement.module} " if isinstance(statement, ast.ImportFrom) else ""
        key = f"{prefix}import {alias.name}"
        if key not in self.copy_names:
            self.copy_names[key] = self.names.make(name)
        result = self.copy_names[key]
        self.imports[key if result == alias.name else f"{key} as {result}"] = None
        return result

    def _assign(self, source: ModuleText, statement: ast.Assign | ast.AnnAssign, name: str) -> str:
        """Copy the assignment of a module's constant."""
        key = (source.module.__name__, name)
        if key not in self.copy_names:
            bound = list(_bound_names(statement))
            for other in bound:
                self.copy_names[source.module.__name__, other] = self.names.make(other)
            assert statement.value is not None
            changes: list[Change] = []
            self._resolve_all(source, statement.value, {}, changes)
            left = ", ".join(self.copy_names[source.module.__name__, other] for other in bound)
            self.blocks.append(f"{left} = {source.text(statement.value, changes).strip()}\n")
        return self.copy_names[key]


_BUILTIN = object()
# The wrappers of kernels in `passlab.op.declare`: one silences warnings, one copies into `out`. A module needs neither.
# All wrappers of one decorator share its code object, whatever they wrap.
_GUARDS = (quiet(len).__code__, with_out(len).__code__)


def _defining_module(source: ModuleText, name: str) -> tuple[ModuleText, str]:
    """Follow imports between modules of passlab; return the module that defines a name, and its name there."""
    statement = source.bindings.get(name)
    while isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("passlab"):
        if isinstance(getattr(source.module, name), ModuleType):
            break
        name = next(a.name for a in statement.names if (a.asname or a.name) == name)
        source = module_text(str(statement.module))
        statement = source.bindings.get(name)
    return source, name


def _node_of(source: ModuleText, value: Any, hint: str) -> Definition:
    """Return the definition of a function or class in its module. Raises `VerifyError` if it is not unique."""
    nodes: list[Any] = []
    if isinstance(value, FunctionType):
        nodes = source.functions.get(value.__code__.co_firstlineno, [])
        if len(nodes) > 1:
            # Several lambdas on one line are told apart by their parameters.
            names = value.__code__.co_varnames[: value.__code__.co_argcount]
            nodes = [n for n in nodes if tuple([a.arg for a in n.args.args]) == names]
    elif isinstance(source.bindings.get(value.__name__), ast.ClassDef):
        nodes = [source.bindings[value.__name__]]
    if len(nodes) != 1:
        raise VerifyError(f"the source of the kernel of {hint} was not found")
    return nodes[0]  # type: ignore[no-any-return]
