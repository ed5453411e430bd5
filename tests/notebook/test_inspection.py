"""Shift-Tab tells of operators in `%%relay` cells and of passes in pipelines, and leaves everything else to the kernel."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from passlab.notebook.completion import describe
from passlab.notebook.extension import register_inspection

CELL = "%%relay net\ndef @main(%x: Tensor[(1, 8, 4, 4), float32], %w: Tensor[(8, 8, 3, 3), float32]) {\n  nn.conv2d(%x, %w, padding=[1, 1])\n}"


@pytest.mark.parametrize("inside", ["nn.", "conv2d", "2d(", "%w, pad", "[1, 1"])
def test_an_operator_is_told_at_its_name_and_among_its_arguments(inside):
    text = describe(CELL, CELL.index(inside, CELL.index("nn.conv2d")) + 1)
    assert text.startswith("nn.conv2d(\n    %data, %weight,\n    strides=[1, 1],")
    assert 'data_layout="NCHW"' in text
    assert "padding: zeros around the data" in text


def test_a_short_signature_stays_on_a_line():
    cell = "%%relay\nnn.relu(%x)"
    assert describe(cell, len(cell) - 2).startswith("nn.relu(%data)\n")


@pytest.mark.parametrize("cell", ["%passes net FoldConstant, FuseOps -O 3", "%%passes net\nFoldConstant  # scales"])
def test_a_pass_is_told(cell):
    text = describe(cell, cell.index("Constant"))
    assert text.startswith("FoldConstant(fold_qnn=False)\nopt level: 2   contract: EXACT\n\n")
    assert "kernels of the operators" in text


@pytest.mark.parametrize(
    ("cell", "first"),
    [
        ("%%relay net\nnn.conv2d(%x, %w, strides=", "nn.conv2d("),  # as a completer asks about what it would insert
        ("%fuzz FuseOps", "FuseOps("),
        ('%%relay net --live "InferType, FuseOps', "FuseOps("),
        ("%vm net --break nn.dense", "nn.dense("),
        ("%instruments timing", "timing: "),
        ("%instruments diff", "diff: Print the module after passes"),
    ],
)
def test_what_is_completed_is_told(cell, first):
    assert describe(cell, len(cell)).startswith(first)
    assert describe(cell, len(cell) + 6).startswith(first)  # JupyterLab adds what it inserts to where the cursor was


@pytest.mark.parametrize(
    ("cell", "place"),
    [("sum([1])", 1), ("%%relay net\n%x", 14), ("%passes net nothing", 14), ("%%relay nn.relu\n1", 10), ("", 0)],
)
def test_everything_else_is_left_to_others(cell, place):
    assert describe(cell, place) is None


def test_a_kernel_answers_for_both_until_it_is_taken_out():
    asked = []
    kernel = SimpleNamespace(do_inspect=lambda code, at, detail=0, omit=(): asked.append((code, detail)) or "python")
    undo = register_inspection(SimpleNamespace(kernel=kernel))
    reply = kernel.do_inspect("%%relay\nnn.relu(%x)", 10, 0, set())
    assert reply["found"]
    assert reply["data"]["text/plain"].startswith("nn.relu(%data)")
    assert kernel.do_inspect("sum", 1, 1, set()) == "python"
    undo()
    assert kernel.do_inspect("%%relay\nnn.relu(%x)", 10) == "python"
    assert asked == [("sum", 1), ("%%relay\nnn.relu(%x)", 0)]


def test_a_shell_without_a_kernel_is_left_alone():
    assert register_inspection(SimpleNamespace()) is None
