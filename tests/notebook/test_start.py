"""What a fresh process imports for the extension and for the first recording; and that every magic works as the first."""

from __future__ import annotations

import subprocess
import sys

import pytest

SHELL = """
import os, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
shell.run_line_magic("load_ext", "passlab")
"""
NEW = "print(*sorted(set(sys.modules) - before))\n"
PROGRAM = "def @main(%x: Tensor[(2, 2), float32]) { nn.relu(add(%x, %x)) }"
# Outside `passlab.notebook`, whose magics are there to be called: names of packages, errors, and who shows what is printed.
LOADED = {
    "passlab", "passlab.arguments", "passlab.atomic_file", "passlab.display", "passlab.errors", "passlab.instrument", "passlab.instrument.presenter",
    "passlab.lab", "passlab.lazy",
}  # fmt: skip
# What runs, searches and steps through programs, and what reads those of other compilers, of which a recording that is
# shown needs nothing.
NOT_FOR_PASSES = (
    "passlab.vm", "passlab.executor", "passlab.debugger", "passlab.frontend", "passlab.testing", "passlab.dumps", "passlab.recorders", "pandas",
)  # fmt: skip
CELLS = [
    ("relay", "", PROGRAM),
    ("passes", "net FoldConstant", None),
    ("passes", "net", "FoldConstant\nFuseOps"),
    ("passes", "net", None),
    ("instruments", "timing diff", None),
    ("bisect", "net FoldConstant", None),
    ("culprit", "net FoldConstant --seconds 1", None),
    ("fuzz", "FoldConstant --seconds 0.01", None),
    ("compare", "rec rec", None),
    ("graph", "net", None),
    ("blame", "rec", None),
    ("run", "net --random 0", None),
    ("run", "net --random 0 --watch", None),
    ("vm", "net --random 0", None),
    ("simplify", "net", None),
    ("dump", "dump.mlir", None),
]
DUMP = "// -----// IR Dump After CSE (cse) //----- //\nfunc.func @f() {\n  return\n}\n"


def lines_of(code: str, cwd: object = None) -> list[str]:
    """Return what some Python prints in a fresh process, by lines."""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=cwd)
    return result.stdout.splitlines()


def test_loading_the_extension_imports_names_only():
    names = lines_of(SHELL + NEW)[-1].split()
    assert {name for name in names if name.startswith("passlab") and not name.startswith("passlab.notebook")} == LOADED
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names <= {"IPython", "passlab"}


def test_a_recording_is_shown_without_what_runs_programs():
    code = f"import passlab\nshell.user_ns['net'] = passlab.parse('{PROGRAM}')\n"
    shown = "shell.display_formatter.format(shell.run_line_magic('passes', 'net FoldConstant, FuseOps'))\n"
    names = lines_of(SHELL + code + shown + NEW)[-1].split()
    assert "passlab.lab.recordings.recording" in names
    assert "passlab.notebook.explorer" in names
    assert not [name for name in names if name.startswith(NOT_FOR_PASSES)]


def test_a_recording_is_made_without_what_compares_values():
    code = f"import passlab\npasslab.record(passlab.parse('{PROGRAM}'), 'FoldConstant, FuseOps')\n"
    names = lines_of(SHELL + code + NEW)[-1].split()
    assert "passlab.lab.recordings.recording" in names
    assert "passlab.oracle.trial" not in names


INTERRUPTS = """
from importlib.abc import MetaPathFinder

from IPython.utils.capture import capture_output

class Interrupts(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("passlab.") and name not in seen:
            seen.add(name)
            if len(seen) % 6 == 0:
                raise KeyboardInterrupt

seen = set()
sys.meta_path.insert(0, Interrupts())
while True:
    count = len(seen)
    with capture_output() as shown:
        result = shell.run_cell("%passes net InferType, FoldConstant, FuseOps -r rec")
    if result.success:
        break
    print(isinstance(result.error_in_exec, KeyboardInterrupt), len(seen) > count, shown.stdout.strip().splitlines())
print([event.name for event in shell.user_ns["rec"].steps])
"""


def test_an_interrupt_while_a_magic_is_imported_is_a_message_and_the_magic_runs_afterwards():
    code = f"import passlab\nshell.user_ns['net'] = passlab.parse('{PROGRAM}')\n"
    *interrupts, steps = lines_of(SHELL + code + INTERRUPTS)
    assert len(interrupts) > 5
    for line in interrupts:
        assert line.startswith("True True [")
        assert "Traceback" not in line
        assert "interrupted" in line
    assert steps == "['input', 'InferType', 'FoldConstant', 'FuseOps']"


@pytest.mark.nightly
def test_every_magic_works_as_the_first(tmp_path):
    (tmp_path / "dump.mlir").write_text(DUMP)
    code = f"""
def use(kind, line, cell):
    if kind != "relay":
        import passlab
        shell.user_ns["net"] = passlab.parse({PROGRAM!r})
    if "rec" in line:
        shell.run_line_magic("passes", "net FoldConstant -q -r rec")
    run = shell.run_line_magic if cell is None else shell.run_cell_magic
    value = run(kind, line) if cell is None else run(kind, line, cell)
    shell.display_formatter.format(value)

for cell in {CELLS!r}:
    child = os.fork()
    if child == 0:
        try:
            use(*cell)
        except BaseException as error:
            print("FAILED", cell, repr(error), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
print("all", len({CELLS!r}))
"""
    lines = lines_of(SHELL + code, tmp_path)
    assert not [line for line in lines if line.startswith("FAILED")]
    assert lines[-1] == f"all {len(CELLS)}"
