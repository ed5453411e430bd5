"""Large dumps of other compilers: the time to open them, to show a step and to blame a function, and the memory.

    python -m benchmarks.dumps [--megabytes 200] [--json FILE]

The dumps are written by this script: an LLVM-like run of function passes over 400 functions, printed after each pass,
and an IREE-like run with nested units. Sizes and names are those of real ones; what the passes do is random. Each is
measured in a process of its own, in seconds of the processor. Goal: 200 MB open in 5 s.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.calibrate import argument_parser, print_figures, write_record
from passlab.dumps import read

GOALS = {"open s": 5.0}
FUNCTIONS, LINES = 400, 160


def body(rng: random.Random, name: str, lines: int) -> list[str]:
    """The lines of one function of LLVM IR."""
    ops = ("add nsw i32", "mul i32", "xor i32", "sub i32", "shl i32")
    rows = [f"define i32 @{name}(i32 %0) #0 {{"]
    rows += [
        f"  %{n + 1} = {rng.choice(ops)} %{rng.randint(0, n)}, %{rng.randint(0, n)}, !dbg !{n}" for n in range(lines)
    ]
    return [*rows, f"  ret i32 %{lines}", "}"]


def write_llvm(path: Path, size: int, seed: int = 1) -> int:
    """Write a dump of at least `size` bytes; return how many passes it has."""
    rng = random.Random(seed)
    functions = {f"f{n}": body(rng, f"f{n}", rng.randint(LINES // 2, LINES * 3 // 2)) for n in range(FUNCTIONS)}
    passes = [f"Simplify{n}Pass" for n in range(60)]
    count = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            for name, lines in functions.items():
                for one in passes[:8]:
                    if rng.random() < 0.2:
                        at = rng.randrange(1, len(lines) - 2)
                        lines[at] = f"  %{at} = or i32 %0, {rng.randint(0, 9999)}"
                    file.write(f"; *** IR Dump After {one} on {name} ***\n" + "\n".join(lines) + "\n")
                    count += 1
            file.write("; *** IR Dump After GlobalDCEPass on [module] ***\n; ModuleID = 'm'\n\n")
            file.write("\n\n".join("\n".join(lines) for lines in functions.values()) + "\n")
            count += 1
    return count


def write_iree(path: Path, size: int, seed: int = 2) -> int:
    """Write an MLIR dump of at least `size` bytes with functions in a module; return how many passes it has."""
    rng = random.Random(seed)
    texts = {f"g{n}": [f"    %{i} = arith.addi %arg0, %arg0 {{n = {i}}} : i32" for i in range(150)] for n in range(40)}
    count = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            for name, rows in texts.items():
                for one in ("CanonicalizerPass: canonicalize{max-iterations=10}", "CSEPass: cse"):
                    if rng.random() < 0.3:
                        rows[rng.randrange(len(rows))] = f"    %x = arith.constant {rng.randint(0, 9999)} : i32"
                    text = "\n".join(row[2:] for row in rows)
                    file.write(f"// -----// IR Dump After {one} //----- //\n")
                    file.write(f"util.func public @{name}(%arg0: i32) -> i32 {{\n{text}\n}}\n\n")
                    count += 1
            file.write("// -----// IR Dump After SymbolDCEPass: symbol-dce //----- //\nmodule {\n")
            for name, rows in texts.items():
                file.write(f"  util.func public @{name}(%arg0: i32) -> i32 {{\n" + "\n".join(rows) + "\n  }\n")
            file.write("}\n\n")
            count += 1
    return count


def measure(path: Path, unit: str) -> dict[str, float]:
    """Open a dump, show steps, blame one function; seconds of this process and the most memory it held."""
    begin = time.process_time()
    recording = read(path)
    opened = time.process_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    shown = []
    for number in range(1, len(recording.steps), max(1, len(recording.steps) // 40)):
        begin = time.process_time()
        recording.diff(number)
        shown.append(time.process_time() - begin)
    begin = time.process_time()
    recording.blame(unit)
    blamed = time.process_time() - begin
    return {
        "megabytes": path.stat().st_size / 2**20,
        "steps": len(recording.steps),
        "open s": opened,
        "memory MB": memory,
        "longest step ms": max(shown) * 1000,
        "blame s": blamed,
    }


def main(argv: list[str] | None = None) -> int:
    """Write the dumps, measure each in a process of its own, print and record."""
    parser = argument_parser(__doc__, "dumps")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--measure", nargs=2, metavar=("DUMP", "UNIT"), help="measure a dump that is there, print JSON")
    options = parser.parse_args(argv)
    if options.measure:
        path, unit = options.measure
        print(json.dumps(measure(Path(path), unit)))
        return 0
    records = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, write, unit in (("llvm", write_llvm, "f7"), ("iree", write_iree, "util.func @g7")):
            path = Path(folder) / name
            write(path, options.megabytes * 2**20)
            command = [sys.executable, "-m", "benchmarks.dumps", "--measure", str(path), unit]
            records[name] = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            path.unlink()
            print(name)
            print_figures(records[name], GOALS)
    write_record(options.json, records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
