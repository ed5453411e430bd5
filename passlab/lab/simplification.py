"""`simplify`: an ONNX model, or a Relay program, made smaller, with every removal explained.

    small = lab.simplify("net.onnx", shape={"image": (1, 3, 224, 224)})
    print(small.text())             # what each pass removed, counts of nodes, and whether the values agree
    onnx.save(small.model(), "small.onnx")

The pipeline is an ordinary one: a removal is undone by switching its pass off (`disabled_pass=["FoldConstant"]`). What
reading the model computes already (shapes, constants) has a row of its own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.evaluate.samples import random_arguments
from passlab.frontend import from_onnx
from passlab.frontend.onnx.export.combining import RULES
from passlab.frontend.onnx.export.exporting import save_model, write_model
from passlab.instrument.events import Event
from passlab.instrument.statistics import count_module
from passlab.ir.module import IRModule
from passlab.lab.recording import Recording, record
from passlab.table import Table

READING = "from_onnx"
NORMALIZATIONS = ("nn.layer_norm", "nn.group_norm", "nn.instance_norm", "nn.l2_normalize")
FIRST = ("InferType", "DynamicToStatic", "FoldConstant")
BATCH_NORM = ("SimplifyInference", "FoldConstant", "FoldScaleAxis", "FoldConstant")
LAST = (
    "FoldExplicitPadding",
    "SimplifyExpr",
    "FoldConstant",
    "EliminateCommonSubexpr",
    "DeadCodeElimination",
    "InferType",
)


@dataclass(frozen=True)
class Simplification:
    """A program before and after, and what each pass removed."""

    recording: Recording
    nodes_before: int
    nodes_after: int
    agreement: str
    left_out: tuple[str, ...] = ()
    combined: Mapping[str, int] = field(default_factory=dict)
    by_reading: tuple[str, str] = ("", "")  # what the reading of an ONNX model removed, and what it added
    not_written: str = (
        ""  # why ONNX cannot say the program that is left; nodes are then those of Relay, before and after
    )

    @property
    def module(self) -> IRModule:
        """The program that is left."""
        return self.recording.output

    def model(self) -> Any:
        """Return the program that is left as an `onnx.ModelProto`. Raises `ModelError` for what ONNX cannot say."""
        return write_model(self.module, left_out=self.left_out)[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file; one of more than 2 GB keeps its weights in a file beside it."""
        save_model(self.model(), Path(path))

    def table(self) -> Table:
        """Return a row for each pass that changed something: its step and name, operators fewer and more.

        The first row is that of reading the model, in operators of ONNX: shapes and constants are computed there.
        """
        rows = ((event.id, event.name, *_difference(event)) for event in self.recording)
        changed = [row for row in rows if row[2] or row[3]]
        written = [("", name, f"{count} times", "") for name, count in self.combined.items()]
        read = [("", READING, *self.by_reading)] if any(self.by_reading) else []
        return Table(("step", "pass", "removed", "added"), read + changed + written)

    def text(self) -> str:
        """Return the table, the counts of nodes, and how the values compare."""
        counts = f"{self.nodes_before} nodes before, {self.nodes_after} after"
        if self.not_written:
            counts += f", as operators of Relay: no model can be written\n{self.not_written}"
        return f"{self.table()}\n{counts}\n{self.agreement}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """IPython shows the table as the value of a cell."""
        printer.text(self.text())

    def __repr__(self) -> str:
        return f"Simplification({self.nodes_before} -> {self.nodes_after} nodes)"


def simplify(
    model: Any,
    shape: Mapping[str, Sequence[int]] | None = None,
    disabled_pass: Sequence[str] = (),
    seed: int = 0,
) -> Simplification:
    """Return a model made smaller: constants folded, shapes inferred, batch norms, pads and duplicates removed.

    `model` is what `from_onnx` takes, or a module; `shape` fixes shapes of inputs by name. Before and after are run on
    the same random inputs, made from `seed`. Raises what `from_onnx` raises, and what a pass does.
    """
    is_model = not isinstance(model, IRModule)
    mod = from_onnx(model, shape, convert_config={"use_nt_batch_matmul": False})[0] if is_model else model
    left_out = tuple(name for name in disabled_pass if name in RULES)
    disabled = [name for name in disabled_pass if name not in RULES]
    recording = record(mod, _pipeline(mod), opt_level=4, disabled_pass=disabled)
    if recording.error is not None:
        raise recording.error
    small, after, combined, not_written = _export(recording.output, left_out)
    operators = _operators(_graph_of(model)) if is_model else Counter[str]()
    before = operators.total() if is_model and not not_written else _count(mod)
    agreement = _agreement(mod, small, seed)
    by_reading = _by_reading(operators, mod) if is_model else ("", "")
    return Simplification(recording, before, after, agreement, left_out, combined, by_reading, not_written)


def _pipeline(mod: IRModule) -> str:
    """Return the pipeline for a program.

    Batch norms go into the convolutions before them as arithmetic. The pass that writes them so takes other
    normalizations apart, too, which ONNX has operators for; a program that has those keeps its batch norms.
    """
    counts = count_module(mod)[1]
    middle = () if any(counts[name] for name in NORMALIZATIONS) else BATCH_NORM
    return ", ".join((*FIRST, *middle, *LAST))


def _difference(event: Event) -> tuple[str, str]:
    """Return which operators a pass removed and added, with how many of each."""
    before, after = (count_module(mod)[1] for mod in (event.before, event.after))
    return _as_list(before - after), _as_list(after - before)


def _as_list(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _count(mod: IRModule) -> int:
    return sum(count_module(mod)[1].values())


def _export(mod: IRModule, left_out: Sequence[str]) -> tuple[IRModule, int, Mapping[str, int], str]:
    """Return the program that the model of a program is read as, its nodes, the rules that combined some, and "".

    Of a program that ONNX cannot say, they are itself, its calls of operators, none, and the reason.
    """
    try:
        model, combined = write_model(mod, left_out=left_out)
        return from_onnx(model)[0], nodes_of(model.graph), combined, ""
    except PasslabError as error:
        return mod, _count(mod), {}, error.diagnostics[0].message


def _graph_of(model: Any) -> int:
    """Return the graph of a model: a file's, that of bytes, or its own."""
    import onnx

    if isinstance(model, (str, os.PathLike)):
        model = Path(model).read_bytes()
    return (onnx.load_from_string(bytes(model)) if isinstance(model, (bytes, bytearray)) else model).graph


