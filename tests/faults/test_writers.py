"""Everything that passlab writes is whole or not there: on a full disk, without permission, without a folder, over a folder.

One table lists the writers. Each writes a file (or folder) of one state over that of another, while the system refuses
the n-th write, for every n, or is killed at some instant; what is there afterwards is one of the two.
"""

from __future__ import annotations

import ast
import errno
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import relay, transform, vm
from passlab.atomic_file import atomic_file, atomic_files, held_folder, write_text
from passlab.compat.folders import save_param_dict_to_file
from passlab.dumps import read_text
from passlab.errors import FileAccessError, PasslabError, RunError
from passlab.instrument import TraceInstrument
from passlab.lab.recordings.recording import Recording, record
from passlab.vm.files.constant_files import save_constants
from tests.architecture.sources import ROOT

DUMP = "// -----// IR Dump Before CSE //----- //\nmodule {\n  func.func @f(%a: i32) -> i32 {\n    return %a : i32\n  }\n}\n"

COUNT = 9999  # elements of an array


@cache
def numbers(state: int) -> Any:
    return np.full(COUNT, state)


@cache
def net(state: int) -> Any:
    x = relay.var("x", shape=(64, 64))
    weights = relay.const(np.full((64, 64), state, "float32"))
    return passlab.IRModule.from_expr(
        relay.Function([x], [relay.nn.relu, relay.tanh][state](relay.add(x, relay.exp(weights))))
    )


@cache
def recording(state: int) -> Recording:
    return record(net(state), "InferType, FoldConstant" if state else "InferType", opt_level=4)


@cache
def built(state: int, kind: str) -> Any:
    return relay.build(net(state), executor=relay.backend.Executor(kind))


@cache
def executable(state: int) -> Any:
    return relay.vm.compile(net(state))


@cache
def debugger(state: int) -> vm.Debugger:
    return vm.Debugger(net(state), np.full((64, 64), state, "float32"))


@cache
def trace_events(state: int) -> TraceInstrument:
    events = TraceInstrument()
    with transform.PassContext(instruments=[events]):
        transform.Sequential([transform.InferType()] * (1 + state))(net(state))
    return events


WRITERS: dict[str, Callable[[int, Path], Any]] = {
    "executable": lambda state, path: executable(state).export_library(path),
    "kernel library": lambda state, path: executable(state).save()[1].export_library(path),
    "graph library": lambda state, path: built(state, "graph").export_library(path),
    "aot library": lambda state, path: built(state, "aot").export_library(path),
    "constants": lambda state, path: save_constants(path, {"a": numbers(state)}),
    "parameters": lambda state, path: save_param_dict_to_file({"a": numbers(state)}, str(path)),
    "trace of a run": lambda state, path: debugger(state).trace.save(path),
    "trace of passes": lambda state, path: trace_events(state).save(path),
    "page of a recording": lambda state, path: recording(state).to_html(path),
    "page without scripts": lambda state, path: recording(state).to_html(path, static=True),
    "page of a run": lambda state, path: debugger(state).trace.to_html(path),
    "page of a dump": lambda state, path: read_text(DUMP * (2 + state)).to_html(path),
    "ONNX": lambda state, path: relay.to_onnx(net(state), path=path),
}  # fmt: skip


@contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, number: int) -> Iterator[list[int]]:
    """Let the file system refuse the `number`-th write, rename or opening of a file for writing, and all after it."""
    calls = [0]

    def guarded(function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            calls[0] += 1
            if calls[0] >= number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        for name in ("mkdir", "replace", "write_bytes", "write_text", "chmod"):
            patch.setattr(Path, name, guarded(getattr(Path, name)))
        yield calls


def message_of(write: Callable[[], Any]) -> str:
    """Return what passlab says when a write fails, or "" if it does not."""
    try:
        write()
    except PasslabError as error:
        return str(error)
    return ""


def files_of(path: Path) -> dict[str, bytes]:
    """Return the contents of a file, or of the files of a folder, by name."""
    if path.is_dir():
        return {one.relative_to(path).as_posix(): one.read_bytes() for one in path.rglob("*") if one.is_file()}
    return {path.name: path.read_bytes()} if path.exists() else {}


@pytest.mark.parametrize("name", WRITERS)
def test_a_refused_write_leaves_the_older_file(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = tmp_path / f"file{'.onnx' if name == 'ONNX' else ''}", WRITERS[name]
    write(1, path)
    write(0, path)
    old = files_of(path)
    assert old
    for number in range(1, 9):
        with refusing(monkeypatch, number) as calls:
            said = message_of(lambda: write(1, path))
        assert [one.name for one in tmp_path.iterdir()] == [path.name]
        if calls[0] < number:
            break
        assert re.search(r"(?s)written.*disk is full", said)
        assert files_of(path) == old
    else:
        raise AssertionError("it never came to an end")
    assert files_of(path) != old


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_in_the_place_of_a_file_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises((FileAccessError, RunError), match=r"(?s)written.*folder"):
        WRITERS[name](0, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", WRITERS)
def test_a_missing_folder_is_told(name: str, tmp_path: Path) -> None:
    with pytest.raises((FileAccessError, RunError), match=r"(?s)written.*folder"):
        WRITERS[name](0, tmp_path / "missing" / "file")
    (tmp_path / "plain").write_text("")
    with pytest.raises((FileAccessError, RunError), match=r"written"):
        WRITERS[name](0, tmp_path / "plain" / "file")
    assert [one.name for one in tmp_path.iterdir()] == ["plain"]


@pytest.mark.parametrize("name", WRITERS)
def test_a_tilde_is_the_folder_of_the_user(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(here)
    WRITERS[name](0, Path("~/file.onnx" if name == "ONNX" else "~/file"))
    assert not list(here.iterdir())
    assert [one.stem for one in home.iterdir()] == ["file"]


# ---------------------------------------------------------------- folders
def contents(target: Path) -> tuple[list[str], str]:
    """What a saved recording says: its passes, and its last program with all constants."""
    back = Recording.load(target)
    return [event.name for event in back.events], back.last.astext(show_meta_data=True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[list[str], str]]:
    """What the recordings of both states say."""
    folder = tmp_path_factory.mktemp("recordings")
    for state in (0, 1):
        recording(state).save(folder / str(state))
    return [contents(folder / str(state)) for state in (0, 1)]


def test_a_recording_saved_over_another_is_one_of_the_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: Any
) -> None:
    target = tmp_path / "net.rec"
    recording(0).save(target)
    for number in range(1, 40):
        with refusing(monkeypatch, number) as calls:
            try:
                recording(1).save(target)
            except FileAccessError:
                assert contents(target) == saved[0]
        if calls[0] < number:
            break
    assert contents(target) == saved[1]
    for turn, state in enumerate((0, 1, 0)):  # again and again, and nothing of the others stays
        recording(state).save(target)
        recording(state).save(tmp_path / str(turn))
        assert contents(target) == saved[state]
        assert len(files_of(target)) == len(files_of(tmp_path / str(turn)))


# ---------------------------------------------------------------- a small disk
@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 200 kB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(folder)]
    if os.name != "posix" or os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system needs the administrator")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_older_file(name: str, small_disk: Path) -> None:
    path = small_disk / ("file.onnx" if name == "ONNX" else "file")
    path.write_bytes(b"old")
    (small_disk / "ballast").write_bytes(bytes(190_000))
    said, size = "", 190_000
    while not said:  # small files fit some times
        with (small_disk / "ballast").open("wb") as ballast:
            ballast.write(bytes(size))
        said, size = message_of(lambda: WRITERS[name](0, path)), size + 2048
        if not said:
            path.write_bytes(b"old")
    assert "disk is full" in said
    assert path.read_bytes() == b"old"


def test_a_recording_on_a_full_disk_stays_what_it_was(small_disk: Path, saved: Any) -> None:
    target = small_disk / "net.rec"
    recording(0).save(target)
    (small_disk / "ballast").write_bytes(bytes(200_000 - 4096 * 14))
    with pytest.raises(FileAccessError, match="disk is full"):
        recording(1).save(target)
    assert contents(target) == saved[0]


# ---------------------------------------------------------------- little memory
LITTLE = """
import resource, shutil, sys, tempfile
from pathlib import Path
import numpy as np
from passlab import IRModule, relay
from passlab.errors import PasslabError
from tests.faults import test_writers as t

def net(state):
    x, weights = relay.var("x", shape=(64, 64)), relay.const(np.full(1 << 25, state, "float32"))
    return IRModule.from_expr(relay.Function([x], relay.Tuple([relay.exp(x), weights])))

t.net, t.COUNT = t.cache(net), 1 << 24
writers = {**t.WRITERS, "recording": lambda state, path: t.recording(state).save(path)}
for name in sys.argv[1:]:
    path = Path(tempfile.mkdtemp()) / ("file.onnx" if name == "ONNX" else "file")
    writers[name](0, path)
    old = t.files_of(path)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (40 << 20), -1))
    try:
        writers[name](0, path)
        said = "written"
    except PasslabError as error:
        said = error.diagnostics[0].message
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    assert said == "written" or t.files_of(path) == old
    print(f"{name}: {said}", flush=True)
    shutil.rmtree(path.parent, ignore_errors=True)
"""
WEIGHTY = ("executable", "graph library", "aot library", "constants", "parameters", "ONNX", "recording")


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is a Linux system's")
@pytest.mark.parametrize("name", WEIGHTY)
def test_too_little_memory_is_told_and_leaves_the_older_file(name: str) -> None:
    command = [sys.executable, "-c", LITTLE, name]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert not ran.stderr
    told = "written" if name == "recording" else "memory"  # a recording's weights are written from where they are
    assert told in ran.stdout


# ---------------------------------------------------------------- kills
@pytest.mark.parametrize("name", WRITERS)
def test_the_same_state_is_the_same_file_at_any_time(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / ("file.onnx" if name == "ONNX" else "file"), WRITERS[name]
    write(0, path)
    first = files_of(path)
    monkeypatch.setattr(time, "time", lambda: 1e9)
    write(0, path)
    assert files_of(path) == first


KILLED = """
import sys
from pathlib import Path
from tests.faults.test_writers import WRITERS, recording
target, name = Path(sys.argv[1]), sys.argv[2]
for turn in range(100_000):
    recording(turn % 2).save(target / "net.rec")
    WRITERS[name](turn % 2, target / "file.onnx")
    print("ready", flush=True)
"""


def is_whole(path: Path) -> bool:
    """Whether an archive or a page, which holds times of the process that wrote it, is complete."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            return file.testzip() is None
    text = path.read_bytes().strip()
    if text.startswith(b"{"):
        return isinstance(json.loads(text), dict)
    return text.endswith(b"</html>")


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("name", WRITERS)
def test_a_killed_writer_leaves_whole_files(name: str, tmp_path: Path, saved: Any) -> None:
    states = []
    for state in (1, 0):
        recording(state).save(tmp_path / "net.rec")
        WRITERS[name](state, tmp_path / "file.onnx")
        states.append(files_of(tmp_path / "file.onnx"))
    command = [sys.executable, "-c", KILLED, str(tmp_path), name]
    for part in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            time.sleep(random.Random(f"{name} {part}").uniform(0.0, 0.5))
            process.send_signal(signal.SIGKILL)
        assert contents(tmp_path / "net.rec") in saved
        assert files_of(tmp_path / "file.onnx") in states or is_whole(tmp_path / "file.onnx")


KILLED_AT_A_RENAME = """
import os, sys
from pathlib import Path
from passlab.atomic_file import atomic_files
paths, number, replace = [Path(name) for name in sys.argv[2:]], int(sys.argv[1]), Path.replace

def stop_early(path, other):
    global number
    number -= 1
    if number < 0:
        os.kill(os.getpid(), 9)
    return replace(path, other)

Path.replace = stop_early
with atomic_files(*paths) as unfinished:
    for one in unfinished:
        one.write_text("new")
"""


@pytest.mark.skipif(os.name != "posix", reason="no other system has kill -9")
@pytest.mark.parametrize("files", [1, 2, 3])
def test_a_kill_leaves_no_file_beside_the_weights_of_another(files: int, tmp_path: Path) -> None:
    paths = [tmp_path / f"net.{number}" for number in range(files)]
    for number in range(2 * files + 1):
        for path in paths:
            path.write_text("old")
        command = [sys.executable, "-c", KILLED_AT_A_RENAME, str(number), *map(str, paths)]
        ended = subprocess.run(command, cwd=ROOT, check=False).returncode
        assert ended in (0, -signal.SIGKILL)
        if paths[-1].exists():
            assert {path.read_text() for path in paths} in ({"old"}, {"new"})
    assert ended == 0
    for number in range(2 * files):  # an error is told, and leaves all
        for path in paths:
            path.write_text("old")
        with refusing_once(number):
            said = message_of(lambda: _write_all(paths))
        assert {path.read_text() for path in paths} == ({"old"} if said else {"new"})
    assert sorted(tmp_path.iterdir()) == paths


@contextmanager
def refusing_once(number: int) -> Iterator[None]:
    """Let the file system refuse one rename."""
    replace, calls = Path.replace, count()

    def refuse(path: Path, other: Path) -> Path:
        if next(calls) == number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(path, other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        yield


def _write_all(paths: list[Path]) -> None:
    with atomic_files(*paths) as unfinished:
        for one in unfinished:
            one.write_text("new")


@pytest.mark.skipif(os.name != "posix", reason="no other system tells whose process is gone")
def test_the_next_write_of_a_file_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    target, other = tmp_path / "net", tmp_path / "other"
    ready = "import sys; print('ready', flush=True); sys.stdin.read()"
    script = f"from passlab.atomic_file import atomic_file\nwith atomic_file({str(target)!r}) as one:\n"
    command = [sys.executable, "-c", script + f" one.write_text('half')\n exec({ready!r})"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        write_text(target, "whole")
        assert len(list(tmp_path.iterdir())) == 2  # its writer is alive
        process.kill()
    write_text(other, "whole")
    assert len(list(tmp_path.iterdir())) == 3  # it is of another file
    write_text(target, "new")
    assert sorted(tmp_path.iterdir()) == [target, other]


def test_a_write_takes_no_look_through_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    for name in ("listdir", "scandir"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda path=".", real=real: (looked.append(path), real(path))[1])
    for path in ("a", "b", "a"):
        write_text(tmp_path / path, "whole")
    monkeypatch.undo()
    assert tmp_path not in looked
    assert str(tmp_path) not in looked
    assert looked  # the folder of the file that is not finished


def test_one_recording_is_the_same_page_in_every_process(tmp_path: Path) -> None:
    recording(1).save(tmp_path / "net.rec")
    script = (
        "import sys\nfrom passlab.lab.recordings.recording import Recording\nfrom tests.faults.test_writers import debugger\n"
        "for name in sys.argv[2:]:\n    Recording.load(sys.argv[1]).to_html(name, static=name.endswith('static'))\n"
        "    debugger(1).trace.to_html(f'{name}-run')"
    )
    for seed in ("1", "2"):
        names = [str(tmp_path / f"{seed}.{kind}") for kind in ("again", "static", "page")]
        command = [sys.executable, "-c", script, str(tmp_path / "net.rec"), *names]
        subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": seed})
    timed = re.compile(rb'"micros":"[^"]*"')  # of a run: each process runs the program itself
    pages = {
        path.suffix: {timed.sub(b"", other.read_bytes()) for other in tmp_path.glob(f"?{path.suffix}")}
        for path in tmp_path.glob("1.*")
    }
    kinds = [f".{kind}{of}" for kind in ("again", "static", "page") for of in ("", "-run")]
    assert {suffix: len(texts) for suffix, texts in pages.items()} == dict.fromkeys(kinds, 1)
    assert pages[".again"] == pages[".page"]
    assert pages[".again-run"] == pages[".page-run"] == pages[".static-run"]


TOGETHER = """
import os, sys
from pathlib import Path
from tests.faults.test_writers import contents, recording
target, seen = Path(sys.argv[1]), []
for state in (0, 1):
    alone = target.parent / f"{os.getpid()}-{state}"
    recording(state).save(alone)
    seen.append(contents(alone))
print("ready", flush=True)
sys.stdin.readline()
for turn in range(int(sys.argv[2])):
    recording(turn % 2).save(target)
    assert contents(target) in seen
"""


@contextmanager
def writers_of(target: Path, turns: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Three processes that save into a folder and read it in turns, from the same moment on."""
    command, pipe = [sys.executable, "-c", TOGETHER, str(target), str(turns)], subprocess.PIPE
    with ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT))
            for _ in range(3)
        ]
        assert [p.stdout.readline() for p in processes if p.stdout] == [b"ready\n"] * 3
        for process in processes:
            assert process.stdin is not None
            process.stdin.write(b"start\n")
            process.stdin.flush()
        yield processes


