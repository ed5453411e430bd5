"""`simplify`: an ONNX model, or a Relay program, made smaller, with every removal explained.

    small = lab.simplify("net.onnx", shape={"image": (1, 3, 224, 224)})
    print(small.text())             # what each pass removed, counts of nodes, and whether the values agree
    onnx.save(small.model(), "small.onnx")

The pipeline is an ordinary one: `disabled_pass=["FoldConstant"]` undoes the removals of that pass. The import of the
model, which computes shapes and constants already, has a row of its own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.evaluate.samples import random_arguments
from passlab.frontend import from_onnx
from passlab.frontend.onnx.export.combining import RULES
from passlab.frontend.onnx.export.exporting import save_model, write_model
from passlab.instrument.events import Event
from passlab.instrument.statistics import count_module
from passlab.ir.module import IRModule
from passlab.lab.recordings.recording import Recording, record
from passlab.table import Table

READING = "from_onnx"
NORMALIZATIONS = ("nn.layer_norm", "nn.group_norm", "nn.instance_norm", "nn.l2_normalize")
FIRST = "InferType, DynamicToStatic, FoldConstant, "  # static shapes first: folding needs them
BATCH_NORM = "SimplifyInference, FoldConstant, FoldScaleAxis, FoldConstant, "
LAST = "FoldExplicitPadding, SimplifyExpr, FoldConstant, EliminateCommonSubexpr, DeadCodeElimination, InferType"


@dataclass(frozen=True)
class Simplification:
    """A program before and after, and what each pass removed."""

    recording: Recording
    nodes_before: int
    nodes_after: int
    agreement: str
    left_out: tuple[str, ...] = ()
    combined: Mapping[str, int] = field(default_factory=dict)
    by_reading: tuple[str, str] = ("", "")  # operators that importing an ONNX model removed, and added
    not_written: str = ""  # why ONNX cannot express the result; the counts of nodes are then those of Relay

    @property
    def module(self) -> IRModule:
        """The simplified program."""
        return self.recording.output

    def model(self) -> Any:
        """Return the simplified program as an `onnx.ModelProto`. Raises `ModelError` where ONNX cannot express it."""
        return write_model(self.module, skipped_rules=self.left_out)[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file; one of more than 2 GB keeps its weights in a file beside it."""
        save_model(self.model(), Path(path))

    def table(self) -> Table:
        """Return a row for each pass that changed something: its step and name, operators fewer and more.

        The first row is the import of the model, in operators of ONNX: it computes shapes and constants.
        """
        rows = ((event.id, event.name, *_operator_changes(event)) for event in self.recording)
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


@checked
def simplify(
    model: Any,
    shape: Mapping[str, Sequence[int]] | None = None,
    disabled_pass: Sequence[str] = (),
    seed: int = 0,
) -> Simplification:
    """Return a simplified model: constants folded, shapes inferred, batch norms, pads and duplicates removed.

    `model` is what `from_onnx` takes, or a module; `shape` fixes shapes of inputs by name. Both programs
    run on the same random inputs, drawn from `seed`. Raises the errors of `from_onnx` and of passes.
    """
    is_model = not isinstance(model, IRModule)
    # Without the option, importing would add a transposition to each product.
    mod = from_onnx(model, shape, convert_config={"use_nt_batch_matmul": False})[0] if is_model else model
    left_out = tuple(name for name in disabled_pass if name in RULES)
    disabled = [name for name in disabled_pass if name not in RULES]
    recording = record(mod, _pipeline(mod), opt_level=4, disabled_pass=disabled)
    if recording.error is not None:
        raise recording.error
    small, after, combined, not_written = _round_trip(recording.output, left_out)
    operators = _operator_counts(_graph_of(model)) if is_model else Counter[str]()
    before = operators.total() if is_model and not not_written else _call_count(mod)
    agreement = _agreement(mod, small, seed)
    by_reading = _changes_by_import(operators, mod) if is_model else ("", "")
    return Simplification(recording, before, after, agreement, left_out, combined, by_reading, not_written)


