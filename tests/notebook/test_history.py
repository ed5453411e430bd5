"""Where an instruction came from: through the pipelines that `-o` joined, and in every fork of the run."""

from __future__ import annotations

import numpy as np
import pytest

from passlab.display import stepper_view
from passlab.notebook.stepper_widget import branch_data

NET = """def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = multiply(%0, 1f);
  nn.relu(add(%1, 2f))
}
"""
LAYOUT = 'ConvertLayout(desired_layouts={"nn.conv2d": ["NHWC", "default"]})'


@pytest.fixture
def shell(running_shell):
    running_shell.run_line_magic(
        "reload_ext" if "passlab" in running_shell.extension_manager.loaded else "load_ext", "passlab"
    )
    running_shell.run_cell_magic("relay", "net --show none", NET)
    running_shell.run_line_magic("passes", f"net InferType, {LAYOUT} -O 3 -q -o laid")
    running_shell.run_line_magic("passes", "laid SimplifyExpr, FoldConstant -O 3 -q -o simple")
    running_shell.run_line_magic("vm", "simple --random 0 -o dbg")
    yield running_shell
    running_shell.run_line_magic("unload_ext", "passlab")


def lives(trace) -> list[list[str]]:
    """For each instruction that ran the passes that its nodes came through, the newest last."""
    return [
        [chapter.event.name if chapter.event else "input" for life in trace[at].history for chapter in life.chapters]
        for at in range(len(trace))
    ]


def kernel_of(trace, operator: str) -> int:
    return next(at for at in range(len(trace)) if operator in trace[at].operators and trace[at].writes)


def test_history_goes_through_both_pipelines_and_the_compiler_to_the_source(shell):
    trace = shell.user_ns["dbg"].trace
    chapters = lives(trace)
    convolution = chapters[kernel_of(trace, "nn.conv2d")]
    assert convolution[0] == "input"
    assert convolution.index("ConvertLayout") < convolution.index("FuseOps")
    first = trace[kernel_of(trace, "nn.conv2d")].history
    places = [life[0].node.span for life in first if life[0].node.span is not None]
    assert {span.line for span in places} >= {3}  # of the cell, counted with the magic's line
    names = {name for life in chapters for name in life}
    assert {"ConvertLayout", "FoldConstant"} & names


def test_a_fork_knows_the_same_history_and_shows_it(shell):
    dbg = shell.user_ns["dbg"]
    at = kernel_of(dbg.trace, "nn.relu")
    dbg.goto(at)
    register = next(r for r, value in dbg.registers.items() if isinstance(value, np.ndarray) and value.ndim == 4)
    fork = dbg.fork({register: np.full_like(dbg.registers[register], -1.0)})
    assert lives(fork.trace) == lives(dbg.trace)[at:]
    result = branch_data(fork, stepper_view(fork.trace))["data"]["code"]["biographies"]
    whole = stepper_view(dbg).data()["code"]["biographies"]
    assert result
    assert all(life in whole for life in result)
    again = fork.debugger().fork({}, 0)
    assert lives(again.trace) == lives(fork.trace)
