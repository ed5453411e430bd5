"""Pipelines as text: what is read, what is written, and where errors point."""

from __future__ import annotations

import pytest

from passlab import limits
from passlab.errors import LimitError, ParseError, PassError, PasslabError, PassTypeError
from passlab.transform import Sequential, as_pass, module_pass, parse_pipeline
from tests.each import each
from tests.transform.programs import idle


@module_pass(opt_level=0)
class Options:
    """Keeps whatever options it is given."""

    def __init__(self, *positional, **named):
        self.positional, self.named = positional, named

    def transform_module(self, mod, ctx):
        return mod


SCOPE = {"A": idle("A"), "B": idle("B"), "Options": Options, "number": 3, "function": len}


def read(text):
    return parse_pipeline(text, SCOPE)


def shape(pass_):
    """Names, with pipelines as lists."""
    return [shape(p) for p in pass_.passes] if isinstance(pass_, Sequential) else pass_.info.name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("A", ["A"]),
        ("A, B", ["A", "B"]),
        ("A B", ["A", "B"]),
        ("A;B;", ["A", "B"]),
        ("\n  A,\n\n  B\n", ["A", "B"]),
        ("A  # first\n# nothing\nB", ["A", "B"]),
        ("[A, B]", ["A", "B"]),
        ("[A], B", [["A"], "B"]),
        ("A()", ["A"]),
        ("Sequential(A, B)", ["A", "B"]),
        ("Sequential([A, B])", ["A", "B"]),
        ("Sequential([A], B)", [["A"], "B"]),
        ("Sequential([[A]])", [["A"]]),
        ("transform.Sequential(A), B", [["A"], "B"]),
        ("A, [B, [A]]", ["A", ["B", ["A"]]]),
        ("A B ", ["A", "B"]),
    ],
)
def test_what_texts_mean(text, expected):
    assert shape(read(text)) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("-2.5e3", -2500.0), ("+1", 1), ("1_000", 1000), ("'a#b'", "a#b"), (r'"a\n\"b"', 'a\n"b'),
        ("True", True), ("None", None), ("inf", float("inf")), ("-inf", -float("inf")), ("[1, [2], ()]", [1, [2], ()]), ("(1,)", (1,)),
        ("(1)", 1), ("(1, 2)", (1, 2)), ("{'nn.conv2d': ['NHWC', 'default'], }", {"nn.conv2d": ["NHWC", "default"]}),
        ("{}", {}), ("[]", []),
    ],
)  # fmt: skip
def test_options_are_python_literals(text, value):
    (result,) = read(f"Options(x={text})").passes
    assert result.named == {"x": value}


def test_positional_and_named_options():
    (result,) = read("Options(1, 'two', three=3,)").passes
    assert (result.positional, result.named) == ((1, "two"), {"three": 3})


def test_options_of_a_pipeline():
    text = read("Sequential(A, name='mine', opt_level=2, required=['InferType'])")
    assert (text.info.name, text.info.opt_level, text.info.required) == ("mine", 2, ["InferType"])


@each(
    ("text", "error", "line", "column", "words"),
    [
        ("A, Fuse", PassError, 1, 4, "no pass `Fuse`"),
        ("A,\n  FuseOp(fuse_opt_level=2)", PassError, 2, 3, "did you mean `FuseOps`"),
        ("PrintIR(header=3)", PassTypeError, 1, 9, "bad value for the option `header`"),
        ("PrintIR(heade='x')", PassTypeError, 1, 9, "did you mean `header`"),
        ("Sequential(A, nam='x')", ParseError, 1, 15, "did you mean `name`"),
        ("Sequential(A, opt_level='x')", PassTypeError, 1, 1, "must be an integer"),
        ("A(3)", ParseError, 1, 1, "takes no options"),
        ("A(", ParseError, 1, 3, "the end"),
        ("A)", ParseError, 1, 2, r"found:    `\)`"),
        ("[A", ParseError, 1, 3, "`]`"),
        ("A $ B", ParseError, 1, 3, r"unexpected `\$`"),
        ("Options(x='a)", ParseError, 1, 11, "without its closing quote"),
        ("Options(x=y)", ParseError, 1, 11, "`y` is not a literal"),
        ("Options(x=1, x=2)", ParseError, 1, 14, "given twice"),
        ("Options(x=1, 2)", ParseError, 1, 14, "an option"),
        ("Options(x=1 2)", ParseError, 1, 13, r"`\)`"),
        ("Options({[1]: 2})", ParseError, 1, 10, "cannot be a key"),
        ("number", ParseError, 1, 1, "not a pass"),
        ("function", ParseError, 1, 1, "transform.module_pass"),
        ("Options(x=1__2)", ParseError, 1, 11, "cannot be read"),
    ],
)
def test_errors_are_located(text, error, line, column, words):
    with pytest.raises(error, match=words) as caught:
        read(text)
    place = caught.value.diagnostics[0].place
    assert (place.line, place.column) == (line, column)


def test_only_passes_of_the_scope_are_ever_called():
    called = []
    with pytest.raises(ParseError):
        parse_pipeline("leave(3)", {"leave": called.append})
    assert called == []


def test_nesting_is_capped():
    with pytest.raises(LimitError, match="pipeline_nesting"):
        read("[" * 101 + "]" * 101)
    with limits.override(pipeline_nesting=200):
        assert read("[" * 101 + "]" * 101) is not None


def test_a_number_too_long_for_python_is_a_parse_error():
    with pytest.raises(ParseError, match="cannot be read"):
        read(f"Options(x={'9' * 5000})")


@pytest.mark.parametrize(
    "text", ["A[", "((", "{", "Options((", "Options([{", "Sequential(", "\x00", "A(B)", "=", "Options(=)"]
)
def test_whatever_is_written_ends_in_a_passlab_error(text):
    with pytest.raises(PasslabError):
        read(text)


# ---------------------------------------------------------------- writing
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A, B", "Sequential(A, B)"),
        ("[A, [B]], A", "Sequential(Sequential(A, Sequential(B)), A)"),
        ("PrintIR(header='a b')", "Sequential(PrintIR(header='a b'))"),
        ("Sequential(A, name='mine', opt_level=2)", "Sequential([A], name='mine', opt_level=2)"),
        ("Sequential()", "Sequential()"),
    ],
)
def test_what_is_written_reads_back(text, expected):
    content = read(text)
    assert content.as_text() == expected
    again = read(content.as_text())
    assert again.as_text() == expected
    assert str(again) == str(content)


def test_as_pass_takes_passes_texts_and_lists():
    a = SCOPE["A"]
    assert as_pass(a) is a
    assert shape(as_pass("A, B", SCOPE)) == ["A", "B"]
    assert shape(as_pass([a, "[A, B]", [a]], SCOPE)) == ["A", ["A", "B"], ["A"]]
    assert shape(as_pass(["A", "A, B"], SCOPE)) == ["A", ["A", "B"]]
    with pytest.raises(PassTypeError):
        as_pass(3)
