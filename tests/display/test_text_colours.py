"""Colours of lines of other compilers: each line is coloured by itself, without the ones around it."""

from __future__ import annotations

import pytest

from passlab.display.views.text_colours import KINDS, marks


@pytest.mark.parametrize(
    ("lexer", "code", "comment"),
    [
        ("llvm", "4:   ", "; preds = %2"),
        ("mlir", "%0 = arith.constant 1 : i32 ", "// one"),
        ("c", "int x; ", "// GIMPLE"),
        ("rust", "let x = 1; ", "// in scope 0"),
        ("python", "x = 1 ", "# a comment"),
    ],
)
def test_a_comment_at_the_end_of_a_line_is_one_mark(lexer, code, comment):
    spans = marks(code + comment, lexer)
    assert spans[-3:] == [len(code), len(code + comment), KINDS.index("comment")]
