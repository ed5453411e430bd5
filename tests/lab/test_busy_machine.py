"""A busy machine is not the fault of a pass: time limits of passes count the work of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import passlab
from passlab import transform
from passlab.ir.walk import rewrite

LIMIT = 0.5  # seconds


@transform.function_pass(opt_level=0)
def stopped_once(func, mod, ctx):
    """Changes nothing, in a process that gets no time of the processor for longer than the limit."""
    code = "import os, signal, sys, time; time.sleep(float(sys.argv[2])); os.kill(int(sys.argv[1]), signal.SIGCONT)"
    waker = subprocess.Popen([sys.executable, "-S", "-c", code, str(os.getpid()), str(1.6 * LIMIT)])
    os.kill(os.getpid(), signal.SIGSTOP)
    waker.wait()
    return rewrite(func, lambda old, new: new)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows stops no process")
def test_a_pass_that_gets_no_time_of_the_processor_is_not_endless():
    mod = passlab.parse("def @main(%x: float32) { exp(%x) }")
    began = time.monotonic()
    rec = passlab.record(mod, [stopped_once], seconds=LIMIT)
    assert time.monotonic() - began > LIMIT
    assert rec.error is None, rec.error
