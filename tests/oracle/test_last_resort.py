"""A command ends although C code in it does not return."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, re, sys, time
from passlab.oracle import deadline as last_resort

def never():
    {call}

last_resort.SPARE = 0.1
with last_resort.LastResort(0.2):
    {block}
print("came back")
"""
CALLS = {
    "computes": "re.match(r'(a+)+$', 'a' * 64 + 'b')",  # backtracks for centuries, and lets no other thread run
    "waits": "ctypes.CDLL(None).sleep(1000)",  # lets other threads run
}


def run(call, block):
    program = PROGRAM.format(call=call, block=block)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("kind", CALLS)
def test_the_process_ends_and_says_where_it_was(kind):
    done = run(CALLS[kind], "never()")
    assert done.returncode == 1
    assert "never" in done.stderr
    if kind == "waits":
        assert done.stderr.startswith("error: a call in C has not returned after 0.3 s in `never`")


def test_what_ends_in_time_is_left_alone():
    done = run("pass", "never()\ntime.sleep(0.6)")
    assert (done.returncode, done.stdout, done.stderr) == (0, "came back\n", "")
