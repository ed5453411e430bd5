"""Where functions and classes were written: their statements, and the names that these use. Nothing is run.

A definition is found by the file, or the notebook cell, of its code; a lambda by the columns of its code too, since one
line may have several.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import symtable
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from textwrap import dedent
from types import CodeType, FunctionType
from typing import Any

Statement = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_FUTURE_ANNOTATIONS = 0x1000000  # the flag of code below `from __future__ import annotations`


@dataclass(frozen=True)
class Written:
    """The statement of a function or a class, or a lambda, in the lines of its file."""

    node: Statement | ast.Lambda
    lines: Sequence[str]
    lazy: bool  # whether annotations are not evaluated there

    @property
    def name(self) -> str:
        """The name that the statement binds; "" for a lambda."""
        return "" if isinstance(self.node, ast.Lambda) else self.node.name

    @property
    def decorators(self) -> list[ast.expr]:
        """The expressions behind `@`."""
        return [] if isinstance(self.node, ast.Lambda) else self.node.decorator_list

    @property
    def is_of_module(self) -> bool:
        """Whether the statement stands at the left margin: it uses the names of its module."""
        return not isinstance(self.node, ast.Lambda) and self.node.col_offset == 0

    def text(
        self,
        name: str,
        decorators: Sequence[ast.expr] = (),
        replaced: Mapping[ast.expr, str] | None = None,
    ) -> str:
        """Return the source under a name, with these of its decorators and with other expressions for some.

        Comments and layout are kept where name and expressions stay, and all decorators or none.
        """
        node = self.node
        changed = _changed(node, name, decorators, replaced or {})
        if isinstance(node, ast.Lambda):
            return f"{name} = {ast.unparse(changed)}\n"
        first = min([node.lineno, *(d.lineno for d in decorators)])
        kept = dedent("".join(self.lines[first - 1 : node.end_lineno]))
        return kept if _means(kept, changed) else f"{ast.unparse(changed)}\n"


class _Replacer(ast.NodeTransformer):
    """Replaces expressions by names."""

    def __init__(self, replaced: Mapping[ast.expr, str]) -> None:
        self.names = {_place(node): name for node, name in replaced.items()}

    def visit(self, node: ast.AST) -> Any:
        name = self.names.get(_place(node)) if isinstance(node, ast.expr) else None
        return self.generic_visit(node) if name is None else ast.Name(name, ast.Load())


def _place(node: ast.expr) -> tuple[int | None, ...]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _changed(node: ast.AST, name: str, decorators: Sequence[ast.expr], replaced: Mapping[ast.expr, str]) -> Any:
    copy = _Replacer(replaced).visit(deepcopy(node))
    if not isinstance(copy, ast.Lambda):
        copy.name, copy.decorator_list = name, list(decorators)
    return copy


def _means(text: str, node: ast.AST) -> bool:
    """Whether a text is this statement: strings with lines of less indentation make it another one."""
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.Module([node], []))  # type: ignore[list-item]
    except SyntaxError:
        return False


def written(value: Any) -> Written | None:
    """Return how a function or a class was written; None where its file or cell is not available, or has changed."""
    if isinstance(value, FunctionType):
        code = value.__code__
        file = _file_of(code.co_filename, value.__globals__)
        return file.definition(code) if file else None
    for function in functions_of(value):
        file = _file_of(function.__code__.co_filename, function.__globals__)
        if file and (found := file.class_around(value.__name__, function.__code__)):
            return found
    try:
        name = inspect.getsourcefile(value)
    except TypeError:  # a class of a notebook, without a method
        return None
    file = _file_of(name or "", {})
    return file.only_class(value.__name__) if file else None


class _File:
    """The definitions in a text."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)
        self.tree = ast.parse(text)

    @cached_property
    def definitions(self) -> list[Statement | ast.Lambda]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        return [node for node in ast.walk(self.tree) if isinstance(node, kinds)]

    def definition(self, code: CodeType) -> Written | None:
        node: Statement | ast.Lambda | None
        if code.co_name == "<lambda>":
            on_line = [n for n in self.definitions if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
            found = [n for n in on_line if _has_columns(n, code)]
            # Of lambdas in lambdas, the inner one begins later.
            node = max(found, key=lambda n: n.col_offset, default=None)
        else:
            named = (n for n in self.definitions if getattr(n, "name", "") == code.co_name)
            node = next((n for n in named if _first_line(n) == code.co_firstlineno), None)
        return Written(node, self.lines, bool(code.co_flags & _FUTURE_ANNOTATIONS)) if node else None

    def class_around(self, name: str, code: CodeType) -> Written | None:
        line = code.co_firstlineno
        classes = [n for n in self._classes(name) if n.lineno <= line <= (n.end_lineno or 0)]
        lazy = bool(code.co_flags & _FUTURE_ANNOTATIONS)
        return Written(max(classes, key=lambda n: n.lineno), self.lines, lazy) if classes else None

    def only_class(self, name: str) -> Written | None:
        classes = self._classes(name)
        return Written(classes[0], self.lines, True) if len(classes) == 1 else None

    def _classes(self, name: str) -> list[ast.ClassDef]:
        return [n for n in self.definitions if isinstance(n, ast.ClassDef) and n.name == name]


def _first_line(node: Statement | ast.Lambda) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(d.lineno for d in decorators)])


