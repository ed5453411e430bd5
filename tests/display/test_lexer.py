"""The Pygments lexer: it gives back every text, and colours Relay by the book."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Comment, Error, Keyword, Name, Number, String

import passlab
from passlab.display.text.lexer import RelayLexer
from tests.display.programs import hostile


def tokens(text):
    return [
        (kind, value) for kind, value in RelayLexer(stripnl=False, ensurenl=False).get_tokens(text) if value.strip()
    ]


@pytest.mark.rotating
@given(st.text())
def test_any_text_comes_back(text):
    text = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    assert "".join(value for _, value in RelayLexer(stripnl=False, ensurenl=False).get_tokens(text)) == text


def test_a_whole_network_is_read_without_error():
    text = passlab.testing.mlp.get_workload(1)[0].astext()
    assert not [value for kind, value in tokens(text) if kind is Error]
    assert not [value for kind, value in tokens(hostile().astext()) if kind is Error]


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("let %x = 1;", "let", Keyword),
        ("match? (%x) {}", "match?", Keyword),
        ("letter(%x)", "letter", Name.Builtin),
        ('%"odd name"', '"odd name"', Name.Variable),
        ("@main()", "main", Name.Function),
        ("nn.conv2d(%x)", "nn.conv2d", Name.Builtin),
        ("f(axis=1)", "axis", Name.Attribute),
        ("1.5e-3f", "1.5e-3f", Number.Float),
        ("2i64", "2i64", Number.Integer),
        ("Tensor[(1), float32]", "float32", Keyword.Type),
        ('"a\\"b"', '"a\\"b"', String.Double),
        ("/* a /* b */ c */", "c", Comment.Multiline),
        ("meta[relay.Constant][0]", "meta[relay.Constant][0]", Name.Constant),
        ("True", "True", Keyword.Constant),
    ],
)
def test_colours(text, value, kind):
    assert [k for k, v in tokens(text) if v.strip() == value] == [kind]


def test_pygments_finds_it_by_name():
    assert "relay" in RelayLexer.aliases
    assert RelayLexer.name == "Relay"
