"""Every exception passlab raises, and `Diagnostic`: what is wrong, where, what was expected, what to try.

Bad input of any kind ends in a `PasslabError`. This module does not depend on programs: a source location
is any object with the attributes of `SourceLocation`.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol


class SourceLocation(Protocol):
    """A range of a text; lines and columns count from 1, the end column is exclusive."""

    @property
    def source_name(self) -> str | None: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def end_column(self) -> int: ...

    def source_line(self, line: int) -> str | None:
        """The text of one line, None if the text is not available."""


def visible(text: str) -> str:
    """Return `text` with control, bidirectional and zero-width characters made visible as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co") else _escape(char)
        for char in text
    )


def python_comment(text: str) -> str:
    """Return `text` as one line of comment for a Python script: whatever a name holds, it stays comment."""
    return f"# {' '.join(visible(text).split())}"


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def counted(count: int, what: str) -> str:
    """Return `1 node`, `2,000 nodes`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def type_in_words(value: Any) -> str:
    """Return the name of a value's type with its article; "None" for None.

    >>> passlab.errors.type_in_words(1), passlab.errors.type_in_words("1"), passlab.errors.type_in_words(None)
    ('an int', 'a str', 'None')
    """
    name = type(value).__name__
    article = "an" if re.match("[AEIOaeio]|ND|nd", name) else "a"
    return "None" if value is None else f"{article} {name}"


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """Return "did you mean `a` or `b`?" for the up to three candidates nearest to `name`, or None when none is near.

    A name that was only begun, such as `Foldd`, is near to those that begin with all but its last letter.
    """
    names = dict.fromkeys(map(str, candidates))
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    if not close and len(str(name)) > 3:
        start = str(name).lower()[:-1]
        close = sorted((c for c in names if c.lower().startswith(start)), key=len)[:3]
    return f"did you mean {' or '.join(f'`{c}`' for c in close)}?" if close else None


@dataclass(frozen=True)
class Diagnostic:
    """One error message, in the form that is used everywhere.

    `message` says what is wrong, `place` where, `expected` and `found` are the two sides of a mismatch, `notes` are
    related facts (each with a location or None), and `hint` says what to try.

    >>> from passlab.errors import Diagnostic
    >>> print(passlab.PasslabError(Diagnostic("the number is odd", expected="an even number", found="3")))
    error: the number is odd
      expected: an even number
      found:    3
    """

    message: str
    place: SourceLocation | None = None
    expected: str | None = None
    found: str | None = None
    notes: tuple[tuple[str, SourceLocation | None], ...] = ()
    hint: str | None = None
    severity: str = "error"

    def render(self) -> str:
        """Return the finding as plain text: headline, source line with carets, expected and found, notes, hint."""
        lines = [f"{self.severity}: {visible(self.message)}"]
        lines += _excerpt(self.place)
        if self.expected is not None:
            lines.append(f"  expected: {_indented(self.expected)}")
        if self.found is not None:
            lines.append(f"  found:    {_indented(self.found)}")
        for note, place in self.notes:
            lines.append(f"  note: {visible(note)}")
            lines += _excerpt(place)
        if self.hint is not None:
            lines.append(f"  help: {visible(self.hint)}")
        return "\n".join(lines)


def _indented(text: str) -> str:
    return visible(text).replace("\n", "\n            ")


_EXCERPT_WIDTH = 160
_STRONG = re.compile(r"(?:error|warning): |\s+\| +\^+\Z")  # lines that say what is wrong, or point to it


def _excerpt(place: SourceLocation | None) -> list[str]:
    if place is None:
        return []
    head = f" --> {visible(place.source_name or '<unknown>')}:{place.line}:{place.column}"
    text = place.source_line(place.line)
    if text is None:
        return [head]
    start = max(place.column - 1, 0)
    end = place.end_column - 1 if place.end_line == place.line else len(text)
    left = max(0, start - _EXCERPT_WIDTH // 2)
    shown = text[left : left + _EXCERPT_WIDTH].replace("\t", " ")
    carets = "^" * max(1, min(end, left + _EXCERPT_WIDTH) - start)
    gutter = " " * len(str(place.line))
    mark = "..." if left else ""
    return [
        head,
        f"{gutter} |",
        f"{place.line} | {mark}{visible(shown)}",
        f"{gutter} | {' ' * (start - left + len(mark))}{carets}",
    ]


def cell_in_words(file: str) -> str:
    """Return the cell of a file that IPython made of it, with its number if IPython knows it; "" for other files."""
    if "ipython-input" not in file and "ipykernel_" not in file:
        return ""
    compiler = getattr(_shell(), "compile", None)
    label = getattr(compiler, "format_code_name", lambda name: None)(file)
    number = re.search(r"\[\d+\]", label[1]) if label else None
    return f"cell {number[0]}" if number else "a cell"


def _shell() -> Any:
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _shown(text: str) -> list[str]:
    """The lines of rendered findings for a notebook: what is wrong, and the carets, in bold where it shows colours."""
    if str(getattr(_shell(), "colors", "")).lower() == "nocolor" or os.environ.get("NO_COLOR"):
        return text.split("\n")
    return [f"\x1b[1m{line}\x1b[0m" if _STRONG.match(line) else line for line in text.split("\n")]


class PasslabError(RuntimeError):
    """The base class of all errors of passlab, with its diagnostics.

    `str(error)` is the rendered text; a notebook shows it in place of a traceback. It is a
    `RuntimeError`, because TVM's errors are, and programs written for TVM catch them as such.

    >>> try:
    ...     passlab.parse("def @main(%x: float32) { %y }")
    ... except passlab.PasslabError as error:
    ...     print(error.diagnostics[0].message)
    this local variable has not been previously declared: `%y`
    """

    def __init__(self, *findings: Diagnostic | str) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(
            f if isinstance(f, Diagnostic) else Diagnostic(f) for f in findings
        )
        super().__init__(*findings)

    @property
    def args(self) -> tuple[str, ...]:  # type: ignore[override]
        """The texts of the diagnostics, for programs that read `error.args[0]`."""
        return tuple(d.render() for d in self.diagnostics)

    def __str__(self) -> str:
        return "\n".join(self.args)

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines instead of a traceback."""
        return _shown(str(self))


