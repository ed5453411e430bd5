"""Threads that help with one job: every piece once, errors where the job was asked for, from any number of threads."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from passlab import threads

SECONDS = 30  # far longer than it takes: a thread that never comes fails the test


@pytest.fixture
def four(monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: 4)


def numbers_of(pieces):
    seen = []
    threads.share(seen.append, pieces)
    return seen


@pytest.mark.parametrize("pieces", [0, 1, 2, 1000])
def test_every_piece_is_done_once(pieces, four):
    assert sorted(numbers_of(pieces)) == list(range(pieces))


def test_one_thread_goes_in_order(monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: 1)
    before = threading.active_count()
    assert numbers_of(50) == list(range(50))
    assert threading.active_count() == before


def test_jobs_from_eight_threads_and_jobs_inside_of_jobs_are_done(four):
    def inner(_):
        return sum(map(len, [numbers_of(5) for _ in range(20)]))

    def ask(_):
        totals = []
        threads.share(lambda number: totals.append(inner(number)), 10)
        return sum(totals)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(ask, range(16))] == [10 * 20 * 5] * 16


def together(on_helper):
    """Run a job of two pieces in two threads at once; the one that helps does `on_helper`."""
    barrier, caller = threading.Barrier(2, timeout=SECONDS), threading.current_thread()

    def work(number):
        barrier.wait()
        if threading.current_thread() is not caller:
            on_helper()

    threads.share(work, 2)


def test_it_returns_when_helpers_are_done(four):
    done, first = [], threading.Event()

    def late():
        first.wait(0.05)  # the caller has nothing left to do by now
        done.append(True)

    together(late)
    assert done == [True]


def test_what_a_helper_raises_is_raised_where_it_was_asked_for(four):
    def fail():
        raise ValueError("in a helper")

    with pytest.raises(ValueError, match="in a helper"):
        together(fail)
    assert sorted(numbers_of(9)) == list(range(9))


def test_what_the_caller_raises_leaves_no_helper_at_work(four):
    entered, caller, at_work = threading.Barrier(2, timeout=SECONDS), threading.current_thread(), []

    def work(number):
        entered.wait()
        if threading.current_thread() is caller:
            raise KeyboardInterrupt
        at_work.append(True)
        threading.Event().wait(0.05)
        at_work.pop()

    with pytest.raises(KeyboardInterrupt):
        threads.share(work, 2)
    assert not at_work


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy keeps it for each thread")
def test_helpers_treat_warnings_as_the_caller_does(four):
    seen = []
    with np.errstate(all="ignore", divide="raise"):
        expected = np.geterr()
        together(lambda: seen.append(np.geterr()))
    assert seen == [expected]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_forked_process_has_helpers_of_its_own(four):
    together(lambda: None)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=together, args=(lambda: None,))
    child.start()
    child.join(SECONDS)
    assert child.exitcode == 0


@pytest.mark.parametrize(
    ("environment", "most"),
    [({}, None), ({"OMP_NUM_THREADS": "1"}, 1), ({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "2"}, 1),
     ({"OPENBLAS_NUM_THREADS": "0", "OMP_NUM_THREADS": "many"}, None)],
)  # fmt: skip
def test_as_many_threads_as_blas_may_use(environment, most, monkeypatch):
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    everything = threads.thread_count.__wrapped__()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert threads.thread_count.__wrapped__() == (most or everything)
