"""Plant one fault, search for it, and print what was found, as JSON: `python -m tests.planted.run_fault NAME`."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from time import perf_counter

from tests.mutants.mutation import plant
from tests.planted.catalogue import FAULTS
from tests.planted.fault import Fault


def main(name: str) -> None:
    """Print one line of JSON."""
    fault = FAULTS[name]
    plant(fault.mutation)
    print(json.dumps(search(fault)))


def search(fault: Fault) -> dict[str, object]:
    """Search for a fault that is planted, with nothing but program and pipeline, and return what was found."""
    from passlab import lab, parse
    from passlab.instrument.statistics import count_module

    mod = parse(fault.program)
    started = perf_counter()
    result = lab.culprit(mod, fault.pipeline, opt_level=4, config=dict(fault.config))
    seconds = perf_counter() - started
    row: dict[str, object] = {"found": result.found, "seconds": round(seconds, 2), "summary": result.summary()}
    if not result.found:
        return row
    row["culprit"] = result.name
    row["by"] = result.where
    row["nodes"] = count_module(result.module)[0]
    script = result.script()
    row["lines"] = len(script.splitlines())
    row["script"] = script
    row["shows"] = _runs(script)
    return row


def _runs(script: str) -> bool:
    """Whether the script comes to its end, as it does while the fault is there."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(script, "script", "exec"), {"__name__": "script"})
    except BaseException as error:  # noqa: BLE001 - whatever it is
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1])