class DiagnosticError(PasslabError):
    """One or more errors in a program: in its text, its types or its form.

    >>> try:
    ...     passlab.parse("def @main(%x: float32) { exp(%x }")
    ... except passlab.errors.DiagnosticError as error:  # a `ParseError` is one
    ...     print(error.diagnostics[0].place.line, error.diagnostics[0].place.column)
    1 33
    """


class ParseError(DiagnosticError):
    """The text is not Relay.

    >>> try:
    ...     passlab.parse("def @main(%x: float32) { exp(%x }")
    ... except passlab.errors.ParseError as error:
    ...     print(error.diagnostics[0].message)
    expected `)`, found `}`
    """


class TypeInferenceError(DiagnosticError):
    """The program has no type.

    >>> try:
    ...     passlab.parse("def @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { %x + %y }")
    ... except passlab.errors.TypeInferenceError as error:
    ...     print(error.diagnostics[0].message)
    Incompatible broadcast type Tensor[(2), float32] and Tensor[(3), float32]
    """


class RelationError(DiagnosticError):
    """A type relation rejects its inputs. `argument` is the number of the wrong input, or None.

    >>> issubclass(passlab.errors.RelationError, passlab.errors.DiagnosticError)
    True
    """

    def __init__(self, finding: Diagnostic | str, argument: int | None = None) -> None:
        super().__init__(finding)
        self.argument = argument


class NodeTypeError(DiagnosticError, TypeError):
    """A node or a module was created with an object that cannot be part of a program.

    >>> try:
    ...     relay.Tuple(["text"])
    ... except passlab.errors.NodeTypeError as error:
    ...     print(error.diagnostics[0].message)
    an expression is needed, not str
    """


class NodeValueError(DiagnosticError, ValueError):
    """A node was created with an invalid value.

    >>> try:
    ...     passlab.device("tpu")
    ... except passlab.errors.NodeValueError as error:
    ...     print(error.diagnostics[0].message)
    there is no kind of device `tpu`
    """


class ModelError(DiagnosticError, ValueError):
    """A model of another format cannot be read, or needs something that Relay does not have.

    >>> try:
    ...     frontend.from_onnx(b"not a model")
    ... except passlab.errors.ModelError as error:
    ...     print(error.diagnostics[0].message)
    these bytes cannot be read as an ONNX model
    """

    __str__ = PasslabError.__str__


