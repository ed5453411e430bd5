"""The pipeline language: passes by name, with options as Python literals.

    InferType, FoldConstant              # separated by commas, semicolons, new lines or blanks
    FuseOps(fuse_opt_level=2)
    Sequential(SimplifyExpr, DeadCodeElimination, name="cleanup")
    [FoldConstant, [InferType]]          # brackets are pipelines too

Only literals are read (`inf`, `-inf` and `nan` are some), nothing is evaluated. `Pass.as_text` writes the language.
Grammar, by recursive descent (the nesting is capped by `limits.pipeline_nesting`):

    pipeline  = { "," | ";" | item }
    item      = "Sequential" [ "(" pipeline [ arguments ] ")" ] | NAME [ "(" arguments ")" ] | "[" pipeline "]"
    arguments = [ argument { "," argument } [ "," ] ]          argument = [ NAME "=" ] value
    value     = literal | "[" values "]" | "(" values ")" | "{" { value ":" value "," } "}"
    values    = [ value { "," value } [ "," ] ]
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from passlab import limits
from passlab.arguments import checked
from passlab.errors import Diagnostic, ParseError, PasslabError, did_you_mean
from passlab.ir.span import Source, Span
from passlab.transform.base import Pass
from passlab.transform.pass_info import PassInfo
from passlab.transform.registry import find_factory, how_to_make_a_pass, unknown_pass
from passlab.transform.sequential import Sequential

_TOKEN = re.compile(
    r"""(?P<blank>[\s\\]+|\#[^\n]*)
      | (?P<name>[^\W\d][\w.]*|-inf\b)
      | (?P<number>[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<mark>[][(){}=,;:])""",
    re.VERBOSE,
)
_WORDS = {"True": True, "False": False, "None": None, "inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_PIPELINE_OPTIONS = ("name", "opt_level", "required")


@checked
def parse_pipeline(text: str, passes: Mapping[str, Any] | None = None, source_name: str = "pipeline") -> Sequential:
    """Return the pipeline that a text describes; a text that is one `Sequential(...)` is that pipeline.

    `passes` maps further names to passes or classes of passes. Raises `ParseError` for syntax errors and `PassError`
    for unknown passes and wrong options, both located in the text.

    >>> transform.parse_pipeline("FoldConstant, FuseOps(fuse_opt_level=1)").as_text()
    'Sequential(FoldConstant, FuseOps(fuse_opt_level=1))'
    """
    items = _Parser(text, passes, source_name).pipeline()
    if len(items) == 1 and type(items[0]) is Sequential:
        return items[0]
    return Sequential(items)


def pass_from_text(text: str, source_name: str = "pipeline") -> Pass:
    """Return the one pass that a text such as "FuseOps(fuse_opt_level=2)" describes. Raises as `parse_pipeline`
    does.
    """
    items = _Parser(text, None, source_name).pipeline()
    if len(items) != 1:
        raise ParseError(Diagnostic(f"{source_name}: one pass is expected", found=repr(text)))
    return items[0]


def context_names(names: Iterable[str], pipeline: Pass) -> list[str]:
    """Return names that a user typed as the names by which a `PassContext` disables and requires passes.

    A pass has two names, and either is accepted. Raises `PassError` for a name that neither the table nor the pipeline
    has: in a context it would have no effect.
    """
    own: set[str] = set()
    worklist = [pipeline]
    while worklist:
        pass_ = worklist.pop()
        own.add(pass_.info.name)
        worklist += pass_.passes if isinstance(pass_, Sequential) else ()
    return [name if name in own else _context_name(name, own) for name in names]


def _context_name(name: str, own: set[str]) -> str:
    pass_ = find_factory(name)
    if pass_ is None:
        raise unknown_pass(name, own)
    info = getattr(pass_, "info", None)
    return info.name if isinstance(info, PassInfo) else name


# What functions take that run passes: a pass, a text, or a list of both, in which lists may stand.
Pipeline: TypeAlias = Pass | str | Sequence[Pass | str | Sequence[Pass | str]]


@checked
# recurses: lists of passes, as deep as the caller nested them
def as_pass(value: Any, passes: Mapping[str, Any] | None = None) -> Pass:
    """Return a pass, a text of the pipeline language, or a list of these as one pass.

    >>> transform.as_pass(["FoldConstant", "FuseOps"]).as_text()
    'Sequential(FoldConstant, FuseOps)'
    """
    if isinstance(value, Pass):
        return value
    if isinstance(value, str):
        return parse_pipeline(value, passes)
    if isinstance(value, (list, tuple)):
        nested = (list, tuple)
        elements = [_list_element(v, passes) if isinstance(v, str) else v for v in value]
        return Sequential([as_pass(v, passes) if isinstance(v, nested) else v for v in elements])
    return Sequential([value])  # raises an error with the valid types if `value` is not a pass


def _list_element(text: str, passes: Mapping[str, Any] | None) -> Pass:
    """Return an element of a list as a pass: a text with one pass is that pass, not a pipeline of one."""
    items = _Parser(text, passes, "pipeline").pipeline()
    return items[0] if len(items) == 1 else Sequential(items)


def _is_pass_or_class(value: Any) -> bool:
    return isinstance(value, Pass) or (isinstance(value, type) and issubclass(value, Pass))


class _Parser:
    """Parses one text. `tokens` are (kind, text, start), ending in ("end", "", length)."""

    def __init__(self, text: str, passes: Mapping[str, Any] | None, source_name: str) -> None:
        limits.check("text_bytes", len(text), "the pipeline")
        self.source = Source(source_name, text)
        self.passes = passes or {}
        self.at = 0
        self.depth = 0
        self.tokens = self._tokens(text)

    def _tokens(self, text: str) -> list[tuple[str, str, int]]:
        tokens: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                quote = text[at] in "\"'"
                raise self.error(
                    "a string without its closing quote" if quote else f"unexpected `{text[at]}`", at, at + 1
                )
            if match.lastgroup != "blank":
                tokens.append((str(match.lastgroup), match.group(), at))
            at = match.end()
        tokens.append(("end", "", at))
        return tokens

    # ------------------------------------------------------------ tokens
    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def error(self, message: str, start: int, end: int, **more: Any) -> ParseError:
        return ParseError(Diagnostic(message, self.span(start, end), **more))

    def syntax_error(self, expected: str) -> ParseError:
        _, text, start = self.tokens[self.at]
        return self.error(
            "this is not a pipeline",
            start,
            start + max(1, len(text)),
            expected=expected,
            found=f"`{text}`" if text else "the end",
        )

    def next_is(self, *marks: str) -> bool:
        kind, text, _ = self.tokens[self.at]
        return kind == "mark" and text in marks

    def accept(self, *marks: str) -> bool:
        if self.next_is(*marks):
            self.at += 1
            return True
        return False

    def open(self) -> str:
        """Consume an opening bracket and return the matching closing one."""
        self.depth += 1
        limits.check("pipeline_nesting", self.depth, "the nesting of the pipeline")
        closing = _CLOSING[self.tokens[self.at][1]]
        self.at += 1
        return closing

    def close(self, closing: str) -> None:
        if not self.accept(closing):
            raise self.syntax_error(f"`,` or `{closing}`")
        self.depth -= 1

    # ------------------------------------------------------------ passes
    def pipeline(self) -> list[Pass]:
        """Read the whole text."""
        items = self.items()
        if self.tokens[self.at][0] != "end":
            raise self.syntax_error("a pass")
        return items

    # recurses: at most limits.pipeline_nesting levels
    def items(self) -> list[Pass]:
        passes: list[Pass] = []
        while True:
            while self.accept(",", ";"):
                pass
            if self.tokens[self.at][0] == "name" and self.tokens[self.at + 1][1] != "=":
                passes.append(self.item())
            elif self.next_is("["):
                closing = self.open()
                passes.append(Sequential(self.items()))
                self.close(closing)
            else:
                return passes

    def item(self) -> Pass:
        _, name, start = self.tokens[self.at]
        self.at += 1
        if name.rpartition(".")[2] == "Sequential":
            return self.sequential(start)
        factory = self.factory(name, start)
        positional: list[Any] = []
        named: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        if self.next_is("("):
            closing = self.open()
            self.arguments(positional, named, spans)
            self.close(closing)
        if isinstance(factory, Pass):
            if positional or named:
                raise self.error(f"`{name}` is a finished pass and takes no options", start, start + len(name))
            return factory
        try:
            pass_ = factory(*positional, **named)
        except PasslabError as error:
            raise self.locate_error(error, start, spans) from None
        except (TypeError, ValueError) as error:
            raise self.locate_error(ParseError(Diagnostic(f"{name}: {error}")), start, spans) from None
        if not isinstance(pass_, Pass):
            raise self.error(
                f"`{name}` did not return a pass", start, start + len(name), expected="Pass", found=type(pass_).__name__
            )
        return pass_

    def factory(self, name: str, start: int) -> Any:
        """Return the pass, or its factory. A name that the caller passes in must be a pass or a class of passes."""
        result = self.passes.get(name)
        if _is_pass_or_class(result):
            return result
        factory = find_factory(name)
        if factory is not None:
            return factory
        span = self.span(start, start + len(name))
        if name in self.passes:
            kind = result.__name__ if isinstance(result, type) else type(result).__name__
            raise ParseError(
                Diagnostic(
                    f"`{name}` is not a pass",
                    span,
                    expected="Pass",
                    found=kind,
                    hint=how_to_make_a_pass(result),
                )
            )
        raise unknown_pass(name, [*(n for n, v in self.passes.items() if _is_pass_or_class(v)), "Sequential"], span)

    def sequential(self, start: int) -> Sequential:
        """Read the arguments of `Sequential`: passes, or one list of them, then options of the pipeline."""
        if not self.next_is("("):
            return Sequential()
        closing = self.open()
        list_items: list[Pass] | None = None
        if self.next_is("["):
            bracket = self.open()
            list_items = self.items()
            self.close(bracket)
            self.accept(",")
        items = self.items()
        if list_items is not None:
            items = [Sequential(list_items), *items] if items else list_items
        named: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        self.arguments(None, named, spans)
        self.close(closing)
        for key in named:
            if key not in _PIPELINE_OPTIONS:
                hint = did_you_mean(key, _PIPELINE_OPTIONS) or f"its options are {', '.join(_PIPELINE_OPTIONS)}"
                raise ParseError(Diagnostic(f"Sequential has no option `{key}`", spans[key], hint=hint))
        try:
            return Sequential(items, **named)
        except PasslabError as error:
            raise self.locate_error(error, start, spans) from None

    def locate_error(self, error: PasslabError, start: int, spans: dict[str, Span]) -> PasslabError:
        """Return an error from creating a pass, located at the option it names, or else at the whole item."""
        whole = self.span(start, self.tokens[self.at - 1][2] + len(self.tokens[self.at - 1][1]))

        def locate(finding: Diagnostic) -> Diagnostic:
            if finding.place is not None:
                return finding
            candidates = [span for key, span in spans.items() if f"`{key}`" in finding.message]
            return replace(finding, place=candidates[0] if candidates else whole)

        return type(error)(*map(locate, error.diagnostics))

    # ------------------------------------------------------------ options
    def arguments(self, positional: list[Any] | None, named: dict[str, Any], spans: dict[str, Span]) -> None:
        """Read `value` and `key=value` up to a closing bracket; `positional` is None where only keys are allowed."""
        while not self.next_is(")"):
            kind, text, start = self.tokens[self.at]
            if kind == "name" and self.tokens[self.at + 1][1] == "=":
                if text in named:
                    raise self.error(f"the option `{text}` is given twice", start, start + len(text))
                self.at += 2
                named[text] = self.value()
                spans[text] = self.span(start, self._end())
            elif positional is None or named:
                raise self.syntax_error("an option, as in `name=value`")
            else:
                positional.append(self.value())
            if not self.accept(","):
                return

    def _end(self) -> int:
        _, text, start = self.tokens[self.at - 1]
        return start + len(text)

    # recurses: at most limits.pipeline_nesting levels
    def value(self) -> object:
        """Read one Python literal."""
        kind, text, start = self.tokens[self.at]
        if kind == "mark" and text in _CLOSING:
            return self.mapping() if text == "{" else self.sequence()
        if kind in ("number", "string"):
            self.at += 1
            try:
                return ast.literal_eval(text)
            except (SyntaxError, ValueError) as error:
                raise self.error(f"this {kind} cannot be read: {error}", start, start + len(text)) from None
        if kind == "name" and text in _WORDS:
            self.at += 1
            return _WORDS[text]
        if kind == "name":
            raise self.error(
                f"`{text}` is not a literal",
                start,
                start + len(text),
                hint="options are numbers, strings, True, False, None, and lists, tuples and dicts of these",
            )
        raise self.syntax_error("a value")

    def sequence(self) -> object:
        closing = self.open()
        values: list[Any] = []
        comma = False
        while not self.next_is(closing):
            values.append(self.value())
            comma = self.accept(",")
            if not comma:
                break
        self.close(closing)
        if closing == "]":
            return values
        return tuple(values) if comma or len(values) != 1 else values[0]

    def mapping(self) -> dict[Any, Any]:
        closing = self.open()
        values: dict[Any, Any] = {}
        while not self.next_is(closing):
            _, text, start = self.tokens[self.at]
            key = self.value()
            if isinstance(key, (list, dict)):
                raise self.error("a list or dict cannot be a key", start, start + len(text))
            if not self.accept(":"):
                raise self.syntax_error("`:`")
            values[key] = self.value()
            if not self.accept(","):
                break
        self.close(closing)
        return values
