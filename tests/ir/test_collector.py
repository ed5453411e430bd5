"""The collector of cycles while programs are built: patient, never off, and afterwards as it was."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from passlab import transform
from passlab.errors import ParseError
from passlab.ir import gc_pause
from passlab.ir.gc_pause import FEW_SEARCHES, SEARCHES, building
from passlab.text.parser import parse

pytestmark = pytest.mark.rotating

PROGRAM = '#[version = "0.0.5"]\ndef @main(%x: float32) { add(%x, %x) }'


@pytest.fixture(autouse=True, params=[2_000, pytest.param(gc_pause.YOUNG, marks=pytest.mark.nightly)])
def young(request, monkeypatch):
    """How many objects make the collector search the young ones: few, so that small programs are large ones."""
    monkeypatch.setattr(gc_pause, "YOUNG", request.param)


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def seen_in_a_pass(work):
    """Run a pass that does some work; return the thresholds it saw."""
    seen = []

    @transform.module_pass(opt_level=0)
    def watch(mod, ctx):
        seen.append(gc.get_threshold())
        work()
        return mod

    watch(parse(PROGRAM))
    return seen


def test_a_pass_runs_under_a_patient_collector_which_is_restored():
    assert seen_in_a_pass(lambda: None) == [(gc_pause.YOUNG, SEARCHES, 10)]
    assert gc.get_threshold() == (700, 10, 10)


def test_programs_are_printed_under_a_patient_collector():
    seen = []
    mod = parse(PROGRAM)
    mod.astext(annotate=lambda node: seen.append(gc.get_threshold()) or "")
    assert set(seen) == {(gc_pause.YOUNG, SEARCHES, 10)}
    assert gc.get_threshold() == (700, 10, 10)


def test_what_raises_restores_it_too():
    with pytest.raises(ParseError):
        parse(PROGRAM[:-1])
    with pytest.raises(ZeroDivisionError):
        seen_in_a_pass(lambda: 1 // 0)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("argument", [(0, 10, 10), (gc_pause.YOUNG + 1, 5, 5)])
def test_a_collector_that_is_off_or_more_patient_is_left_alone(argument):
    gc.set_threshold(*argument)
    assert seen_in_a_pass(lambda: None) == [argument]
    assert gc.get_threshold() == argument


def test_a_threshold_set_meanwhile_stays():
    seen_in_a_pass(lambda: gc.set_threshold(900, 9, 9))
    assert gc.get_threshold() == (900, 9, 9)


def test_threads_that_build_at_once_leave_it_as_it_was():
    inside, leave = threading.Barrier(2), threading.Event()

    def build():
        with building():
            inside.wait()
            leave.wait()

    thread = threading.Thread(target=build)
    thread.start()
    with building():
        inside.wait()
        assert gc.get_threshold()[0] == gc_pause.YOUNG
    leave.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


def test_an_interrupt_on_the_way_out_costs_nobody_the_patience_of_later_builds():
    context = building()
    context.__enter__()  # and never left
    gc.set_threshold(700, 10, 10)
    assert seen_in_a_pass(lambda: None) == [(gc_pause.YOUNG, SEARCHES, 10)]
    assert gc.get_threshold() == (700, 10, 10)


def test_cycles_are_found_while_a_pass_runs():
    class Knot:
        pass

    def work():
        knot = Knot()
        knot.itself = knot
        result = weakref.ref(knot)
        del knot
        held = [[] for _ in range(2 * gc_pause.YOUNG)]
        assert result() is None
        del held

    assert seen_in_a_pass(work)


def build_much(searches=FEW_SEARCHES + 1):
    """Return lists that were built as a large program is, and for which young objects were searched so often."""
    with building():
        return [[] for _ in range(searches * gc_pause.YOUNG + 1000)]


def survivors_wait():
    """Whether Python would search survivors next: those of many searches are waiting for it, or it has just done so."""
    before = gc.get_stats()[1]["collections"]
    program = build_much()
    waiting = gc.get_count()[1]
    searched = gc.get_stats()[1]["collections"] > before
    assert program
    return searched or waiting >= FEW_SEARCHES


@pytest.fixture
def collected():
    gc.collect()
    yield
    gc.unfreeze()
    gc.collect()


def test_a_large_program_is_not_searched_again_when_it_is_done(collected):
    before = gc.get_stats()
    program = build_much()
    assert any(other is program for other in gc.get_objects(generation=2))
    assert gc.get_count()[1] <= 1
    assert [s["collections"] for s in gc.get_stats()[1:]] == [s["collections"] for s in before[1:]]


def test_a_small_program_stays_young(collected):
    with building():
        program = [[] for _ in range(gc_pause.YOUNG)]
    assert not any(other is program for other in gc.get_objects(generation=2))


def test_cycles_in_a_large_program_are_found_by_a_full_collection(collected):
    program = build_much()
    program.append(program)
    item = weakref.ref(knot := threading.local())
    program.append(knot)
    del knot, program
    assert item() is not None
    gc.collect()
    assert item() is None


def test_what_a_program_has_frozen_stays_frozen(collected):
    gc.freeze()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    assert survivors_wait()
    assert gc.get_freeze_count() > 0.9 * frozen  # some of these objects were freed meanwhile


def test_survivors_are_examined_when_too_many_were_not(collected, monkeypatch):
    monkeypatch.setattr(gc_pause, "SEARCHES", 3 * FEW_SEARCHES)
    assert [survivors_wait() for _ in range(3)] == [False, False, True]
    gc.collect()
    assert not survivors_wait()
