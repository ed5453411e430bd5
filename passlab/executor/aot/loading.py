"""Imports compiled modules into this process, from a temporary folder, and calls them with values of passlab.

ADT values, references and functions of a compiled module are objects of its own classes: arguments are converted to
them, and results back to passlab's.

The file begins with the limits of passlab for compiled modules that run in this process: the depth of calls and the
length of a run.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import is_dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import GeneratorType, ModuleType
from typing import Any

import numpy as np

from passlab import limits
from passlab.errors import Diagnostic, InterruptedRunError, LimitError, PasslabError, RunError
from passlab.evaluate.arguments import check_argument
from passlab.evaluate.operators import failure
from passlab.evaluate.values import ADTValue, RefValue
from passlab.executor.aot.module_source import PythonSource, write_module
from passlab.ir.adt import Constructor, constructor_numbers
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.ir.span import Span
from passlab.vm.engines.frames import too_deep

SPEND = "__passlab_spend__"  # the name of `spend` in the text of a module
ENDLESS = limits.Limits().instructions  # the default is practically no limit: reaching it takes days


class Fuel:
    """Remaining fuel of one run: calls and loop iterations."""

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def spend(self) -> bool:
        """Use one unit; return True. Raises `LimitError` if none is left."""
        self.left -= 1
        if self.left < 0:
            what = f"the program was stopped after {self.most:,} calls and iterations, the limit `instructions`"
            raise LimitError(Diagnostic(what, hint="raise it with `passlab.limits.override(instructions=...)`"))
        return True


fuel: ContextVar[Fuel] = ContextVar("passlab_aot_meter")


def spend() -> bool:
    """Spend fuel for one iteration of a loop of the current run (of this thread or task)."""
    return fuel.get().spend()


def drive_within_limits(value: Any, tail_call: Any, left_fuel: Fuel | None) -> Any:
    """Drive a program to its result as `prelude.run` does, within the limits.

    `tail_call` is the copy of `prelude.TailCall` in the module, None if it has none. Raises `LimitError`.
    """
    deepest = limits.current().frames
    frames: list[Any] = []
    while True:
        if left_fuel is not None:
            left_fuel.spend()
        if type(value) is tail_call:
            value = value.function(*value.args)
            continue
        if type(value) is GeneratorType:
            if len(frames) >= deepest:
                raise too_deep(deepest)
            frames.append(value)
            value = None
        elif not frames:
            return value
        try:
            value = frames[-1].send(value)
        except StopIteration as stop:
            frames.pop()
            value = stop.value


def import_parts(source: PythonSource) -> ModuleType:
    """Import a compiled module. Its files are deleted after the import."""
    with TemporaryDirectory(prefix="passlab-") as folder:
        path = Path(folder) / "program.py"
        write_module(source, path)
        spec = importlib.util.spec_from_file_location(f"passlab_program_{next(_numbers)}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module.__name__] = module  # `dataclass` looks up the module of the class
        try:
            spec.loader.exec_module(module)
        finally:
            del sys.modules[module.__name__]
    return module


_numbers = count()


class _ImportedModule:
    """A compiled module in this process, its entry and its copies of the prelude. Its kernels obey passlab's limits."""

    def __init__(self, source: PythonSource) -> None:
        self.module = import_parts(source)
        (name,) = source.entries.values()
        # `__wrapped__` is the function without `prelude.entry`: arguments are checked and calls driven here.
        self.entry: Callable[..., Any] = getattr(self.module, name).__wrapped__
        support = {own: getattr(self.module, name) for own, name in source.support.items()}
        self.tail_call: type | None = support.get("TailCall")
        self.error: type | None = support.get("ProgramError")
        self.reference: type | None = support.get("Ref")
        if "limits" in support:
            support["limits"].check = staticmethod(limits.check)


def _constructor_key(constructor: Constructor) -> tuple[str, str]:
    return constructor.belong_to.name_hint, constructor.name_hint


