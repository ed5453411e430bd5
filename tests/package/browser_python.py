"""A Python as a browser has it, simulated: no threads, no processes, no mmap, and what else WebAssembly lacks.

`python -m tests.package.browser_python FEATURE` runs one feature of passlab there; `FEATURES` lists them. What a real
browser's Python does beside this (its file system, its event loop) is not simulated.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ABSENT = ("mmap", "resource", "fcntl", "termios", "_multiprocessing", "_posixshmem", "pwd", "pygraphviz")


def _hide(finder: Any) -> None:
    """Let a finder of modules not find those that are absent."""
    find = finder.find_spec

    def find_spec(name: str, *args: Any) -> Any:
        return None if name.partition(".")[0] in ABSENT else find(name, *args)

    finder.find_spec = find_spec


def simulate() -> None:
    """Take from this process what a browser's Python lacks. Called before passlab is imported."""
    import _thread
    import subprocess
    import threading

    def no_thread(*_: Any, **__: Any) -> Any:
        raise RuntimeError("can't start new thread")

    def no_process(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOTSUP, "emscripten does not support processes.")

    import numpy as np  # noqa: F401 - is compiled for the browser, and asks other questions about its platform
    import pandas as pd  # noqa: F401
    import scipy.sparse  # noqa: F401

    sys.platform = "emscripten"
    for finder in sys.meta_path:
        _hide(finder)
    os.environ["PATH"] = ""
    for name in ABSENT:
        sys.modules.pop(name, None)
    _thread.start_new_thread = no_thread  # type: ignore[assignment]
    for name in ("_start_new_thread", "_start_joinable_thread"):
        if hasattr(threading, name):
            setattr(threading, name, no_thread)
    subprocess.Popen.__init__ = no_process  # type: ignore[method-assign, assignment]
    for name in ("fork", "forkpty", "posix_spawn", "sched_getaffinity", "getuid"):
        if hasattr(os, name):
            delattr(os, name)
    for name in ("pthread_kill", "setitimer", "alarm"):
        if hasattr(signal, name):
            delattr(signal, name)


NET = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(negative(%x) + 1f) }"


def _net() -> Any:
    import passlab

    return passlab.parse(NET)


def _wrong() -> Any:
    from passlab import relay, transform
    from passlab.ir.walk import rewrite

    @transform.function_pass(opt_level=0)
    def drop_negative(func: Any, mod: Any, ctx: Any) -> Any:
        def rule(before: Any, node: Any) -> Any:
            return node.args[0] if node.op == relay.op.get("negative") else node

        return rewrite(func, rule, only=(relay.Call,))

    return drop_negative


def record() -> object:
    import passlab

    return passlab.record(_net(), ["FoldConstant", "FuseOps"], opt_level=3)


def run_on_all_executors() -> object:
    import numpy as np

    from passlab import relay

    x = np.ones((2, 3), "float32")
    results = [relay.create_executor(k, _net()).evaluate()(x) for k in ("debug", "graph", "vm", "aot")]
    assert all((np.asarray(result) == 0).all() for result in results)
    return len(results)


def magics() -> object:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "passlab")
    shell.run_cell_magic("relay", "net", NET)
    for line in (
        "passes net FoldConstant, FuseOps -O 3 -o out",
        "graph net",
        "run net --random 0",
        "vm net --random 0",
    ):
        shell.run_line_magic(*line.split(" ", 1))
    return shell.user_ns["out"]


def culprit() -> object:
    from passlab import lab

    found = lab.culprit(_net(), ["FoldConstant", _wrong()], seconds=20)
    assert "drop_negative" in str(found)
    return found


def fuzz() -> object:
    from passlab import lab

    return lab.fuzz(_wrong(), seconds=5)


def reduce() -> object:
    from passlab import lab

    return lab.reduce(_net(), lambda mod: "nn.relu" in str(mod))


def variants() -> object:
    import passlab
    from passlab import lab

    rec = passlab.record(_net(), ["FoldConstant", "FuseOps"], opt_level=3)
    return lab.what_if(rec, "FoldConstant"), lab.orders(_net(), ["FoldConstant", "FuseOps"])


def save_and_load() -> object:
    import passlab

    folder = tempfile.mkdtemp()
    passlab.record(_net(), ["FoldConstant", "FuseOps"], opt_level=3).save(Path(folder, "rec"))
    return passlab.Recording.load(Path(folder, "rec"))


def report() -> object:
    import passlab

    rec = passlab.record(_net(), ["FoldConstant", "FuseOps"], opt_level=3)
    rec.to_html(Path(tempfile.mkdtemp(), "report.html"))
    return passlab.display.graph_view(_net()).text()


def step() -> object:
    import numpy as np

    import passlab

    dbg = passlab.vm.Debugger(_net(), np.ones((2, 3), "float32"))
    dbg.goto(-2)
    return dbg.now


def dump() -> object:
    import passlab.dumps

    text = "// -----// IR Dump {} CSE (cse) //----- //\nfunc.func @f() {{\n  return\n}}\n"
    return passlab.dumps.read_text(text.format("Before") + "\n" + text.format("After"))


def deep() -> object:
    from passlab import relay, transform

    x = body = relay.var("x", shape=(1,), dtype="float32")
    for _ in range(20_000):
        body = relay.add(body, x)
    mod = relay.Module.from_expr(relay.Function([x], body))
    return len(str(transform.Sequential([transform.InferType(), transform.FoldConstant()])(mod)))


def exercise() -> object:
    from passlab.course import Exercise

    return Exercise("Two", hint="one and one").equals(2).check(2)


def doctor() -> object:
    from passlab.doctor import examine

    return examine()


FEATURES: dict[str, Callable[[], object]] = {
    f.__name__: f
    for f in (
        record, run_on_all_executors, magics, culprit, fuzz, reduce, variants, save_and_load, report, step, dump, deep,
        exercise, doctor,
    )
}  # fmt: skip


if __name__ == "__main__":
    simulate()
    print(FEATURES[sys.argv[1]]())
