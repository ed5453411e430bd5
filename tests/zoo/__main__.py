"""Try the models of the zoo and print the table.

    python -m tests.zoo [NAME ...] [--only import,culprit] [--json FILE] [--packages] [--page]

Each model is tried in a process of its own. With --json the figures are added to a record as they come, from which the
manual's table is made with --page. --packages lists what to install: `pip install --no-deps --target DIR ...` and PYTHONPATH=DIR
do for the packages with files, for none of their code is run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.zoo.models import Absent, models
from tests.zoo.trials import TRIALS, Trials

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "benchmarks/records/zoo.json"
PAGE = ROOT / "docs/reference/models-from-outside.md"
COLUMNS = (
    "model", "package", "nodes / calls", "open", "errors", "simplified", "ms on NumPy / elsewhere", "recording",
    "graph", "culprit", "failed",
)  # fmt: skip
OF_FILES = ("simplified",)  # columns that networks of PyTorch lack
THREADS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def tried(name: str, only: tuple[str, ...]) -> dict[str, Any]:
    """Try one model here; return its row."""
    model = next(m for m in models() if m.name == name)
    row: dict[str, Any] = {"name": name, "kind": model.kind}
    try:
        trials = Trials(model).run(only)
    except Absent as error:
        return {**row, "absent": str(error)}
    return {**row, **trials.figures, "failed": trials.failures}


def main(argv: list[str] | None = None) -> int:
    """Try the models named, or all; return 1 where one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--only", default="", help=f"of {', '.join(TRIALS)}")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=400.0, help="for each model")
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--page", action="store_true", help="write the table of the record into the manual")
    parser.add_argument("--row", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.packages:
        print("\n".join(dict.fromkeys(m.entry["package"] for m in models())))
        return 0
    if options.page:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_table(page, json.loads(RECORD.read_text(encoding="utf-8"))), encoding="utf-8")
        return 0
    if options.row:
        print(json.dumps(tried(options.names[0], tuple(filter(None, options.only.split(","))))))
        return 0
    record = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    chosen = [m.name for m in models() if not options.names or any(m.name.startswith(n) for n in options.names)]
    failed = False
    for name in chosen:
        row = _apart(name, options)
        failed |= bool(row.get("failed"))
        print(_line(row), flush=True)
        if options.json and "absent" not in row:
            before = record.get(name, {}) if options.only else {}
            left = {k: v for k, v in before.get("failed", {}).items() if k not in options.only.split(",")}
            record[name] = {**before, **row, "failed": {**left, **row["failed"]}}
            options.json.write_text(json.dumps(record, indent=1) + "\n")
    return int(failed)


def with_table(page: str, record: dict[str, Any]) -> str:
    """Return the manual's page with the rows of a record, each table between its heading and the next one."""
    for kind, title in (("onnx", "## Files of ONNX\n"), ("torch", "## Networks of PyTorch\n")):
        head, _, rest = page.partition(title)
        intro, _, after = rest.partition("\n|")
        tail = after[after.index("\n\n") :] if "\n\n" in after else "\n"
        rows = [row for row in record.values() if row["kind"] == kind]
        columns = _columns(kind)
        lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *map(_row, rows)]
        page = head + title + intro + "\n" + "\n".join(lines) + tail
    return page


def _columns(kind: str) -> list[str]:
    return [column for column in COLUMNS if kind == "onnx" or column not in OF_FILES]


def _row(row: dict[str, Any]) -> str:
    told = {"Swapped": f"{row.get('culprit s', 0):.1f} s, {row.get('culprit calls')}", "none": "not seen"}
    cells = {
        "model": row["name"],
        "package": next(m.entry["package"] for m in models() if m.name == row["name"]),
        "nodes / calls": f"{row['nodes']} / {row['calls']}" if "nodes" in row else row.get("calls", ""),
        "open": row.get("open", ""),
        "errors": " / ".join(f"{row[key]:.0e}" for key in ("error", "export error") if key in row),
        "simplified": row.get("simplified", ""),
        "ms on NumPy / elsewhere": _both(row, "{:.3g} / {:.3g}", "vm ms", "rival ms"),
        "recording": _both(row, "{:.2f} s, {:.1f} MB", "record s", "report MB"),
        "graph": _both(row, "{:.2f} s, {}", "graph s", "boxes"),
        "culprit": told.get(culprit := row.get("culprit", ""), culprit),
        "failed": ", ".join(row.get("failed", {})),
    }
    return "| " + " | ".join(str(cells[column]) for column in _columns(row["kind"])) + " |"


def _both(row: dict[str, Any], form: str, *keys: str) -> str:
    return form.format(*(row[key] for key in keys)) if set(keys) <= set(row) else ""


def _apart(name: str, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.zoo", name, "--row", "--only", options.only]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=options.seconds, env={**os.environ, **THREADS}, check=False
        )
    except subprocess.TimeoutExpired:
        return {"name": name, "failed": {"all": f"more than {options.seconds:g} s"}}
    try:
        row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        row = {"name": name, "failed": {"all": (done.stderr.strip().splitlines() or ["no answer"])[-1]}}
    return row


def _line(row: dict[str, Any]) -> str:
    figures = {k: v for k, v in row.items() if k not in ("name", "kind", "failed", "absent")}
    told = ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in figures.items())
    failures = "".join(f"\n    {k}: {v}" for k, v in row.get("failed", {}).items())
    return f"{row['name']}: {row.get('absent', told)}{failures}"


if __name__ == "__main__":
    sys.exit(main())
