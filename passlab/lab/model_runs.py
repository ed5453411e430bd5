"""Two ONNX models run on the same inputs: do they give the same values, for several sizes of what is open?

Inputs are drawn by the declared types: floats around 0, small integers. Open sizes are drawn several times, 0 and 1
among them; a draw that the first model refuses (an image smaller than its window) does not count. Models run in
onnxruntime, or, where that is not installed, in passlab's evaluator.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.frontend import from_onnx
from passlab.frontend.onnx.export.exporting import PROTOBUF_LIMIT, save_model
from passlab.frontend.onnx.importing import graph_inputs
from passlab.frontend.onnx.origin import size_name
from passlab.frontend.onnx.tensors import dtype_of
from passlab.op.dtypes import Array, array_dtype

FIRST_SIZES = ("several", 1, 0, 7)  # of open dimensions; "several": a different one for each, from 2 on
# Tried only while no draw has worked.
OTHER_SIZES = (2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 32, 64, 96, 160, 224, 320, 512, 640, 1024, 4096, 16000)
INTEGERS = (10, 2, 1)  # integers are drawn below this number; the next one is tried where the model refuses them
MOST_BYTES = 2**28  # of the inputs of one draw
SECONDS = 10.0  # after which no further sizes are drawn
LONGEST_RUN = 60.0  # seconds after which a run is ended: a loop may go on for ever where inputs are 0 or absent
AGREE = 1e-2  # the largest difference, relative to the largest number of a result
# What ends the process in onnxruntime: inputs without elements, and lengths of frames that are 0.
WITHOUT_ELEMENTS = ("Attention", "Einsum", "GRU", "LSTM", "RNN", "STFT", "Scan")
WITH_ZEROS = ("STFT",)
FATAL = 4  # the level of onnxruntime's log: it prints nothing, since errors are raised
Run = Callable[[Mapping[str, Array]], list[Any]]


@dataclass(frozen=True)
class Agreement:
    """How the values of two models compare.

    `is_right` is None where nothing could be compared; `runs` says whether the second model can be run at all, None
    if it is not known. `text` is a sentence.
    """

    is_right: bool | None
    runs: bool | None
    text: str


class Runs:
    """A model, and what it computes for inputs drawn from a seed; the results are kept for each model compared to it.

    `why` says why the model cannot be run, "" where it can.
    """

    def __init__(self, model: Any, seed: int = 0) -> None:
        self.model = model
        self.why = ""
        self._seed = seed
        self._results: list[tuple[str, dict[str, Array], list[Any]]] | None = None
        try:
            self._run: Run | None = runner(model)
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no common class
            self._run, self.why = None, _first_line(error)

    def compare(self, other: Any) -> Agreement:
        """Return how the values of another model compare with the values of this one."""
        if self._run is None:
            return Agreement(None, None, f"values not compared: the model itself does not run: {self.why}")
        try:
            run = runner(other)
        except Exception as error:  # noqa: BLE001 - the same
            return Agreement(False, False, f"the result does not run: {_first_line(error)}")
        worst, sizes = 0.0, []
        for size, inputs, expected in self._expected():
            try:
                results = (runner(other, is_empty=True) if size == "0" else run)(inputs)
            except Exception as error:  # noqa: BLE001 - the same
                return Agreement(False, True, f"the result does not run for sizes of {size}: {_first_line(error)}")
            leaves, own = tensors_of(expected), tensors_of(results)
            pairs = zip(leaves, own, strict=True) if len(leaves) == len(own) else [(np.zeros(1), None)]
            worst = max([worst, *(relative_distance(a, b) for a, b in pairs)])
            sizes.append(size)
        if not sizes:
            return Agreement(None, True, f"values not compared: no inputs that the model takes were found: {self.why}")
        drawn = [size for size in sizes if size]
        where = f" for {len(drawn)} draws of the open sizes ({', '.join(drawn)})" if drawn else ""
        if worst < AGREE:
            return Agreement(True, True, f"values agree{where}: the largest difference is {worst:.1e}")
        return Agreement(False, True, f"values DIFFER{where} by {worst:.1e}")

    def _expected(self) -> list[tuple[str, dict[str, Array], list[Any]]]:
        """Return for each draw its sizes, its inputs, and the results of this model."""
        if self._results is None:
            self._results = list(self._draws())
        return self._results

    def _draws(self) -> Iterator[tuple[str, dict[str, Array], list[Any]]]:
        assert self._run is not None
        values = graph_inputs(self.model.graph)
        is_open = any(_size(dim) is None for v in values for dim in v.type.tensor_type.shape.dim)
        zeros_end_it = _ends_the_process(self.model.graph, WITH_ZEROS)
        start, found = time.perf_counter(), 0
        for size in (*FIRST_SIZES, *OTHER_SIZES) if is_open else ("",):
            if size == 0 and _ends_the_process(self.model.graph, WITHOUT_ELEMENTS):
                continue
            if (found and size in OTHER_SIZES) or time.perf_counter() - start > SECONDS:
                return
            for below in INTEGERS:
                try:
                    inputs = draw(values, size, below, self._seed)
                    if zeros_end_it:
                        inputs = {n: np.maximum(a, 1) if a.dtype.kind in "iu" else a for n, a in inputs.items()}
                    run = runner(self.model, is_empty=True) if size == 0 else self._run
                    results = run(inputs)
                except Exception as error:  # noqa: BLE001 - the model refuses these inputs, in errors of any class
                    self.why = _first_line(error)
                    if time.perf_counter() - start > SECONDS:
                        return
                    continue
                found += size not in (0, 1)
                yield str(size), inputs, results
                break


def _ends_the_process(graph: Any, operators: tuple[str, ...]) -> bool:
    """Whether a graph has one of these operators, for which onnxruntime ends the process instead of raising an error.

    An operator of another domain, which may be a function of the model, may be one of them.
    """
    graphs = [graph]
    while graphs:
        nodes = graphs.pop().node
        graphs += [attribute.g for node in nodes for attribute in node.attribute if attribute.HasField("g")]
        if any(node.domain or node.op_type in operators for node in nodes):
            return True
    return False


def draw(values: list[Any], size: Any, below: int, seed: int) -> dict[str, Array]:
    """Return inputs by name; open sizes are `size`, or "several". Raises `ValueError` for what cannot be drawn."""
    sizes: dict[str, int] = {}
    total, inputs = 0, {}
    for at, value in enumerate(values):
        if value.type.WhichOneof("value") != "tensor_type" or not value.type.tensor_type.HasField("shape"):
            raise ValueError(f"the input {value.name} is not a tensor of known rank")
        shape = []
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            name = size_name(dim) or f"{value.name}/{axis}"
            drawn = 2 + len(sizes) % 5 if size == "several" else size
            known = _size(dim)
            shape.append(sizes.setdefault(name, drawn) if known is None else known)
        dtype = dtype_of(value.type.tensor_type.elem_type)
        total += int(np.prod(shape, dtype="float64")) * 8
        if total > MOST_BYTES:
            raise ValueError("inputs of these sizes are too large")
        inputs[value.name] = _random(tuple(shape), dtype, below, np.random.default_rng((seed, at)))
    return inputs


def _size(dim: Any) -> int | None:
    """Return a known size, None for an open one."""
    return int(dim.dim_value) if dim.HasField("dim_value") and dim.dim_value >= 0 else None


def _random(shape: tuple[int, ...], dtype: str, below: int, rng: np.random.Generator) -> Array:
    """Return an array, also of no axes, for which NumPy's generators have numbers, that onnxruntime does not take."""
    numbers: Any = rng.random(shape) - 0.5
    if dtype == "bool":
        numbers = numbers < 0
    elif "int" in dtype:
        numbers = rng.integers(0, below, shape) if below > 1 else np.ones(shape)
    return np.asarray(numbers).astype(array_dtype(dtype))


