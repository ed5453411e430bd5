"""Watched type inference: its steps add up to the inferred types, and watching changes nothing."""

from __future__ import annotations

import pytest

import passlab
from passlab.ir.type_text import type_text
from passlab.ir.walk import post_order
from passlab.lab import watch_solver
from passlab.testing import densenet, lstm, mobilenet, squeezenet
from passlab.text import parser

PRELUDE = passlab.parse(
    """
type List[A] { Cons(A, List[A]), Nil }
def @length[A](%l: List[A]) -> int32 { match (%l) { Cons(_, %t) => add(1, @length(%t)), Nil => 0 } }
def @main(%x: Tensor[(2), float32]) {
  let %r = ref(%x);
  let %same = fn (%a) { %a };
  ref_write(%r, nn.relu(%same(%x)));
  let %pair = (ref_read(%r), @length(Cons(%x, Nil)));
  if (greater(%pair.1, 0)) { %pair.0 } else { %x }
}"""
)
LATE = """def @main(%x: Tensor[(1, 8), float32]) {
  let %twice = fn (%a) { add(%a, nn.relu(%a)) };
  %twice(%x)
}"""


NETWORKS = {
    "densenet": lambda: densenet.get_workload()[0],
    "mobilenet": lambda: mobilenet.get_workload()[0],
    "squeezenet": lambda: squeezenet.get_workload()[0],
    "lstm": lambda: lstm.get_workload(iterations=3, num_hidden=4)[0],
    "prelude": lambda: PRELUDE,
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_last_state_is_what_inference_finds(name):
    mod = passlab.transform.InferType()(NETWORKS[name]())
    run = watch_solver(mod, "types")
    state_ = run.state(len(run.steps))
    typed = [node for _, function in mod.items() for node in post_order(function)]
    bare = [node for _, function in run.mod.items() for node in post_order(function)]
    results = [(node, copy) for node, copy in zip(typed, bare, strict=True) if copy in state_]
    assert len(results) > len(typed) / 2
    for node, copy in results:
        assert state_[copy] == type_text(node.checked_type)
        assert copy.checked_type_ is None
    assert {copy for copy in bare if isinstance(copy, passlab.relay.Call)} <= set(state_)


def test_an_unknown_is_bound_when_a_call_tells_it_and_what_waited_goes_on():
    run = watch_solver(parser.parse(LATE), "types")
    results = [step.said for step in run.steps]
    waits = next(at for at, text in enumerate(results) if text == "nn.relu: the relation waits for ?1")
    bound = next(at for at, text in enumerate(results) if "?1 is Tensor[(1, 8), float32]" in text)
    solved = next(at for at, step in enumerate(run.steps) if step.phase == "waiting relations")
    assert waits < bound < solved
    relu = next(node for node in run.start if getattr(getattr(node, "op", None), "name", "") == "nn.relu")
    texts = [run.state(at)[relu] for at in (waits, bound, len(run.steps))]
    assert texts[0] == ""
    assert texts[1].startswith("?")
    assert texts[2] == "Tensor[(1, 8), float32]"


def test_a_typed_program_and_its_text_are_watched_alike():
    bare = watch_solver(parser.parse(LATE), "types")
    typed = watch_solver(passlab.parse(LATE), "types")
    assert [step.said for step in bare.steps] == [step.said for step in typed.steps]


def test_a_program_with_an_error_is_watched_up_to_it():
    wrong = "def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 9), float32]) { nn.dense(nn.relu(%x), %w) }"
    run = watch_solver(parser.parse(wrong), "types")
    assert run.steps[-1].phase == "ends with an error"
    assert "nn.dense cannot multiply" in run.steps[-1].said
    assert any(step.said == "nn.relu: Tensor[(1, 8), float32]" for step in run.steps)


def test_inference_itself_watches_nothing(monkeypatch):
    results = []
    monkeypatch.setattr("passlab.lab.solver_runs.WatchedSolver._try", lambda *args: results.append(args))
    assert passlab.parse(LATE)["main"].checked_type is not None
    assert results == []
