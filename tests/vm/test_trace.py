"""Traces: what was recorded is what happened, at every instant, whatever was dropped, overwritten, saved or read back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import passlab
from passlab.debugger.debugger import Debugger
from passlab.debugger.trace import Trace
from passlab.debugger.values import Unwritten
from passlab.errors import PasslabError, RunError, VerifyError
from passlab.vm import Machine, compile
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.tracing.recorder import FINE, TracingMachine
from passlab.vm.verifier import verify
from tests.vm.programs import LOOP, PROGRAMS, same
from tests.vm.traced import LOGARITHM, TREE, reusing_memory, same_registers

ALL = {**PROGRAMS, "tree": (TREE, lambda rng: [np.int32(3)])}


@pytest.fixture(params=ALL)
def traced(request, rng):
    """A program's trace, its executable and arguments."""
    text, make = ALL[request.param]
    return Trace.record(passlab.parse(text), make(rng))


def stepped(trace):
    """The stepping machine at every instant of a trace."""
    machine = Machine(trace.code_map.program)
    machine.start(machine.exe.global_map["main"], trace.args)
    for instant in range(len(trace) + 1):
        yield instant, machine
        if instant < len(trace):
            machine.step()


def assert_is_the_run(trace):
    for instant, machine in stepped(trace):
        frames = trace.frames_at(instant)
        assert [(f.func_index, f.pc) for f in reversed(machine.frames)] == [
            (trace.log.function[n], pc) for n, pc in frames
        ]
        for frame, (number, _) in zip(reversed(machine.frames), frames, strict=True):
            held = trace[instant].registers_of(number)
            for register, value in enumerate(frame.registers):
                assert (value is None) == (register not in held), (instant, register)
                assert value is None or same_registers(value, held[register]), (instant, register)


def test_the_result_is_that_of_a_free_run(traced):
    free = Machine(traced.code_map.program).invoke(traced.code_map.program.global_map["main"], traced.args)
    assert same(traced.result, free)


def test_every_instant_is_that_of_the_stepping_machine(traced):
    assert_is_the_run(traced)


def test_what_was_dropped_comes_back(traced):
    bounded = Trace.record(traced.code_map.program, traced.args, memory=1)
    assert not any(segment.values for segment in bounded.log.segments[:-1])
    assert_is_the_run(bounded)


@pytest.mark.rotating
def test_looking_changes_nothing(traced):
    before = [traced[i].registers for i in range(len(traced))]
    traced.frame(), traced.profile(), traced.storage
    for i in reversed(range(len(traced))):
        assert traced[i].same_state(traced[i])
        assert before[i].keys() == traced[i].registers.keys()
    assert_is_the_run(traced)


def test_a_saved_trace_is_read_back(traced, tmp_path):
    traced.save(tmp_path / "run.trace")
    again = Trace.load(tmp_path / "run.trace")
    assert same(again.result, traced.result)
    assert all(again[i].same_state(traced[i]) for i in range(len(traced) + 1))
    assert again.code_map.lines == traced.code_map.lines
    assert np.array_equal(again.seconds, traced.seconds)


@pytest.fixture
def reused(rng):
    """The trace of bytecode that writes into one storage three times, and its argument."""
    adding = compile(passlab.parse("def @main(%x: Tensor[(4), float32]) { add(%x, %x) }"))
    x = rng.random(4, "float32")
    return Trace.record(reusing_memory(adding, 0), [x]), x


def test_old_instants_show_what_was_overwritten_later(reused):
    trace, x = reused
    assert isinstance(trace[4].registers[4], Unwritten)
    for instant, times in ((5, 2), (6, 2), (7, 4), (8, 8)):
        assert np.array_equal(trace[instant].registers[4], times * x)
    assert np.array_equal(trace[6].registers[5][0], 2 * x)  # seen through a tuple that holds the tensor
    assert np.array_equal(trace[8].registers[5][0], 8 * x)
    assert np.array_equal(trace.result[0], 8 * x)
    assert_is_the_run(trace)


def test_old_instants_come_back_by_running_again_over_memory_of_its_own(reused):
    trace, _ = reused
    bounded = Trace.record(trace.code_map.program, trace.args, memory=1500)
    assert bounded.log.dropped
    for order in (range(9), reversed(range(9))):
        assert all(bounded[i].same_state(trace[i]) for i in order)


def test_recording_stops_where_overwritten_memory_is_over_the_cap(reused):
    trace, _ = reused
    stopped = Trace.record(trace.code_map.program, trace.args, memory=100)
    assert "overwritten tensors exceed the limit" in stopped.stopped
    assert not stopped.finished
    assert all(stopped[i].same_state(trace[i]) for i in range(len(stopped)))


