"""Tokens and the cursor over them: what all parts of the parser share, without the grammar.

How is a text read whose brackets are deeper than Python's stack? The grammar is recursive descent, and half a million
open parentheses are too many for it. So a generator parses each nested construct: it yields the generators of its parts
and receives their results, and `run_nested` keeps those that wait in a list. The limit `nesting`, not Python's stack,
bounds the depth of a text. Here p is the generator of the example:

    stack, the last runs   text left
    p                      (())
    p p                    ())
    p p p                  ))         the third finds no `(` and returns 0
    p p                    ))         the second reads its `)` and returns 1
    p                      )          the first returns 2

    >>> def parentheses(cursor):  # how deep?
    ...     if not cursor.accept("("):
    ...         return 0
    ...     depth = yield parentheses(cursor)
    ...     cursor.expect(")")
    ...     return depth + 1
    >>> run_nested(parentheses(Cursor(lex("(" * 5000 + ")" * 5000, "text"))))
    5000
    >>> run_nested(parentheses(Cursor(lex("(()", "text"))))
    Traceback (most recent call last):
    passlab.errors.ParseError: error: expected `)`, found the end of the text
    ...

The same form, a trampoline (`ir/trampoline.py`), drives the code generators of the virtual machine and of programs
ahead of time.

The text of a network has a hundred thousand tokens, and Python's time depends on the number of tokens, not of
characters. So one compiled regular expression splits a text, and what printed programs consist of is one token each: a
`Tensor[(1, 3), float32]`, a `meta[relay.Constant][0]`, a dotted name. A token is only its text and its offset: its
first characters determine its kind. White space and comments (`// ...` and nested `/* ... */`) are skipped. Characters
that start no token become tokens of one character; the parser reports them in context.

    >>> tokens = lex("nn.relu(%x) /* a /* nested */ comment */ : Tensor[(1, 3), float32]", "text")
    >>> [text for text in tokens.texts if text]
    ['nn.relu', '(', '%x', ')', ':', 'Tensor[(1, 3), float32]']
    >>> tokens.starts[2]
    8

A `Cursor` is a position in the tokens, with expectations and located errors. `text/syntax_hints.py` finds the hint for
an unexpected token.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Generator, Iterable, Sequence
from typing import Any, NoReturn

from passlab import limits
from passlab.errors import Diagnostic, ParseError, did_you_mean
from passlab.ir.span import Source, Span
from passlab.ir.trampoline import run_trampoline
from passlab.text.literals import local_text, read_string
from passlab.text.syntax_hints import malformation, syntax_hint, unclosed_opener

Parse = Generator[Any, Any, Any]

METADATA = "#[metadata]"

_NAME = r"[A-Za-z_]\w*(?:/(?![/*])\w*)*"  # TensorFlow's names have slashes, which must not begin a comment
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_FLAT_COMMENT = r"/\*[^*/]*(?:(?:\*(?!/)|/(?!\*))[^*/]*)*\*/"  # a block comment without nested ones
_SKIP = rf"(?:[ \n\t]+|{_FLAT_COMMENT}|//[^\n]*|\r\n)*"
_TOKEN = "|".join(  # the first alternative that matches wins: special forms before general ones
    (
        r"%\d+",  # a node of the printed graph
        rf"[%@]{_NAME}(?:(?:\.\w+)*\.{_NAME})?",  # a name; `%x.0` is a projection of `%x`
        r"Tensor\[\([0-9, ?]*\), ?[a-z]\w*\]",  # a type whose sizes are numbers or `?`
        r"meta\[[^\[\]]+\]\s*\[\s*\d+\s*\]",  # a reference into the metadata
        r"match\?",  # the keyword of a match that need not cover every case
        r"-*(?:inf|nan)(?:bf16|f16|f32|f64|f)(?![\w/])",  # numbers that would be names without their suffix
        rf"{_NAME}(?:\.{_NAME})*",  # an operator, a keyword, a key
        r"-*\d[\w.]*(?:(?<=[eE])[+-]\d[\w.]*)?",  # a number; the parser checks its suffix
        rf"[%@]?{_STRING}",  # a string, or a name with other characters in it
        r"->|=>|[<>=!]=|/\*|[-+*/<>=!?:;,.()\[\]{}]",  # `/*` is left here only by a comment with others inside
        r"#\[[^\]]*\]",  # `#[version = "0.0.5"]`
        r"\Z",  # the end is a token, so that trailing space is skipped by the same expression
        r".",  # anything else: the parser says what is wrong with it
    )
)
_PATTERN = re.compile(f"{_SKIP}({_TOKEN})", re.ASCII | re.DOTALL)
_COMMENT_PARTS = re.compile(rf"{_STRING}|//[^\n]*|/\*|\*/", re.DOTALL)
_METADATA_SCAN = re.compile(rf"{_STRING}|//[^\n]*|{_FLAT_COMMENT}|{re.escape(METADATA)}", re.DOTALL)


# Where a name with dots is bound: a parameter, or a variable with a type. One that ends in a number, as PyTorch's
# `%input.1`, is several tokens so far.
_DOTTED = rf"%{_NAME}(?:\.\w+)+"
_BINDS_DOTTED = re.compile(
    rf"{_DOTTED}\s*:|\blet\s+{_DOTTED}|(?:\bfn\b|\bdef\s+@)[^(%]*\((?:[^(){{}}]*,)?\s*{_DOTTED}", re.ASCII
)


class Tokens:
    """The tokens of one text: `texts[k]` starts at offset `starts[k]`. Empty tokens at the end serve as look-ahead.

    `metadata` is the offset after `#[metadata]`, or None without that section.
    """

    __slots__ = ("source", "texts", "starts", "metadata")

    def __init__(self, source: Source, texts: list[str], starts: list[int], metadata: int | None) -> None:
        self.source = source
        self.texts = texts
        self.starts = starts
        self.metadata = metadata


def lex(text: str, source_name: str) -> Tokens:
    """Split a text into tokens, in linear time.

    Raises `ParseError` for an unterminated comment, `LimitError` for a text over the limit `text_bytes`.
    """
    if not isinstance(text, str):
        raise ParseError(Diagnostic("the program must be a string", expected="str", found=type(text).__name__))
    limits.check("text_bytes", len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")), "this text")
    source = Source(source_name, text)
    start = 1 if text.startswith("\ufeff") else 0
    program, metadata = _split(text)
    texts, starts = _cut(program, start)
    if "/*" in texts:  # nested comments, which no regular expression matches
        program, metadata = _split(_blank_comments(text, source))
        texts, starts = _cut(program, start)
    if _BINDS_DOTTED.search(program):
        texts, starts = _with_numbered_names(texts, starts)
    return Tokens(source, texts, starts, metadata)


def _split(text: str) -> tuple[str, int | None]:
    """Separate the program from the metadata section, whose mark counts only outside strings and comments."""
    if METADATA in text:
        for match in _METADATA_SCAN.finditer(text):
            if match[0] == METADATA:
                return text[: match.start()], match.end()
    return text, None


def _cut(text: str, start: int) -> tuple[list[str], list[int]]:
    texts: list[str] = []
    starts: list[int] = []
    add_text, add_start = texts.append, starts.append
    for match in _PATTERN.finditer(text, start):
        add_text(match[1])
        add_start(match.start(1))
    # The last token is empty, for it matches the end of the text; four more, to look ahead without asking for the
    # length.
    texts += [""] * 4
    starts += [len(text)] * 4
    return texts, starts


def _blank_comments(text: str, source: Source) -> str:
    """Return the text with block comments replaced by spaces, at the same offsets."""
    out: list[str] = []
    depth = comment_start = copied = 0
    for match in _COMMENT_PARTS.finditer(text):
        if depth == 0 and match[0] == "/*":
            out.append(text[copied : match.start()])
            depth, comment_start = 1, match.start()
        elif depth == 0:
            continue
        elif match[0] == "/*":
            depth += 1
        elif match[0] == "*/":
            depth -= 1
            if depth == 0:
                copied = match.end()
                out.append(" " * (copied - comment_start))
    if depth:
        span = Span(source, comment_start, comment_start + 2)
        raise ParseError(Diagnostic("this comment never ends", span, hint="close it with `*/`; comments nest"))
    out.append(text[copied:])
    return "".join(out)


def _with_numbered_names(texts: list[str], starts: list[int]) -> tuple[list[str], list[int]]:
    """Join `%input`, `.` and `1` to one name in definitions that bind this name: there it is not a projection."""
    begins = [0, *(i for i, word in enumerate(texts) if word == "def"), len(texts)]
    words: list[str] = []
    places: list[int] = []
    for begin, end in itertools.pairwise(begins):
        bound = _numbered_binders(texts, starts, begin, end)
        i = begin
        while i < end:
            whole = name = _numbered(texts, starts, i) if bound else ""
            while name and name not in bound:  # `%x.0.1` may be the projection `.1` of `%x.0`
                name = name.rpartition(".")[0]
            words.append(name or texts[i])
            places.append(starts[i])
            if name and (tail := whole[len(name) + 1 :]):
                words += [".", tail]
                places += [starts[i] + len(name), starts[i] + len(name) + 1]
            i += 3 if name else 1
    return words, places


def _numbered_binders(texts: Sequence[str], starts: Sequence[int], begin: int, end: int) -> set[str]:
    """Return the names ending in a number that a definition binds: parameters, variables of `let` or with a type."""
    bound: set[str] = set()
    brackets: list[bool] = []  # for each open one, whether it holds parameters
    is_head = False
    for i in range(begin, end):
        word = texts[i]
        if word in ("fn", "def"):
            is_head = True
        elif word == "(":
            brackets.append(is_head)
            is_head = False
        elif word == ")" and brackets:
            brackets.pop()
        elif word[:1] == "%" and (name := _numbered(texts, starts, i)):
            is_param = bool(brackets) and brackets[-1] and texts[i - 1] in ("(", ",")
            if is_param or texts[i - 1] == "let" or texts[i + 3] == ":":
                bound.add(name)
    return bound


def _numbered(texts: Sequence[str], starts: Sequence[int], i: int) -> str:
    """Return the name that tokens from `i` on spell, such as `%input.1`; "" for others."""
    name = texts[i]
    if name[:1] != "%" or texts[i + 1] != "." or not texts[i + 2][:1].isdigit() or name[1:2] == '"':
        return ""
    touch = starts[i] + len(name) == starts[i + 1] == starts[i + 2] - 1
    return f"{name}.{texts[i + 2]}" if touch else ""


# ---------------------------------------------------------------- the cursor
_BARE_NAME = re.compile(r"[A-Za-z_][\w/]*\Z", re.ASCII)
_KEY = re.compile(r"[A-Za-z_][\w/]*(?:\.[A-Za-z_][\w/]*)*\Z", re.ASCII)


def run_nested(root: Parse) -> Any:
    """Run a parsing generator and those it yields; return its result. Raises `LimitError` over the limit `nesting`."""
    return run_trampoline(root, limits.current().nesting)


class Cursor:
    """A position `i` in the tokens `texts`, with operations for every part of the parser."""

    def __init__(self, tokens: Tokens) -> None:
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.source: Source = tokens.source
        self.i = 0

    def token_span(self, index: int) -> Span:
        """Return the span of one token."""
        start = self.starts[index]
        return Span(self.source, start, start + len(self.texts[index]))

    def span_from(self, first: int) -> Span:
        """Return the span from token `first` to the last token read."""
        last = self.i - 1
        return Span(self.source, self.starts[first], self.starts[last] + len(self.texts[last]))

    # ------------------------------------------------------------ expectations
    def expect(self, text: str) -> None:
        """Consume the token `text`. Raises `ParseError` if another token follows."""
        if self.texts[self.i] != text:
            self.fail_expecting(f"an `{text}`" if text == "else" else f"a `{text}`")
        self.i += 1

    def accept(self, text: str) -> bool:
        """Consume the token `text` if it follows."""
        if self.texts[self.i] == text:
            self.i += 1
            return True
        return False

    def separator(self, close: str) -> bool:
        """After an element of a list: consume `,` (return True if another element follows) or `close`."""
        word = self.texts[self.i]
        if word == ",":
            self.i += 1
            if self.texts[self.i] != close:
                return True
        elif word != close:
            self.fail_expecting(f"a `{close}`")
        self.i += 1
        return False

    def is_name(self, index: int) -> bool:
        """Whether the token is a bare or quoted name."""
        word = self.texts[index]
        return (word[:1] == '"' and len(word) > 1) or _BARE_NAME.match(word) is not None

    def is_key(self, index: int) -> bool:
        """Whether the token can be the name of an attribute: a name, dotted or quoted."""
        word = self.texts[index]
        return (word[:1] == '"' and len(word) > 1) or _KEY.match(word) is not None

    def name(self, what: str) -> str:
        """Consume a bare or quoted name and return it. `what` is the kind of name."""
        word = self.texts[self.i]
        if not self.is_name(self.i):
            self.fail_expecting(what)
        self.i += 1
        return read_string(word) if word[0] == '"' else word

    # ------------------------------------------------------------ errors
    def error(self, message: str, place: Span | None = None, **more: Any) -> NoReturn:
        """Raise a `ParseError` at `place`, or at the current token."""
        raise ParseError(Diagnostic(message, place or self.token_span(min(self.i, len(self.texts) - 1)), **more))

    def unknown(self, what: str, name: str, candidates: Iterable[str], place: Span, **more: Any) -> NoReturn:
        """Raise a `ParseError` for an undefined name; its hint suggests similar names."""
        more["hint"] = did_you_mean(name, candidates) or more.get("hint")
        raise ParseError(Diagnostic(what, place, **more))

    def fail_expecting(self, expected: str) -> NoReturn:
        """Raise a `ParseError` for the current token, with the expected one and a hint."""
        word = self.texts[self.i]
        end = self.starts[self.i] + len(word)
        problem = malformation(word, (self.source.text or "")[end : end + 1])
        if problem is not None:
            self.error(problem[0], hint=problem[1])
        opener = unclosed_opener(self.texts, self.i, expected)
        notes = () if opener is None else ((f"the `{self.texts[opener]}` is here", self.token_span(opener)),)
        shown = expected.partition(" ")[2] if expected.startswith(("a `", "an `")) else expected
        self.error(
            f"expected {shown}, found {describe(word)}", notes=notes, hint=syntax_hint(self.texts, self.i, expected)
        )


def describe(word: str) -> str:
    """Return the description of a token in messages."""
    if not word:
        return "the end of the text"
    return f"`{word if len(word) <= 40 else word[:37] + '...'}`"


def sigil_key(word: str) -> str:
    """Return the canonical spelling of a local or global name: `%"x"` is `%x`, `%007` is `%7`."""
    if word[1:2] == '"':
        return word[0] + local_text(read_string(word[1:]))
    if word.rpartition(".")[2][:1].isdigit() and "." in word:  # a name that ends in a number, as `"input.1"` does
        return word[0] + local_text(word[1:])
    return "%" + (word[1:].lstrip("0") or "0") if word[1:].isdigit() else word