@pytest.mark.rotating
def test_processes_that_save_into_one_new_folder_all_succeed(tmp_path: Path, saved: Any) -> None:
    with writers_of(tmp_path / "net.rec", turns=5) as processes:
        said = [process.communicate()[1].decode() for process in processes]
    assert said == [""] * len(said)
    assert_whole_and_tidy(tmp_path, saved)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
def test_processes_that_save_into_one_folder_and_are_killed(seed: int, tmp_path: Path, saved: Any) -> None:
    choice = random.Random(seed)
    with writers_of(tmp_path / "net.rec", turns=100_000) as processes:
        for process in processes:
            time.sleep(choice.uniform(0.0, 0.5))
            process.send_signal(signal.SIGKILL)
        said = [process.communicate()[1].decode() for process in processes]
    assert said == [""] * len(said)
    recording(1).save(tmp_path / "net.rec")
    assert_whole_and_tidy(tmp_path, saved)


def test_threads_that_save_into_one_folder_all_succeed(tmp_path: Path, saved: Any) -> None:
    def work(state: int) -> bool:
        recording(state % 2).save(tmp_path / "net.rec")
        return contents(tmp_path / "net.rec") in saved

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(12)))
    assert_whole_and_tidy(tmp_path, saved)


def assert_whole_and_tidy(folder: Path, saved: Any) -> None:
    """Assert that a folder holds one of the two recordings, and no file but its own."""
    state = saved.index(contents(folder / "net.rec"))
    recording(state).save(folder / "alone.rec")
    names = [sorted(re.sub(r"-\d+", "", name) for name in files_of(folder / one)) for one in ("net.rec", "alone.rec")]
    assert names[0] == names[1]
    assert len({*(folder / "net.rec").rglob("*")}) == len({*(folder / "alone.rec").rglob("*")})


