"""`simplify`: an ONNX model, or a Relay program, made smaller, with every removal explained.

    small = lab.simplify("net.onnx", shape={"image": (1, 3, 224, 224)})
    print(small.text())             # what each pass removed, counts of nodes, and whether the values agree
    small.save("small.onnx")

A model is made smaller in two ways, and the better result is taken:

    as it is    node by node (`frontend.onnx.simplify`): what no step improves keeps its node, its name and its opset
    by Relay    imported, run through a pipeline of passes, exported

`disabled_pass=["FoldConstant"]` leaves out what that pass removes. A result whose values differ, or which does not run
where the model does, is not taken; what is left in the worst case is the model itself.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from passlab.arguments import checked
from passlab.atomic_file import checked_path, make_folder
from passlab.errors import Diagnostic, ModelError, PassError, PasslabError, did_you_mean
from passlab.frontend import from_onnx
from passlab.frontend.onnx.export.combining import RULES
from passlab.frontend.onnx.export.exporting import OPSETS, save_model, write_model
from passlab.frontend.onnx.importing import load_model, opsets_of
from passlab.frontend.onnx.simplify.ends import with_ends, without_ends
from passlab.frontend.onnx.simplify.facts import is_written_out
from passlab.frontend.onnx.simplify.fixing import fixed
from passlab.frontend.onnx.simplify.graph import operator_counts
from passlab.frontend.onnx.simplify.node_by_node import LIMIT, simplify_nodes, steps
from passlab.instrument.events import Event
from passlab.instrument.statistics import count_module
from passlab.ir.expr import Constant
from passlab.ir.module import IRModule
from passlab.ir.walk import post_order
from passlab.lab.model_runs import Agreement, Runs
from passlab.lab.recordings.recording import Recording, record
from passlab.table import Table

READING = "from_onnx"
SCALES = "FoldScaleAxis"
NORMALIZATIONS = ("nn.layer_norm", "nn.group_norm", "nn.instance_norm", "nn.l2_normalize")
FIRST = "InferType, DynamicToStatic, FoldConstant, "  # static shapes first: folding needs them
BATCH_NORM = "SimplifyInference, FoldConstant, FoldScaleAxis, FoldConstant, "
LAST = "FoldExplicitPadding, SimplifyExpr, FoldConstant, EliminateCommonSubexpr, DeadCodeElimination, InferType"
PASSES = {name.strip() for name in f"{FIRST}{BATCH_NORM}{LAST}".split(",")}
OPSET = 21  # that a model made by Relay has at least: older ones lack operators such as Gelu
Row = tuple[Any, str, str, str]


@checked
@dataclass(frozen=True)
class Simplification:
    """A model before and after, what each pass removed, and how the values compare.

    `recording` belongs to Relay's pipeline, None where the model was made smaller without it.
    """

    before: Any
    after: Any
    nodes_before: int
    nodes_after: int
    compared: Agreement
    rows: tuple[Row, ...] = ()
    recording: Recording | None = None
    not_written: str = ""  # why ONNX cannot express the result; the counts of nodes are then those of Relay
    left: str = ""  # why a smaller result was not taken

    @property
    def agreement(self) -> str:
        """A sentence on how the values of the two models compare."""
        return self.compared.text

    @cached_property
    def module(self) -> IRModule:
        """The result as a program of Relay. Raises `ModelError` where it has operators that Relay does not have."""
        if self.after is None:
            assert self.recording is not None
            return self.recording.output
        return from_onnx(self.after, convert_config={"use_nt_batch_matmul": False})[0]

    def model(self) -> Any:
        """Return the result as an `onnx.ModelProto`. Raises `ModelError` where ONNX cannot express it."""
        if self.after is None:
            write_model(self.module)  # raises the reasons
            raise ModelError(Diagnostic(self.not_written))
        return self.after

    def save(self, path: str | os.PathLike[str], unchecked: bool = False) -> None:
        """Write the model to a file; one of more than 2 GB keeps its weights in a file next to it.

        Raises `ModelError`, and writes nothing, for a result that could not be run, unless `unchecked` is set.
        """
        model = self.model()
        if self.compared.runs is not True and not unchecked:
            hint = "write it all the same: `save(path, unchecked=True)`, in a shell `--unchecked`"
            raise ModelError(
                Diagnostic(f"the result is not written, since it was not run: {self.agreement}", hint=hint)
            )
        save_model(model, checked_path(path))

    def table(self) -> Table:
        """Return a row for each pass that changed something: its step and name, operators fewer and more.

        Operators are ONNX's where the model was changed as it is, and Relay's for passes of Relay, which have a step.
        """
        return Table(("step", "pass", "removed", "added"), self.rows)

    def text(self) -> str:
        """Return the table, the counts of nodes, and how the values compare."""
        counts = f"{self.nodes_before} nodes before, {self.nodes_after} after"
        if self.not_written:
            counts += f", as operators of Relay: no model can be written\n{self.not_written}"
        return "\n".join([str(self.table()), counts, self.agreement, *([self.left] if self.left else [])])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """IPython shows the table as the value of a cell."""
        printer.text(self.text())

    def __repr__(self) -> str:
        return f"Simplification({self.nodes_before} -> {self.nodes_after} nodes)"


@dataclass(frozen=True)
class _Candidate:
    """A smaller model, the rows that explain it, and the recording of the pipeline that made it."""

    model: Any
    rows: tuple[Row, ...]
    recording: Recording | None = None

    @property
    def nodes(self) -> int:
        return nodes_of(self.model.graph)


@checked
def simplify(
    model: Any,
    shape: Mapping[str, Any] | None = None,
    disabled_pass: Sequence[str] = (),
    seed: int = 0,
    values: Mapping[str, Any] | None = None,
    fold_limit: int = LIMIT,
) -> Simplification:
    """Return a smaller model: constants folded, shapes inferred, batch norms, pads and duplicates removed.

    `model` is what `from_onnx` takes, or a module; `shape` and `values` fix inputs and sizes by name, as there. Both
    models run on the same inputs, drawn from `seed`, with several sizes of what is open. Folding one node adds at most
    `fold_limit` bytes of weights. All names of the model stay. Raises the errors of `from_onnx` and of passes, and
    `PassError` for a step to disable that it does not have, and for a shape or value of a module.

    >>> model = frontend.to_onnx(passlab.parse("def @main(%x: float32) { %x + (1f + 2f) }"))
    >>> simpler = lab.simplify(model)
    >>> simpler.nodes_before, simpler.nodes_after
    (2, 1)
    """
    names = sorted({READING, *RULES, *steps(LIMIT), *PASSES})
    for name in disabled_pass:
        if name not in names:
            hint = did_you_mean(name, names) or f"its steps are {', '.join(names)}"
            raise PassError(Diagnostic(f"`simplify` has no step `{name}`", hint=hint))
    if isinstance(model, IRModule):
        if shape or values:
            problem = Diagnostic(
                "`shape` and `values` fix inputs of an ONNX model, and this is a program",
                found=", ".join([*(shape or ()), *(values or ())]),
                hint="a program has its shapes in the types of its parameters",
            )
            raise PassError(problem)
        return _of_module(model, disabled_pass, seed, fold_limit)
    proto, external = load_model(model)
    start = fixed(proto, shape or {}, values or {}, external)
    smaller = simplify_nodes(start, disabled_pass, fold_limit)
    own = _Candidate(smaller.model, _rows_of(smaller.changes))
    candidates = [own]
    first = own
    if SCALES in smaller.changes:
        # Relay finds a GELU while its factor is not yet part of a weight.
        smaller = simplify_nodes(start, [*disabled_pass, SCALES], fold_limit)
        first = _Candidate(smaller.model, _rows_of(smaller.changes))
    others = [_by_relay(first, disabled_pass, fold_limit)]
    if first is not own and any(node.op_type == "Erf" for node in first.model.graph.node):
        others.append(_by_relay(first, disabled_pass, fold_limit, (SCALES,)))
    candidates += [other for other in others if other is not None and other.nodes < own.nodes]
    candidates.sort(key=lambda candidate: candidate.nodes)  # stable: the model as it is comes first among equals
    runs = Runs(start, seed)
    left = ""
    for candidate in candidates:
        compared = runs.compare(candidate.model)
        if compared.is_right is not False:
            return _result(start, candidate, compared, left)
        left = left or f"a result of {candidate.nodes} nodes was not taken: {compared.text}"
    kept = _Candidate(start, ())
    return _result(start, kept, runs.compare(start), left)


def simplify_folder(folder: Path, out: Path | None, unchecked: bool = False, **settings: Any) -> tuple[Table, int]:
    """Simplify each ONNX model of a folder; return a row for each, and how many were not shown to be right.

    With `out`, results are written there under the same names. Raises `PassError` for a folder without models.
    """
    if out is not None and out.suffix.lower() == ".onnx":
        raise PassError(Diagnostic("the results of a folder are written to a folder", found=str(out)))
    paths = sorted(path for path in folder.rglob("*.onnx") if path.is_file())
    if not paths:
        raise PassError(Diagnostic(f"the folder {folder} has no ONNX models (*.onnx)"))
    rows: list[tuple[Any, ...]] = []
    failed = 0
    for path in paths:
        name = path.relative_to(folder)
        try:
            small = simplify(path, **settings)
            if out is not None:
                make_folder((out / name).parent)
                small.save(out / name, unchecked)
            failed += not small.compared.is_right
            rows.append((name, small.nodes_before, small.nodes_after, small.agreement))
        except PasslabError as error:
            failed += 1
            rows.append((name, "", "", f"error: {error.diagnostics[0].message}"))
    return Table(("model", "nodes_before", "nodes", "values"), rows), failed


def _result(before: Any, candidate: _Candidate, compared: Agreement, left: str) -> Simplification:
    nodes = nodes_of(before.graph)
    return Simplification(
        before, candidate.model, nodes, candidate.nodes, compared, candidate.rows, candidate.recording, left=left
    )


def _by_relay(
    own: _Candidate, disabled_pass: Sequence[str], fold_limit: int, later: Sequence[str] = ()
) -> _Candidate | None:
    """Return the model after passes of Relay, None where that does not work or writes larger weights.

    `later` names passes that only `simplify_nodes` does, on the result, where operators are already combined.
    """
    if READING in disabled_pass or any(map(is_written_out, own.model.graph.node)):
        return None
    opset = min(max(opsets_of(own.model)[""], OPSET), OPSETS.stop - 1)
    try:
        body, ends = without_ends(own.model)
        # Without the option, importing would add a transposition to each product.
        mod = from_onnx(body, convert_config={"use_nt_batch_matmul": False})[0]
        left_out = _passes_only([*disabled_pass, *later])
        recording = record(mod, _pipeline(mod), opt_level=4, disabled_pass=left_out)
        most = own.model.ByteSize() + fold_limit  # passes and the importer fold without a limit
        if recording.error is not None or _weight_bytes(recording.output) > most:
            return None
        read = operator_counts(write_model(mod, opset_version=opset, skipped_rules=tuple(RULES))[0].graph.node)
        written, combined = write_model(recording.output, opset_version=opset, skipped_rules=_rules(disabled_pass))
        if not with_ends(written, own.model, ends):
            return None
    except PasslabError:
        return None
    smaller = simplify_nodes(written, disabled_pass, fold_limit)
    first = operator_counts(body.graph.node)
    reading = {READING: (first - read, read - first)} if first != read else {}
    rows = (*own.rows, *_rows_of(reading), *_rows_of_passes(recording), *_rows_of_rules(combined))
    rows = (*rows, *_rows_of(smaller.changes))
    result = _Candidate(smaller.model, rows, recording)
    return result if result.model.ByteSize() <= most else None


def _weight_bytes(mod: IRModule) -> int:
    """Return the bytes of the constants of a program, each array counted once."""
    nodes = (node for function in mod.functions.values() for node in post_order(function))
    return sum({id(node.data): node.data.nbytes for node in nodes if isinstance(node, Constant)}.values())


def _of_module(mod: IRModule, disabled_pass: Sequence[str], seed: int, fold_limit: int) -> Simplification:
    """Return a program of Relay simplified, as a model where ONNX can express it."""
    recording = record(mod, _pipeline(mod), opt_level=4, disabled_pass=_passes_only(disabled_pass))
    if recording.error is not None:
        raise recording.error
    rows = _rows_of_passes(recording)
    try:
        start = write_model(mod, skipped_rules=tuple(RULES))[0]
        written, combined = write_model(recording.output, skipped_rules=_rules(disabled_pass))
    except PasslabError as error:
        before, after = (sum(count_module(program)[1].values()) for program in (mod, recording.output))
        why = error.diagnostics[0].message
        compared = Agreement(None, None, "values not compared: only models are")
        return Simplification(None, None, before, after, compared, rows, recording, why)
    smaller = simplify_nodes(written, disabled_pass, fold_limit)
    rows = (*rows, *_rows_of_rules(combined), *_rows_of(smaller.changes))
    compared = Runs(start, seed).compare(smaller.model)
    counts = nodes_of(start.graph), nodes_of(smaller.model.graph)
    return Simplification(start, smaller.model, *counts, compared, rows, recording)


# ---------------------------------------------------------------- what each pass did
def _passes_only(names: Sequence[str]) -> list[str]:
    """Return the names that are passes of Relay; the other ones are steps on models."""
    others = {READING, *RULES, *(name for name in steps(LIMIT) if name not in PASSES)}
    # One pass has a space before its name in Relay.
    return [f" {name}" if name == "FoldExplicitPadding" else name for name in names if name not in others]


def _rules(names: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in RULES)


def _pipeline(mod: IRModule) -> str:
    """Return the pipeline for a program.

    Batch norms are folded into the convolutions before them as arithmetic. The pass that makes them arithmetic also
    expands other normalizations, for which ONNX has operators; a program with such normalizations keeps its batch
    norms.
    """
    counts = count_module(mod)[1]
    return FIRST + ("" if any(counts[name] for name in NORMALIZATIONS) else BATCH_NORM) + LAST


def _rows_of(changes: Mapping[str, tuple[Counter[str], Counter[str]]]) -> tuple[Row, ...]:
    return tuple(("", name, _counts_text(gone), _counts_text(new)) for name, (gone, new) in changes.items())


def _rows_of_passes(recording: Recording) -> tuple[Row, ...]:
    rows = ((event.id, event.name.strip(), *_operator_changes(event)) for event in recording)
    return tuple(row for row in rows if row[2] or row[3])


def _rows_of_rules(combined: Mapping[str, int]) -> tuple[Row, ...]:
    return tuple(("", name, f"{count} times", "") for name, count in combined.items())


def _operator_changes(event: Event) -> tuple[str, str]:
    """Return which operators a pass removed and added, with how many of each."""
    before, after = (count_module(mod)[1] for mod in (event.before, event.after))
    return _counts_text(before - after), _counts_text(after - before)


def _counts_text(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def nodes_of(graph: Any) -> int:
    """Return the number of nodes of a graph and of the graphs inside it; constants do not count."""
    return operator_counts(graph.node).total()
