"""Relay text: parsing and printing.

    parse(text), parse_expr(text)      text to a module, to an expression; untyped, with exact spans
    astext(node), pretty(node)         a program as text, with or without version line and metadata
    render(node)                       the same with marks that map ranges to nodes
    standard("prelude.rly")            a file of the standard library

`tokens` splits text, `flat_parser` and `parser` read the tokens, and `printer` arranges printed text; `metadata` and
`meta_writer` read and write objects without syntax. Nothing here recurses over a program or infers a type.
"""

from passlab.text.library import standard
from passlab.text.parser import parse, parse_expr
from passlab.text.printer import astext, pretty, render

__all__ = ["astext", "parse", "parse_expr", "pretty", "render", "standard"]
