"""Time to parse, print, infer and transform real networks, beside the figures of TVM 0.14's C++.

    python -m benchmarks.compile_time [--runs N] [--networks resnet18,resnet50] [--json FILE]

Every pass is timed on a module that was parsed and typed afresh, so that no cache of an earlier run helps. The loop of
`calibrate` runs before and after each network; figures are compared in one run, by ratio.
"""

from __future__ import annotations

import gc
import statistics
import sys
from typing import Any

import passlab
from benchmarks.calibrate import argument_parser, calibrate, median_ms, write_record
from passlab import relay, transform
from passlab.text.parser import parse as parse_only

# TVM 0.14.0 C++, milliseconds, median, on a machine whose calibration loop took 87 ms.
COLUMNS = ("parse+infer", "print", "InferType", "FoldConstant", "SimplifyInference", "EliminateCommonSubexpr",
           "DeadCodeElimination", "FuseOps", "ToANormalForm", "ToGraphNormalForm", "FoldScaleAxis", "SimplifyExpr",
           "nine passes")  # fmt: skip
REFERENCE: dict[str, tuple[float, ...]] = {
    "resnet18": (13.2, 2.4, 10.2, 11.0, 16.1, 12.1, 0.7, 14.3, 15.5, 26.2, 102.0, 1837.3, 335.0),
    "resnet50": (33.2, 6.4, 26.6, 28.3, 35.9, 33.3, 1.8, 37.5, 89.5, 134.6, 269.3, 4924.9, 888.1),
    "densenet121": (75.4, 14.2, 60.9, 65.2, 80.9, 89.1, 4.3, 85.4, 420.5, 616.9, 643.7, 11907.6, 2079.4),
    "inception_v3": (68.7, 12.9, 49.6, 55.4, 64.1, 64.9, 3.4, 67.5, 293.8, 409.3, 527.1, 10009.3, 1708.8),
}
NINE = ("InferType", "SimplifyInference", "FoldConstant", "FoldScaleAxis", "EliminateCommonSubexpr", "CanonicalizeOps",
        "FoldConstant", "DeadCodeElimination", "FuseOps")  # fmt: skip


def network(name: str) -> Any:
    """Return the typed module of a network of `relay.testing`."""
    nets = relay.testing
    if name.startswith("resnet"):
        return nets.resnet.get_workload(num_layers=int(name[6:]))[0]
    if name == "densenet121":
        return nets.densenet.get_workload(batch_size=1)[0]
    return getattr(nets, name).get_workload(batch_size=1)[0]


def nine_passes(mod: Any) -> Any:
    """Run the nine-pass pipeline at opt level 4."""
    with transform.PassContext(opt_level=4):
        return transform.Sequential([getattr(transform, name)() for name in NINE])(mod)


def measure(name: str, runs: int) -> dict[str, float]:
    """Return column -> milliseconds for one network."""
    text = network(name).astext()
    out = {
        "parse+infer": median_ms(lambda: passlab.parse(text), runs),
        "print": median_ms(lambda: mod.astext(), runs) if (mod := passlab.parse(text)) else 0.0,
    }
    held: list[Any] = []

    def fresh(typed: bool = True) -> None:
        held[:] = [passlab.parse(text) if typed else parse_only(text)]
        gc.collect()

    for column in COLUMNS[2:-1]:
        make = getattr(transform, column, None)
        if make is None:
            continue
        job = make()

        def run(job: Any = job) -> None:
            with transform.PassContext(opt_level=4):
                job(held[0])

        out[column] = median_ms(run, runs, lambda column=column: fresh(column != "InferType"))  # type: ignore[misc]
    out["nine passes"] = median_ms(lambda: nine_passes(held[0]), runs, lambda: fresh(False))
    fresh()
    again = transform.InferType()
    again(held[0])
    out["infer again"] = median_ms(lambda: again(held[0]), runs)
    out["recording adds %"] = _recording_cost(fresh, held, runs)
    return out


def _recording_cost(fresh: Any, held: list[Any], runs: int) -> float:
    """Return the added time of a recorder over the nine passes, in percent: the median over pairs run in turn."""
    passes = [getattr(transform, name)() for name in NINE]
    ratios = []
    for _ in range(3 * runs):
        plain = median_ms(lambda: nine_passes(held[0]), 1, lambda: fresh(False))
        recorded = median_ms(lambda: passlab.record(held[0], passes, opt_level=4), 1, lambda: fresh(False))
        ratios.append(recorded / plain)
    return (statistics.median(ratios) - 1) * 100


def table(results: dict[str, dict[str, float]], slowness: float) -> str:
    """Return the figures beside the scaled reference: `here (reference scaled, times faster)`."""
    lines = []
    for name, figures in results.items():
        lines.append(f"\n{name}")
        reference = dict(zip(COLUMNS, REFERENCE[name], strict=True))
        for column, here in figures.items():
            unit = "" if column.endswith("%") else " ms"
            line = f"  {column:24}{here:10.2f}{unit}"
            if column in reference:
                scaled = reference[column] * slowness
                line += f"   reference {scaled:9.1f} ms   {scaled / here:7.1f}x"
            lines.append(line)
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "compile_time")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--networks", default=",".join(REFERENCE))
    options = parser.parse_args(argv)
    before = calibrate()
    results = {name: measure(name, options.runs) for name in options.networks.split(",")}
    after = calibrate()
    slowness = (before.slowness + after.slowness) / 2
    print(f"calibration loop {before.loop_ms:.0f} ms before, {after.loop_ms:.0f} ms after (reference machine: 87 ms)")
    print(f"reference figures are scaled by {slowness:.2f}")
    print(table(results, slowness))
    write_record(options.json, results, before, after=after.record())
    return 0


if __name__ == "__main__":
    sys.exit(main())