@pytest.mark.parametrize(
    "left", ["modules/.passlab-4-1.part/0000.relay", "modules/0000.relay", ".passlab-a.part/metadata.json"]
)
def test_what_a_killed_first_save_left_is_no_other_file(left: str, tmp_path: Path, saved: Any) -> None:
    path = tmp_path / "net.rec" / left
    path.parent.mkdir(parents=True)
    path.write_text("")
    recording(0).save(tmp_path / "net.rec")
    assert_whole_and_tidy(tmp_path, saved)


@pytest.mark.parametrize("left", ["modules/net.py", "metadata.json", ".passlab-a.part/thesis.txt"])
def test_files_of_others_are_not_taken_for_those_of_a_killed_save(left: str, tmp_path: Path) -> None:
    path = tmp_path / "net.rec" / left
    path.parent.mkdir(parents=True)
    path.write_text("")
    with pytest.raises(PasslabError, match="holds other files"):
        recording(0).save(tmp_path / "net.rec")


def test_a_folder_that_cannot_be_looked_at_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileAccessError, match="File name too long"):
        recording(0).save(tmp_path / ("x" * 300))

    def refuse(path: Path) -> Iterator[Path]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)  # an administrator may list every folder
    with pytest.raises(FileAccessError, match=r"(?s)Permission denied.*choose another folder"):
        recording(0).save(tmp_path / "net.rec")