def _has_columns(node: ast.Lambda, code: CodeType) -> bool:
    """Whether code belongs to a lambda. Before Python 3.11 code has no columns: its constants and names decide."""
    if hasattr(code, "co_positions"):
        places = [
            (line, start, last, end) for line, last, start, end in code.co_positions() if start is not None and end
        ]
        first, final = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        return all(first <= (line, start) and (last, end) <= final for line, start, last, end in places)
    (own,) = (c for c in compile(ast.Expression(node), "", "eval").co_consts if isinstance(c, CodeType))
    names = {*code.co_names, *code.co_freevars, *code.co_varnames, *code.co_cellvars}
    return own.co_consts == code.co_consts and {*own.co_names, *own.co_varnames, *own.co_cellvars} == names


@lru_cache(maxsize=32)
def _parsed(text: str) -> _File | None:
    try:
        return _File(text)
    except (SyntaxError, ValueError):  # it has changed since, or is not Python
        return None


def _file_of(name: str, space: dict[str, Any]) -> _File | None:
    linecache.checkcache(name)
    lines = linecache.getlines(name, space)
    return _parsed("".join(lines)) if lines else None


def functions_of(value: Any) -> Iterator[FunctionType]:
    """Yield the functions in the body of a class, also those in its properties."""
    for member in vars(value).values():
        parts = (member, *(getattr(member, part, None) for part in ("__func__", "fget", "fset", "func")))
        yield from (part for part in parts if isinstance(part, FunctionType))


def cells_of(value: Any) -> dict[str, Any]:
    """Return the variables that a function, or the functions of a class, read from functions around them."""
    cells: dict[str, Any] = {}
    for function in [value] if isinstance(value, FunctionType) else functions_of(value):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name != "__class__":  # which `super()` reads
                try:
                    cells[name] = cell.cell_contents
                except ValueError:  # assigned later, or never
                    continue
    return cells


def names_read(text: str, lazy: bool) -> set[str]:
    """Return the names that statements read from around them; those in annotations only if they are evaluated."""
    tree = ast.parse(text)
    if lazy:
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                node.annotation = None
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                node.returns = None
            elif isinstance(node, ast.AnnAssign):
                node.annotation = ast.Constant("")
    names: set[str] = set()
    tables = [symtable.symtable(ast.unparse(tree), "text", "exec")]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if table.get_type() == "module":
                read = symbol.is_referenced() and not symbol.is_assigned()
            else:
                read = symbol.is_global()
            if read:
                names.add(symbol.get_name())
    return names
