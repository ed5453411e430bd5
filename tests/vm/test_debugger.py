"""The debugger: moving forwards and backwards, stopping, asking where values come from, forking; it changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import passlab
from passlab import vm
from passlab.debugger.debugger_terminal import Session, completions, interact
from passlab.errors import RunError
from tests.vm.programs import LOOP, PROGRAMS, same
from tests.vm.traced import LOGARITHM, TREE

DOWN = """
def @down(%i: int32) -> int32 { if (%i == 0) { 0 } else { 1 + @down(%i - 1) } }
def @main(%n: int32) -> int32 { @down(%n) + @down(1) }
"""


@pytest.fixture
def logarithm():
    x = np.full((2, 3), 0.5, "float32")
    w = np.array([[1, 1, 1], [0, 0, 1], [2, 2, 2], [1, 0, 0]], "float32")
    return vm.Debugger(passlab.parse(LOGARITHM), x, w)


@pytest.fixture
def down():
    return vm.Debugger(passlab.parse(DOWN), np.int32(4))


# ---------------------------------------------------------------- moving
@pytest.mark.parametrize("name", PROGRAMS)
def test_stepping_to_the_end_equals_a_free_run(name, rng):
    text, make = PROGRAMS[name]
    dbg = vm.Debugger(passlab.parse(text), *(args := make(rng)))
    while not dbg.step().ended:
        pass
    assert same(dbg.trace.result, vm.VirtualMachine(dbg.trace.code_map.program).run(*args))


@given(start=st.floats(0, 1), count=st.integers(0, 60))
def test_forward_and_back_gives_the_same_state(start, count):
    dbg = vm.Debugger(RUN.trace)
    before = dbg.goto(round(start * len(dbg.trace)))
    moved = dbg.step(count)
    dbg.step_back(moved.number - before.number)
    assert dbg.now.same_state(before)


@pytest.mark.parametrize("name", ["continue_", "continue_back", "to_first_stop"])
def test_an_interrupted_search_for_a_stop_leaves_the_debugger_where_it_was(down, name):
    def interrupt(value):
        raise KeyboardInterrupt

    at = down.goto(3).number
    down.breakpoint(interrupt)
    with pytest.raises(KeyboardInterrupt):
        getattr(down, name)()
    assert down.at == at


RUN = vm.Debugger(passlab.parse(TREE), np.int32(2))


def test_next_goes_over_calls_and_back_over_them(down):
    call = down.query("invoke")[0]
    assert down.goto(call).function == "main"
    after = down.next()
    assert (after.function, after.pc) == ("main", down.trace[call].pc + 1)
    assert after.number > call + 20
    assert down.next_back().number == call


def test_finish_returns_to_the_caller_and_goes_back_to_the_call(down):
    down.breakpoint("@down")
    down.continue_(), down.continue_(), down.continue_()
    depth = down.now.depth
    assert depth == 3
    assert down.finish().depth == depth - 1
    down.continue_back()
    assert down.now.depth == depth + 2  # the innermost call, passed over by finish
    call = down.finish_back()
    assert call.instruction.startswith("invoke")
    assert call.depth == depth + 1


def test_the_ends_hold(down):
    assert down.step_back(3).number == 0
    assert down.finish().ended
    assert (down.step().number, down.reason) == (len(down.trace), "step")
    assert down.next_back().number == len(down.trace) - 1
    assert down.goto(-1).ended
    with pytest.raises(RunError, match="the run has 0 to"):
        down.goto(10**6)


# ---------------------------------------------------------------- where it stops
@pytest.mark.parametrize(
    ("word", "holds"),
    [
        ("subtract", lambda i: "subtract" in i.operators),
        ("invoke", lambda i: i.instruction.startswith("invoke ")),
        ("@down", lambda i: (i.function, i.pc) == ("down", 0)),
        ("@down:3", lambda i: (i.function, i.pc) == ("down", 3)),
        ("2", lambda i: (i.function, i.pc) == ("main", 2)),
        ("line 3", lambda i: any(s.line == 3 for s in i.spans)),
    ],
)
def test_breakpoints_stop_where_they_say_both_ways(down, word, holds):
    stop = down.breakpoint(word)
    hits = down.query(word)
    assert hits
    assert all(holds(down.trace[i]) for i in hits)
    forwards = []
    down.goto(0)
    while not down.continue_().ended:
        forwards.append(down.at)
    assert forwards == [i for i in hits if i > 0]
    assert down.reason == "end"
    backwards = []
    while down.continue_back().number > 0:
        backwards.append(down.at)
    assert backwards[::-1] == forwards
    stop.enabled = False
    assert down.continue_().ended


def test_values_are_asked_by_name_and_by_predicate(logarithm):
    first = logarithm.query("first NaN")[0]
    logarithm.breakpoint("nan")
    assert logarithm.continue_().number == first
    assert np.isnan(logarithm.register(logarithm.now.just_written[0])).any()
    assert logarithm.query(lambda t: t.shape == (2, 4)) == logarithm.query(lambda t: t.ndim == 2 and t.shape[1] == 4)
    assert logarithm.query(lambda t: np.isnan(t).any()) == logarithm.query("nan")
    with pytest.raises(RunError, match="the predicate failed on float32"):
        logarithm.query(lambda t: t.nothing)


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("nn.dnse", "did you mean `nn.dense`"),
        ("nn.conv2d", "the program uses"),
        ("@mian", "@main"),
        ("@main:99", "0 to"),
    ],
)
def test_a_breakpoint_that_is_nowhere_says_what_there_is(logarithm, word, hint):
    with pytest.raises(RunError, match=hint):
        logarithm.breakpoint(word)
    assert not logarithm.breakpoints


def test_breakpoints_watches_and_questions_change_nothing(logarithm):
    before = [repr(logarithm.trace[i]) for i in range(len(logarithm.trace) + 1)]
    logarithm.breakpoint("nan"), logarithm.breakpoint("nn.dense"), logarithm.watch("w"), logarithm.query("inf")
    logarithm.continue_(), logarithm.fork({"x": np.zeros((2, 3))}, instant=0)
    logarithm.goto(-2), logarithm.table(), logarithm.trail(logarithm.now.reads[0])
    assert [repr(logarithm.trace[i]) for i in range(len(logarithm.trace) + 1)] == before


def test_a_breakpoint_is_deleted(logarithm):
    result = logarithm.breakpoint("nn.dense")
    logarithm.delete(result)
    assert logarithm.continue_().ended
    with pytest.raises(RunError, match="no breakpoint"):
        logarithm.delete(result)


# ---------------------------------------------------------------- where values come from
def test_a_nan_is_followed_to_where_it_was_born(logarithm):
    logarithm.breakpoint("ret")
    logarithm.continue_()
    trail = logarithm.trail(logarithm.now.reads[0])
    assert [writer.operators for writer in trail] == [["nn.softmax"], ["subtract", "log"]]
    inside = trail[-1].inside()
    assert [node.op.name for node, value in inside if np.isnan(value).any()] == ["log"]
    assert logarithm.goto_writer(trail[0].register).operators == ["nn.softmax"]


def test_a_parameter_comes_from_its_caller_and_a_result_from_its_function(down):
    down.breakpoint("@down")
    down.continue_(), down.continue_()
    write = down.writer("i")
    assert write.instruction.startswith("invoke")
    (source,) = write.inputs
    assert int(source.value) == int(down.register("i")) == 3
    back = down.finish().just_written[0]
    assert down.writer(back).instruction.startswith("ret")
    assert int(down.writer(back).inputs[0].value) == int(down.register(back))


def test_an_argument_of_the_program_was_written_by_nobody(logarithm):
    with pytest.raises(RunError, match="argument of the program"):
        logarithm.writer("x")
    with pytest.raises(RunError, match="no register `y`"):
        logarithm.register("y")
    with pytest.raises(RunError, match="holds nothing"):
        logarithm.register("$5")


def test_a_watch_stops_at_every_change_and_knows_the_last_writer(logarithm):
    register = logarithm.trace.written(logarithm.query("nn.dense")[0])[0][1]
    watch = logarithm.watch(f"${register}")
    stops = []
    while not logarithm.continue_().ended:
        stops.append(logarithm.at)
    assert stops == [instant for instant, _ in watch.history()]
    assert logarithm.trace[stops[0] - 1].instruction.startswith("alloc_tensor")
    assert logarithm.trace[stops[1] - 1].operators == ["nn.dense"]
    while logarithm.continue_back().number:
        assert logarithm.at == stops.pop()
    assert not stops


# ---------------------------------------------------------------- forks
def test_a_fork_runs_on_with_another_value_and_leaves_the_past_alone(logarithm):
    here = logarithm.query("log")[0]
    register = logarithm.trace.code_map.reads(int(logarithm.trace.point[here]))[0]
    fork = logarithm.fork({register: np.full((2, 4), 3, "float32")}, instant=here)
    assert np.allclose(fork.result, 0.25)
    assert np.isnan(logarithm.trace.result).any()
    assert fork.parted is None
    assert [row.instruction.split()[0] for row in fork.differences()] == ["fused_subtract_log", "fused_nn_softmax"]
    assert "another result" in str(fork)


@pytest.mark.parametrize("name", [*PROGRAMS, "tree"])
def test_a_fork_that_changes_nothing_is_the_same_run(name, rng):
    text, make = PROGRAMS.get(name, (TREE, lambda r: [np.int32(2)]))
    dbg = vm.Debugger(passlab.parse(text), *make(rng))
    for instant in range(0, len(dbg.trace), max(1, len(dbg.trace) // 9)):
        fork = dbg.fork(instant=instant)
        assert same(fork.result, dbg.trace.result)
        assert fork.parted is None
        assert not fork.differences()
        moved = fork.debugger().goto(len(fork.trace) // 2)
        assert [f.pc for f in moved.stack] == [f.pc for f in dbg.trace[instant + len(fork.trace) // 2].stack]


def test_a_fork_may_take_another_way(down):
    down.breakpoint("@down")
    down.continue_()
    fork = down.fork({"i": np.int32(0)})
    assert int(fork.result) == 1
    assert fork.parted is not None
    assert "they diverge at instant" in str(fork)


def test_a_fork_takes_only_what_fits(logarithm):
    with pytest.raises(RunError):
        logarithm.fork({"x": np.zeros((9, 9))})
    with pytest.raises(RunError, match="no register"):
        logarithm.fork({99: 1})
    with pytest.raises(RunError, match="has ended"):
        logarithm.fork(instant=-1)


def test_a_fork_in_the_middle_of_many_calls_returns_through_all_of_them():
    dbg = vm.Debugger(passlab.parse(DOWN), np.int32(1500))
    deepest = dbg.query("ret")[0]
    for instant in (deepest, deepest - 3000, deepest + 3000):
        fork = dbg.fork(instant=instant)
        assert int(fork.result) == 1501
        assert fork.debugger().stack[-1].function == "main"
        assert fork.parted is None


# ---------------------------------------------------------------- the terminal
def test_the_terminal_steps_by_letters(logarithm):
    lines = iter(["b nn.softmax", "c", "p $nope", "r", "S 2", "o 999", "k", "m", "i", "h", "g 3", "x", "s 2", "f", "q"])
    results: list[str] = []
    interact(logarithm, lambda prompt: next(lines), results.append)
    text = "\n".join(results)
    assert "stopped: breakpoint 1: nn.softmax" in text
    assert "there is no register `$nope`" in text
    assert "there is no command `x`" in text
    assert logarithm.now.ended


def answers(dbg, *lines):
    session = Session(dbg)
    return session, [session.command(line) for line in lines]


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        (["5s"], 5), (["5 s"], 5), (["s 5"], 5), (["step 5"], 5), (["12g"], 12), (["goto 12"], 12), (["-1g"], 23),
        (["3s", ""], 6), (["10s", "2S", ""], 6), (["20s", "back 3"], 17), (["b nn.softmax", "cont"], 20),
        (["break nn.dense", "b nn.softmax", "2c"], 20), (["G"], None),
    ],
)  # fmt: skip
def test_the_terminal_takes_words_and_counts(logarithm, lines, at):
    if at is None:
        with pytest.raises(RunError, match="no command"):
            answers(logarithm, *lines)
    else:
        session, _ = answers(logarithm, *lines)
        assert session.dbg.at == at


def test_the_terminal_finds_where_a_nan_was_born(logarithm):
    _, messages = answers(logarithm, "b nn.softmax", "c", "t", "y", "p", "a nn.dense", "a nan")
    assert "it first appeared in `log`" in messages[2]
    assert "FuseOps" in messages[2]
    assert logarithm.now.operators == ["subtract", "log"]
    assert "input: log" in messages[3]
    assert messages[4].startswith("$5 = float32[2, 4] 0.5 .. 3")
    assert messages[5] == "1 instant: 5"
    assert messages[6].startswith("2 instants: ")


def test_the_terminal_forks_and_comes_back(logarithm):
    session, messages = answers(logarithm, "b nn.softmax", "c", "e $9 [[1], [2]]", "3s")
    assert "another result" in messages[2]
    assert session.prompt == "(fork 3) "
    assert np.allclose(session.dbg.trace.result, 0.25)
    session.command("u")
    assert session.prompt == "(vm 20) "
    with pytest.raises(RunError, match="original"):
        session.command("u")


@pytest.mark.parametrize("line", ["foo", "e $9", "b", "p $999", "d 9", "s x", "b line 99", "e $0 import os"])
def test_what_the_terminal_does_not_know_changes_nothing(logarithm, line):
    with pytest.raises(RunError):
        answers(logarithm, line)
    assert logarithm.at == 0
    assert not logarithm.breakpoints


def test_the_terminal_completes_what_may_come_next(logarithm):
    assert completions(logarithm, "b nn.") == ["nn.dense", "nn.softmax"]
    assert completions(logarithm, "break @") == ["@main"]
    assert completions(logarithm, "p $") == ["$0", "$1"]
    assert "step" in completions(logarithm, "st")
    assert completions(logarithm, "s ") == []


def test_the_interrupt_key_does_not_end_the_terminal(logarithm):
    keys = iter([KeyboardInterrupt, "s", EOFError])

    def read(prompt):
        key = next(keys)
        if isinstance(key, str):
            return key
        raise key

    results: list[str] = []
    interact(logarithm, read, results.append)
    assert "q leaves" in results
    assert logarithm.at == 1


def test_it_says_where_it_stands(logarithm):
    logarithm.breakpoint("log")
    logarithm.continue_()
    text = str(logarithm)
    assert "stopped: breakpoint 1: log" in text
    assert "subtract + log" in text
    assert "from_string:4" in text


def test_loops_written_as_recursion_are_stepped_in_one_frame():
    dbg = vm.Debugger(passlab.parse(LOOP), np.int32(50))
    dbg.goto(len(dbg.trace) // 2)
    assert [frame.function for frame in dbg.stack] == ["loop"]
    assert dbg.finish().ended


def test_a_frame_that_waits_for_a_loop_is_found_at_once():
    text = f"{LOOP.replace('@main', '@sum')}\ndef @main(%n: int32) -> int32 {{ 1 + @sum(%n) + @sum(3) }}"
    dbg = vm.Debugger(passlab.parse(text), np.int32(300))
    machine = vm.Machine(dbg.trace.code_map.program)
    machine.start(machine.exe.global_map["main"], dbg.trace.args)
    for instant in range(len(dbg.trace)):
        assert [frame.pc for frame in dbg.goto(instant).stack] == [frame.pc for frame in reversed(machine.frames)]
        machine.step()