class WellFormedError(DiagnosticError):
    """A variable is unbound, bound twice, or used outside its scope.

    >>> x = relay.var("x", "float32")
    >>> try:
    ...     relay.analysis.well_formed(relay.Let(x, relay.const(1.0), relay.Let(x, x, x))).check()
    ... except passlab.errors.WellFormedError as error:
    ...     print(error.diagnostics[0].message)
    the variable `%x` is bound twice
    """


class StructureError(DiagnosticError, ValueError):
    """Two programs that should be structurally equal are not.

    >>> try:
    ...     passlab.assert_structural_equal(relay.const(1.0), relay.const(2.0))
    ... except passlab.errors.StructureError as error:
    ...     print(error.diagnostics[0].message)
    the structures differ at <root>.data: different constants
    """

    __str__ = PasslabError.__str__


class UnknownNameError(PasslabError, AttributeError):
    """A module of passlab has no such name.

    >>> try:
    ...     relay.transform.FoldConstnat
    ... except passlab.errors.UnknownNameError as error:
    ...     print(error.diagnostics[0].hint)
    did you mean `FoldConstant` or `FoldConstantExpr`?
    """

    __str__ = PasslabError.__str__


class OpNotFoundError(DiagnosticError, KeyError):
    """No operator has this name.

    >>> try:
    ...     relay.op.get("nn.rleu")
    ... except passlab.errors.OpNotFoundError as error:
    ...     print(error.diagnostics[0].hint)
    did you mean `nn.relu` or `nn.prelu` or `nn.dilate`?
    """

    __str__ = PasslabError.__str__


class AttrsError(DiagnosticError, AttributeError):
    """An attribute is missing, unknown, or of the wrong kind.

    >>> try:
    ...     passlab.op.make("sum", relay.var("x", shape=(2,)), axes=[0])
    ... except passlab.errors.AttrsError as error:
    ...     print(error.diagnostics[0].message)
    relay.attrs.ReduceAttrs has no attribute `axes`
    """


class PassError(PasslabError):
    """A pass was misused, returned an invalid result, or could not be found.

    >>> try:
    ...     transform.get_pass("FoldConstnat")
    ... except passlab.errors.PassError as error:
    ...     print(error.diagnostics[0].hint)
    did you mean `FoldConstant`?
    """


class PassTypeError(PassError, TypeError):
    """A pass, its arguments or its result are of the wrong type.

    >>> try:
    ...     transform.FoldConstant()("text")
    ... except passlab.errors.PassTypeError as error:
    ...     print(error.diagnostics[0].message)
    the pass `FoldConstant` runs on a module
    """


class PassValueError(PassError, ValueError):
    """A pass was declared or created with an invalid value.

    >>> try:
    ...     transform.function_pass(lambda func, mod, ctx: func)
    ... except passlab.errors.PassValueError as error:
    ...     print(error.diagnostics[0].message)
    Please provide opt_level for the function pass.
    """


class PassIndexError(PassError, IndexError):
    """A recording has no step of this number.

    >>> try:
    ...     passlab.record(passlab.parse("def @main(%x: int32) { %x }"), "InferType")[7]
    ... except passlab.errors.PassIndexError as error:
    ...     print(error.diagnostics[0].message)
    step 7 of a recording with steps 0 to 1
    """


class ConfigError(PasslabError, AttributeError):
    """A pass context was given an unknown or ill-typed option.

    >>> try:
    ...     transform.PassContext(config={"relay.FuseOps.depth": 1})
    ... except passlab.errors.ConfigError as error:
    ...     print(error.diagnostics[0].message)
    Invalid config option 'relay.FuseOps.depth'
    """


class VerifyError(PasslabError):
    """Bytecode or a module does not satisfy its rules.

    >>> try:
    ...     vm.Executable.load_exec(b"no bytecode", "")
    ... except passlab.errors.VerifyError as error:
    ...     print(error.diagnostics[0].message)
    Invalid VM file format in the header section: the magic number is wrong
    """


class ValidationError(PasslabError):
    """A pass changed what a program computes by more than its numeric contract allows.

    >>> @transform.function_pass(opt_level=0)
    ... def wrong(func, mod, ctx):
    ...     return relay.Function(func.params, func.body + relay.const(1.0))
    >>> try:
    ...     with transform.PassContext(instruments=[instrument.Validate({"x": 0.5})]):
    ...         wrong(passlab.parse("def @main(%x: float32) { exp(%x) }"))
    ... except passlab.errors.ValidationError as error:
    ...     print(error.diagnostics[0].message)
    the pass `wrong` changed the result beyond its contract
    """


