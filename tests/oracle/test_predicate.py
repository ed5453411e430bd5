"""Searches on an executor give the same answers as searches in this thread."""

from __future__ import annotations

import inspect
import multiprocessing
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import passlab
from passlab import lab
from passlab.errors import PassError
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.transform import function_pass

NET = """
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  let %h = nn.relu(nn.dense(%x, %w));
  let %d = %h - 0.5f;
  nn.softmax(tanh(%d) + %h)
}
"""
PASSES = "InferType, ToGraphNormalForm, FastMath, FuseOps"


def keeps_tanh(mod):
    return " tanh(" in mod.astext()


def grumbles(mod):
    raise ValueError("no tanh <here>")


class Elsewhere(Executor):
    """Carries out at once what it is given, and remembers it: what a cluster does, as far as one can see."""

    def __init__(self):
        self.given = []

    def submit(self, function, *args):
        self.given.append(args)
        done = Future()
        try:
            done.set_result(function(*args))
        except Exception as error:  # noqa: BLE001 - an executor keeps it for who asks
            done.set_exception(error)
        return done


@pytest.fixture
def net():
    return passlab.parse(NET)


@pytest.fixture(params=["threads", "elsewhere"])
def executor(request):
    if request.param == "elsewhere":
        yield Elsewhere()
    else:
        with ThreadPoolExecutor(3) as pool:
            yield pool


# ---------------------------------------------------------------- every search
SEARCHES = {
    "bisect": lambda net, **options: lab.bisect(net, PASSES, keeps_tanh, opt_level=4, **options).summary(),
    "culprit": lambda net, **options: lab.culprit(net, ["InferType", forgets_tanh], **options).module.astext(),
    "fuzz": lambda net, **options: [
        failure.module.astext() for failure in lab.fuzz(forgets_tanh, programs=300, most=1, **options).failures
    ],
    "orders": lambda net, **options: lab.orders(net, "FoldConstant, FuseOps, FastMath", **options).text(),
    "reduce": lambda net, **options: lab.reduce(net, keeps_tanh, **options).module.astext(),
    "what_if": lambda net, **options: lab.what_if(net, PASSES, **options).text(),
}


@function_pass(opt_level=0)
def forgets_tanh(func, mod, ctx):
    return rewrite(func, lambda old, new: new.args[0] if is_tanh(new) else new, only=(Call,))


def is_tanh(node):
    return isinstance(node, Call) and getattr(node.op, "name", "") == "tanh"


def test_every_search_takes_an_executor():
    functions = {name: getattr(lab, name) for name in dir(lab) if inspect.isfunction(getattr(lab, name))}
    timed = {name for name, function in functions.items() if "seconds" in inspect.signature(function).parameters}
    assert timed - {"record"} == set(SEARCHES), "what runs for seconds is a search, but for one run of a pipeline"
    for name in SEARCHES:
        assert "executor" in inspect.signature(functions[name]).parameters, name


@pytest.mark.rotating
@pytest.mark.parametrize("name", SEARCHES)
def test_an_executor_makes_no_difference_to_what_is_found(net, executor, name):
    search = SEARCHES[name]
    here = search(net, seconds=None)
    assert here
    assert search(net, seconds=None, executor=executor) == here


# ---------------------------------------------------------------- the same answers
@pytest.mark.parametrize("every", [False, True])
def test_a_bisection_names_the_same_pass(net, executor, every):
    here = lab.bisect(net, PASSES, keeps_tanh, opt_level=4)
    there = lab.bisect(net, PASSES, keeps_tanh, opt_level=4, executor=executor, every=every)
    assert there.summary() == here.summary()
    assert there.event.name == "FastMath"


def test_a_reduction_ends_with_the_same_program(net, executor):
    here, there = (lab.reduce(net, keeps_tanh, executor=chosen) for chosen in (None, executor))
    assert there.module.astext() == here.module.astext()
    assert there.tries >= here.tries
    assert [step.what for step in there.steps] == [step.what for step in here.steps]


def test_a_pool_of_processes_is_sent_text(net):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert lab.bisect(net, PASSES, keeps_tanh, opt_level=4, executor=pool).event.name == "FastMath"
        small = lab.reduce(net, keeps_tanh, executor=pool, tries=30)
        assert keeps_tanh(small.module)
        with pytest.raises(PassError, match="the executor could not evaluate the predicate") as refused:
            lab.bisect(net, PASSES, lambda mod: True, executor=pool)
        assert "define it in a file, or use threads" in str(refused.value)


@pytest.mark.nightly
def test_orders_are_gone_through_by_processes(net):
    several = "FoldConstant, FuseOps, FastMath, ToANormalForm"
    here = lab.orders(net, several)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = lab.orders(net, several, executor=pool)
        assert there.text() == here.text()
        for mine, other in zip(here.programs, there.programs, strict=True):
            assert structural_equal(mine.module, other.module)
        with pytest.raises(PassError, match="forgets_tanh"):
            lab.orders(net, ["FuseOps", forgets_tanh], executor=pool)


@pytest.mark.parametrize("most", [1, 3])
def test_orders_that_are_cut_short_are_cut_at_the_same_program(net, executor, most):
    several = "FoldConstant, FuseOps, FastMath, ToANormalForm"
    here, there = (lab.orders(net, several, most=most, executor=chosen) for chosen in (None, executor))
    assert not here.complete
    assert there.text() == here.text()


def test_programs_arrive_as_they_were(net):
    elsewhere = Elsewhere()
    lab.bisect(net, PASSES, keeps_tanh, opt_level=4, executor=elsewhere)
    texts = {text for _, text in elsewhere.given}
    recording = passlab.record(net, PASSES, opt_level=4)
    assert texts <= {event.after.astext() for event in recording.events}
    assert len(texts) == len(elsewhere.given)


# ---------------------------------------------------------------- at once
def test_several_programs_are_asked_about_at_the_same_time(net):
    meeting = threading.Barrier(3, timeout=20)

    turns = iter(["alone", "meets", "meets", "meets"])  # the program before any pass, then those after the three

    def good(mod):
        if next(turns, "later") == "meets":
            meeting.wait()
        return keeps_tanh(mod)

    with ThreadPoolExecutor(3) as pool:
        bisection = lab.bisect(net, "ToANormalForm, FastMath, FuseOps", good, opt_level=4, executor=pool)
    assert bisection.event.name == "FastMath"


def test_no_more_programs_are_asked_about_than_allowed(net):
    asked = []
    with ThreadPoolExecutor(4) as pool:
        small = lab.reduce(net, lambda mod: asked.append(mod) or keeps_tanh(mod), tries=6, executor=pool)
    assert small.tries == 6
    assert len(asked) <= 6 + 1  # and about the whole program
    assert small.stopped == "after 6 tries"


# ---------------------------------------------------------------- what goes wrong
def test_what_a_predicate_raises_is_told(net, executor):
    with pytest.raises(PassError) as result:
        lab.bisect(net, PASSES, grumbles, executor=executor)
    assert "the program is bad before any pass: ValueError: no tanh <here>" in str(result.value)
    with pytest.raises(PassError, match="the predicate raised ValueError for the whole program: no tanh"):
        lab.reduce(net, grumbles, executor=executor)
