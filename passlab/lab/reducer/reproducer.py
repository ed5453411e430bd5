"""Reproducer notebooks: what `bisect` and `reduce` found, as a notebook whose last cell fails once the pass is fixed.

A notebook has the program as Relay text, the pass by name or by its Python source, the call of `bisect` or the
predicate, and an assertion. It has no outputs. nbformat writes it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.atomic_file import checked_path, write_text
from passlab.errors import Diagnostic, MissingPackageError, PassError, visible
from passlab.ir.module import IRModule
from passlab.lab.reducer.python_source import PySource, function_source, pass_source
from passlab.lab.reducer.script import exact_source, replayed_source

if TYPE_CHECKING:
    from passlab.lab.culprits.bisection import Bisection
    from passlab.lab.reducer.reduction import Reduction

IMPORTS = "%load_ext passlab\nfrom passlab import lab, transform"
ARRAYS = "import base64\n\nimport numpy as np\n\n"


def write_bisection(bisection: Bisection, path: str | PathLike[str], mod: IRModule | None = None) -> Path:
    """Write a notebook in which the guilty pass breaks a program: `mod`, or else the program of the bisection.

    Raises `PassError` when no pass broke the program, `MissingPackageError` without nbformat, and `OSError`.
    """
    event = bisection.event
    if event is None:
        raise PassError(Diagnostic("there is nothing to reproduce: no pass broke the program"))
    criterion = bisection.criterion
    guilty = replayed_source(event.pass_) or pass_source(event.pass_, event.text)
    good = function_source(criterion.good, "good") if criterion.good is not None else PySource("")
    inputs = _inputs_source(criterion.inputs)
    options: dict[str, str] = {"opt_level": str(event.context.opt_level)}
    if good.expression:
        options["good"] = good.expression
    else:
        options |= {"seed": str(criterion.seed), "entry": repr(criterion.entry)}
        options |= {"inputs": inputs.expression} if inputs.expression else {}
    if event.context.required_pass:
        options["required_pass"] = repr(list(event.context.required_pass))
    if event.context.config:
        options["config"] = repr(event.context.config)
    asked = ", ".join(f"{name}={value}" for name, value in options.items())
    exact = exact_source(bisection, mod or event.before)
    verb = "fails" if bisection.error is not None else "breaks a program"
    cells = [
        ("markdown", f"# {_heading(event.name)} {verb}\n\n{_quote(bisection.summary())}"),
        ("code", IMPORTS),
        *_definitions(guilty, good, inputs),
        ("code", f"import passlab\n\n{exact}") if exact else _program_cell(mod or event.before),
        ("code", f"bisection = lab.bisect(net, [{guilty.expression}], {asked})\nbisection"),
        ("markdown", "The next cell passes as long as the fault is there, and fails once the pass is fixed."),
        ("code", "assert bisection.found, 'no pass breaks the program any more'"),
    ]
    return _write_notebook(cells, path)


def write_reduction(reduction: Reduction, predicate: Any, path: str | PathLike[str]) -> Path:
    """Write a notebook in which a predicate holds for the smallest program. Raises as `write_bisection` does."""
    shows = function_source(predicate, "shows")
    cells = [
        ("markdown", f"# The smallest program\n\n{_quote(reduction.summary())}"),
        ("code", IMPORTS),
        *_definitions(shows),
        _program_cell(reduction.module),
        ("code", f"assert {shows.expression}(net), 'the program no longer shows it'"),
    ]
    return _write_notebook(cells, path)


def _definitions(*values: PySource) -> list[tuple[str, str]]:
    future = "from __future__ import annotations\n"
    return [("code", f"{future if value.lazy else ''}{value.definition}") for value in values if value.definition]


def _program_cell(mod: IRModule) -> tuple[str, str]:
    return "code", f"%%relay net\n{mod.astext(annotate=lambda expr: '')}"


def _inputs_source(inputs: Any) -> PySource:
    """Return inputs as Python source, which keeps arrays bit for bit."""
    if inputs is None:
        return PySource("")
    if isinstance(inputs, Mapping):
        parts = [f"    {name!r}: {_array_source(value)},\n" for name, value in inputs.items()]
        return PySource("inputs", f"{ARRAYS}inputs = {{\n{''.join(parts)}}}\n")
    # `chr(10)`, since before Python 3.12 no backslash may be inside the braces of an f-string.
    return PySource(
        "inputs", f"{ARRAYS}inputs = [\n{''.join(f'    {_array_source(value)},{chr(10)}' for value in inputs)}]\n"
    )


def _array_source(value: Any) -> str:
    array = np.asarray(value)
    # `np.frombuffer` knows the dtypes of NumPy alone: not bfloat16, for example.
    if array.dtype.hasobject or not array.dtype.isnative or array.dtype.name not in np.sctypeDict:
        raise PassError(
            Diagnostic(f"an input of dtype {array.dtype} cannot be written", hint="leave `inputs` out: give a seed")
        )
    packed = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return f'np.frombuffer(base64.b64decode("{packed}"), "{array.dtype.name}").reshape({array.shape})'


def _heading(name: str) -> str:
    """Return a name for a heading: characters that Markdown may interpret become spaces."""
    return "".join(char if char.isalnum() or char in " ._-" else " " for char in visible(name))


def _quote(text: str) -> str:
    """Return text as a block of code, in which Markdown interprets nothing."""
    return "\n".join(f"    {line}" for line in visible(text).splitlines())


def _write_notebook(cells: Iterable[tuple[str, str]], path: str | PathLike[str]) -> Path:
    try:
        nbformat: Any = import_module("nbformat")
    except ImportError:
        message = "notebooks are written by nbformat, which is not installed"
        raise MissingPackageError(Diagnostic(message, hint="pip install nbformat")) from None
    make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    # The default ids are random, so two notebooks of the same fault would differ.
    results = [make[kind](text.strip("\n"), id=f"cell-{number}") for number, (kind, text) in enumerate(cells)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    target = checked_path(path)
    notebook = nbformat.v4.new_notebook(cells=results, metadata=kernel)
    write_text(target, f"{nbformat.writes(notebook)}\n")
    return target
