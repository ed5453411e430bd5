"""Is an operator slow for no reason? Operators that loop over more than elements, on three sizes, beside onnxruntime.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.operators [--only WORD] [--sizes 16,64,256] [--json FILE]

A row is a program of one operator on the virtual machine. `times` is our time over onnxruntime's for the same program
(under 1: ours is faster), where ONNX has it, or over that of a few lines of NumPy (`by hand`), whichever is faster;
`copies` is our time over that of copying inputs and results, which says how far from memory's speed an operator is
where there is nothing else to compare with. All take turns; one thread, processor's clock.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import passlab
from benchmarks.calibrate import argument_parser, in_turns, write_record
from benchmarks.operator_cases import BY_HAND, CASES
from passlab import relay
from passlab.errors import PasslabError
from passlab.vm import VirtualMachine, compile

GOAL = 10.0  # times the better of onnxruntime and NumPy by hand
CALL_MS = 0.02  # what a call costs at all, here and in onnxruntime; below, sizes say nothing of an operator
Job = Callable[[], Any]


def random_array(shape: tuple[int, ...], kind: str, size: int, rng: Any) -> Any:
    """Return an input of a kind (see `operator_cases`)."""
    if kind == "i":
        return rng.integers(0, size, shape)
    if kind == "u":
        return np.arange(shape[0])
    if kind == "k":
        return np.zeros(shape, "int32")
    if kind == "o":
        return np.sort(rng.standard_normal(shape).astype("float32"), axis=-1)
    if kind in "br":
        boxes = rng.random((*shape[:-1], 4)).astype("float32") / 2
        boxes[..., 2:] += np.float32(0.5)
        numbers = np.zeros((*shape[:-1], 1), "float32")
        return boxes if kind == "b" else np.concatenate([numbers, boxes * np.float32(size)], -1)
    return rng.standard_normal(shape).astype("float32")


def program(expression: str, arrays: dict[str, Any], size: int) -> Any:
    """Return the module of one operator."""
    text = expression.replace("{2s}", str(2 * size)).replace("{s}", str(size))
    params = ", ".join(f"%{name}: Tensor[({', '.join(map(str, a.shape))}), {a.dtype}]" for name, a in arrays.items())
    return passlab.parse(f"def @main({params}) {{ {text} }}")


def session(mod: Any, arrays: dict[str, Any]) -> Job | None:
    """Return a run in onnxruntime, None where it is missing, or has no such operator."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        model = relay.to_onnx(mod).SerializeToString()
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        feed = dict(zip([i.name for i in session.get_inputs()], arrays.values(), strict=True))
        session.run(None, feed)
    except (PasslabError, state.NotImplemented, state.Fail, state.InvalidGraph, state.InvalidArgument):
        return None
    return lambda: session.run(None, feed)


def measure(name: str, size: int) -> dict[str, float | str]:
    """Return the milliseconds of one operator at one size, and of what it is compared with."""
    expression, inputs = CASES[name]
    rng = np.random.default_rng(0)
    arrays = {key: random_array(shape(size), kind, size, rng) for key, (shape, kind) in inputs.items()}
    mod = program(expression, arrays, size)
    vm, values = VirtualMachine(compile(mod)), list(arrays.values())
    results = vm.run(*values)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    source = np.zeros(sum(a.nbytes for a in values) + sum(np.asarray(r).nbytes for r in results), "int8")
    target = np.empty_like(source)
    jobs: dict[str, Job] = {"ms": lambda: vm.run(*values), "copy": lambda: np.copyto(target, source)}
    other = session(mod, arrays)
    if other is not None:
        jobs["onnxruntime"] = other
    if name in BY_HAND:
        by_hand = BY_HAND[name]
        np.testing.assert_allclose(np.asarray(by_hand(*values)), np.asarray(results[0]), rtol=1e-3, atol=1e-4)
        jobs["by hand"] = lambda: by_hand(*values)
    result: dict[str, float | str] = dict(zip(jobs, in_turns([*jobs.values()], 7), strict=True))
    rivals = {key: float(result[key]) for key in ("onnxruntime", "by hand") if key in result}
    if rivals:
        best = min(rivals, key=rivals.__getitem__)
        result |= {"times": (float(result["ms"]) + CALL_MS) / (rivals[best] + CALL_MS), "beside": best}
    result["copies"] = float(result["ms"]) / (float(result["copy"]) + CALL_MS)
    return result


def main(argv: list[str] | None = None) -> int:
    """Measure, print the table, write the record."""
    parser = argument_parser(__doc__, "operators")
    parser.add_argument("--only", default="", help="measure the operators with this word in their name")
    parser.add_argument("--sizes", default="16,64,256")
    options = parser.parse_args(argv)
    sizes = [int(size) for size in options.sizes.split(",")]
    print("operator".ljust(36) + "".join(f"ms at {n}".rjust(14) + "times" + "copies".rjust(9) for n in sizes))
    results: dict[str, Any] = {}
    for name in [case for case in CASES if options.only in case]:
        row = results[name] = {size: measure(name, size) for size in sizes}
        cells = ""
        for figures in row.values():
            times = f"{figures['times']:.1f}" if "times" in figures else ""
            cells += f"{figures['ms']:14.3f}{times:>5}{figures['copies']:9.0f}"
        worst = max([float(figures.get("times", 0.0)) for figures in row.values()])
        beside = next((figures["beside"] for figures in row.values() if "beside" in figures), "")
        print(name.ljust(36) + cells + f"  {beside}" + ("  MISSED" if worst > GOAL else ""), flush=True)
    write_record(options.json, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