def test_a_folder_in_which_another_writes_for_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("passlab.atomic_file._PATIENCE", 0.05)
    with held_folder(tmp_path), pytest.raises(FileAccessError, match="another process or thread is writing"):
        recording(0).save(tmp_path)
    recording(0).save(tmp_path)


# ---------------------------------------------------------------- the module itself
def test_a_link_is_followed_and_permissions_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_in_place() -> None:
    before = Path(os.devnull).stat().st_mode
    write_text(os.devnull, "nothing")
    assert Path(os.devnull).stat().st_mode == before


def test_a_name_of_the_longest_length_is_written(tmp_path: Path) -> None:
    write_text(tmp_path / ("n" * 255), "text")
    with pytest.raises(FileAccessError, match="shorter name"):
        write_text(tmp_path / ("n" * 256), "text")
    assert len(list(tmp_path.iterdir())) == 1


def test_half_a_character_is_told_or_escaped(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match=r"character 2 .*U\+D800"):
        write_text(tmp_path / "text", "a\ud800")
    assert not list(tmp_path.iterdir())
    write_text(tmp_path / "text", "a\ud800", "backslashreplace")
    assert (tmp_path / "text").read_text() == "a\\ud800"


def test_several_files_are_replaced_together(tmp_path: Path) -> None:
    paths = tmp_path / "a", tmp_path / "b"
    for path in paths:
        path.write_text("old")
    half_done = ExitStack()
    for one in half_done.enter_context(atomic_files(*paths)):
        one.write_text("new")
    half_done.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert [path.read_text() for path in paths] == ["old", "old"]
    with atomic_files(*paths) as unfinished:
        assert [one.name for one in unfinished] == ["a", "b"]
        for one in unfinished:
            one.write_text("new")
    assert [path.read_text() for path in paths] == ["new", "new"]
    with atomic_file(paths[0]) as one:
        one.write_text("newer")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


