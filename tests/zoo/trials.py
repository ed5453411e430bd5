"""What is tried on each model, and the figures that come of it.

All seconds are the processor's. A trial that ends in an exception is a failure of its name; the others go on.
"""

from __future__ import annotations

import itertools
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import passlab
from passlab import IRModule, lab, relay, transform
from passlab.display import graph_view
from passlab.errors import PasslabError
from passlab.frontend.onnx.graph import node_names
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.walk import post_order, rewrite
from tests.zoo.models import Array, Model, session_results

EXECUTORS = ("debug", "graph", "vm", "aot", "onnxruntime")
BEFORE = "InferType, SimplifyInference, FoldConstant, FoldScaleAxis, EliminateCommonSubexpr"
AFTER = "CanonicalizeOps, FoldConstant, DeadCodeElimination, FuseOps"
# Passes that keep the nodes that they leave; others write what a node computes in nodes of their own.
KEEPING = ("", "InferType", "FoldConstant", "EliminateCommonSubexpr", "DeadCodeElimination", "FuseOps")
# The operator of a fault that nobody would see at once, by the operator that it replaces.
SWAPS: dict[str, Callable[[Call], Any]] = {
    "add": lambda c: relay.subtract(*c.args),
    "subtract": lambda c: relay.add(*c.args),
    "multiply": lambda c: relay.add(*c.args),
    "divide": lambda c: relay.multiply(*c.args),
    "nn.relu": lambda c: relay.nn.leaky_relu(c.args[0], alpha=0.125),
    "sigmoid": lambda c: relay.tanh(c.args[0]),
    "tanh": lambda c: relay.sigmoid(c.args[0]),
    "nn.leaky_relu": lambda c: relay.nn.relu(c.args[0]),
}
CULPRIT_SECONDS, CULPRIT_CALLS = 15.0, 5  # the goal
TINY = 1e-2  # of probabilities that are all close to 0, rounding leaves few digits
FLOATS = ("float16", "bfloat16", "float32", "float64")


