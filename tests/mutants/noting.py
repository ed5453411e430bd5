"""Notes which functions of passlab are called, in every process that a test starts, at the price of one assignment a call.

Each function has a number, and sets the byte of that number in a file that all processes map into memory. So a function
that only a kernel, a command or a fork runs is noted, too, and nothing has to be sent or waited for.
"""

from __future__ import annotations

import ast
import builtins
import json
import marshal
import mmap
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import cast

from tests.mutants.definitions import definitions, module_name, package

NAME = "_reached_functions_"  # of the bytes, as functions of passlab see them


class Called:
    """The functions that were called since the last `clear`."""

    def __init__(self, folder: Path) -> None:
        self.functions: list[str] = json.loads((folder / "functions.json").read_text(encoding="utf-8"))
        self.bytes = _mapped(folder)

    def clear(self) -> None:
        """Forget all calls."""
        self.bytes[:] = bytes(len(self.bytes))

    def __iter__(self) -> Iterator[str]:
        return (self.functions[match.start()] for match in re.finditer(b"\1", self.bytes[:]))


def prepare(folder: Path) -> None:
    """Number the functions of passlab, and write the file of their bytes."""
    names = [
        f"{module_name(file)}:{path}" for file, source in package().items() for path, _ in _functions(ast.parse(source))
    ]
    functions = list(dict.fromkeys(names))
    (folder / "code").mkdir(parents=True)
    (folder / "functions.json").write_text(json.dumps(functions), encoding="utf-8")
    (folder / "called").write_bytes(bytes(len(functions)))


def install(folder: Path) -> None:
    """From now on modules of passlab are loaded so that their functions note that they are called."""
    functions = json.loads((folder / "functions.json").read_text(encoding="utf-8"))
    setattr(builtins, NAME, _mapped(folder))
    sys.meta_path.insert(0, _Finder({name: number for number, name in enumerate(functions)}, folder / "code"))


def _mapped(folder: Path) -> mmap.mmap:
    with (folder / "called").open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path, node in definitions(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield path, node


class _Finder(MetaPathFinder):
    def __init__(self, numbers: dict[str, int], code: Path) -> None:
        self.numbers = numbers
        self.code = code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "passlab":
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader, self)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, plain: SourceFileLoader, finder: _Finder) -> None:
        super().__init__(plain.name, plain.path)
        self.finder = finder

    def get_code(self, fullname: str) -> CodeType:
        """The compiled module, from the notes of a process that has loaded it before, or anew."""
        kept = self.finder.code / fullname
        with suppress(OSError, ValueError, EOFError):
            return cast(CodeType, marshal.loads(kept.read_bytes()))
        source = Path(self.path).read_text(encoding="utf-8")
        tree = ast.parse(source)
        for path, node in _functions(tree):
            _note_call(node, self.finder.numbers[f"{fullname}:{path}"])
        code = compile(tree, self.path, "exec", dont_inherit=True)
        kept.write_bytes(marshal.dumps(code))
        return code


def _note_call(node: ast.FunctionDef | ast.AsyncFunctionDef, number: int) -> None:
    """Begin a function, below its docstring, with the assignment that notes its call."""
    (statement,) = ast.parse(f"{NAME}[{number}] = 1").body
    for part in ast.walk(statement):
        ast.copy_location(part, node.body[0])
    node.body.insert(ast.get_docstring(node, clean=False) is not None, statement)
