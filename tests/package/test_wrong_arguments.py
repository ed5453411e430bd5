"""Whatever is given for a parameter of a public function or method, the answer is a result or a `PasslabError`.

The right calls are those that the manual's examples make: each page of the reference and each docstring runs while a
profiler notes the arguments of every public function. Then each argument is replaced by values of the wrong kind. A
method that no example calls is given the same wrong value for all its parameters.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import functools
import importlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import passlab
from passlab.errors import PasslabError
from passlab.passes import PASSES

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

import reference_pages  # noqa: E402 - a script of the manual, which is no package

pytestmark = [pytest.mark.rotating(parts=15), pytest.mark.filterwarnings("ignore")]

(IMPORTS,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/api/index.md").read_text(encoding="utf-8"), re.DOTALL)
WRONG = (None, object(), "nonsense", [object()], {1}, np.ones((2, 3)), "\ud800", passlab)
SPECIAL = ("__call__", "__getitem__", "__setitem__", "__delitem__")
# Called for each node of a program: a check of arguments would cost more than their work. A user's mistake shows there
# as Python's own error of an attribute, an index or a key.
HOT = {
    *("evaluate.ADTValue", "evaluate.ADTValue.__getitem__", "evaluate.Evaluator.apply", "ir.Tuple.__getitem__"),
    *(f"ir.{cls}.{name}" for cls in ("Attrs", "DictAttrs") for name in ("get", "__getitem__")),
    *(f"ir.{cls}.{name}" for cls in ("Attrs", "DictAttrs") for name in ("get_int", "get_int_tuple", "get_str")),
    *("ir.Op.get_attr", "ir.Op.has_attr", "ir.Call", "ir.Function", "ir.Match", "ir.FuncType", "ir.TypeRelation"),
    *(f"ir.walk.{name}" for name in ("rebuild", "rebuild_typed", "result_of", "may_rewrite", "post_order")),
    *(f"ir.walk.{name}" for name in ("Scope", "Scope.at_depth", "Scope.common", "Scope.encloses")),
}
ELSEWHERE = re.compile(
    r"^(errors|compat|recorders|doctor)\."  # texts of errors; what changes the process or asks other programs
    r"|\.interact$|\.benchmark$|\.notebook$"  # wait for keys, for time, or open a server
    r"|\b(un)?load_ipython_extension$"  # called by IPython
    r"|^lab\.(bisect|compare_executors|culprit|fuzz|orders|reduce|simplify)$"  # tests/lab/test_wrong_options.py
    r"|^transform\.register_config_option$"  # compares defaults, of any type
    r"|^lab\.Diff\.nodes$|\.derived$"  # yield: they fail where they are iterated or entered
)


@dataclass
class Call:
    """A right call: what is called, with its arguments by name, and further ones by position."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    more: tuple[Any, ...]


@functools.cache
def public() -> dict[str, Any]:
    """Every public function and class once, by the first of its names, without `passlab.`."""
    found: dict[int, tuple[str, Any]] = {}
    for module_name in reversed(reference_pages.MODULES.values()):
        module = importlib.import_module(module_name)
        for name in (*reference_pages.public_names(module), *(PASSES if module_name == "passlab.transform" else ())):
            if callable(value := getattr(module, name)):
                found[id(value)] = (f"{module_name}.{name}".removeprefix("passlab."), value)
    return dict(found.values())


def code_of(member: Any) -> CodeType | None:
    function = inspect.unwrap(getattr(member, "__func__", member))
    code = getattr(function, "__code__", None)
    return code if code is not None and inspect.isfunction(function) else None


@functools.cache
def functions() -> dict[str, tuple[Any, str, CodeType]]:
    """The functions, constructors and methods to ask: the owner, the name in it ("" for itself), and the code."""
    found = {}
    for name, value in public().items():
        if not inspect.isclass(value):
            if (code := code_of(value)) is not None:
                found[name] = (value, "", code)
            continue
        if issubclass(value, Enum) or getattr(value, "_is_protocol", False):
            continue
        maker = value.__init__ if value.__init__ is not object.__init__ else value.__new__
        if (code := code_of(maker)) is not None:
            found[name] = (value, "", code)
        for part in dir(value):
            code = code_of(inspect.getattr_static(value, part))
            if code is not None and (not part.startswith("_") or part in SPECIAL) and "passlab" in code.co_filename:
                found[f"{name}.{part}"] = (value, part, code)
    return {name: entry for name, entry in found.items() if name not in HOT and not ELSEWHERE.search(name)}


@functools.cache
def by_code() -> dict[CodeType, list[str]]:
    found: dict[CodeType, list[str]] = {}
    for name, (_, _, code) in functions().items():
        found.setdefault(code, []).append(name)
    return found


