"""Compare `lab.simplify` with onnxsim and onnxslim on the files of the zoo, and print the table.

    python -m tests.zoo.smaller [NAME ...] [--tools passlab,onnxsim] [--json FILE] [--page]

Sizes are open as in the file. Each tool makes each file smaller in a process of its own, on one thread; onnxruntime then
runs the result on the inputs of the zoo. With --json the figures are added to a record as they come, from which the
manual's table is made with --page.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from passlab import lab
from passlab.lab.simplification import nodes_of
from tests.zoo.__main__ import PAGE, ROOT, THREADS
from tests.zoo.models import Absent, Model, OnnxFile, models, session_results
from tests.zoo.trials import difference

RECORD = ROOT / "benchmarks/records/zoo_smaller.json"
TITLE = "## Beside onnxsim and onnxslim\n"
LEAST = 5  # nodes of a file that is worth a row
CLOSE = 1e-3  # the largest difference over the largest value of a right result
TOOLS: dict[str, Callable[[str], Any]] = {
    "passlab": lambda path: lab.simplify(path).model(),
    "onnxsim": lambda path: importlib.import_module("onnxsim").simplify(path)[0],
    "onnxslim": lambda path: importlib.import_module("onnxslim").slim(path),
}


def measured(model: Model, tool: str) -> dict[str, Any]:
    """Make one file smaller by one tool here; return the nodes, the seconds, and what is wrong with the result."""
    source = model.source
    assert isinstance(source, OnnxFile)
    simplify, path = TOOLS[tool], str(source.path)
    started = time.process_time()
    small = simplify(path)
    figures: dict[str, Any] = {"s": round(time.process_time() - started, 2), "nodes": nodes_of(small.graph)}
    try:
        results = session_results(small.SerializeToString(), list(source.inputs.values()))
        apart = difference(iter(results), source.expected)
        return figures if apart <= CLOSE else {**figures, "wrong": f"{apart:.0e}"}
    except Exception as error:  # noqa: BLE001 - whatever it is, the result is of no use
        return {**figures, "wrong": str(error).strip().partition("\n")[0][:100]}


def _apart(name: str, tool: str, seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.zoo.smaller", name, "--tools", tool, "--row"]
    with tempfile.TemporaryFile("w+") as errors:
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, timeout=seconds, cwd=ROOT,
                env={**os.environ, **THREADS}, check=False,
            )  # fmt: skip
            row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            return row
        except subprocess.TimeoutExpired:
            return {"fails": f"more than {seconds:g} s"}
        except (IndexError, ValueError):
            errors.seek(0)
            return {"fails": (errors.read().strip().splitlines() or ["no answer"])[-1][:100]}


def chosen(names: list[str]) -> list[Model]:
    """Return the files named, or all, that are here and have enough nodes."""
    result = []
    for model in models():
        if model.kind == "onnx" and (not names or model.name in names):
            try:
                source = model.source
            except Absent:
                continue
            assert isinstance(source, OnnxFile)
            if nodes_of(source.proto.graph) >= LEAST:
                result.append(model)
    return result


def main(argv: list[str] | None = None) -> int:
    """Measure the files named, or all; return 1 where a result of passlab is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.smaller", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=400.0, help="for each tool and file")
    parser.add_argument("--page", action="store_true", help="write the table of the record into the manual")
    parser.add_argument("--row", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.page:
        record = json.loads(RECORD.read_text(encoding="utf-8"))
        PAGE.write_text(with_comparison(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")
        return 0
    if options.row:
        print(json.dumps(measured(chosen(options.names)[0], options.tools)))
        return 0
    record = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    failed = False
    for model in chosen(options.names):
        assert isinstance(model.source, OnnxFile)
        row = record.setdefault(model.name, {})
        row["nodes"] = nodes_of(model.source.proto.graph)
        for tool in options.tools.split(","):
            row[tool] = _apart(model.name, tool, options.seconds)
        failed |= not _is_right(row.get("passlab", {"nodes": 0}))
        print(model.name, row, flush=True)
        if options.json:
            options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return int(failed)


def with_comparison(page: str, record: dict[str, Any]) -> str:
    """Return the manual's page with the table of a record, and the sentence that counts its rows."""
    head, _, rest = page.partition(TITLE)
    intro, _, _ = rest.partition("passlab leaves ")
    order = [model.name for model in models() if model.name in record]
    rows = [record[name] for name in order]
    best = sum(row["passlab"]["nodes"] <= min(_right_nodes(row), default=row["nodes"]) for row in rows)
    larger = sum(row["passlab"]["nodes"] > row["nodes"] for row in rows)
    told = (
        f"passlab leaves at most as many nodes as the better of the two on {best} of {len(rows)} files, counting right"
    )
    lines = [
        f"{told} results, and more than the file on {larger}.\n",
        f"| model | nodes | {' | '.join(TOOLS)} | seconds |",
        f"|{'---|' * (len(TOOLS) + 3)}",
        *(_row(name, record[name]) for name in order),
    ]
    return head + TITLE + intro + "\n".join(lines) + "\n"


def _is_right(result: dict[str, Any]) -> bool:
    return "nodes" in result and "wrong" not in result


def _right_nodes(row: dict[str, Any]) -> list[int]:
    return [row[tool]["nodes"] for tool in TOOLS if tool != "passlab" and _is_right(row[tool])]


def _row(name: str, row: dict[str, Any]) -> str:
    cells = [f"{row[tool].get('nodes', 'fails')}{' (wrong)' if 'wrong' in row[tool] else ''}" for tool in TOOLS]
    seconds = " / ".join(f"{row[tool]['s']:.1f}" if "s" in row[tool] else "-" for tool in TOOLS)
    return f"| {name} | {row['nodes']} | {' | '.join(cells)} | {seconds} |"


if __name__ == "__main__":
    sys.exit(main())
