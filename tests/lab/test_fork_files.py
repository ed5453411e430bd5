"""Forks as files: loading restores the saved fork with its comparison, and damaged files are refused."""

from __future__ import annotations

import gc
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import passlab
from passlab import limits, vm
from passlab.debugger.instant import same_values
from passlab.errors import LimitError, PasslabError, RunError, VerifyError
from passlab.lab import Fork, Trace
from tests.vm.programs import PROGRAMS
from tests.vm.traced import LOGARITHM, TREE, reusing_memory

pytestmark = pytest.mark.rotating

KINDS = ("vm", "graph", "debug")
X, W = np.full((2, 3), 0.5, "float32"), np.array([[1, 1, 1], [0, 0, 1], [2, 2, 2], [1, 0, 0]], "float32")
CLOSURES = """
def @apply(%f: fn(float32) -> float32, %x: float32) -> float32 { if (%x > 100f) { %x } else { @apply(%f, %f(%x)) } }
def @main(%x: float32, %y: float32) -> float32 { @apply(fn (%v: float32) -> float32 { %v * %y }, %x) }
"""
DIVIDING = """
def @up(%x: int32, %y: int32) -> int32 { if (%x > 100) { %x } else { @up(%x + 1 / %y, %y) } }
def @main(%a: int32, %b: int32) -> int32 { @up(%a, %b) }
"""
LISTS = """
type List[A] { Nil, Cons(A, List[A]) }
def @up(%n: int32, %l: List[int32]) -> List[int32] { if (%n == 0) { %l } else { @up(%n - 1, Cons(%n, %l)) } }
def @sum(%l: List[int32], %s: int32) -> int32 { match (%l) { Nil => %s, Cons(%h, %t) => @sum(%t, %s + %h) } }
def @main(%n: int32) -> int32 { @sum(@up(%n, Nil), 0) }
"""


def logarithm(kind):
    return vm.Debugger(passlab.parse(LOGARITHM), X, W, executor=kind)


def birth(dbg):
    """Go to the instruction that makes NaNs; return the register to change."""
    dbg.goto(dbg.query("log")[0])
    return dbg.now.reads[0]


@pytest.fixture(params=KINDS)
def dbg(request):
    return logarithm(request.param)


