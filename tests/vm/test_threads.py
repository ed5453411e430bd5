"""Threads that help with one job: every piece once, errors where the job was asked for, from any number of threads."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import passlab
from passlab import threads
from passlab.op.nn import conv_kernels as depthwise
from passlab.op.nn import pool
from passlab.op.nn.blas import multiply
from passlab.vm import VirtualMachine, compile
from passlab.vm.kernels import primitive

SECONDS = 30  # far longer than it takes: a thread that never comes fails the test


@pytest.fixture
def four(monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: 4)
    monkeypatch.setattr(threads._blas, "spins_until", 0.0)


def numbers_of(pieces):
    seen = []
    threads.share(seen.extend, pieces)
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
        threads.share(lambda numbers: totals.extend(map(inner, numbers)), 10)
        return sum(totals)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(ask, range(16))] == [10 * 20 * 5] * 16


def together(on_helper):
    """Run a job of two pieces in two threads at once; the one that helps does `on_helper`."""
    barrier, caller = threading.Barrier(2, timeout=SECONDS), threading.current_thread()

    def job(numbers):
        next(numbers)
        barrier.wait()
        if threading.current_thread() is not caller:
            on_helper()

    threads.share(job, 2)


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

    def job(numbers):
        entered.wait()
        if threading.current_thread() is caller:
            raise KeyboardInterrupt
        at_work.append(True)
        threading.Event().wait(0.05)
        at_work.pop()

    with pytest.raises(KeyboardInterrupt):
        threads.share(job, 2)
    assert not at_work


@pytest.mark.parametrize(("length", "parts"), [(1, 1), (3, 3), (100, 16)])
def test_a_range_is_cut_where_it_is_large(length, parts, four):
    seen = []
    threads.share_range(lambda first, end: seen.append((first, end)), length, 1000 * threads.WORTH)
    assert [n for first, end in sorted(seen) for n in range(first, end)] == [*range(length)]
    assert len(seen) == parts
    seen.clear()
    threads.share_range(lambda first, end: seen.append((first, end)), length, threads.WORTH)
    assert seen == [(0, length)]


SHARED = {  # what runs in threads -> a program of it
    "patches": "nn.conv2d(%x, %w, padding=[1, 1], strides=[2, 2], channels=200, kernel_size=[3, 3])",
    "long rows": "nn.conv2d(%x, %w, padding=[1, 60], channels=200, kernel_size=[3, 3])",
    "stacked rows": "nn.conv2d(%x, %v, padding=[1, 2], dilation=[1, 2], channels=20, kernel_size=[3, 3])",
    "depthwise": "nn.conv2d(%x, %d, padding=[1, 1], groups=40, channels=80, kernel_size=[3, 3])",
    "transposed": "nn.conv2d_transpose(%x, %t, strides=[2, 2], channels=9, kernel_size=[3, 3])",
    "maximum": "nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1])",
    "mean": "nn.avg_pool2d(%x, pool_size=[3, 2], strides=[3, 3], padding=[1, 1])",
    "end of a kernel": "nn.relu(nn.conv2d(%x, %w, channels=200, kernel_size=[3, 3]) * 2f + 1f) - 0.5f",
    "no product": "nn.relu(%x * 2f + 1f) * exp(%x)",
}
SHAPES = {"x": (2, 40, 24, 23), "w": (200, 40, 3, 3), "v": (20, 40, 3, 3), "d": (80, 1, 3, 3), "t": (40, 9, 3, 3)}


@pytest.mark.parametrize("name", SHARED)
def test_threads_change_no_bit_of_a_result(name, monkeypatch, rng):
    params = ", ".join(f"%{n}: Tensor[{shape}, float32]" for n, shape in SHAPES.items())
    arrays = [rng.standard_normal(shape).astype("float32") for shape in SHAPES.values()]
    exe = compile(passlab.parse(f"def @main({params}) {{ {SHARED[name]} }}"))
    helpers = []
    for module in (threads, depthwise, pool):
        monkeypatch.setattr(module, "free_threads", lambda: 1)
    expected = VirtualMachine(exe).run(*arrays)
    for module in (threads, depthwise, pool):
        monkeypatch.setattr(module, "free_threads", lambda: 4)
    monkeypatch.setattr(threads, "WORTH", 64)
    monkeypatch.setattr(primitive, "BLOCK", 1000)
    monkeypatch.setattr(pool, "_SLAB_BYTES", 1000)
    shared = threads.work_together
    monkeypatch.setattr(threads, "work_together", lambda job, most: (helpers.append(most), shared(job, most)))
    for _ in range(5):
        np.testing.assert_array_equal(VirtualMachine(exe).run(*arrays), expected)
    assert max(helpers) > 1, "no thread was asked to help"


@pytest.mark.parametrize(
    ("processors", "most", "free"), [(2, 2, 1), (4, 2, 2), (3, 3, 2), (16, 16, 8), (16, 8, 8), (16, 10, 8), (1, 1, 1)]
)
def test_few_threads_help_while_those_of_blas_spin(processors, most, free, monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: most)
    monkeypatch.setattr(threads, "_processors", lambda: processors)
    monkeypatch.setattr(threads, "_blas_spins", lambda: True)
    monkeypatch.setattr(threads._blas, "spins_until", 0.0)
    now = [100.0]
    monkeypatch.setattr(threads, "perf_counter", lambda: now[0])
    multiply(np.ones((8, 64), "float32"), np.ones((64, 64), "float32"))  # too small to be shared
    assert threads.free_threads() == most
    multiply(np.ones((128, 64), "float32"), np.ones((64, 64), "float32"))
    assert threads.free_threads() == free
    now[0] += threads.SPIN + 1e-3
    assert threads.free_threads() == most


def test_a_helper_is_not_asked_beside_the_threads_of_blas(monkeypatch):
    monkeypatch.setattr(threads, "thread_count", lambda: 2)
    monkeypatch.setattr(threads, "_processors", lambda: 2)
    monkeypatch.setattr(threads._blas, "spins_until", float("inf"))
    asked = []
    monkeypatch.setattr(threads, "work_together", lambda job, most: (asked.append(most), job()))
    assert numbers_of(3) == [0, 1, 2]
    threads.share_range(lambda first, end: None, 100, 1000 * threads.WORTH)
    assert asked == [1]


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