class CompiledProgram:
    """The entry function of a compiled module: call it with arrays, tuples and ADT values in order."""

    def __init__(self, source: PythonSource, function: Function, mod: IRModule) -> None:
        self.source = source
        self.function = function
        self.program = _ImportedModule(source)
        self.module = self.program.module
        by_tag = {number: c for c, number in constructor_numbers(mod.type_definitions.values()).items()}
        classes: list[Any] = [v for v in vars(self.module).values() if isinstance(v, type) and hasattr(v, "tag")]
        self.constructors = {k: by_tag[k.tag] for k in classes if k.tag in by_tag}
        self.classes: dict[tuple[str, str], type] = {_constructor_key(c): k for k, c in self.constructors.items()}

    @cached_property
    def with_fuel(self) -> _ImportedModule:
        """A second import of the program whose loops spend fuel, with the classes of `module`."""
        result = _ImportedModule(self.source.with_loops(f"{SPEND}()"))
        setattr(result.module, SPEND, spend)
        # A value that one import made must be an instance of the other's classes.
        for kind in vars(self.module).values():
            if isinstance(kind, type):
                setattr(result.module, kind.__name__, kind)
        return result

    def __call__(self, *args: Any) -> Any:
        arguments = [check_argument(p, a) for p, a in zip(self.function.params, args, strict=True)]
        return self._run_in_limits(None, arguments)

    def call_value(self, value: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Call a function that the program returned."""
        return self._run_in_limits(value, args)

    def _run_in_limits(self, function: Callable[..., Any] | None, args: Sequence[Any]) -> Any:
        """Run the entry, or another function of the program, within the limits."""
        most = limits.current().instructions
        left_fuel = Fuel(most) if most < ENDLESS else None
        program = self.program if left_fuel is None else self.with_fuel
        outer = fuel.set(left_fuel) if left_fuel is not None else None
        try:
            with np.errstate(all="ignore"):
                arguments = [self._convert(a, inward=True) for a in args]
                value = (function or program.entry)(*arguments)
                return self._convert(drive_within_limits(value, self.program.tail_call, left_fuel))
        except PasslabError as error:
            first, *rest = error.diagnostics
            span, notes = self._locate(error)
            located = replace(first, place=first.place or span, notes=(*first.notes, *notes))
            raise type(error)(located, *rest) from error
        except KeyboardInterrupt as error:
            span, notes = self._locate(error)
            raise InterruptedRunError(Diagnostic("the program was interrupted", span, notes=notes)) from error
        except Exception as error:
            span, notes = self._locate(error)
            if type(error) is self.program.error:
                finding = next(iter(error.args), None)  # a text, or the `Finding` of a kernel
                parts = vars(finding) if is_dataclass(finding) else {"message": str(error), "notes": ()}
                raise RunError(Diagnostic(**{**parts, "place": span, "notes": (*parts["notes"], *notes)})) from error
            raise failure(error, "the compiled program failed", span, notes) from error
        finally:
            if outer is not None:
                fuel.reset(outer)

    def _locate(self, error: BaseException) -> tuple[Span | None, tuple[tuple[str, None], ...]]:
        """Return the source location of an error, and notes with the lines of the compiled module, innermost first."""
        lines = self.source.text.splitlines()
        notes: list[tuple[str, None]] = []
        span: Span | None = None
        trace = error.__traceback__
        modules = [vars(self.module), *([vars(self.with_fuel.module)] if "with_fuel" in vars(self) else [])]
        while trace is not None:
            if any(trace.tb_frame.f_globals is module for module in modules):
                name, line = trace.tb_frame.f_code.co_name, lines[trace.tb_lineno - 1].strip()
                notes.append((f"in {name}, line {trace.tb_lineno}: {line}", None))
                # A traceback begins outermost, so a later line that has a location replaces an earlier one.
                span = self.source.spans.get(line) or span
            trace = trace.tb_next
        return span or self.function.span, tuple(reversed(notes[-6:]))

    def _convert(self, root: Any, inward: bool = False) -> Any:
        """Convert a value of the module to one of passlab (`inward`: the reverse). References may form cycles."""
        references: dict[int, tuple[Any, RefValue]] = {}  # by identity; grows while their contents are converted
        result = self._convert_tree(root, inward, references)
        filled = 0
        while filled < len(references):
            reference, copy = list(references.values())[filled]
            copy.value = self._convert_tree(reference.value, inward, references)
            filled += 1
        return result

    def _convert_tree(self, root: Any, inward: bool, references: dict[int, tuple[Any, RefValue]]) -> Any:
        """Convert a value without the contents of its references; without recursion, and shared parts stay shared."""
        result: list[Any] = []
        copies: dict[int, Any] = {}  # by identity; `root` keeps them all alive
        stack: list[tuple[Any, int]] = [(root, -1)]  # a value and -1, or a value whose parts are done and their number
        while stack:
            value, count = stack.pop()
            if count >= 0:
                copies[id(value)] = copy = self._rebuild(value, result[len(result) - count :])
                result[len(result) - count :] = [copy]
                continue
            if id(value) in copies:
                result.append(copies[id(value)])
                continue
            parts = self._fields_of(value, inward)
            if parts is None:
                result.append(self._convert_leaf(value, references))
            else:
                stack.append((value, len(parts)))
                stack.extend((p, -1) for p in reversed(parts))
        return result[0]

    def _fields_of(self, value: Any, inward: bool) -> Sequence[Any] | None:
        if isinstance(value, tuple):
            return value
        if inward:
            # The program has no class for a constructor that it never names: it only passes such a value on.
            is_named = isinstance(value, ADTValue) and _constructor_key(value.constructor) in self.classes
            return value.fields if is_named else None
        if type(value) in self.constructors:
            return [getattr(value, name) for name in type(value).__match_args__]
        return None

    def _rebuild(self, value: Any, fields: Sequence[Any]) -> Any:
        if isinstance(value, tuple):
            return tuple(fields)
        if isinstance(value, ADTValue):
            return self.classes[_constructor_key(value.constructor)](*fields)
        constructor: Constructor = self.constructors[type(value)]
        return ADTValue(constructor, fields)

    def _convert_leaf(self, value: Any, references: dict[int, tuple[Any, RefValue]]) -> Any:
        if isinstance(value, np.generic):
            return np.asarray(value)
        if type(value) is self.program.reference:
            return references.setdefault(id(value), (value, RefValue(None)))[1]
        return value
