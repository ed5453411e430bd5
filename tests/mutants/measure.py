"""How many mutants the tests catch: `python -m tests.mutants.measure --number 200 --seed 1`, which `make mutants` calls.

Each mutant runs the nearest tests of its function until one fails; what survives them runs more (`--more`). `forks` gives
each a fork of a process that is ready to run them, or a process of its own (`run`) where a fork is not enough. It is caught
by a test that passes without it, by an error of import, or by tests that do not end. What survives is listed with its source.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from time import monotonic

from tests.mutants import reach
from tests.mutants.definitions import HOUSE, definitions, find, module_name
from tests.mutants.drawing import Mutant, draw
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.forks import Forks, hooked
from tests.mutants.mutation import Mutation

ROOT = HOUSE.parent


@dataclass(frozen=True)
class Run:
    """How the tests of a mutant ended: what failed, if anything, how many passed before, and how long it took."""

    failed: str
    passed: int
    seconds: float

    @property
    def how(self) -> str:
        """What became of the mutant, in a word or two."""
        if "::" in self.failed:
            return f"caught by {self.failed}"
        return f"caught: {self.failed}" if self.failed else "SURVIVED"


def run(mutation: Mutation | None, tests: Sequence[str], limit: float) -> Run:
    """Run tests with a mutation, or with none, in a process of their own, for at most so many seconds."""
    environment = os.environ | (hooked(mutation) if mutation else {})
    start = monotonic()
    with tempfile.TemporaryDirectory() as folder:
        arguments = Path(folder) / "tests.txt"
        arguments.write_text("\n".join(tests), encoding="utf-8")
        options = ["-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", f"--basetemp={folder}/files"]
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, f"@{arguments}"],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the kernels and commands that its tests have started
            process.communicate()
            return Run("no end", 0, monotonic() - start)
    passed = re.search(r"(\d+) passed", output)
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", output, re.MULTILINE)
    failure = "" if process.returncode == 0 else failed[1] if failed else "passlab or its tests cannot be imported"
    return Run(failure, int(passed[1]) if passed else 0, monotonic() - start)


def difference(mutation: Mutation) -> str:
    """The lines that a mutation changes, before and after."""
    before, after = (
        "\n".join(map(ast.unparse, definition.roots)).splitlines()
        for definition in (find(mutation.definition), mutation.changed())
    )
    lines = [line for line in difflib.ndiff(before, after) if line[0] in "-+"]
    return "\n".join(f"    {line[0]} {line[2:].strip()}" for line in lines[:12])


def line_of(mutant: Mutant) -> str:
    """Where a mutant changes passlab, as editors read it."""
    site, _ = mutant.mutation.place(find(mutant.mutation.definition))
    line = getattr(site.node, "lineno", getattr(site.parent, "lineno", 1))
    return f"{mutant.file.relative_to(ROOT).as_posix()}:{line}"


def main() -> None:
    """Draw, run and report."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.measure", description=__doc__)
    parser.add_argument("--number", type=int, default=200, help="how many mutants (200)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument("--package", default="", help="mutants of one package, such as vm or op.nn (all)")
    parser.add_argument("--tests", type=int, default=60, help="how many tests for one mutant, at most (60)")
    parser.add_argument("--seconds", type=float, default=20, help="how long these take without a mutant, at most (20)")
    parser.add_argument("--more", type=int, default=5, help="how many times as much runs for what survives that (5)")
    parser.add_argument(
        "--since", default="", help="mutants of functions with lines that are new since this commit (all)"
    )
    parser.add_argument(
        "--notes", type=Path, help="a file of verdicts: those in it are not measured again, new ones are added"
    )
    parser.add_argument("--fresh", action="store_true", help="give each mutant a process of its own, not a fork")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="how many mutants at once (every processor)"
    )
    parser.add_argument("--reach", choices=["missing", "new", "only"], default="missing",
                        help="note first which tests reach what: for folders that have no notes, for all, or nothing else")  # fmt: skip
    parser.add_argument("--folders", nargs="*", default=[], help="the folders of tests to make notes of (all)")
    parser.add_argument("--folder-seconds", type=int, default=300, help="how long the notes of a folder may take (300)")
    options = parser.parse_args()
    reach.make(options.folder_seconds, options.jobs, options.folders, anew=options.reach != "missing")
    if options.reach == "only":
        return
    drawn = draw(options.seed, options.number, options.package, among=since(options.since) if options.since else None)
    if not drawn:
        sys.exit(f"no function of passlab that can be changed is in package `{options.package}`, or new")
    mutants = [m for m in drawn if m.mutation.key not in EQUIVALENT]
    if len(mutants) < len(drawn):
        print(f"{len(drawn) - len(mutants)} drawn mutants are marked as equivalent, and left out")
    noted = read(options.notes)
    todo = [m for m in mutants if m.mutation.key not in noted]
    rounds = {
        m: [reach.nearest(m.function, n * options.tests, n * options.seconds) for n in (1, options.more)] for m in todo
    }
    files = sorted({test.file for tests in rounds.values() for test in chain(*tests) if (ROOT / test.file).exists()})
    free: SimpleQueue[Forks] = SimpleQueue()
    with ThreadPoolExecutor(options.jobs) as pool, ExitStack() as stack:
        for forks in pool.map(Forks, [files] * min(options.jobs, len(todo))):
            free.put(forks)
            stack.callback(forks.close)

        def one(mutant: Mutant) -> None:
            forks = free.get()
            noted[mutant.mutation.key] = measure(mutant, rounds[mutant], forks, options.fresh)
            free.put(forks)
            write(options.notes, mutant, noted[mutant.mutation.key])

        list(pool.map(one, todo))
    report([(mutant, noted[mutant.mutation.key]) for mutant in mutants])


