"""Printed text with marks: every name, call, constant and attribute can be found in the text, and nothing else changes."""

from __future__ import annotations

import pytest

from passlab import relay
from passlab.infer import infer_module
from passlab.ir.adt import Constructor
from passlab.ir.expr import Expr, GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.testing.programs import generate
from passlab.text.marks import AROUND, KINDS, Annotations, MarkedText
from passlab.text.meta_writer import MetaWriter
from passlab.text.parser import parse
from passlab.text.printer import LayoutPrinter, _module_rope, flatten, pretty, render

PROGRAM = """\
type List[A] { Cons(A, List[A]), Nil }
def @f(%x: Tensor[(2), float32], %l: List[int32], Primitive=1) {
  %0 = nn.dense(%x, %x, units=2);
  let %y = (%0, %0).0;
  if (True) { match (%l) { Cons(%h, _) => exp(%y), Nil => @f(%x, %l) } } else { fn (%z: float32) { %z }(1f); %y }
}
"""


@pytest.fixture(scope="module")
def printed() -> MarkedText:
    return render(parse(PROGRAM))


def stretches(printed: MarkedText, kind: str) -> list[str]:
    return [printed.text[m.start : m.end] for m in printed.marks if m.kind == kind]


def test_the_text_is_that_of_plain_printing(printed: MarkedText) -> None:
    assert printed.text == pretty(parse(PROGRAM)) == str(printed)
    typed = infer_module(parse(PROGRAM.replace("nn.dense(%x, %x, units=2)", "exp(%x)").replace("@f(%x, %l)", "%y")))
    assert render(typed).text == pretty(typed)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("binder", ["%x", "%l", "%y", "%h", "%z", "%_"]),
        ("op", ["nn.dense", "exp"]),
        ("global", ["@f", "@f"]),
        ("attribute", ["Primitive", "units"]),
        ("constant", ["True", "1f"]),
        ("temporary", ["%0", "%1", "%2"]),
        ("keyword", ["type", "def", "let", "if", "match", "else", "let", "fn"]),
        ("constructor", ["Cons", "Nil", "Cons", "Nil"]),
        ("type", ["List[A]", "Tensor[(2), float32]", "List[int32]", "float32"]),
        ("call", ["nn.dense(%x, %x, units=2)", "exp(%y)", "@f(%x, %l)", "%2(1f)"]),
    ],
)
def test_what_is_marked(printed: MarkedText, kind: str, expected: list[str]) -> None:
    result = stretches(printed, kind)
    assert sorted(result) == sorted(expected), result


def test_marks_nest_and_stay_inside_the_text(printed: MarkedText) -> None:
    open_ends: list[int] = []
    last = 0
    for mark in printed.marks:
        assert mark.kind in KINDS
        assert last <= mark.start <= mark.end <= len(printed.text)
        last = mark.start
        while open_ends and open_ends[-1] <= mark.start:
            open_ends.pop()
        assert not open_ends or mark.end <= open_ends[-1]
        open_ends.append(mark.end)


def test_a_value_can_be_followed_from_its_binder_to_its_uses() -> None:
    mod = parse(PROGRAM)
    printed = render(mod)
    x = mod["f"].params[0]
    assert [m.kind for m in printed.of(x)] == ["binder", "use", "use", "use"]
    dense = next(m.node for m in printed.marks if m.kind == "call")
    assert [m.kind for m in printed.of(dense)] == ["temporary", "call", "use", "use"]


def test_what_stands_at_a_place() -> None:
    printed = render(parse(PROGRAM))
    offset = printed.text.index("units")
    kinds = [m.kind for m in printed.at(offset)]
    assert kinds == ["function", "call", "attribute"]
    call, name = printed.at(offset)[-1].node
    assert (call.attrs.units, name) == (2, "units")


def test_annotations_cannot_fake_marks() -> None:
    printed = render(parse("def @f() { 1 }"), annotate=lambda e: " \x010\x02!\x03")
    assert printed.text.count("!") >= 1
    assert "\x01" not in printed.text
    assert all(m.end <= len(printed.text) for m in printed.marks)


def without_types(expr) -> str:
    return ""


def eagerly(mod: IRModule) -> MarkedText:
    """Return a program of which every line got its text while it was printed, as where lines have types."""
    annotations = Annotations()
    rope, _ = _module_rope(mod, MetaWriter(), None, annotations, False)
    return MarkedText(flatten(rope), annotations.marked)


@pytest.mark.parametrize("seed", range(24))
def test_lines_that_are_shown_have_the_text_and_marks_of_the_whole_text(seed: int, monkeypatch) -> None:
    mod = generate(seed, effects=seed % 2 == 0, size=5)
    whole = render(mod, annotate=without_types)
    monkeypatch.setattr(LayoutPrinter, "info", lambda self, node: "")
    eager = eagerly(mod)
    assert whole.text == eager.text
    assert whole.marks == eager.marks
    count = whole.text.count("\n")
    for first in (0, 1, count // 2, count - 4):
        part, left_out = render(mod, annotate=without_types).excerpt(first, 5)
        other, others_left_out = eagerly(mod).excerpt(first, 5)
        assert (part.text, part.marks, left_out) == (other.text, other.marks, others_left_out)
        assert part.text == "\n".join(whole.text.split("\n")[first : first + 5])


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(8))
def test_the_first_line_of_a_node_is_that_of_its_first_mark(seed: int) -> None:
    """Of one that a pass can make: operators and the names of functions belong to all programs."""
    mod = generate(seed, effects=seed % 2 == 0, size=5)
    whole = render(mod, annotate=without_types)
    first: dict[Expr, int] = {}
    for mark in whole.marks:
        if (
            isinstance(mark.node, Expr)
            and not isinstance(mark.node, Op | GlobalVar | Constructor)
            and mark.kind not in AROUND
        ):
            first.setdefault(mark.node, whole.text.count("\n", 0, mark.start))
    absent = relay.const(1)
    for node, line in [*first.items(), (absent, whole.text.count("\n"))]:
        assert render(mod, annotate=without_types).first_line_of([node]) == line
        assert render(mod).first_line_of([node]) == line


def test_only_the_lines_that_are_shown_are_written(monkeypatch) -> None:
    text = "".join(f"%{at} = exp(%{at - 1 if at else 'x'});\n" for at in range(2000))
    mod = parse(f'#[version = "0.0.5"]\ndef @main(%x: float32) {{ {text} %1999 }}')
    written = []
    late_text = LayoutPrinter.late_text
    monkeypatch.setattr(LayoutPrinter, "late_text", lambda self, node: written.append(node) or late_text(self, node))
    part, left_out = render(mod, annotate=without_types).excerpt(1000, 10)
    assert part.text.startswith("  %999 = exp(%998);\n  %1000 = exp(%999);")
    assert len(written) <= 11
    assert left_out == 2002 - 10
