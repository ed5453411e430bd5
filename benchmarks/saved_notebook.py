"""The size of a saved notebook: 31 different views of real programs, as their cells store them.

    python -m benchmarks.saved_notebook [--write FILE.ipynb] [--json FILE]

Goal: 1 MB for all of them. A cell stores the static form of its view beside the widget: what a reader sees without a
kernel. `--write` keeps the notebook, to look at. No clock is read, so any machine gives the same figures.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat

import passlab
from benchmarks.calibrate import argument_parser, write_record
from passlab import display, lab, relay, vm
from passlab.dumps import read
from passlab.evaluate.samples import random_arguments
from passlab.ir.module import IRModule
from passlab.notebook.formatters import bundle
from passlab.testing import dcgan, lstm, mobilenet, resnet

TEN = (
    "InferType, SimplifyInference, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr, SimplifyExpr, "
    "CanonicalizeOps, DeadCodeElimination, FuseOps, DefuseOps"
)
SHORT = "InferType, SimplifyInference, FoldConstant, FuseOps"


def views() -> dict[str, Callable[[], Any]]:
    """The value of each cell, by what it shows."""
    big = resnet.get_workload(num_layers=50)[0]
    small = resnet.get_workload(1, 10, num_layers=8, image_shape=(3, 16, 16))[0]
    cell = lstm.get_workload(4, 32)[0]
    rec, other = passlab.record(big, TEN), passlab.record(big, SHORT)
    short = passlab.record(small, SHORT)
    arguments = random_arguments(small["main"], 0)
    values = lab.watch(small, *arguments)
    executable = relay.vm.compile(small)
    trace = vm.Debugger(small, *arguments).trace
    text = read(Path(__file__).parents[1] / "notebooks" / "digits-llvm.txt.gz")

    def profile() -> Any:
        names = [parameter.name_hint for parameter in small["main"].params]
        return relay.build(small).module(debug=True).profile(**dict(zip(names, arguments, strict=True)))

    return {
        "ResNet-50": lambda: big,
        "its recording": lambda: rec,
        "its graph": lambda: display.graph_view(big),
        "its operators": lambda: display.operators_view(big),
        "its last program": lambda: rec.last,
        "a diff of FuseOps": lambda: rec["FuseOps"].diff(),
        "a diff of SimplifyInference": lambda: rec["SimplifyInference"].diff(),
        "two steps compared": lambda: lab.diff(big, rec.last),
        "its blame": lambda: display.blame_view(other),
        "its times": lambda: display.timing_view(rec),
        "two recordings": lambda: lab.compare(rec, other),
        "what would change it": lambda: display.prospects_view(small, "net"),
        "an LSTM": lambda: cell,
        "the graph of an LSTM": lambda: display.graph_view(cell),
        "DCGAN's graph": lambda: display.graph_view(dcgan.get_workload(1)[0]),
        "MobileNet's recording": lambda: passlab.record(mobilenet.get_workload(1)[0], SHORT),
        "MobileNet, fused, as a graph": lambda: display.graph_view(
            passlab.record(mobilenet.get_workload(1)[0], SHORT).last
        ),
        "a small network's recording": lambda: short,
        "what if": lambda: lab.what_if(small, SHORT, seconds=None),
        "a bisection": lambda: short.bisect(lambda mod: "Primitive=1" not in mod.astext()),
        "a culprit": lambda: lab.culprit(short, seconds=20),
        "a reduction": lambda: lab.reduce(small, lambda mod: "nn.dense" in mod.astext()),
        "values": lambda: values,
        "a solver": lambda: lab.watch_solver(small, "fusion"),
        "an executable": lambda: executable,
        "a run": lambda: trace,
        "a profile": profile,
        "storages": lambda: display.storages_view(trace.storage),
        "a table": lambda: rec.blame(),
        "a dump of LLVM": lambda: text,
        "a diff of LLVM": lambda: text.steps[-1].diff(),
        "a pass that failed": lambda: passlab.record(small, [_broken()]),
    }


def _broken() -> Any:
    @passlab.transform.module_pass(opt_level=0, name="Broken")
    def broken(mod: IRModule, ctx: Any) -> IRModule:
        raise ValueError("no way")

    return broken


def main(argv: list[str] | None = None) -> int:
    """Measure, print a table and write the record."""
    parser = argument_parser(__doc__, "saved_notebook")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args(argv)
    notebook = nbformat.v4.new_notebook()
    rows: dict[str, Mapping[str, float]] = {}
    for name, value in views().items():
        start = time.process_time()
        forms = bundle(value())
        data = forms[0] if isinstance(forms, tuple) else forms
        output = nbformat.v4.new_output("display_data", data)
        notebook.cells.append(nbformat.v4.new_code_cell(f"# {name}", outputs=[output]))
        rows[name] = {
            "bytes": len(nbformat.writes(nbformat.v4.new_notebook(cells=[notebook.cells[-1]]))),
            "ms": 1000 * (time.process_time() - start),
        }
    for name, row in sorted(rows.items(), key=lambda item: -item[1]["bytes"]):
        print(f"{name:<32} {row['bytes']:>9,}   {row['ms']:>8,.0f} ms")
    whole = len(nbformat.writes(notebook))
    print(f"{len(rows)} views: {whole:,} bytes")
    write_record(options.json, {**rows, "whole": {"bytes": whole}})
    if options.write:
        nbformat.write(notebook, options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
