"""The collector of cycles while programs are built: patient, never off, and afterwards as it was."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from passlab import transform
from passlab.errors import ParseError
from passlab.ir.gc_pause import SEARCHES, YOUNG, building
from passlab.text.parser import parse

PROGRAM = '#[version = "0.0.5"]\ndef @main(%x: float32) { add(%x, %x) }'


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
    assert seen_in_a_pass(lambda: None) == [(YOUNG, SEARCHES, 10)]
    assert gc.get_threshold() == (700, 10, 10)


def test_programs_are_printed_under_a_patient_collector():
    seen = []
    mod = parse(PROGRAM)
    mod.astext(annotate=lambda node: seen.append(gc.get_threshold()) or "")
    assert set(seen) == {(YOUNG, SEARCHES, 10)}
    assert gc.get_threshold() == (700, 10, 10)


def test_what_raises_restores_it_too():
    with pytest.raises(ParseError):
        parse(PROGRAM[:-1])
    with pytest.raises(ZeroDivisionError):
        seen_in_a_pass(lambda: 1 // 0)
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("argument", [(0, 10, 10), (YOUNG + 1, 5, 5)])
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
        assert gc.get_threshold()[0] == YOUNG
    leave.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


def test_an_interrupt_on_the_way_out_costs_nobody_the_patience_of_later_builds():
    context = building()
    context.__enter__()  # and never left
    gc.set_threshold(700, 10, 10)
    assert seen_in_a_pass(lambda: None) == [(YOUNG, SEARCHES, 10)]
    assert gc.get_threshold() == (700, 10, 10)


def test_cycles_are_found_while_a_pass_runs():
    class Knot:
        pass

    def work():
        knot = Knot()
        knot.itself = knot
        result = weakref.ref(knot)
        del knot
        held = [[] for _ in range(2 * YOUNG)]
        assert result() is None
        del held

    assert seen_in_a_pass(work)
