"""How many mutants the tests catch: `python -m tests.mutants.measure --number 200 --seed 1`, which `make mutants` calls.

Each mutant runs the nearest tests of its function until one fails; what survives them runs more (`--more`). Every mutant
has a process of its own. It is caught by a failure, an error of import, or tests that do not end. What survives is listed
with its source.
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
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import monotonic

from tests.mutants import reach
from tests.mutants.definitions import HOUSE, find, module_name
from tests.mutants.drawing import Mutant, draw
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.mutation import Mutation

ROOT = HOUSE.parent
HOOK = Path(__file__).parent / "hook"
PASSED, STOPPED = 0, -1


@dataclass(frozen=True)
class Run:
    """How the tests of a mutant ended: the exit status of pytest (-1 where they were stopped), how many passed, its output."""

    status: int
    passed: int
    seconds: float
    output: str

    @property
    def how(self) -> str:
        """What became of the mutant, in a word or two."""
        if self.status in (PASSED, STOPPED):
            return "SURVIVED" if self.status == PASSED else "caught: no end"
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", self.output, re.MULTILINE)
        return f"caught by {failed[1]}" if failed else "caught: passlab or its tests cannot be imported"


def run(mutant: Mutant | None, tests: Sequence[str], limit: float) -> Run:
    """Run tests with a mutant, or with none, for at most so many seconds."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (HOOK, ROOT))), "PYTHONDONTWRITEBYTECODE": "1"}
    if mutant is not None:
        environment["PASSLAB_MUTATION"] = planted(mutant)
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
            status = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the kernels and commands that its tests have started
            output, _ = process.communicate()
            status = STOPPED
    passed = re.search(r"(\d+) passed", output)
    return Run(status, int(passed[1]) if passed else 0, monotonic() - start, output)


def planted(mutant: Mutant) -> str:
    """What the environment says to `hook/sitecustomize.py`."""
    mutation = mutant.mutation
    fields = {"definition": mutation.definition, "kind": mutation.kind, "which": mutation.which, "new": mutation.new}
    return json.dumps({"module": module_name(mutant.file), "root": str(ROOT), "mutation": fields})


def collected(names: Iterable[str]) -> set[str]:
    """The tests that exist today, among those that were noted when `reach` was made."""
    files = sorted({file for name in names if (ROOT / (file := name.partition("::")[0])).exists()})
    if not files:
        return set()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
    ran = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{ran.stdout}\n{ran.stderr}\nthe tests cannot be collected without a mutant")
    return set(ran.stdout.splitlines())


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
    """Draw, run and report. Ends with status 1 where passlab itself does not answer as tests/diagnostics says."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.measure", description=__doc__)
    parser.add_argument("--number", type=int, default=200, help="how many mutants (200)")
    parser.add_argument("--seed", type=int, default=1, help="which ones (1)")
    parser.add_argument("--package", default="", help="mutants of one package, such as vm or op.nn (all)")
    parser.add_argument("--tests", type=int, default=60, help="how many tests for one mutant, at most (60)")
    parser.add_argument("--seconds", type=float, default=20, help="how long these take without a mutant, at most (20)")
    parser.add_argument("--more", type=int, default=5, help="how many times as much runs for what survives that (5)")
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
    control = run(None, [reach.DIAGNOSTICS], 1800)
    if control.status != PASSED:
        sys.exit(f"{control.output}\n{reach.DIAGNOSTICS} has to pass without a mutant")
    drawn = draw(options.seed, options.number, options.package)
    if not drawn:
        sys.exit(f"passlab has no package `{options.package}` with a function that can be changed")
    mutants = [m for m in drawn if m.mutation.key not in EQUIVALENT]
    if len(mutants) < len(drawn):
        print(f"{len(drawn) - len(mutants)} drawn mutants are marked as equivalent, and left out")
    near = [reach.nearest(m.function, options.tests, options.seconds) for m in mutants]
    far = [reach.nearest(m.function, options.more * options.tests, options.more * options.seconds) for m in mutants]
    existing = collected(test.name for tests in chain(near, far) for test in tests)
    rounds = [
        [[t for t in first if t.name in existing], [t for t in second if t.name in existing and t not in first]]
        for first, second in zip(near, far, strict=True)
    ]
    with ThreadPoolExecutor(options.jobs) as pool:
        runs = list(pool.map(measure, mutants, rounds))
    report(list(zip(mutants, runs, strict=True)))


def measure(mutant: Mutant, rounds: Iterable[Sequence[reach.Test]]) -> Run:
    """Run the tests of each round with a mutant, until one fails."""
    result = Run(PASSED, 0, 0, "")
    for tests in rounds:
        if tests and result.status == PASSED:
            last = run(mutant, [test.name for test in tests], 60 + 5 * sum(test.seconds for test in tests))
            result = Run(last.status, result.passed + last.passed, result.seconds + last.seconds, last.output)
    print(f"{mutant.mutation.key}: {result.how} ({result.seconds:.0f} s)", flush=True)
    return result


def report(results: list[tuple[Mutant, Run]]) -> None:
    """Print the survivors with their source, and the share of what was caught."""
    survivors = [(mutant, run) for mutant, run in results if run.status == PASSED]
    for mutant, run in survivors:
        print(f"\n{line_of(mutant)}: {mutant.mutation.key}\n  {run.passed} tests passed\n{difference(mutant.mutation)}")
    caught = len(results) - len(survivors)
    print(f"\n{caught} of {len(results)} mutants caught: {100 * caught / max(len(results), 1):.0f} %")


if __name__ == "__main__":
    main()