# ---------------------------------------------------------------- running
def runner(model: Any, is_empty: bool = False) -> Run:
    """Return a function that runs a model in onnxruntime, or in passlab's evaluator where that is not installed.

    For inputs without elements (`is_empty`) no operators are fused: a fused product of those ends the process. Raises
    what onnxruntime raises for a model that it cannot run, of no common class, or a `PasslabError`.
    """
    try:
        import onnxruntime as runtime
    except ImportError:
        return _evaluator(model)
    options = runtime.SessionOptions()
    options.log_severity_level = FATAL
    if is_empty:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    if model.ByteSize() <= PROTOBUF_LIMIT:
        session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    else:
        with tempfile.TemporaryDirectory() as folder:
            save_model(model, Path(folder) / "model.onnx")
            path = str(Path(folder) / "model.onnx")
            session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(inputs: Mapping[str, Array]) -> list[Any]:
        settings = runtime.RunOptions()
        settings.log_severity_level = FATAL
        timer = threading.Timer(LONGEST_RUN, setattr, (settings, "terminate", True))
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # a browser has no threads: there a run takes as long as it takes
            return list(session.run(None, dict(inputs), settings))
        try:
            return list(session.run(None, dict(inputs), settings))
        finally:
            timer.cancel()

    return run


def _evaluator(model: Any) -> Run:
    mod = from_onnx(model)[0]
    evaluator, main = Evaluator(mod), mod.get_global_var("main")
    names = [value.name for value in graph_inputs(model.graph)]
    return lambda inputs: list(map(np.asarray, tensors_of([evaluator.run(main, [inputs[name] for name in names])])))


def tensors_of(results: Sequence[Any]) -> list[Any]:
    """Return the tensors in results that may be sequences, or the keys and the values of maps, in order."""
    leaves, stack = [], list(results[::-1])
    while stack:
        part = stack.pop()
        if isinstance(part, (list, tuple)):
            stack += part[::-1]
        elif isinstance(part, dict):
            leaves += [np.array(list(part)), np.array(list(part.values()))]
        else:
            leaves.append(part)
    return leaves


def relative_distance(a: Any, b: Any) -> float:
    """Return the largest difference of two arrays, relative to the largest number in them."""
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return 0.0 if repr(a) == repr(b) else float("inf")
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.dtype.kind in "OSU":
        return 0.0 if np.array_equal(a, b) else float("inf")
    a, b = a.astype("float64"), b.astype("float64")
    both = np.isfinite(a) & np.isfinite(b)
    if (np.isnan(a) != np.isnan(b)).any() or not both.any():
        return float("inf") if not np.array_equal(a, b, equal_nan=True) else 0.0
    return float(np.abs(a[both] - b[both]).max() / max(1.0, np.abs(a[both]).max()))


def _first_line(error: Exception) -> str:
    if isinstance(error, PasslabError):
        return error.diagnostics[0].message
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
