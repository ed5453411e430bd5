"""The Python source of user code: passes made from functions and classes, and predicates.

The source includes what a function uses: imports, plain values, and other functions of its file or notebook. A
definition without source (typed at a prompt, generated, or a closure) becomes a comment that says what to fill in.
Nothing is run.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent
from types import FunctionType, ModuleType
from typing import Any

from passlab.errors import PasslabError, python_comment
from passlab.transform.base import FunctionPass, Pass
from passlab.transform.sequential import Sequential, as_pass

UNKNOWN = "its source is not available"  # in the comment that stands for a definition


@dataclass(frozen=True)
class PySource:
    """A value as Python: an expression, and the statements that have to come before it ("" for none)."""

    expression: str
    definition: str = ""


def pass_source(pass_: Pass | None, text: str) -> PySource:
    """Return the Python that makes a pass: its text in the pipeline language, where a new process understands that."""
    if pass_ is None or _is_known(pass_, text):
        return PySource(repr(text))
    function = getattr(pass_, "pass_func", None)
    if inspect.isfunction(function):
        return _function_pass(pass_, function)
    own = type(getattr(pass_, "_user_object", pass_))
    definition = _with_uses(own) or _unknown(f"the pass `{pass_.info.name}`")
    _, paren, options = text.partition("(")  # `options` includes the closing parenthesis
    return PySource(f"{own.__name__}({options}" if paren else f"{own.__name__}()", definition)


def _is_known(pass_: Pass, text: str) -> bool:
    """Whether the pipeline language makes the same pass in a process that knows the standard passes only."""
    try:
        pipeline = as_pass([text])
    except PasslabError:
        return False
    members = pipeline.passes if isinstance(pipeline, Sequential) else [pipeline]
    alike = [p for p in members if type(p) is type(pass_) and p.as_text() == text]
    return len(members) == len(alike) == 1 and type(pass_).__module__.startswith("passlab.")


def _function_pass(pass_: Pass, function: Any) -> PySource:
    definition = _with_uses(function)
    name = getattr(function, "__name__", "")
    if definition is None or not name.isidentifier():
        return PySource(_identifier(pass_.info.name), _unknown(f"the pass `{pass_.info.name}`"))
    if not (_source(function) or "").startswith("@"):
        kind = "function_pass" if isinstance(pass_, FunctionPass) else "module_pass"
        info = pass_.info
        definition += (
            f"\n\n{name} = transform.{kind}({name}, opt_level={info.opt_level}, name={info.name!r}, "
            f"required={list(info.required)!r})\n"
        )
    return PySource(name, definition)


def function_source(function: Any, name: str) -> PySource:
    """Return the definition of a function such as a predicate; a lambda gets the name `name`."""
    own = getattr(function, "__name__", "")
    definition = _with_uses(function, name if own == "<lambda>" else "")
    if definition is None or not (own.isidentifier() or own == "<lambda>"):
        return PySource(name, _unknown(f"`{name}`"))
    return PySource(own if own.isidentifier() else name, definition)


def _source(value: Any) -> str | None:
    """Return the source of a function or class; None where there is none, and for a closure, which needs context."""
    if inspect.isfunction(value) and value.__closure__:
        return None
    try:
        return dedent(inspect.getsource(value))
    except (OSError, TypeError):
        return None


def _with_uses(function: Any, name: str = "") -> str | None:
    """Return the source of a function below all that it uses; a lambda gets a name. None where there is no source."""
    imports, blocks = dict[str, None](), dict[int, str]()
    worklist: list[tuple[Any, str, str | None]] = [(function, name, None)]
    begun: set[int] = set()
    while worklist:
        value, called, done = worklist.pop()
        if done is not None:  # dependencies come first
            blocks[id(value)] = done
        elif id(value) not in begun:
            begun.add(id(value))
            source = _named_source(value, called) or ""
            worklist.append((value, called, source))
            for used, used_value in _globals_used(value, source):
                line = _import(used, used_value, function.__module__)
                if line is not None:
                    imports[line] = None
                elif isinstance(used_value, FunctionType) or inspect.isclass(used_value):
                    worklist.append((used_value, used, None))
                elif isinstance(used_value, (bool, int, float, str)):
                    blocks[id(used_value)] = f"{used} = {used_value!r}\n"
    if not blocks[id(function)]:
        return None
    head = "".join(f"{line}\n" for line in sorted(imports))
    return "\n\n".join(filter(None, [head, *blocks.values()]))


def _named_source(value: Any, name: str) -> str | None:
    """Return the source of a function or class; for a lambda, an assignment to the name."""
    source = _source(value)
    if source is None or getattr(value, "__name__", "") != "<lambda>":
        return source
    text = _only_lambda(source)
    return f"{name} = {text}\n" if text else None


def _globals_used(value: Any, source: str) -> Iterator[tuple[str, Any]]:
    """Yield the globals that the source of a function or class uses, with their values."""
    # A class has no globals: those of its module.
    space = getattr(value, "__globals__", None) or vars(sys.modules.get(value.__module__, sys))
    for node in ast.walk(ast.parse(source)):
        # Neither local names nor the function itself.
        if isinstance(node, ast.Name) and space.get(node.id, value) is not value:
            yield node.id, space[node.id]


def _import(name: str, value: Any, home: str) -> str | None:
    """Return the statement that imports a value under a name; None for a value that belongs to the module `home`."""
    if isinstance(value, ModuleType):
        package, _, module = value.__name__.rpartition(".")
        if package and module == name:
            return f"from {package} import {module}"
        return f"import {value.__name__}" + ("" if value.__name__ == name else f" as {name}")
    where: Any = getattr(value, "__module__", None)
    what = getattr(value, "__qualname__", "")
    if where in (home, "__main__") or getattr(sys.modules.get(where), what, None) is not value:
        return None
    return f"from {where} import {what}" + ("" if what == name else f" as {name}")


def _only_lambda(source: str) -> str | None:
    """Return the only lambda in a source: the longest text that parses as one lambda. None where there is not one."""
    if source.count("lambda") != 1:
        return None
    start = source.index("lambda")
    # The longest text first: one that reaches into the call around the lambda does not parse.
    for end in range(len(source), start, -1):
        try:
            tree = ast.parse(source[start:end], mode="eval")
        except SyntaxError:
            continue
        if isinstance(tree.body, ast.Lambda):
            return source[start:end].strip()
    return None


def _identifier(name: str) -> str:
    return re.sub(r"\W|^(?=\d)", "_", name, flags=re.ASCII)  # the second alternative puts `_` before a leading digit


def _unknown(what: str) -> str:
    return python_comment(f"Define {what} here: {UNKNOWN}.") + "\n"