def _pipeline(mod: IRModule) -> str:
    """Return the pipeline for a program.

    Batch norms are folded into the convolutions before them as arithmetic. The pass that makes them arithmetic also
    expands other normalizations, for which ONNX has operators; a program with such normalizations keeps its batch
    norms.
    """
    counts = count_module(mod)[1]
    return FIRST + ("" if any(counts[name] for name in NORMALIZATIONS) else BATCH_NORM) + LAST


def _operator_changes(event: Event) -> tuple[str, str]:
    """Return which operators a pass removed and added, with how many of each."""
    before, after = (count_module(mod)[1] for mod in (event.before, event.after))
    return _counts_text(before - after), _counts_text(after - before)


def _counts_text(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _call_count(mod: IRModule) -> int:
    return sum(count_module(mod)[1].values())


def _round_trip(mod: IRModule, left_out: Sequence[str]) -> tuple[IRModule, int, Mapping[str, int], str]:
    """Return a program after export to ONNX and import, the nodes of the model, the rules that combined nodes, and "".

    For a program that ONNX cannot express: the program, its calls of operators, no rules, and the reason.
    """
    try:
        model, combined = write_model(mod, skipped_rules=left_out)
        return from_onnx(model)[0], nodes_of(model.graph), combined, ""
    except PasslabError as error:
        return mod, _call_count(mod), {}, error.diagnostics[0].message


def _graph_of(model: Any) -> int:
    """Return the graph of a model, which is a path, bytes, or an `onnx.ModelProto`."""
    import onnx

    if isinstance(model, (str, os.PathLike)):
        model = Path(model).read_bytes()
    return (onnx.load_from_string(bytes(model)) if isinstance(model, (bytes, bytearray)) else model).graph


def _changes_by_import(before: Counter[str], mod: IRModule) -> tuple[str, str]:
    """Return the operators that importing a model removed and added; nothing where the program cannot be exported."""
    try:
        written, _ = write_model(mod, skipped_rules=tuple(RULES))
    except PasslabError:
        return "", ""
    after = _operator_counts(written.graph)
    return _counts_text(before - after), _counts_text(after - before)


def _operator_counts(graph: Any) -> Counter[str]:
    """Return how often each operator is in a graph and in the graphs inside it; constants do not count."""
    counts, stack = Counter[str](), [graph]
    while stack:
        for node in stack.pop().node:
            counts[node.op_type] += node.op_type != "Constant"
            stack += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return +counts  # the unary plus drops counts of 0


def nodes_of(graph: Any) -> int:
    """Return the number of nodes of a graph and of the graphs inside it; constants do not count."""
    return _operator_counts(graph).total()


def _agreement(before: IRModule, after: IRModule, seed: int) -> str:
    """Return a sentence on how the values of two programs compare on the same random inputs."""
    try:
        arguments = random_arguments(before["main"], seed, "give the shapes of inputs")
        results = [Evaluator(mod).run(mod.get_global_var("main"), arguments) for mod in (before, after)]
    except PasslabError as error:
        return f"values not compared: {error.diagnostics[0].message}"
    worst = max((_relative_distance(a, b) for a, b in zip(*map(_arrays_of, results), strict=True)), default=0.0)
    return f"values agree: the largest difference is {worst:.1e}" if worst < 1e-2 else f"values DIFFER by {worst:.1e}"


def _arrays_of(value: Any) -> list[Any]:
    """Return the arrays in a result, which may be nested tuples."""
    leaves, stack = [], [value]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack += part
        else:  # the order is reversed, in both programs alike
            leaves.append(np.asarray(part))
    return leaves


def _relative_distance(a: Any, b: Any) -> float:
    """Return the largest difference of two arrays, relative to the largest number in them."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    a, b = a.astype("float64"), b.astype("float64")
    both = np.isfinite(a) & np.isfinite(b)
    if (np.isnan(a) != np.isnan(b)).any() or not both.any():
        return float("inf") if not np.array_equal(a, b, equal_nan=True) else 0.0
    return float(np.abs(a[both] - b[both]).max() / max(1.0, np.abs(a[both]).max()))