def measure(mutant: Mutant, rounds: Iterable[Sequence[reach.Test]], forks: Forks, fresh: bool = False) -> Run:
    """Run the tests of each round with a mutant, until one fails that passes without it."""
    tests: dict[str, float] = {}
    done: set[str] = set()
    total = Run("", 0, 0)
    for chosen in rounds:
        tests = {test.name: test.seconds for test in chosen if test.name in forks.tests and test.name not in done}
        while tests and not total.failed:
            last = one_process(mutant.mutation, list(tests), 60 + 5 * sum(tests.values()), forks, fresh)
            total = Run(last.failed, total.passed + last.passed, total.seconds + last.seconds)
            if last.failed not in tests or not forks.run(None, [last.failed], 60 + 5 * tests[last.failed])["failed"]:
                break
            del tests[last.failed]  # it fails without the mutant, too
            total = replace(total, failed="")
        done |= tests.keys()
    print(f"{mutant.mutation.key}: {total.how} ({total.seconds:.0f} s)", flush=True)
    return total


def one_process(mutation: Mutation, tests: Sequence[str], limit: float, forks: Forks, fresh: bool) -> Run:
    """Run tests with a mutation in a fork, or in a process of its own where it needs one."""
    start = monotonic()
    answer = {"fresh": True} if fresh else forks.run(mutation, tests, limit)
    if "fresh" in answer:
        return run(mutation, tests, limit)
    return Run(answer["failed"], answer.get("passed", 0), monotonic() - start)


def since(commit: str) -> set[str]:
    """The functions of passlab with a line that is new since a commit, as `passlab.op.broadcast:division_kernel`."""
    command = ["git", "diff", "--unified=0", "--no-prefix", commit, "--", "passlab/*.py"]
    changes = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines: dict[Path, set[int]] = defaultdict(set)
    for file, first, number in re.findall(r"^\+\+\+ (.+)|^@@ \S+ \+(\d+)(?:,(\d+))? @@", changes, re.MULTILINE):
        if file:
            path = ROOT / file
        else:
            lines[path].update(range(int(first), int(first) + int(number or 1)))
    return {
        f"{module_name(path)}:{name}"
        for path, new in lines.items() if path.exists()
        for name, node in definitions(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.stmt) and not new.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    }  # fmt: skip


def read(notes: Path | None) -> dict[str, Run]:
    """The verdicts in a file, by the keys of the mutants."""
    if notes is None or not notes.exists():
        return {}
    lines = map(json.loads, notes.read_text(encoding="utf-8").splitlines())
    return {line.pop("key"): Run(**line) for line in lines}


def write(notes: Path | None, mutant: Mutant, verdict: Run) -> None:
    """Add a verdict to a file."""
    if notes is not None:
        with notes.open("a", encoding="utf-8") as file:
            print(json.dumps({"key": mutant.mutation.key, **asdict(verdict)}), file=file)


def report(results: list[tuple[Mutant, Run]]) -> None:
    """Print the survivors with their source, and the share of what was caught."""
    survivors = [(mutant, run) for mutant, run in results if not run.failed]
    for mutant, run in survivors:
        print(f"\n{line_of(mutant)}: {mutant.mutation.key}\n  {run.passed} tests passed\n{difference(mutant.mutation)}")
    caught = len(results) - len(survivors)
    print(f"\n{caught} of {len(results)} mutants caught: {100 * caught / max(len(results), 1):.0f} %")


if __name__ == "__main__":
    main()
