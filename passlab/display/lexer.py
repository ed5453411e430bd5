"""Relay for Pygments: colours in nbconvert pages, in the manual, and wherever a fence says `relay`.

Pygments finds it by its entry point; nothing in passlab imports it. It reads any text and never fails: what is no Relay
is passed through.
"""

from __future__ import annotations

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

_WORDS = ("let", "fn", "def", "if", "else", "type", "match", "extern", "free_var", "ref", "ref_read", "ref_write")
_TYPES = ("Tensor", "Ref")
_DTYPE = r"(?:u?int(?:8|16|32|64)|float(?:16|32|64)|bfloat16|bool)\b"
_QUOTED = r'"(?:[^"\\]|\\.)*"'


class RelayLexer(RegexLexer):
    """Highlights Relay text, metadata sections and `%%relay` cells."""

    name = "Relay"
    aliases = ["relay"]
    filenames = ["*.relay", "*.rly"]
    mimetypes = ["text/x-relay"]
    url = ""
    version_added = ""

    tokens = {
        "root": [
            (r"^%%relay\b[^\n]*", Comment.Preproc),
            (r"#\[version[^\]\n]*\]?", Comment.Preproc),
            (r"#\[metadata\]", Comment.Preproc, "metadata"),
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (rf"(%)({_QUOTED}|[A-Za-z_][\w/.]*|\d+)", bygroups(Name.Variable, Name.Variable)),
            (rf"(@)({_QUOTED}|[A-Za-z_][\w/.]*)", bygroups(Name.Function, Name.Function)),
            (r"meta\[[\w.]+\]\[\d+\]", Name.Constant),
            (words(_WORDS, suffix=r"\b\??"), Keyword),
            (r"(?:True|False)\b", Keyword.Constant),
            (words(_TYPES, suffix=r"\b"), Keyword.Type),
            (_DTYPE, Keyword.Type),
            (r"-?(?:inf|nan)(?:bf16|f(?:16|32|64)?)\b", Number.Float),
            (r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?:bf16|f(?:16|32|64)?)\b", Number.Float),
            (r"-?\d+\.\d*(?:[eE][+-]?\d+)?", Number.Float),
            (r"-?\d+(?:[iu](?:8|16|32|64))?\b", Number.Integer),
            (_QUOTED, String.Double),
            (r"[A-Za-z_]\w*(?=\s*=[^=>])", Name.Attribute),
            (r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?=\s*\()", Name.Builtin),
            (r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", Name),
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


__all__ = ["RelayLexer"]