def _by_reading(before: Counter[str], mod: IRModule) -> tuple[str, str]:
    """Return which operators a model has lost by being read, and which it has got; nothing for what is not written."""
    try:
        written, _ = write_model(mod, left_out=tuple(RULES))
    except PasslabError:
        return "", ""
    after = _operators(written.graph)
    return _as_list(before - after), _as_list(after - before)


def _operators(graph: Any) -> Counter[str]:
    """Return how often each operator is in a graph and in the graphs inside it; constants are none."""
    counts, stack = Counter[str](), [graph]
    while stack:
        for node in stack.pop().node:
            counts[node.op_type] += node.op_type != "Constant"
            stack += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return +counts


def nodes_of(graph: Any) -> int:
    """Return the number of nodes of a graph and of the graphs inside it; constants are no nodes."""
    return _operators(graph).total()


def _agreement(before: IRModule, after: IRModule, seed: int) -> str:
    """Return a sentence on how two programs compare on the same random inputs."""
    try:
        arguments = random_arguments(before["main"], seed, "give the shapes of inputs")
        results = [Evaluator(mod).run(mod.get_global_var("main"), arguments) for mod in (before, after)]
    except PasslabError as error:
        return f"values not compared: {error.diagnostics[0].message}"
    worst = max((_distance(a, b) for a, b in zip(*map(_leaves, results), strict=True)), default=0.0)
    return f"values agree: the largest difference is {worst:.1e}" if worst < 1e-2 else f"values DIFFER by {worst:.1e}"


def _leaves(value: Any) -> list[Any]:
    """Return the arrays of a result, a tuple at any depth."""
    leaves, stack = [], [value]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack += part
        else:
            leaves.append(np.asarray(part))
    return leaves


def _distance(a: Any, b: Any) -> float:
    """Return the largest difference of two arrays, relative to the largest number in them."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    a, b = a.astype("float64"), b.astype("float64")
    both = np.isfinite(a) & np.isfinite(b)
    if (np.isnan(a) != np.isnan(b)).any() or not both.any():
        return float("inf") if not np.array_equal(a, b, equal_nan=True) else 0.0
    return float(np.abs(a[both] - b[both]).max() / max(1.0, np.abs(a[both]).max()))
