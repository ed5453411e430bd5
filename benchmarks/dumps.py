"""Large dumps of other compilers: the time to open them, to show a step and to blame a function, and the memory.

    python -m benchmarks.dumps [MEGABYTES]

The dumps are written by this script: an LLVM-like run of function passes over 400 functions, printed after each
pass, and an
IREE-like run with nested units. Sizes and names are those of real ones; what the passes do is random.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

OUT = Path(__file__).parent / "out"
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
    from passlab.dumps import read

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
        "bytes": path.stat().st_size,
        "steps": len(recording.steps),
        "open_s": opened,
        "memory_mb": memory,
        "step_ms": max(shown) * 1000,
        "blame_s": blamed,
    }


def main(argv: list[str]) -> None:
    """Write the dumps, measure each in a process of its own, print and record."""
    import subprocess

    if len(argv) == 3 and argv[0] == "--measure":
        print(json.dumps(measure(Path(argv[1]), argv[2])))
        return
    size = int(argv[0]) * 2**20 if argv else 200 * 2**20
    records = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, write, unit in (("llvm", write_llvm, "f7"), ("iree", write_iree, "util.func @g7")):
            path = Path(folder) / name
            write(path, size)
            command = [sys.executable, "-m", "benchmarks.dumps", "--measure", str(path), unit]
            records[name] = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            path.unlink()
            row = records[name]
            print(
                f"{name}: {row['bytes'] / 2**20:.0f} MB, {row['steps']:,} steps: open {row['open_s']:.1f} s, "
                f"{row['memory_mb']:.0f} MB, a step {row['step_ms']:.0f} ms, blame {row['blame_s']:.2f} s"
            )
    OUT.mkdir(exist_ok=True)
    (OUT / "dumps.json").write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
