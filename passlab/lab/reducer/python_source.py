"""The Python source of user code: passes made from functions and classes, and predicates.

The source includes what a function uses: imports, plain values, the variables of closures, and other functions of its
files or notebook (`python_values`). What cannot be written becomes a comment that says what to fill in, and why.
Nothing is run.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from passlab.errors import python_comment
from passlab.lab.reducer.python_values import UnwritableError, Writer, identifier, is_known
from passlab.transform.base import Pass


@dataclass(frozen=True)
class PySource:
    """A value as Python: an expression, and the statements that have to come before it ("" for none).

    `lazy` says that they need `from __future__ import annotations`. `missing` says what cannot be written; the
    definition is then a comment that says what to fill in.
    """

    expression: str
    definition: str = ""
    lazy: bool = False
    missing: str = ""


def pass_source(pass_: Pass | None, text: str) -> PySource:
    """Return the Python that makes a pass: its text in the pipeline language, where a new process understands that."""
    if pass_ is None or is_known(pass_, text):
        return PySource(repr(text))
    writer = Writer()
    options = _options(text.removeprefix(pass_.info.name))
    try:
        if options and type(pass_).__module__.partition(".")[0] != "passlab":
            return _finished(writer, f"{writer.pass_class(pass_)}{options}")
        return _finished(writer, writer.last(pass_))
    except UnwritableError as error:
        return _missing(f"the pass `{pass_.info.name}`", identifier(pass_.info.name), error)


def _options(text: str) -> str:
    """Return the options behind the name of a pass, `(by=3)`; "" unless they are literals: a name may be any text."""
    try:
        call = ast.parse(f"f{text}", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return ""
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return ""
    return ast.unparse(call).removeprefix("f")


def function_source(function: Any, name: str) -> PySource:
    """Return the definition of a function such as a predicate; a lambda gets the name `name`."""
    writer = Writer()
    try:
        return _finished(writer, writer.expression(function, name))
    except UnwritableError as error:
        return _missing(f"`{name}`", name, error)


def _finished(writer: Writer, expression: str) -> PySource:
    return PySource(expression, writer.definition(), writer.lazy)


def _missing(what: str, name: str, error: UnwritableError) -> PySource:
    comment = python_comment(f"Define {what} here: passlab cannot write {error}.")
    return PySource(name, f"{comment}\n", missing=str(error))