class RunError(PasslabError, RuntimeError):
    """A program failed while running.

    >>> divide = relay.create_executor("vm", passlab.parse("def @main(%n: int32) { 1 / %n }"))
    >>> try:
    ...     divide.evaluate()(0)
    ... except passlab.errors.RunError as error:
    ...     print(error.diagnostics[0].message)
    integer division by zero: the divisor is 0
    """


class RunTypeError(RunError, TypeError):
    """A program, an input or an output has the wrong Python type.

    >>> try:
    ...     relay.create_executor("vm", "text")
    ... except passlab.errors.RunTypeError as error:
    ...     print(error.diagnostics[0].message)
    a program is a module or a function, not a str
    """


class RunValueError(RunError, ValueError):
    """A program, an input or an output has an invalid value or name.

    >>> twice = relay.Function([relay.var("a"), relay.var("a")], relay.const(1))
    >>> try:
    ...     relay.build_module.bind_params_by_name(twice, {"a": 1})
    ... except passlab.errors.RunValueError as error:
    ...     print(error.diagnostics[0].message)
    several parameters are called %a
    """


class Interruption(KeyboardInterrupt):
    """An interrupt from the keyboard, with its location. Like every interrupt, it is not an `Exception`.

    >>> try:
    ...     with passlab.errors.naming_interrupts("the search", hint="start it again"):
    ...         raise KeyboardInterrupt  # as from the keyboard
    ... except passlab.errors.Interruption as interruption:
    ...     print(interruption)
    error: the search was interrupted
      help: start it again
    """

    def __init__(self, *findings: Diagnostic) -> None:
        self.diagnostics = findings
        super().__init__(*findings)

    def __str__(self) -> str:
        return "\n".join(d.render() for d in self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines instead of a traceback."""
        return _shown(str(self))


@contextmanager
def naming_interrupts(what: str, hint: str) -> Iterator[None]:
    """Raise an `Interruption` that says what was interrupted for an interrupt inside that does not say so itself."""
    try:
        yield
    except Interruption:
        raise
    except KeyboardInterrupt as error:
        raise Interruption(Diagnostic(f"{what} was interrupted", hint=hint)) from error


class InterruptedRunError(Interruption):
    """A run of a program was interrupted.

    >>> issubclass(passlab.errors.InterruptedRunError, KeyboardInterrupt)
    True
    """


class InterruptedPassesError(Interruption):
    """A pipeline was interrupted; `recording` has the steps up to the interrupt, and the last one failed.

    >>> issubclass(passlab.errors.InterruptedPassesError, passlab.errors.Interruption)
    True
    """

    def __init__(self, recording: Any, *findings: Diagnostic) -> None:
        super().__init__(*findings)
        self.recording = recording


class FileAccessError(PasslabError, OSError):
    """A file or folder cannot be read or written: it is not there, is of another kind, or may not be touched.

    >>> try:
    ...     lab.Recording.load("nowhere")
    ... except passlab.errors.FileAccessError as error:
    ...     print(error.diagnostics[0].message.rpartition(": ")[2])
    No such file or directory
    """


class DumpError(DiagnosticError, ValueError):
    """A file or folder cannot be read as a dump of passes, or a question about a dump cannot be answered.

    >>> try:
    ...     dumps.read_text("text", format="no format")
    ... except passlab.errors.DumpError as error:
    ...     print(error.diagnostics[0].message)
    there is no format `no format`
    """

    __str__ = PasslabError.__str__


class LimitError(PasslabError):
    """A limit of `passlab.limits` was reached; the message names it and how to raise it.

    >>> with passlab.limits.override(text_bytes=10):
    ...     try:
    ...         passlab.parse("def @main(%x: float32) { exp(%x) }")
    ...     except passlab.errors.LimitError as error:
    ...         print(error.diagnostics[0].message)
    this text needs 34 and the limit `text_bytes` is 10; raise it with `passlab.limits.override(text_bytes=...)`
    """


class MissingPackageError(PasslabError, ImportError):
    """An optional package is needed; the message says how to install it.

    >>> issubclass(passlab.errors.MissingPackageError, ImportError)
    True
    """