def assert_same_run(read, saved):
    assert (read.kind, len(read), read.stopped) == (saved.kind, len(saved), saved.stopped)
    assert same_values(read.result, saved.result)
    assert np.array_equal(read.seconds, saved.seconds)
    assert (read.error is None) == (saved.error is None)
    assert read.code_map.lines == saved.code_map.lines
    for instant in range(0, len(saved) + 1, max(1, len(saved) // 12)):
        assert read[instant].same_state(saved[instant])


def assert_same_fork(read, saved):
    assert_same_run(read.trace, saved.trace)
    assert (read.instant, read.parted, str(read)) == (saved.instant, saved.parted, str(saved))
    assert list(read.changes) == list(saved.changes)
    assert same_values(list(read.changes.values()), list(saved.changes.values()))
    for mine, theirs in zip(read.differences(), saved.differences(), strict=True):
        assert (mine.instant, mine.register, mine.instruction) == (theirs.instant, theirs.register, theirs.instruction)
        assert same_values((mine.before, mine.after), (theirs.before, theirs.after))


# ---------------------------------------------------------------- what is read is what was saved
def test_a_trace_comes_back_with_its_forks(dbg, tmp_path):
    register = birth(dbg)
    forks = [dbg.fork({register: value}) for value in ("full 3", "zeros", "[[1.5], [2]]")]
    dbg.trace.save(tmp_path / "run.trace")
    back = Trace.load(tmp_path / "run.trace")
    assert_same_run(back, dbg.trace)
    for read, saved in zip(back.forks, forks, strict=True):
        assert read.original is back
        assert_same_fork(read, saved)


def test_a_fork_comes_back_alone(dbg, tmp_path):
    register = birth(dbg)
    dbg.fork({register: "zeros"})
    fork = dbg.fork({register: "full 3"})
    fork.save(tmp_path / "fork.trace")
    back = Fork.load(tmp_path / "fork.trace")
    assert_same_fork(back, fork)
    assert_same_run(back.original, dbg.trace)
    assert [f.trace for f in back.original.forks] == [back.trace]
    again = back.debugger().fork({register: "full 3"})
    assert same_values(again.result, fork.result)


def test_forks_of_forks_come_back_however_deep_they_are(dbg, tmp_path):
    at, chain = dbg, []
    for depth in range(30):
        chain.append(at.fork({birth(at): f"full {depth + 2}"}))
        at = chain[-1].debugger()
    chain[-1].save(tmp_path / "deep.trace")
    back = Fork.load(tmp_path / "deep.trace")
    for saved in reversed(chain):
        assert_same_fork(back, saved)
        if saved is not chain[0]:
            back = Fork.of(back.original)
    assert back.original.parent is None
    dbg.trace.save(tmp_path / "whole.trace")
    result, (branch,) = 1, Trace.load(tmp_path / "whole.trace").forks
    while branch.trace.forks:
        result, (branch,) = result + 1, branch.trace.forks
    assert result == len(chain)


def test_what_was_read_is_saved_again(dbg, tmp_path):
    fork = dbg.fork({birth(dbg): "full 3"})
    dbg.trace.save(tmp_path / "one.trace")
    Trace.load(tmp_path / "one.trace").save(tmp_path / "two.trace")
    assert_same_fork(Trace.load(tmp_path / "two.trace").forks[0], fork)


@pytest.mark.parametrize("name", [*PROGRAMS, "tree", "closures"])
@pytest.mark.parametrize("memory", [None, 1])
def test_a_fork_that_changes_nothing_is_read_as_the_same_run(name, memory, rng, tmp_path):
    own = {"tree": (TREE, lambda r: [np.int32(3)]), "closures": (CLOSURES, lambda r: [np.float32(3), np.float32(2)])}
    text, make = PROGRAMS.get(name) or own[name]
    dbg = vm.Debugger(passlab.parse(text), *make(rng), memory=memory)
    forks = []
    for place in range(5):
        dbg.goto(len(dbg.trace) * place // 5)
        forks.append(dbg.fork({r: v for r, v in dbg.registers.items() if isinstance(v, (np.ndarray, int, tuple))}))
    dbg.trace.save(tmp_path / "run.trace")
    for read, saved in zip(Trace.load(tmp_path / "run.trace").forks, forks, strict=True):
        assert same_values(read.result, dbg.trace.result)
        assert not read.differences()
        assert_same_fork(read, saved)


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_a_fork_that_takes_another_way_fails_or_is_stopped_comes_back_so(kind, tmp_path):
    dbg = vm.Debugger(passlab.parse(DIVIDING), np.int32(95), np.int32(1), executor=kind)
    second = dbg.query("@up")[1]
    another = dbg.fork({"x": np.int32(99)}, instant=second)
    assert another.parted is not None
    failing = dbg.fork({"b": np.int32(0)}, instant=0)
    assert failing.trace.error is not None
    with limits.override(trace_instants=100):
        stopped = dbg.fork({"x": np.int32(0)}, instant=second)
    assert stopped.trace.stopped
    dbg.trace.save(tmp_path / "run.trace")
    back = Trace.load(tmp_path / "run.trace")
    for read, saved in zip(back.forks, (another, failing, stopped), strict=True):
        assert_same_fork(read, saved)
        assert read.trace[-1].text() == saved.trace[-1].text()


def test_memory_that_is_used_again_comes_back_as_it_was(rng, tmp_path):
    exe = vm.compile(passlab.parse("def @main(%x: Tensor[(4), float32]) { add(%x, %x) }"))
    dbg = vm.Debugger(reusing_memory(exe, 0), rng.random(4, "float32"))
    forks = [dbg.fork({0: np.arange(4, dtype="float32")}, instant=instant) for instant in range(len(dbg.trace))]
    forks.append(dbg.fork({4: np.ones(4, "float32")}, instant=5))
    dbg.trace.save(tmp_path / "run.trace")
    for read, saved in zip(Trace.load(tmp_path / "run.trace").forks, forks, strict=True):
        assert_same_fork(read, saved)


def test_long_data_and_closures_among_the_changes_are_saved(tmp_path):
    dbg = vm.Debugger(passlab.parse(LISTS), np.int32(5000))
    dbg.goto(dbg.query("@sum")[0])
    long = dbg.register("l")
    fork = dbg.fork({"l": long}, instant=dbg.query("@sum")[-1])
    fork.save(tmp_path / "fork.trace")
    assert int(Fork.load(tmp_path / "fork.trace").result) == int(fork.result) == 2 * sum(range(5001))
    dbg = vm.Debugger(passlab.parse(CLOSURES), np.float32(3), np.float32(2))
    dbg.goto(dbg.query("@apply")[-1])
    other = vm.Debugger(dbg.trace.code_map.program, np.float32(3), np.float32(50))
    fork = dbg.fork({"f": other.goto(other.query("@apply")[0]).registers[0]})
    fork.save(tmp_path / "fork.trace")
    assert float(Fork.load(tmp_path / "fork.trace").result) == float(fork.result)


# ---------------------------------------------------------------- what a trace remembers
def test_a_fork_that_nobody_holds_is_run_again(dbg, tmp_path):
    text = str(dbg.fork({birth(dbg): "full 3"}))
    gc.collect()
    assert dbg.trace.branches[0].alive() is None
    dbg.trace.save(tmp_path / "run.trace")
    assert str(Trace.load(tmp_path / "run.trace").forks[0]) == text == str(dbg.trace.forks[0])


def test_forks_of_a_fork_outlive_it(dbg):
    first = dbg.fork({birth(dbg): "full 3"})
    inner = first.debugger()
    text = str(inner.fork({birth(inner): "full 4"}))
    del first, inner
    gc.collect()
    assert str(dbg.trace.forks[0].trace.forks[0]) == text


def test_a_trace_remembers_the_latest_forks(dbg, tmp_path):
    register = birth(dbg)
    with limits.override(trace_forks=3):
        for number in range(5):
            dbg.fork({register: f"full {number}"})
    assert [float(np.max(f.changes[register])) for f in dbg.trace.forks] == [2, 3, 4]
    dbg.trace.save(tmp_path / "bare.trace", forks=False)
    assert not Trace.load(tmp_path / "bare.trace").forks


def test_a_value_that_is_changed_later_does_not_change_a_fork(dbg):
    register = birth(dbg)
    value = np.full_like(dbg.register(register), 3)
    fork = dbg.fork({register: value})
    value[:] = 0
    assert float(next(iter(fork.changes.values())).min()) == 3


def test_what_has_no_written_form_is_told_before_a_file_is_there(tmp_path):
    dbg = vm.Debugger(passlab.parse(CLOSURES), np.float32(3), np.float32(2), executor="debug")
    dbg.goto(dbg.query("@apply")[0])
    dbg.fork({"f": dbg.register("f")})
    with pytest.raises(RunError, match="cannot be saved"):
        dbg.trace.save(tmp_path / "run.trace")
    assert not list(tmp_path.iterdir())
    dbg.trace.save(tmp_path / "run.trace", forks=False)
    assert same_values(Trace.load(tmp_path / "run.trace").result, dbg.trace.result)


def test_a_whole_run_is_no_fork(dbg, tmp_path):
    dbg.trace.save(tmp_path / "run.trace")
    with pytest.raises(RunError, match="not a fork"):
        Fork.load(tmp_path / "run.trace")


# ---------------------------------------------------------------- damage
@pytest.fixture
def saved(dbg, tmp_path):
    """A file with two forks, one of the other."""
    inner = dbg.fork({birth(dbg): "full 3"}).debugger()
    inner.fork({birth(inner): "full 4"})
    dbg.trace.save(tmp_path / "run.trace")
    return tmp_path / "run.trace"


def rewrite(path, change):
    """Change the parts of an archive."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)


def looked_at(path):
    """Everything there is to see in a file."""
    traces = [Trace.load(path)]
    for trace in traces:
        traces += [fork.trace for fork in trace.forks]
        for instant in (0, len(trace) // 2, -1):
            assert trace[instant].text()
        assert all(str(fork) for fork in trace.forks)
    return len(traces)


def test_a_file_cut_off_anywhere_or_with_a_changed_byte_is_whole_or_told(saved, rng):
    whole = saved.read_bytes()
    assert looked_at(saved) == 3
    for place in rng.integers(0, len(whole), 60).tolist():
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]):
            saved.write_bytes(damaged)
            try:
                assert looked_at(saved) == 3
            except PasslabError:
                continue


_ODD = (None, -1, 10**6, 2**70, 1.5, float("nan"), "x", [], {}, [[]], True)


def test_no_field_of_a_head_is_believed(saved, rng):
    with zipfile.ZipFile(saved) as file:
        head = json.loads(file.read("head.json"))

    def places(at, path=()):
        if path:
            yield path
        pairs = at.items() if isinstance(at, dict) else enumerate(at) if isinstance(at, list) else ()
        for key, inner in list(pairs)[:12]:
            if path[-1:] != ("lines",):
                yield from places(inner, (*path, key))

    text = 0
    for path in places(head):
        for odd in rng.permutation(np.array(_ODD, object))[:2].tolist():
            changed = json.loads(json.dumps(head))
            at = changed
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = odd

            def put(parts, result=changed):
                parts["head.json"] = json.dumps(result).encode()

            rewrite(saved, put)
            try:
                looked_at(saved)
            except PasslabError:
                text += 1
    assert text > 30


@pytest.mark.parametrize(
    "column", ["sites", "parent", "function", "created", "depth", "switched_to", "result_register"]
)
@pytest.mark.parametrize("run", [0, 1, 2])
def test_no_column_of_a_log_is_believed(saved, column, run):
    name = f"runs/{run}/{column}"

    def change(parts):
        numbers = np.frombuffer(parts[name], "<i8" if column == "created" else "<i4").copy()
        numbers[-1] += 1
        parts[name] = numbers.tobytes()

    rewrite(saved, change)
    with pytest.raises((VerifyError, RunError)):
        looked_at(saved)


def test_other_changes_in_a_fork_are_found_out_where_they_lead_another_way(tmp_path):
    dbg = vm.Debugger(passlab.parse(CLOSURES), np.float32(3), np.float32(2))
    dbg.breakpoint("@apply")
    dbg.continue_(), dbg.fork({"x": np.float32(60)})
    dbg.trace.save(tmp_path / "run.trace")

    def change(parts):
        name = max(n for n in parts if n.startswith("tensors/"))
        data = bytearray(parts[name])
        data[-4:] = np.float32(1).tobytes()
        parts[name] = bytes(data)

    rewrite(tmp_path / "run.trace", change)
    back = Trace.load(tmp_path / "run.trace")
    for _ in range(2):  # it is told every time, not only the first
        with pytest.raises(VerifyError, match="another"):
            back.forks[0].result  # noqa: B018
    assert same_values(back.result, dbg.trace.result)


def test_sizes_are_checked_before_anything_is_made(saved):
    with limits.override(trace_instants=1), pytest.raises(LimitError, match="trace_instants"):
        Trace.load(saved)
    with limits.override(tensor_bytes=100), pytest.raises(LimitError, match="tensor_bytes"):
        Trace.load(saved)


# ---------------------------------------------------------------- hostile archives
def archive(tmp_path, change):
    path = tmp_path / "run.trace"
    Trace.record(passlab.parse("def @main(%x: float32) { exp(%x) }"), [np.float32(1)]).save(path)
    path.write_bytes(change(bytearray(path.read_bytes())))
    return path


def encrypted(data):
    """Set the bit that says that the first part is encrypted, here and in the table of contents."""
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    return data


@pytest.mark.parametrize("kind", [Trace, Fork])
def test_an_encrypted_file_is_refused(tmp_path, kind):
    with pytest.raises(VerifyError, match="encrypted"):
        kind.load(archive(tmp_path, encrypted))


def test_a_file_that_unpacks_to_too_many_bytes_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "bomb.trace"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("head.json", bytes(8 << 20))
    with passlab.limits.override(trace_bytes=1 << 20), pytest.raises(LimitError, match="trace_bytes"):
        Trace.load(path)


PARTS = ("head.json", "program.bin", "kernels.rly", "tensors/0", "runs/0/sites", "runs/0/clock", "runs/0/depth")
PADDING = 64 << 20  # bytes of zeros, which are 64 KB in an archive


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> dict[str, bytes]:
    """The parts of a small trace."""
    path = tmp_path_factory.mktemp("small") / "run.trace"
    Trace.record(passlab.parse("def @main(%x: Tensor[(9), float32]) { exp(%x) }"), [np.ones(9, "float32")]).save(path)
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def padded(path, parts, name):
    """Write an archive in which one part goes on with zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for each, data in parts.items():
            file.writestr(each, data + bytes(PADDING if each == name else 0))


def memory_of_reading(path):
    """Return the bytes that Python held at most while a file was refused."""
    tracemalloc.start()
    try:
        with pytest.raises((LimitError, VerifyError)):
            Trace.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_goes_on_with_zeros_is_refused_before_it_is_unpacked(parts, name, tmp_path):
    assert name in parts
    path = tmp_path / "bomb.trace"
    padded(path, parts, name)
    with limits.override(text_bytes=1 << 20):
        assert memory_of_reading(path) < PADDING / 8


@pytest.mark.parametrize("name", PARTS)
def test_a_table_of_contents_that_says_too_little_unpacks_no_more(parts, name, tmp_path):
    path = tmp_path / "lie.trace"
    padded(path, parts, name)
    data = bytearray(path.read_bytes())
    true, lie = (struct.pack("<I", len(parts[name]) + more) for more in (PADDING, 0))
    assert data.count(true) == 2  # before the part, and in the table of contents
    path.write_bytes(data.replace(true, lie))
    assert memory_of_reading(path) < PADDING / 8


def test_a_table_of_contents_that_says_more_than_deflate_can_make_is_refused(parts, tmp_path):
    path = tmp_path / "lie.trace"
    padded(path, parts, "tensors/0")
    data = path.read_bytes()
    true, lie = struct.pack("<I", len(parts["tensors/0"]) + PADDING), struct.pack("<I", 1 << 30)
    path.write_bytes(data.replace(true, lie))
    with pytest.raises(VerifyError, match="table of contents is wrong"):
        Trace.load(path)
