"""Relay for Pygments: colours in nbconvert pages, in the manual, and wherever a fence says `relay`.

Pygments finds it by its entry point; nothing in passlab imports it. It never fails: text that is not Relay passes
through. The views and JupyterLab colour the same tokens by web/relaytokens.js, and tests hold the two together.
"""

from __future__ import annotations

import re

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

_WORDS = ("def", "else", "extern", "fn", "free_var", "if", "let", "match", "ref", "ref_read", "ref_write", "type")
_TYPES = ("Ref", "Tensor")
_DTYPE = r"(?:u?int(?:1|4|8|16|32|64)|float(?:16|32|64|8_e4m3fn|8_e5m2)|bfloat16|bool|handle)(?:x[1-9]\d*)?"
_PLAIN = r"[A-Za-z_]\w*(?:/(?![/*])\w*)*"
_NAME = rf"{_PLAIN}(?:\.{_PLAIN})*"
_END = r"(?![\w/])(?!\.[A-Za-z_])"  # a keyword is a whole name: not the start of `ref.count` or `if/else`
_QUOTED = r'"(?:[^"\\]|\\.)*"'


class RelayLexer(RegexLexer):
    """Highlights Relay text, metadata sections and `%%relay` cells."""

    name = "Relay"
    aliases = ["relay"]
    filenames = ["*.relay", "*.rly"]
    mimetypes = ["text/x-relay"]
    url = ""
    version_added = ""

    flags = re.MULTILINE | re.ASCII

    tokens = {
        "root": [
            (r"^%%relay\b[^\n]*", Comment.Preproc),
            (r"#\[version[^\]\n]*\]?", Comment.Preproc),
            (r"#\[metadata\]", Comment.Preproc, "metadata"),
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (rf"(%)({_QUOTED}|{_PLAIN}|\d+)", bygroups(Name.Variable, Name.Variable)),
            (rf"(@)({_QUOTED}|{_PLAIN})", bygroups(Name.Function, Name.Function)),
            (r"meta\[[^\[\]]+\]\s*\[\s*\d+\s*\]", Name.Constant),
            (r"match\?", Keyword),
            (words(_WORDS, suffix=_END), Keyword),
            (rf"(?:True|False){_END}", Keyword.Constant),
            (words(_TYPES, suffix=_END), Keyword.Type),
            (_DTYPE + _END, Keyword.Type),
            (r"-?(?:inf|nan)(?:bf16|f(?:16|32|64)?)(?![\w/])", Number.Float),
            (r"-?\d+(?:[iu](?:8|16|32|64))?(?![\w.])", Number.Integer),
            (r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?:bf16|f(?:16|32|64)?)?(?!\w)", Number.Float),
            (_QUOTED, String.Double),
            (rf"{_NAME}(?=\s*=(?![=>]))", Name.Attribute),
            (rf"[A-Z]\w*(?:/(?![/*])\w*)*(?:\.{_PLAIN})*", Name.Class),
            (rf"{_NAME}(?=\s*\()", Name.Builtin),
            (_NAME, Name),
            (r"->|=>|[=+*/<>!-]", Operator),
            (r"[()\[\]{},;:.?]", Punctuation),
            (r".", Text),
        ],
        "comment": [
            (r"[^*/]+", Comment.Multiline),
            (r"/\*", Comment.Multiline, "#push"),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"[*/]", Comment.Multiline),
        ],
        "metadata": [
            (r'"(?:[^"\\]|\\.)*"', String.Double),
            (r"[^\"]+", Comment.Multiline),
            (r'"', String.Double),
        ],
    }
