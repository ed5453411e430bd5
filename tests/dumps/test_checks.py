"""A check of a program: the same answers and the same words, whoever asks it."""

import re
import sys
import time

import pytest

from passlab.dumps import read_text
from passlab.dumps.checks import holds
from passlab.errors import DumpError

DUMP = "".join(
    f"*** IR Dump After P{at} on f ***\ndefine i32 @f() {{\n  ret i32 {value}\n}}\n" for at, value in enumerate("0112")
)
RIGHT = [lambda text: "ret i32 2" not in text, r"ret i32 [01]", re.compile("ret i32 [01]"), ["grep", "-q", "i32 [01]"]]
WRONG = {
    "a number": (5, "is not a check"),
    "half a pattern": ("(", "not a regular expression"),
    "a pattern of bytes": (re.compile(b"x"), "searches bytes"),
    "no word": ([], "at least one word"),
    "no program": (["no-such-program"], "cannot be run"),
    "half a character": (["echo", "\ud800\0"], "cannot be run"),
    "a function that raises": (lambda text: text.nothing, "the check raised AttributeError"),
}
posix = pytest.mark.skipif(sys.platform == "win32", reason="the commands are those of a Unix shell")


@posix
def test_a_function_a_pattern_and_a_command_find_the_same_step():
    recording = read_text(DUMP)
    assert {recording.bisect(check, low=1).step.number for check in RIGHT} == {4}


@pytest.mark.parametrize("what", WRONG)
def test_a_check_that_fails_says_so_in_words(what, tmp_path):
    check, said = WRONG[what]
    (tmp_path / "program.ll").write_text("x")
    for ask in (lambda: read_text(DUMP).bisect(check, low=1), lambda: holds(check, "x", tmp_path / "program.ll")):
        with pytest.raises(DumpError, match=said):
            ask()


@posix
def test_a_command_that_does_not_end_does_not_hold_and_leaves_nothing_running(tmp_path):
    program, alive = tmp_path / "program.ll", tmp_path / "alive"
    program.write_text("x")
    script = f"(while true; do touch {alive}; sleep 0.02; done) & wait; : {{}}"
    assert not holds(["sh", "-c", script], "x", program, seconds=0.3)
    alive.unlink()
    time.sleep(0.2)
    assert not alive.exists()