class Watcher:
    """Notes the first call of each public function while it is the profiler, and an instance of each class."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        self.instances: dict[type, Any] = {}

    def __call__(self, frame: FrameType, event: str, value: object) -> None:
        names = by_code().get(frame.f_code) if event == "call" else None
        for name in names or ():
            if name not in self.calls:
                self.note(name, frame)

    def note(self, name: str, frame: FrameType) -> None:
        owner, part, code = functions()[name]
        count = code.co_argcount + code.co_kwonlyargcount
        arguments = {key: frame.f_locals[key] for key in code.co_varnames[:count] if key in frame.f_locals}
        more = frame.f_locals.get(code.co_varnames[count], ()) if code.co_flags & inspect.CO_VARARGS else ()
        function = owner
        if inspect.isclass(owner):
            first = arguments.pop(code.co_varnames[0], None) if code.co_argcount else None
            kind = first if inspect.isclass(first) else type(first)
            if not isinstance(inspect.getattr_static(owner, part or "__init__"), staticmethod) and kind is not owner:
                return
            if part and isinstance(first, owner):  # a constructor may still fail
                self.instances.setdefault(owner, first)
            if part and not (inspect.isclass(first) or first is None or isinstance(first, owner)):
                return
            function = owner if not part else getattr(owner if inspect.isclass(first) or first is None else first, part)
        self.calls[name] = Call(function, arguments, more)


def programs_of(module: str) -> Iterator[str]:
    """The examples of a page of the reference, and of the docstrings of its names."""
    page = next(page for page, name in reference_pages.MODULES.items() if name.removeprefix("passlab.") == module)
    yield "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / f"docs/api/{page}.md").read_text("utf-8"), re.DOTALL))
    for name, value in public().items():
        if module_of(name) == module:
            doc = inspect.getdoc(value) or ""
            yield "".join(example.source for example in doctest.DocTestParser().get_examples(doc))


def watch(module: str) -> Watcher:
    """Run the examples of a module; what they print is dropped, and so are the errors that they show."""
    watcher = Watcher()
    for text in programs_of(module):
        space: dict[str, Any] = {}
        exec(IMPORTS, space)
        for statement in ast.parse(text).body:
            program = compile(ast.Module([statement], []), module, "exec")
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
                sys.setprofile(watcher)
                try:
                    exec(program, space)
                finally:
                    sys.setprofile(None)
    return watcher


def wrong_calls(watcher: Watcher, name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The calls of a function with wrong arguments, with a description of each."""
    owner, part, _ = functions()[name]
    call = watcher.calls.get(name)
    if call is None:
        instance = next((one for kind, one in watcher.instances.items() if owner in kind.__mro__), None)
        if not part or instance is None:
            return
        call = Call(getattr(instance, part), {}, ())
    parameters = inspect.signature(call.function).parameters
    for value in WRONG:
        what = ascii(value)[:40]
        right = {key: one for key, one in call.arguments.items() if key in parameters}
        if not right:
            required = [p for p in parameters.values() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
            if required:
                given = [value for p in required if p.kind is not p.KEYWORD_ONLY]
                named = {p.name: value for p in required if p.kind is p.KEYWORD_ONLY}
                yield f"{what}, ...", functools.partial(call.function, *given, **named)
            continue
        for key in right:
            values = {**right, key: value}
            plain = [k for k in values if parameters[k].kind is not inspect.Parameter.KEYWORD_ONLY]
            by_position = [values.pop(k) for k in plain] if call.more or parameters[key].kind == 0 else []
            yield f"{key}={what}", functools.partial(call.function, *by_position, *call.more, **values)


def module_of(name: str) -> str:
    """The module of a public name."""
    fitting = (module for module in MODULES if name.startswith(f"{module}."))
    return max(fitting, key=len, default="passlab")


MODULES = [name.removeprefix("passlab.") for name in reference_pages.MODULES.values()]


@pytest.mark.parametrize("module", MODULES)
def test_a_wrong_argument_is_refused_in_words(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # some values are names of files to write
    answer = in_a_fork(lambda: complaints_of(module))
    assert answer == "asked", answer


def in_a_fork(job: Callable[[], list[str]]) -> str:
    """Return the lines of a job, and `asked`. What wrong calls start or register ends with the process that makes them."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        with os.fdopen(writer, "w", errors="replace") as file:
            file.write("\n".join([*job(), "asked"]))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        answer = file.read()
    os.waitpid(child, 0)
    return answer


def complaints_of(module: str) -> list[str]:
    """Return the foreign errors that calls of the functions of a module with wrong arguments raise."""
    watcher = watch(module)
    complaints = []
    for name in (name for name in functions() if module_of(name) == module):
        for what, call in wrong_calls(watcher, name):
            try:
                call()
            except PasslabError:
                continue
            except Exception as error:  # noqa: BLE001 - what is looked for
                complaints.append(f"{name}({what}): {type(error).__name__}: {error}"[:200])
    return complaints


def test_hundreds_of_functions_are_asked() -> None:
    assert len(functions()) > 1_500
    assert in_a_fork(lambda: [str(len(watch("transform").calls) > 40)]) == "True\nasked"
