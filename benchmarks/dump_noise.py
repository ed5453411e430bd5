"""The lines of a dump that a reader must read: lines of a plain diff of each changed body, and those that are left when
names are noise.

    python -m benchmarks.dump_noise [DUMP ...] [--json FILE]

Without dumps it makes two with the newest `opt` that is installed (a list and a sort in C), and takes those of the
tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

from benchmarks.calibrate import argument_parser, write_record
from passlab.dumps import read

STORED = Path(__file__).parents[1] / "tests/dumps/data"
SORT = """\
static void swap(int *a, int *b) { int t = *a; *a = *b; *b = t; }
static int partition(int *a, int low, int high) {
  int pivot = a[high], i = low - 1;
  for (int j = low; j < high; j++) if (a[j] <= pivot) swap(&a[++i], &a[j]);
  swap(&a[i + 1], &a[high]);
  return i + 1;
}
void quicksort(int *a, int low, int high) {
  if (low < high) { int p = partition(a, low, high); quicksort(a, low, p - 1); quicksort(a, p + 1, high); }
}
int sum4(const int *a) { int s = 0; for (int i = 0; i < 4; i++) s += a[i]; return s; }
"""


def measure(path: Path) -> dict[str, int]:
    """Count changed bodies, the lines that a plain diff shows of them, and those of a diff that ignores names."""
    recording = read(path)
    row = dict.fromkeys(("bodies", "plain", "shown", "operands"), 0)
    for unit in recording.units.values():
        history = recording.history(unit.name)
        for version in range(1, len(unit.steps)):
            before, after = history.lines(version - 1), history.lines(version)
            if not before or not after:
                continue
            matcher = SequenceMatcher(None, [x.text for x in before], [x.text for x in after], autojunk=False)
            plain = sum((j - i) + (m - k) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal")
            counts = history.diff(version).counts
            row["bodies"] += plain > 0
            row["plain"] += plain
            row["shown"] += counts["added"] + counts["removed"] + 2 * (counts["changed"] + counts["moved"])
            row["operands"] += counts["operands"]
    return row


def _compiled_dumps(folder: Path) -> list[Path]:
    """Dumps of the sort program by every `clang` that is installed."""
    (folder / "sort.c").write_text(SORT)
    results = []
    for version in range(30, 12, -1):
        tool = shutil.which(f"clang-{version}")
        if tool is not None:
            path = folder / f"sort-{version}.txt"
            command = [tool, "-O2", "-S", "-emit-llvm", "-o", "/dev/null", "-mllvm", "-print-after-all", "sort.c"]
            path.write_bytes(subprocess.run(command, cwd=folder, capture_output=True, check=True).stderr)
            results.append(path)
    return results


def main(argv: list[str] | None = None) -> int:
    """Measure each dump, print and record."""
    parser = argument_parser(__doc__, "dump_noise")
    parser.add_argument("dumps", nargs="*", type=Path, metavar="DUMP")
    options = parser.parse_args(argv)
    records = {}
    with tempfile.TemporaryDirectory() as folder:
        stored = [*STORED.glob("llvm22-list-after.*gz"), *STORED.glob("mlir22-small-*.txt.gz")]
        paths = options.dumps or [*_compiled_dumps(Path(folder)), *sorted(stored)]
        for path in paths:
            if ".expected." in path.name:
                continue
            row = records[path.name] = measure(path)
            print(
                f"{path.name}: {row['bodies']:,} changed bodies, {row['plain']:,} lines in a plain diff, "
                f"{row['shown']:,} shown, {row['operands']:,} with other operands"
            )
    write_record(options.json, records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
