"""The time until an exported page shows its first picture, and until its stepper can be used.

    python -m benchmarks.first_paint [--rounds N] [--json FILE]

Goals: under 300 ms for a run of 100,000 instructions and for a recording of ResNet-50, next to a blank page in the same
browser. Pages take turns, each in a context of its own; medians are printed.
Where others use the machine, the blank page's figure shows it, and the processor's time of the page's main thread says
more than the wall's. Needs a Chromium.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser

import passlab
from benchmarks.calibrate import argument_parser, write_record
from benchmarks.vm_time import LOOP
from passlab import vm
from passlab.display.pages.page import write
from passlab.display.views.recording import recording_view
from passlab.display.views.stepper import stepper_view
from passlab.rewriting.parameters import bind_params
from passlab.testing import resnet
from tests.browser.lab_page import WIDE, browser
from tests.conftest import find_chromium

INSTRUCTIONS = 4800  # iterations of the loop: 100,000 instructions
PASSES = (
    "InferType, SimplifyInference, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr, DeadCodeElimination, FuseOps"
)
_PAINTED = """() => new Promise(done => {
  const look = () => {
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    if (paint) done(paint.startTime); else setTimeout(look, 10);
  };
  look();
})"""


def write_pages(folder: Path) -> list[str]:
    """Write the pages to be opened; return their names."""
    (folder / "blank.html").write_text("<!doctype html><title>blank</title><p>blank", encoding="utf-8")
    loop = vm.Debugger(passlab.parse(LOOP), np.int32(INSTRUCTIONS))
    write(stepper_view(loop), folder / "100,000 instructions.html")
    mod, params = resnet.get_workload(1, 1000, num_layers=18, image_shape=(3, 64, 64))
    image = np.random.default_rng(0).random((1, 3, 64, 64), "float32")
    write(stepper_view(vm.Debugger(bind_params(mod, params), image)), folder / "ResNet-18, a run.html")
    recorded = passlab.record(resnet.get_workload(num_layers=50)[0], PASSES)
    write(recording_view(recorded), folder / "ResNet-50, a recording.html")
    return ["blank", "100,000 instructions", "ResNet-18, a run", "ResNet-50, a recording"]


def opened(chrome: Browser, path: Path) -> dict[str, float]:
    """Open a page; return milliseconds until its first picture, and of its main thread until it is idle."""
    context = chrome.new_context(viewport=WIDE)
    page = context.new_page()
    tools = context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    first = page.evaluate(_PAINTED)
    page.wait_for_timeout(400)
    table: dict[str, Any] = {m["name"]: m["value"] for m in tools.send("Performance.getMetrics")["metrics"]}
    context.close()
    return {"first picture": first, "main thread": table["TaskDuration"] * 1000, "nodes": table["Nodes"]}


def main(argv: list[str] | None = None) -> int:
    """Measure, print a table and write the record."""
    parser = argument_parser(__doc__, "first_paint")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(argv)
    chromium = find_chromium()
    if chromium is None:
        print("no Chromium found: apt-get install chromium, or set PASSLAB_CHROMIUM to its path")
        return 0
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, browser(chromium) as chrome:
        names = write_pages(Path(folder))
        opened(chrome, Path(folder) / "blank.html")  # the browser's own start
        turns = [{name: opened(chrome, Path(folder) / f"{name}.html") for name in names} for _ in range(options.rounds)]
        for name in names:
            rows[name] = {what: statistics.median(turn[name][what] for turn in turns) for what in turns[0][name]}
            rows[name]["kilobytes"] = (Path(folder) / f"{name}.html").stat().st_size / 1000
    for name, row in rows.items():
        print(f"{name:<24}", "  ".join(f"{what} {value:,.0f}" for what, value in row.items()))
    write_record(options.json, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