class Trials:
    """The trials of one model. `figures` has what came of them, `failures` the first line of each exception."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.source = model.source
        self.figures: dict[str, Any] = {}
        self.failures: dict[str, str] = {}
        self.mod: IRModule | None = None

    def run(self, only: tuple[str, ...] = ()) -> Trials:
        """Run all trials, or those named; the import always."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, trial in TRIALS.items():
                if name == "import" or ((not only or name in only) and (name == "open" or self.mod is not None)):
                    try:
                        trial(self)
                    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the table
                        self.failures[name] = _first_line(error)
        return self

    @property
    def program(self) -> IRModule:
        assert self.mod is not None
        return self.mod

    # ------------------------------------------------------------ trials
    def import_fixed(self) -> None:
        started = time.process_time()
        self.mod = self.source.fixed()
        self.figures["import s"] = time.process_time() - started
        self.figures["calls"] = calls(self.mod)
        if self.model.kind == "onnx":
            self.figures["nodes"] = len(self.source.proto.graph.node)  # type: ignore[union-attr]

    def import_open(self) -> None:
        if self.model.entry.get("open", True):
            self.source.open()
            self.figures["open"] = "yes"

    def run_executors(self) -> None:
        arguments, worst = self.source.arguments(self.program), 0.0
        for kind in EXECUTORS:
            if kind in self.model.entry.get("without", ()):
                continue
            try:
                result = relay.create_executor(kind, self.program).evaluate()(*arguments)
                worst = max(worst, difference(flat(result), self.source.expected))
            except Exception as error:  # noqa: BLE001 - as above
                self.failures[kind] = _first_line(error)
        self.figures["error"] = worst

    def speed(self) -> None:
        arguments = self.source.arguments(self.program)
        with transform.PassContext(opt_level=3):
            machine = relay.create_executor("vm", self.program).evaluate()
        ours, theirs = in_turns(lambda: machine(*arguments), self.source.rival())
        self.figures |= {"vm ms": ours * 1000, "rival ms": theirs * 1000}

    def record(self) -> None:
        started = time.process_time()
        recording = passlab.record(self.program, f"{BEFORE}, {AFTER}", opt_level=4)
        self.figures["record s"] = time.process_time() - started
        assert not [e for e in recording.events if e.error is not None]
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "report.html"
            started = time.process_time()
            recording.to_html(page)
            self.figures["report s"] = time.process_time() - started
            self.figures["report MB"] = page.stat().st_size / 1e6
            self.paint(page)

    def paint(self, page: Path) -> None:
        """Open the report in a browser, where there is one."""
        try:
            from benchmarks.first_paint import opened
            from tests.browser.lab_page import browser
            from tests.conftest import find_chromium
        except ImportError:
            return
        chromium = find_chromium()
        if chromium is not None:
            with browser(chromium) as chrome:
                opened(chrome, page)
                self.figures["first paint ms"] = opened(chrome, page)["first picture"]

    def export(self) -> None:
        model = relay.to_onnx(self.program)
        results = session_results(model.SerializeToString(), self.source.arguments(self.program))
        self.figures["exported nodes"] = len(model.graph.node)
        self.figures["export error"] = difference(results, self.source.expected)

    def simplify(self) -> None:
        if self.model.kind == "onnx":
            small = lab.simplify(str(self.source.path))  # type: ignore[union-attr]
            self.figures["simplified"] = small.nodes_after
            assert small.nodes_after <= small.nodes_before, f"{small.nodes_before} nodes became {small.nodes_after}"
            assert small.compared.is_right is not False, small.agreement

    def names(self) -> None:
        """Export the model as it was imported, and after each pass: what people call things does not change."""
        if self.model.kind == "onnx":
            proto = self.source.proto  # type: ignore[union-attr]
            mod = self.source.open() if self.model.entry.get("open", True) else self.program
            own = set(all_node_names(proto.graph))
            for name in ("", *f"{BEFORE}, {AFTER}".split(", "), f"{BEFORE}, {AFTER}"):
                with transform.PassContext(opt_level=4):
                    written = relay.to_onnx(transform.Sequential(transform.parse_pipeline(name).passes)(mod))
                assert titles(written) == titles(proto), f"after {name or 'the import'}: {titles(written)}"
                # A node that is written as several gives them its name and a number; an output that is an input is copied.
                if name in KEEPING:
                    odd = [
                        n.name for n in written.graph.node if not begins_with(n.name, own) and n.op_type != "Identity"
                    ]
                    assert not odd, f"after {name or 'the import'}: {odd[:5]}"

    def culprit(self) -> None:
        # The operator is one that the passes before the wrong one leave where it was.
        ready = passlab.record(self.program, BEFORE, opt_level=4).last
        place = middle(ready)
        if place is None:
            self.figures["culprit"] = "no operator to swap"
            return
        wrong = relay.create_executor("vm", swapping(place)(ready)).evaluate()
        self.figures["swap"] = difference(flat(wrong(*self.source.arguments(self.program))), self.source.expected)
        started = time.process_time()
        found = lab.culprit(self.program, [BEFORE, swapping(place), AFTER], opt_level=4)
        self.figures |= {
            "culprit": found.name or "none",
            "culprit s": time.process_time() - started,
            "culprit calls": calls(found.module) if found.found else None,
            "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        }
        # A swap that changes nothing, as in a model whose weights are all equal, has no culprit.
        if self.figures["swap"] > self.model.entry.get("tolerance", 1e-4):
            assert found.name == "Swapped", f"the swap changes {self.figures['swap']:.0e} and is not named"

    def graph(self) -> None:
        view = graph_view(self.program)
        started = time.process_time()
        assert view.data()["boxes"]
        self.figures |= {"graph s": time.process_time() - started, "boxes": len(view.graph.boxes)}


TRIALS: dict[str, Callable[[Trials], None]] = {
    "import": Trials.import_fixed,
    "open": Trials.import_open,
    "run": Trials.run_executors,
    "speed": Trials.speed,
    "record": Trials.record,
    "export": Trials.export,
    "simplify": Trials.simplify,
    "names": Trials.names,
    "culprit": Trials.culprit,
    "graph": Trials.graph,
}


def titles(proto: Any) -> dict[str, Any]:
    """Return what people call a model and its parts: the graph, its inputs and outputs with their sizes, metadata."""
    graph = proto.graph
    weights = {tensor.name for tensor in graph.initializer}
    values = {"inputs": [v for v in graph.input if v.name not in weights], "outputs": graph.output}
    return {
        "graph": graph.name,
        **{kind: [value.name for value in part] for kind, part in values.items()},
        "sizes": [[dim.dim_param for dim in value.type.tensor_type.shape.dim] for value in values["inputs"]],
        "metadata": {entry.key: entry.value for entry in proto.metadata_props},
        "documents": (proto.doc_string, graph.doc_string, proto.domain, proto.model_version),
    }


def all_node_names(root: Any) -> Iterator[str]:
    """Return the names of all nodes of a graph and of the graphs inside it."""
    stack = [root]
    while stack:
        graph = stack.pop()
        stack += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
        yield from node_names(graph.node)


def begins_with(name: str, own: set[str]) -> bool:
    """Whether a name is one of a model, or begins with one."""
    return any(name[:end] in own for end in range(len(name), 0, -1))


def calls(mod: IRModule) -> int:
    """Return the number of calls of operators in a module."""
    return sum(isinstance(n, Call) and isinstance(n.op, Op) for f in mod.functions.values() for n in post_order(f))


def flat(value: Any) -> Iterator[Any]:
    """Return the arrays of a result in order."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from flat(part)
    else:
        yield np.asarray(value)


def difference(found: Any, expected: list[Array]) -> float:
    """Return the greatest difference over the greatest value of each result, or over `TINY` where that is greater.

    What is not a number must be so in both.
    """
    worst = 0.0
    for ours, theirs in itertools.zip_longest(found, expected):
        assert ours is not None, "there are too few results"
        assert theirs is not None, "there are too many results"
        assert ours.shape == theirs.shape, f"{ours.shape} instead of {theirs.shape}"
        if ours.dtype.kind in "OSU":
            assert ours.tolist() == theirs.tolist()
            continue
        a, b = ours.astype("float64"), theirs.astype("float64")
        assert (np.isnan(a) == np.isnan(b)).all(), "other places are NaN"
        with np.errstate(invalid="ignore"):
            apart = np.abs(np.where((a == b) | np.isnan(a), 0.0, a - b)).max(initial=0.0)
        finite = np.abs(b[np.isfinite(b)]).max(initial=0.0)
        worst = max(worst, float(apart / max(finite, TINY)))
    return worst


def middle(mod: IRModule) -> Call | None:
    """Return the call nearest to the middle of the program that can be swapped; None where there is none."""
    order = [n for n in post_order(mod["main"]) if isinstance(n, Call) and isinstance(n.op, Op)]
    half = len(order) // 2
    near = sorted(range(len(order)), key=lambda at: abs(at - half))
    return next((order[at] for at in near if is_swappable(order[at])), None)


def is_swappable(call: Call) -> bool:
    """Whether a call computes on floats of which one has elements."""
    ty: Any = call.checked_type_
    return call.op.name in SWAPS and getattr(ty, "dtype", "") in FLOATS and len(getattr(ty, "shape", ())) > 1


def is_like(node: Any, place: Call) -> bool:
    """Whether a node calls the operator of a place, with its type, and comes from there."""
    same = isinstance(node, Call) and node.op is place.op and node.checked_type_ is place.checked_type_
    return same and (place.span is None or node.span == place.span)


def swapping(place: Call) -> Any:
    """Return a pass that swaps the operator at a place of the source, once."""

    @transform.function_pass(opt_level=0, name="Swapped")
    def swapped(func: Any, mod: Any, ctx: Any) -> Any:
        # An unrolled layer has many calls of one place: the first may work on zeros.
        alike = [node for node in post_order(func) if is_like(node, place)]
        chosen = alike[len(alike) // 2] if alike else None

        def rule(before: Any, node: Any) -> Any:
            return SWAPS[place.op.name](node) if before is chosen else node

        return rewrite(func, rule, only=(Call,))

    return swapped


def in_turns(first: Callable[[], Any], second: Callable[[], Any], turns: int = 5) -> tuple[float, float]:
    """Return the least seconds of the processor of each, measured in turns."""
    figures: tuple[list[float], list[float]] = ([], [])
    for run in (first, second):
        run()
    for _ in range(turns):
        for run, seconds in zip((first, second), figures, strict=True):
            started = time.process_time()
            run()
            seconds.append(time.process_time() - started)
            if sum(seconds) > 10:
                return min(figures[0]), min(figures[1] or figures[0])
    return min(figures[0]), min(figures[1])


def _first_line(error: BaseException) -> str:
    text = str(error.args[0] if isinstance(error, PasslabError) and error.args else error) or type(error).__name__
    return f"{type(error).__name__}: {text.strip().splitlines()[0][:200]}"
