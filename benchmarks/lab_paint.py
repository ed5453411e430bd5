"""The time of a view in JupyterLab from the end of the run to its first picture, in a real browser.

    python -m benchmarks.lab_paint [--rounds N] [--json FILE]

Goal: under 300 ms for a recording of 60 passes over ResNet-50 that is shown for the first time in a page and a kernel
that have shown nothing. The kernel notes the time when the run has ended; the page notes when the frame after the first
one that holds rows has begun, which is after these were painted. A widget of a program of one line is shown in the same
way next to it: it pays for what Jupyter, the front-end's script and the browser take, whoever's widget it is. Where
others use the machine, the kernel's processor time says more than the wall's.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import nbformat

from benchmarks.calibrate import argument_parser, write_record
from benchmarks.explorer import PASSES
from tests.browser.lab_page import LabPage, browser
from tests.browser.lab_server import LabServer
from tests.conftest import find_chromium

SETUP = f"""import time
import passlab
from passlab.display import module_view, recording_view
from passlab.notebook.widgets import show
from passlab.testing import resnet
%load_ext passlab
small = passlab.record(passlab.parse("def @main(%x: Tensor[(1), float32]) {{ nn.relu(%x) }}"), "InferType")
rec = passlab.record(resnet.get_workload(num_layers=50)[0], {PASSES!r}, opt_level=4)"""
SHOWN = """ended, cpu = time.time(), time.process_time()
display(show({view}))
print(ended * 1000, (time.process_time() - cpu) * 1000, (time.time() - ended) * 1000)"""
VIEWS = {"a recording of one line": "recording_view(small)", "60 passes of ResNet-50": "recording_view(rec)"}
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
# Watch for a view with rows; note when the frame behind the one in which they first stood has begun.
_WATCH = """() => {
  window.painted = null;
  const look = () => {
    const root = document.querySelector(".jp-OutputArea .passlab");
    if (!root || !root.querySelector(".pl-row, .pl-pass")) return requestAnimationFrame(look);
    const done = new MessageChannel();
    done.port1.onmessage = () => { window.painted = performance.timeOrigin + performance.now(); };
    requestAnimationFrame(() => done.port2.postMessage(0));
  };
  requestAnimationFrame(look);
}"""
_RUN_CELL = """async number => {
  const {content} = window.jupyterapp.shell.currentWidget;
  content.activeCellIndex = number;
  await window.jupyterapp.commands.execute("notebook:run-cell");
}"""


def first_picture(page: LabPage) -> dict[str, float]:
    """Run a notebook whose second cell shows a view; return milliseconds from the end of the run."""
    page.page.evaluate(_RUN_CELL, 0)
    page.page.evaluate(_WATCH)
    page.page.evaluate(_RUN_CELL, 1)
    page.page.wait_for_function("() => window.painted !== null")
    painted = page.page.evaluate("() => window.painted")
    printed = [o["text"] for cell in page.code_cells() for o in cell["outputs"] if o["output_type"] == "stream"]
    ended, cpu, sent = map(float, "".join("".join(text) for text in printed).split())
    return {"first picture": painted - ended, "sent": sent, "kernel, processor": cpu}


def measured(rounds: int) -> dict[str, dict[str, float]]:
    """Return the medians of some rounds, each in a page and a kernel of its own."""
    chromium = find_chromium()
    assert chromium is not None
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in VIEWS}
    with tempfile.TemporaryDirectory() as folder, LabServer(Path(folder)) as server, browser(chromium) as chrome:
        for turn in range(rounds):
            for name, view in VIEWS.items():
                cells = [nbformat.v4.new_code_cell(text) for text in (SETUP, SHOWN.format(view=view))]
                file = f"{name.replace(' ', '-')}-{turn}.ipynb"
                nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), server.folder / file)
                with LabPage.opened(server, chrome, file) as page:
                    rows[name].append(first_picture(page))
    return {
        name: {what: statistics.median(row[what] for row in result) for what in result[0]}
        | {"least": min(row["first picture"] for row in result)}
        for name, result in rows.items()
    }


def main(argv: list[str] | None = None) -> int:
    """Measure, print a table and write the record."""
    parser = argument_parser(__doc__, "lab_paint")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    if find_chromium() is None:
        print("no Chromium found: apt-get install chromium, or set PASSLAB_CHROMIUM to its path")
        return 0
    rows = measured(options.rounds)
    for name, row in rows.items():
        print(f"{name:<28}", "  ".join(f"{what} {value:,.1f}" for what, value in row.items()))
    write_record(options.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
