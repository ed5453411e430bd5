"""A printed program as lines: the same words as the printer's, broken where people would, each line knowing its node."""

from __future__ import annotations

import pytest

import passlab
from passlab import relay
from passlab.display.text.listing import LINE_WIDTH, LineTable, Listings, listing, short_type
from passlab.ir.expr import Call, Function
from passlab.text.printer import render
from tests.display.programs import NETWORK, hostile, network


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(
    "make",
    [network, hostile, lambda: passlab.testing.resnet.get_workload(num_layers=18)[0]],
    ids=["network", "hostile", "resnet"],
)
def test_the_lines_say_what_the_printer_says(make):
    mod = make()
    lines = [line.text for line in listing(mod)]
    assert "".join(words("\n".join(lines))) == "".join(words(render(mod, annotate=lambda e: "").text))


@pytest.mark.parametrize("make", [network, hostile])
def test_marked_pieces_lie_inside_their_line_from_left_to_right(make):
    for line in listing(make()):
        at = 0
        for piece in line.tokens:
            assert at <= piece.start < piece.end <= len(line.text)
            at = piece.end


def test_each_line_knows_what_it_defines():
    lines = listing(network())
    assert [line.subject.op.name for line in lines if isinstance(line.subject, Call)] == [
        "nn.dense",
        "nn.bias_add",
        "nn.relu",
        "nn.softmax",
    ]
    assert isinstance(lines[0].subject, Function)
    assert lines[-1].subject is None
    assert str(lines[1].type) == "Tensor[(1, 4), float32]"


def test_an_operator_knows_its_call():
    (piece,) = [p for p in listing(network())[1].tokens if p.kind == "op"]
    assert isinstance(piece.call, Call)
    assert piece.call.op is piece.node


def test_the_head_of_a_function_with_many_parameters_has_one_a_line():
    params = ", ".join(f"%parameter_{i}: Tensor[(1, 2), float32]" for i in range(8))
    lines = [line.text for line in listing(passlab.parse(f"def @main({params}) {{ %parameter_0 }}"))]
    assert lines[:3] == [
        "def @main(",
        "    %parameter_0: Tensor[(1, 2), float32],",
        "    %parameter_1: Tensor[(1, 2), float32],",
    ]
    assert lines[8:] == [
        "    %parameter_7: Tensor[(1, 2), float32]",
        ") -> Tensor[(1, 2), float32] {",
        "  %parameter_0",
        "}",
    ]


def test_a_short_head_stays_on_its_line():
    assert listing(network())[0].text.startswith("def @main(%x: Tensor[(1, 8), float32], %w")


def test_an_endless_line_is_cut_and_says_so():
    fields = ", ".join(["%x"] * LINE_WIDTH)
    line = listing(passlab.parse(f"def @main(%x: int32) {{ ({fields}) }}"))[1]
    assert line.text.endswith("more characters")
    assert all(piece.end <= LINE_WIDTH for piece in line.tokens)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Tensor[(1, 64), float32]", "(1, 64) float32"),
        ("float32", "float32"),
        ("(int32, bool)", "(int32; bool)"),
        ("fn (int32) -> int32", ""),
        (
            "(Tensor[(1, 64, 112, 112), float32], Tensor[(64), float32], Tensor[(64), float32])",
            "((1, 64, 112, 112) float32; 2 more)",
        ),
    ],
)
def test_types_beside_lines_are_short(text, short):
    (param,) = passlab.parse(f"def @main(%x: {text}) {{ 0 }}")["main"].params
    assert short_type(param.checked_type) == short


def test_equal_lines_are_sent_once():
    table = LineTable()
    first = [table.add(line) for line in listing(network())]
    again = [table.add(line) for line in listing(passlab.parse(NETWORK))]
    assert first == again
    assert len(table.lines) == len(set(first))


def test_the_data_of_a_line_gives_back_its_pieces():
    table = LineTable()
    line = listing(network())[1]
    text, marks, type_number = table.lines[table.add(line)]
    assert [text[marks[i] : marks[i + 1]] for i in range(0, len(marks), 4)] == ["%0", "nn.dense", "%x", "%w", "units"]
    assert table.texts[type_number] == "(1, 4) float32"
    op_hover = table.texts[marks[4 * 1 + 3]]
    assert op_hover.split("\n")[0] == "Tensor[(1, 4), float32]"


def test_who_made_a_line_is_asked_of_the_value_of_a_let():
    mod = passlab.parse("""def @main(%x: Tensor[(2), float32], %c: bool) {
      let %f = fn (%a: Tensor[(2), float32]) { tanh(%a) };
      let %z = %f(%x);
      let %i = if (%c) { %z } else { %x };
      let %t = (%z, %i);
      exp(%i)
    }""")
    table = {line.text.split(" ")[3].rstrip(":"): line.result for line in listing(mod) if line.text.startswith("  let")}
    assert {name: type(node).__name__ for name, node in table.items()} == {
        "%f": "Function", "%z": "Call", "%i": "If", "%t": "Var",
    }  # fmt: skip


def test_a_data_type_without_parameters_is_named_as_it_was_written():
    text = "type Shape { Square(float32) } def @main(%x: float32) -> Shape { Square(%x) }"
    body = passlab.transform.InferType()(passlab.parse(text))["main"].body
    assert short_type(body.checked_type) == "Shape"


def _two_of_one_text(shared: bool) -> passlab.IRModule:
    """A sum with two equal constants, or with one constant twice: the same text."""
    x = relay.var("x", shape=())
    one, other = relay.const(1.0), relay.const(1.0)
    return passlab.IRModule.from_expr(relay.Function([x], x + one + (one if shared else other)))


@pytest.mark.parametrize("order", [(True, False), (False, True), (True, True), (False, False)])
def test_programs_of_one_text_have_lines_about_their_own_nodes(order):
    listings = Listings()
    for mod in map(_two_of_one_text, order):
        assert list(listings.of(mod)) == list(listing(mod))
    (first, second) = map(listing, map(_two_of_one_text, order))
    assert [line.text for line in first] == [line.text for line in second]
