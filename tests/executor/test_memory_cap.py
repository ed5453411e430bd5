"""A program that needs more memory than the process may have ends in a LimitError, on every executor, and the next one runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

_SCRIPT = """
import resource, sys
import numpy as np
import passlab
from passlab import relay
from passlab.errors import LimitError

def run(kind, text):
    return relay.create_executor(kind, passlab.parse(text)).evaluate()()

small = "def @main() { add(full(1f, shape=[3], dtype='float32'), 1f) }".replace("'", '"')
run(sys.argv[1], small)  # what is loaded first is loaded under no cap
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
for large in (
    "def @main() { full(1f, shape=[500000000], dtype='float64') }",
    "def @main() { %0 = full(1f, shape=[50000, 10000], dtype='float64'); (exp(%0), %0) }",
    "def @main() { tile(full(1f, shape=[1000], dtype='float32'), reps=[1000000]) }",
):
    try:
        run(sys.argv[1], large.replace("'", '"'))
    except LimitError as error:
        print("refused:", str(error).splitlines()[0])
print(run(sys.argv[1], small).tolist())
"""


@pytest.mark.rotating
@pytest.mark.parametrize("executor", ["debug", "vm", "graph", "aot"])
def test_too_much_memory_is_a_limit_error(executor):
    done = subprocess.run([sys.executable, "-c", _SCRIPT, executor], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in lines] == ["refused", "refused", "refused", "[2.0, 2.0, 2.0]"]
