"""Driving compilers: what a run loses (nothing), and which pass is at fault, with tools that behave well and badly."""

import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from passlab import hosts
from passlab.errors import DumpError
from passlab.hosts.compilers import TOOLS, command_of, tool_named, with_output
from tests.hosts import fakes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tools of these tests are scripts with a #! line")
KNOWN = ["wrong", "crash", "fail", "hang", "silent"]


@pytest.mark.parametrize("fault", KNOWN)
def test_a_run_that_ends_badly_keeps_the_passes_before(tmp_path, fault):
    recording = hosts.record(fakes.make(tmp_path, fault), seconds=2 if fault == "hang" else 60)
    names = [step.name for step in recording.steps]
    whole = ["sroa", "instcombine", "bad", "gvn", "dce"]
    assert names == (whole if fault == "wrong" else whole[:2])
    said = {"crash": "SIGABRT", "fail": "exit status 1", "hang": "time limit"}.get(fault)
    assert (said in recording.notes[0]) if said else not any("did not end well" in note for note in recording.notes)


@pytest.fixture
def interruptible():
    """Python's own handler of SIGINT: in a job in the background, the signal is ignored from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_the_passes_before(tmp_path):
    interrupt = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    recording = hosts.record(fakes.make(tmp_path, "hang"))
    assert [step.name for step in recording.steps] == ["sroa", "instcombine"]
    assert "it was interrupted" in recording.notes[0]


SMALL = 2**17  # bytes
ON_SMALL_DISK = """
import sys, tempfile
from pathlib import Path
from passlab import hosts
recording = hosts.record(sys.argv[1:])
print(*recording.notes, recording.steps[-1].verdict, sep="; ")
print("left:", *[path.name for path in Path(tempfile.gettempdir()).iterdir()])
"""


def test_a_full_disk_is_told_with_a_cure_and_nothing_is_left_there(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = f"mount -t tmpfs -o size={SMALL} none {disk} && exec "
    own = ["unshare", "-rm", "sh", "-c", mounted + '"$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*own, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a small disk of one's own takes Linux and its name spaces")
    tool, source = fakes.make(tmp_path, "wrong")[0], tmp_path / "large.ll"
    source.write_text("define i32 @f() {\n" + "  call void @good()\n" * (SMALL // 40) + "  ret i32 0\n}\n")
    command = [*own, sys.executable, "-c", ON_SMALL_DISK, tool, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "TMPDIR": str(disk)})
    said, _, left = done.stdout.partition("left:")
    assert "the disk is full, so what opt wrote may be cut off" in said
    assert f"free some space in {disk}, or set TMPDIR to another folder" in said
    assert said.endswith("unknown\n")  # the verdict of the last pass
    assert not left.strip()


@pytest.mark.rotating
@pytest.mark.parametrize("fault", KNOWN)
def test_the_counter_finds_the_pass_at_fault(tmp_path, fault):
    command = fakes.make(tmp_path, fault)
    found = hosts.bisect(command, "good" if fault == "wrong" else None, seconds=1.5 if fault == "hang" else 60)
    if fault in ("wrong", "fail", "crash", "silent"):
        assert (found.number, found.name, found.unit) == (3, "bad", "f"), found
    assert fault != "wrong" or found.diff.counts["added"] == 1
    assert "-opt-bisect-limit=3" in found.commands[1]


def test_a_check_is_a_function_a_pattern_or_a_command(tmp_path):
    command = fakes.make(tmp_path, "wrong")
    checks = (lambda text: "good" in text, r"@go+d\(", ["grep", "-q", "good"], ["sh", "-c", "grep -q good {}"])
    assert {hosts.bisect(command, check).name for check in checks} == {"bad"}


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("evil", "without passes, either"),
        ("define", "there is no fault"),
        ("(", "not a regular expression"),
        (lambda text: text.nothing, "the check raised AttributeError"),
        ([], "at least one word"),
        (["no-such-program"], "cannot be run"),
    ],
)
def test_a_search_without_a_fault_and_a_check_that_fails_say_so(tmp_path, check, said):
    command = fakes.make(tmp_path, "wrong")
    if "evil" == check or "define" == check:
        assert said in hosts.bisect(command, check).why
        return
    with pytest.raises(DumpError, match=said):
        hosts.bisect(command, check)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "at least one word"),
        ("'opt", "this is not a command"),
        ("ls -l", "no tool that passlab knows"),
        ("opt-99 x.ll", "`opt-99` is not installed here"),
        ("triton-opt x.mlir", "`triton-opt` is not installed here"),
        ("/no/such/clang -c x.c", "is not installed here"),
    ],
)
def test_a_command_that_cannot_run_is_an_error_with_a_cure(command, said):
    with pytest.raises(DumpError, match=said) as caught:
        hosts.record(command)
    assert "help:" in str(caught.value) or "hint" in str(caught.value)


def test_a_tool_without_passes_says_what_it_said(tmp_path):
    tool = tmp_path / "opt"
    tool.write_text("#!/bin/sh\necho 'opt: unknown pass' >&2\nexit 3\n")
    tool.chmod(0o700)
    with pytest.raises(DumpError, match=r"exit status 3; it said: opt: unknown pass"):
        hosts.record([str(tool), "-O2"])


def test_tools_are_known_by_their_names():
    names = {
        "/usr/bin/clang++-22": "clang",
        "aarch64-linux-gnu-gcc-12": "gcc",
        "opt.exe": "opt",
        "opt-16": "opt",
        "stablehlo-opt": "stablehlo-opt",
        "mlir-opt-19": "mlir-opt",
        "iree-compile": "iree-compile",
    }
    assert {name: tool_named(name).name for name in names} == names
    assert tool_named("optimise") is None
    assert tool_named("python3") is None


def test_words_before_a_tool_stay_before_it(tmp_path):
    command = command_of(["env", "X=1", *fakes.make(tmp_path, "wrong")])
    assert command.at == 2
    assert hosts.record(command.words).steps


def test_the_output_that_the_user_asks_for_stays(tmp_path):
    words = [*fakes.make(tmp_path, "wrong"), "-o", str(tmp_path / "mine.ll")]
    hosts.record(words)
    assert (tmp_path / "mine.ll").read_text().count("call void") == 6
    assert with_output(command_of(words), "other.ll")[-2:] == ["-o", "other.ll"]


def test_every_tool_names_its_cure_and_what_it_reads():
    for tool in TOOLS:
        assert tool.record, tool.name
        assert tool.fix, tool.name
        assert all(ending.startswith(".") for ending in tool.endings), tool.name


def test_reducing_keeps_the_smallest_candidate_though_the_reducer_dies(tmp_path, monkeypatch):
    command = fakes.make(tmp_path, "wrong")
    reducer = tmp_path / "llvm-reduce"
    # It halves the input once, asks, and is killed.
    reducer.write_text(
        f"#!{sys.executable} -ISE\nimport os, subprocess, sys\n"
        "test = next(w for w in sys.argv if w.startswith('--test=')).partition('=')[2]\n"
        "source = next(w for w in sys.argv[1:] if w.endswith('.ll'))\n"
        "text = open(source).read()\n"
        "for number, new in enumerate([text.replace('  call void @good()\\n', ''), text.replace('define i32 @f() {\\n', '')]):\n"
        "    name = source + str(number) + '.ll'\n    open(name, 'w').write(new)\n"
        "    print(subprocess.run([test, name]).returncode)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    reducer.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    result = hosts.reduce(command, "good", out=tmp_path / "small.ll")
    assert result.tried == 2
    assert "SIGKILL" in result.note
    assert result.text == fakes.PROGRAM.replace("define i32 @f() {\n", "")
    assert (tmp_path / "small.ll").read_text() == result.text
    assert (result.before, result.lines) == (4, 3)


@pytest.mark.parametrize(("check", "said"), [("evil", "without passes"), ("define", "the check holds")])
def test_an_input_without_a_fault_is_not_reduced(tmp_path, monkeypatch, check, said):
    command = fakes.make(tmp_path, "wrong")
    (tmp_path / "llvm-reduce").symlink_to(shutil.which("true"))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(DumpError, match=said):
        hosts.reduce(command, check)


def test_compare_takes_another_program_for_the_same_options(tmp_path):
    command = fakes.make(tmp_path, "wrong")
    fakes.make(tmp_path, "fail", "opt-99")
    compared = hosts.compare(command, str(tmp_path / "opt-99"))
    assert (len(compared.left), len(compared.right)) == (5, 2)
    assert [pair.right is None for pair in compared.pairs] == [False, False, True, True, True]


@pytest.mark.rotating
def test_a_pipe_is_shown_while_it_is_open(tmp_path, monkeypatch):
    """The page has the first steps before the compiler has ended, and asks for the rest."""
    import io
    import json
    import os
    import queue
    import threading
    import urllib.error
    import urllib.request

    from passlab.hosts.live import follow

    step = "*** IR Dump After NAME on f ***\n" + fakes.PROGRAM
    reader, writer = os.pipe()
    answers, addresses = {}, queue.Queue()
    monkeypatch.setattr("webbrowser.open", addresses.put)

    def compile_and_look():
        with os.fdopen(writer, "wb", buffering=0) as pipe:
            pipe.write("".join(step.replace("NAME", name) for name in ("sroa", "gvn", "dce")).encode())
            address = addresses.get(timeout=20)
            with urllib.request.urlopen(address) as page:
                answers["page"] = page.read().decode()
            with urllib.request.urlopen(f"{address}data?since=0") as data:
                answers["first"] = json.load(data)
            pipe.write(step.replace("NAME", "licm").encode())
            request = f"{address}data?since={answers['first']['version']}"
            with urllib.request.urlopen(request) as data:
                answers["second"] = json.load(data)
            with pytest.raises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(address.rsplit("/", 2)[0] + "/data")
            caught.value.close()

    thread = threading.Thread(target=compile_and_look)
    thread.start()
    with io.BufferedReader(io.FileIO(reader)) as stream:
        assert follow(stream, tmp_path / "end.html") == 0
    thread.join()
    assert "connect-src 'self'" in answers["page"]
    assert [row[0] for row in answers["first"]["data"]["steps"]] == ["sroa", "gvn", "dce"]
    assert not answers["first"]["ended"]
    assert [row[0] for row in answers["second"]["data"]["steps"]] == ["sroa", "gvn", "dce", "licm"]
    assert "licm" in (tmp_path / "end.html").read_text()
    assert "connect-src" not in (tmp_path / "end.html").read_text()


def test_the_output_of_an_earlier_run_is_not_the_input(tmp_path, monkeypatch):
    """The same command twice: the second time, the file behind -o exists."""
    monkeypatch.chdir(tmp_path)
    command = [*fakes.make(tmp_path, "wrong"), "-o", "out.ll"]
    for _ in range(2):
        assert command_of(command).input == str(tmp_path / "in.ll")
        assert hosts.record(command).name == "opt in.ll"
        assert hosts.bisect(command, "good").name == "bad"
        (tmp_path / "out.ll").write_text(fakes.PROGRAM)
