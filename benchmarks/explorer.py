"""How long the explorer takes from pass to pass, in a real browser: 60 passes over ResNet-50.

    python -m benchmarks.explorer [--rounds N] [--json FILE]

Goals: a pass switch under 35 ms, a step with a selected node that is followed under 50 ms, and under 300 ms from the
end of the run to the first picture (the kernel's data, then the browser's work). What is timed is the handler of the
key and the layout that it causes, next to an empty key, which pays for what is not ours. Needs a Chromium.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page

import passlab
from benchmarks.calibrate import calibrate
from passlab.display.page import write
from passlab.display.recording import recording_view
from passlab.testing import resnet
from tests.browser.lab_page import WIDE, browser
from tests.conftest import find_chromium

TEN = (
    "InferType, SimplifyInference, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr, SimplifyExpr, "
    "CanonicalizeOps, DeadCodeElimination, FuseOps, DefuseOps"
)
PASSES = ", ".join([TEN] * 6)
# The milliseconds of each of some keys, from the key to the end of the layout that it causes.
_KEYS = """async keys => {
  const root = document.querySelector(".pl-pipeline"), took = [];
  for (const key of keys) {
    const start = performance.now();
    root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, composed: true }));
    root.getBoundingClientRect();
    root.querySelector(".pl-body").scrollHeight;
    took.push(performance.now() - start);
    await new Promise(requestAnimationFrame);
  }
  return took;
}"""
_SELECT = """() => {
  const line = [...document.querySelectorAll(".pl-row")].find(row => row.textContent.includes("nn.relu("));
  line.click();
}"""


def measured(page: Page, rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of keys in each tab, without and with a node that is followed."""
    figures: dict[str, list[float]] = {"no key": page.evaluate(_KEYS, ["q"] * 20)}
    for tab, name in (("1", "program"), ("2", "diff")):
        page.evaluate(_KEYS, ["g", tab])
        figures[f"pass switch, {name}"] = page.evaluate(_KEYS, ["j"] * 59 * rounds)
        page.evaluate(_KEYS, ["g", "1"])
        page.evaluate(_SELECT)
        page.evaluate(_KEYS, [tab])
        figures[f"following a node, {name}"] = page.evaluate(_KEYS, ["j"] * 59 * rounds)
        page.evaluate(_KEYS, ["Escape"])
    return figures


def main(argv: list[str]) -> None:
    """Measure, print a table and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", default="benchmarks/out/explorer.json")
    options = parser.parse_args(argv)
    chromium = find_chromium()
    if chromium is None:
        print("no Chromium found: apt-get install chromium, or set PASSLAB_CHROMIUM to its path")
        return
    recording = passlab.record(resnet.get_workload(num_layers=50)[0], PASSES, opt_level=4)
    start = time.perf_counter()
    recording_view(recording).data(only_start=True)
    rows = {"data of the first picture": {"median": (time.perf_counter() - start) * 1000}}
    with tempfile.TemporaryDirectory() as folder, browser(chromium) as chrome:
        path = Path(folder) / "recording.html"
        write(recording_view(recording), path)
        page = chrome.new_page(viewport=WIDE)
        page.goto(path.as_uri())
        page.wait_for_selector(".pl-pass")
        rows["page"] = {"megabytes": path.stat().st_size / 1e6, "passes": float(len(recording) - 1)}
        for name, took in measured(page, options.rounds).items():
            rows[name] = {"median": statistics.median(took), "most": max(took)}
    for name, row in rows.items():
        print(f"{name:<28}", "  ".join(f"{what} {value:,.1f}" for what, value in row.items()))
    record = Path(options.json)
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps({"machine": calibrate().record(), "rows": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