WRITING = re.compile(
    r"\b(fdopen|open|ZipFile|write_text|write_bytes|mkdir|savez|savez_compressed|tofile|to_csv|copyfile)\b"
)


def _writes(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the calls of a file that write a file: the name, and the line."""
    if not WRITING.search(path.read_text(encoding="utf-8")):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        receiver = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        modes = [a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant)]
        writing = any(
            isinstance(mode, str) and mode in ("w", "wb", "a", "ab", "x", "xb", "r+", "w+b") for mode in modes
        )
        if name in ("open", "fdopen", "ZipFile") and writing:
            target = receiver if name == "open" and receiver not in ("", "gzip", "os") else ast.unparse(node.args[0])
            if target not in ("unfinished", "file"):
                yield name, node.lineno
        elif name in ("write_text", "write_bytes", "mkdir") and isinstance(node.func, ast.Attribute):
            if receiver not in ("unfinished", "atomic_file"):
                yield name, node.lineno
        elif name in ("savez", "savez_compressed", "tofile", "to_csv", "copyfile"):
            yield name, node.lineno


# Files and their writes elsewhere, and why they may.
ELSEWHERE = {
    ("passlab/executor/aot/module_source.py", "savez"): "to the temporary path of `atomic_files`",
    ("passlab/compat/rpc.py", "copyfile"): "into the temporary folder of a session",
    ("passlab/lab/recordings/files.py", "ZipFile"): "to the bytes of a pickle",
    ("passlab/hosts/live.py", "open"): "to a temporary file, or one that grows while a pipe is open",
    ("passlab/hosts/recording.py", "write_text"): "into the temporary folder of a run",
    ("passlab/hosts/reduction.py", "write_text"): "into the temporary folder of a reducer",
    ("passlab/recorders/triton.py", "write_bytes"): "into the temporary folder of a compilation",
    ("passlab/recorders/triton.py", "write_text"): "into the temporary folder of a compilation",
}


def test_no_other_module_writes_files() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "passlab").rglob("*.py")
        for name, _ in _writes(path)
        if path.name != "atomic_file.py"
    }
    assert found == set(ELSEWHERE)