def test_recording_stops_at_the_cap_of_instants():
    trace = Trace.record(passlab.parse(LOOP), [np.int32(10**6)], most=1000)
    assert 1000 <= len(trace) < 1100
    assert "1,0" in trace.stopped
    assert trace[-1].function == "loop"


def test_a_program_that_fails_leaves_its_instants_and_its_error():
    mod = passlab.parse("""
        def @inner(%x: int32) -> int32 { divide(1, %x) }
        def @main(%x: int32) -> int32 { 1 + @inner(%x) }
    """)
    trace = Trace.record(mod, [np.int32(0)])
    assert isinstance(trace.error, RunError)
    last = trace[-1]
    assert last.operators == ["divide"]
    assert [frame.function for frame in last.stack] == ["inner", "main"]
    assert "the next instruction failed" in str(last)


def test_wrong_arguments_are_told_at_once():
    with pytest.raises(RunError, match="takes 1 argument, not 2"):
        Trace.record(passlab.parse(LOOP), [1, 2])


def test_long_runs_are_reached_anywhere_without_keeping_them():
    whole = Trace.record(passlab.parse(LOOP), [np.int32(3000)])
    bounded = Trace.record(whole.code_map.program, whole.args, memory=2_000_000)
    assert len(bounded.log.segments) > 10
    assert not any(segment.values for segment in bounded.log.segments)
    for instant in (0, 1, len(whole) // 2, len(whole) - 1, 17, len(whole)):
        assert bounded[instant].same_state(whole[instant])


COUNTING = """
def @down(%i: int32) -> int32 { if (%i == 0) { 0 } else { 1 + @down(%i - 1) } }
def @main(%n: int32) -> int32 { @down(%n) + @down(%n) }
"""
CALLING = """
def @times(%f: fn(int32) -> int32, %n: int32, %x: int32) -> int32 {
  if (%n == 0) { %x } else { @times(%f, %n - 1, %f(%x)) }
}
def @main(%n: int32) -> int32 { @times(fn (%x: int32) -> int32 { %x + %n }, %n, 0) }
"""


@pytest.mark.parametrize("text", [LOOP, COUNTING, CALLING], ids=["loop", "recursion", "closures"])
def test_a_look_into_a_long_run_runs_little_again_and_finds_what_was_there(text, rng):
    trace = Trace.record(passlab.parse(text), [np.int32(600)])
    assert trace.log.segments[1].quick
    expected = set(rng.integers(0, len(trace), 25).tolist())
    for instant, machine in stepped(trace):
        if instant not in expected:
            continue
        here = trace[instant]
        for frame, (number, pc) in zip(reversed(machine.frames), trace.frames_at(instant)[:40], strict=False):
            held = here.registers_of(number)
            assert (frame.func_index, frame.pc) == (trace.log.function[number], pc)
            assert all(v is None or same_registers(v, held[r]) for r, v in enumerate(frame.registers)), instant
        segment, _ = trace.segment(instant)
        assert len(segment.values) <= 2 * FINE


@given(depth=st.integers(0, 4), memory=st.sampled_from([1, 20_000, None]), part=st.floats(0, 1))
def test_any_instant_of_a_recursion_has_its_whole_stack(depth, memory, part):
    trace = Trace.record(TREE_EXE, [np.int32(depth)], memory=memory)
    instant = round(part * len(trace))
    assert len(trace[instant].stack) == (trace[instant].depth + 1)
    machine = next(m for i, m in stepped(trace) if i == instant)
    assert len(machine.frames) == len(trace.frames_at(instant))


def test_segments_that_are_run_again_know_the_frames_that_they_leave_alone():
    whole = Trace.record(passlab.parse(DEEP), [np.int32(400), np.ones(2, "float32")])
    bounded = Trace.record(whole.code_map.program, whole.args, memory=1)
    middle = len(whole) // 2
    for instant in (middle, middle - 2500, middle + 2500, middle - 2048, middle + 2048):
        assert bounded[instant].same_state(whole[instant])
        assert len(bounded[instant].stack) > 200


DEEP = """
def @down(%i: int32, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  if (%i == 0) { %x } else { %x + @down(%i - 1, tanh(%x)) }
}
def @main(%n: int32, %x: Tensor[(2), float32]) { @down(%n, %x) }
"""
TREE_EXE = compile(passlab.parse(TREE))


# ---------------------------------------------------------------- tables and memory
def test_the_frame_has_a_row_for_each_instruction(traced):
    frame = traced.frame()
    assert len(frame) == len(traced)
    assert frame["wrote"].iloc[0] or frame["opcode"].iloc[0] in ("invoke", "if", "goto")
    assert (frame["seconds"] >= 0).all()


def test_the_profile_counts_every_instruction_once(traced):
    report = traced.profile()
    assert sum(row["Count"] for row in report.rows()) == len(traced)


def test_single_instructions_stop_in_a_loop_of_tests(monkeypatch):
    def fail(machine, budget):
        raise RuntimeError("a block that fails is recorded instruction by instruction")

    monkeypatch.setattr(TracingMachine, "_run_blocks", fail)
    loop = (Instruction(Opcode.LOAD_CONSTI, 1, 1), Instruction(Opcode.IF, 1, 1, -1, 1), Instruction(Opcode.RET, 0))
    exe = Executable((VMFunction("main", ("x",), loop, 2),), (), (), ())
    verify(exe)
    assert len(Trace.record(exe, [np.array(1)], most=1000)) == 1000


def test_the_profile_has_the_shapes_of_each_call():
    grow = """def @main(%x: Tensor[(?), float32], %n: int32) -> Tensor[(?), float32] {
      if (less(%n, 1)) { %x } else { @main(concatenate((%x, %x)), subtract(%n, 1)) }
    }"""
    report = Trace.record(passlab.parse(grow), [np.ones(2, "float32"), np.int32(3)]).profile()
    shapes = [call["Argument Shapes"] for call in report.calls if call["Name"] == "concatenate"]
    assert [text for text in shapes if "float32" in text] == [f"float32[{n}], float32[{2 * n}]" for n in (2, 4, 8)]


def test_a_storage_lives_until_nothing_holds_it():
    trace = Trace.record(passlab.parse(LOGARITHM), [np.ones((2, 3), "float32"), np.ones((4, 3), "float32")])
    first, *_ = trace.storage.allocations
    killed = next(i for i in range(len(trace)) if trace[i].instruction == "kill_register $5")
    assert (first.born, first.died) == (2, killed + 1)
    assert trace.storage.live[first.born] == first.bytes == 32
    assert trace.storage.live.max() == trace.storage.peak[0]


def test_instructions_know_their_line_operators_and_history():
    trace = Trace.record(passlab.parse(LOGARITHM), [np.ones((2, 3), "float32"), np.ones((4, 3), "float32")])
    kernel = next(i for i in range(len(trace)) if "log" in trace[i].operators)
    assert [span.line for span in trace[kernel].spans] == [4, 4]
    lives = [str(life) for life in trace[kernel].history]
    assert any("FuseOps" in life for life in lives)
    assert all("input: " in life for life in lives)


@pytest.mark.parametrize(
    "passes", ["", "InferType, FuseOps", "InferType, FuseOps, DefuseOps", "ToANormalForm, SimplifyExpr"]
)
def test_calls_of_one_kernel_know_each_their_own_line(passes):
    """Equal blocks share their kernels; the value that a call writes is that of its line, by NumPy."""
    lines = [f"  let %v{n} = nn.softmax(multiply(%v{n - 1}, 3f));" for n in range(1, 6)]
    text = "\n".join(["def @main(%v0: Tensor[(2, 4), float32]) {", *lines, "  %v5", "}"])
    value = np.arange(8, dtype="float32").reshape(2, 4) / 7
    expected = {}
    for line in range(2, 7):
        expected[line, "multiply"] = value * 3
        value = np.exp(3 * value) / np.exp(3 * value).sum(-1, keepdims=True)
        expected[line, "nn.softmax"] = value
    program = passlab.parse(text)
    program = passlab.record(program, passes, opt_level=4) if passes else program
    trace = Debugger(program, np.arange(8, dtype="float32").reshape(2, 4) / 7).trace
    seen = []
    for at in range(len(trace)):
        point = trace[at].point
        for register in trace.code_map.results(point):
            spans = {span.line for span in trace.code_map.spans(point)}
            assert len(spans) == 1
            key = (spans.pop(), trace.code_map.operators(point)[-1])
            written = trace[at + 1].registers_of(trace.frames_at(at)[0][0])[register]
            np.testing.assert_allclose(np.asarray(written), expected[key], rtol=1e-5)
            seen.append(key)
    assert {line for line, _ in seen} == set(range(2, 7))


# ---------------------------------------------------------------- files
def test_a_damaged_file_is_refused(tmp_path, rng):
    path = tmp_path / "run.trace"
    Trace.record(TREE_EXE, [np.int32(2)]).save(path)
    whole = path.read_bytes()
    for _ in range(40):
        place = int(rng.integers(len(whole)))
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            again = Trace.load(path)
            assert again[len(again) // 2].registers is not None
        except PasslabError:
            continue
    path.write_bytes(b"not a trace")
    with pytest.raises(VerifyError, match="is not a trace"):
        Trace.load(path)


def test_a_log_of_another_run_is_found_out(tmp_path):
    path = tmp_path / "run.trace"
    trace = Trace.record(TREE_EXE, [np.int32(2)])
    trace.args = [np.array(3, np.int32)]
    trace.save(path)
    with pytest.raises(VerifyError, match="differs from its log"):
        assert Trace.load(path)[0].registers
