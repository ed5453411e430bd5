"""Lazy imports that run upwards, which the contracts cannot see, for they are strings: all are listed here."""

from __future__ import annotations

import ast
import sys
from pathlib import PurePosixPath

import pytest

from tests.architecture.sources import ROOT, Source, python_sources

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# From a module to one above it, with the reason: the one place where a lower package offers what a higher one does.
UPWARD: dict[tuple[str, str], str] = {
    ("passlab.debugger.trace", "passlab.display.pages.report"): "trace.to_html() writes a page",
    ("passlab.diffing.diff", "passlab.display.views.diffs"): "diff.text()",
    ("passlab.dumps.comparison", "passlab.display.views.text_comparison"): "a comparison is shown in a notebook",
    (
        "passlab.dumps.recording",
        "passlab.display.views.text_recording",
    ): "recording.text(), recording.to_html(), recording.graph(unit)",
    ("passlab.steps", "passlab.display.charts"): "recording.plot()",
    ("passlab.dumps.recording", "passlab.display.views.timing"): "recording.timing()",
    (
        "passlab.instrument",
        "passlab.lab.recordings.recording",
    ): "`instrument.Recorder` is the public name of the lab's recorder",
    ("passlab.ir", "passlab.text.program_json"): "`ir.load_json` and `ir.save_json` are Relay's names",
    ("passlab.ir", "passlab.text.records"): "`ir.make_node` is Relay's name",
    ("passlab.ir.expr", "passlab.op"): "x + y calls an operator",
    ("passlab.ir.expr", "passlab.text.printer"): "str(expr)",
    ("passlab.ir.immutable", "passlab.text.program_json"): "pickle.dumps(node)",
    ("passlab.ir.module", "passlab.text.program_json"): "pickle.dumps(mod)",
    ("passlab.text.program_json", "passlab.infer"): "a typed program is typed again after pickle",
    ("passlab.ir.module", "passlab.text.library"): "mod.import_from_std()",
    ("passlab.ir.module", "passlab.text.printer"): "str(mod)",
    ("passlab.ir.op", "passlab.op"): "operators are declared on first use",
    ("passlab.ir.op", "passlab.op.registered"): "operators registered by Relay's functions get relations and builders",
    ("passlab.ir.op", "passlab.op.user_kernels"): "the kernels of such operators are called through one door",
    ("passlab.lab", "passlab.debugger.debugger"): "`lab.Debugger` is a public name",
    ("passlab.lab", "passlab.debugger.trace"): "`lab.Trace` and `lab.Fork` are public names",
    ("passlab.lab.recordings.recording", "passlab.display.pages.report"): "recording.to_html()",
    ("passlab.text.library", "passlab.infer"): "the standard library comes typed",
    ("passlab.transform", "passlab.passes"): "transform.FoldConstant",
    ("passlab.transform.base", "passlab.passes.program.infer_type"): "every function pass ends in InferType",
    ("passlab.transform.registry", "passlab.passes"): "the table of standard passes",
    ("passlab.executor.onnx_executor", "passlab.frontend.onnx.export.table"): "which operators ONNX has",
    ("passlab.executor.onnx_executor", "passlab.frontend.onnx.package"): "whether `onnx` is installed",
    ("passlab.vm.kernels.onnx_provider", "passlab.frontend.onnx.export.exporting"): "a session needs a model",
    ("passlab.vm.report", "passlab.display.charts"): "report.plot()",
    ("passlab.vm", "passlab.debugger.debugger"): "`vm.Debugger` is a public name",
}
# Inside a package, from a module to one that stands on it.
WITHIN = {
    ("passlab.transform.context", "passlab.transform.registry"): "a pass that runs in a context is also looked up",
    ("passlab.debugger.trace", "passlab.debugger.debugger"): "fork.debugger()",
    ("passlab.ir.expr", "passlab.ir.adt"): "a match has clauses, which are made of expressions",
    ("passlab.transform.sequential", "passlab.transform.pipeline_text"): "a pass names those that it requires",
    ("passlab.executor.create", "passlab.executor.onnx_executor"): "an executor of an optional package",
}
TABLES = ("lazy_module", "module_alias", "alias_package")  # what makes names of strings


def layer_order() -> dict[str, int]:
    """The rank of each package of passlab in the contract of layers, 0 for the highest."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = next(c for c in contracts if c["id"] == "layers")["layers"]
    return {name.strip().strip("()"): rank for rank, line in enumerate(layers) for name in line.split("|")}


NAMES: dict[str, str] = {}  # what `lazy` calls modules


def text_of(node: ast.expr, names: dict[str, str]) -> str:
    """The module that an argument of `late` names, with `*` for what is known at run time only."""
    if isinstance(node, ast.Starred):
        return text_of(node.value, names)
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return names.get(node.id, "*")
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(v.value if isinstance(v, ast.FormattedValue) else v, names) for v in node.values)
    return "*"


def constants(tree: ast.Module) -> dict[str, str]:
    """Strings that a module gives names to, and the first of tuples of strings."""
    table: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value.elts[0] if isinstance(node.value, ast.Tuple) and node.value.elts else node.value
            text = text_of(value, {**NAMES, **table})
            if text.startswith("passlab."):
                table[node.targets[0].id] = text
    return table


NAMES.update(constants(ast.parse((ROOT / "passlab" / "lazy.py").read_text())))


def targets(source: Source) -> set[str]:
    """The modules that a source reaches by `late`, and those of its tables of lazy names."""
    names = {**NAMES, **constants(source.tree)}
    calls = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    modules = {text_of(call.args[0], names) for call in calls if call.func.id == "late"}  # type: ignore[attr-defined]
    if any(call.func.id in TABLES for call in calls):  # type: ignore[attr-defined]
        texts = (text_of(n, names) for n in ast.walk(source.tree) if isinstance(n, (ast.Constant, ast.JoinedStr)))
        modules |= {text.split(":")[0] for text in texts if text.startswith("passlab.") and " " not in text}
    return {module.removesuffix(".*") for module in modules}


def module_of(source: Source) -> str:
    parts = PurePosixPath(source.path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_upward(source: str, target: str, order: dict[str, int]) -> bool:
    return order[target.split(".")[1]] < order[source.split(".")[1]]


def upward_imports() -> set[tuple[str, str]]:
    order = layer_order()
    edges = {(module_of(s), target) for s in python_sources("passlab") for target in targets(s)}
    edges = {edge for edge in edges if edge[0] not in ("passlab", "passlab.lazy")}  # a face, and the names of modules
    return {(name, target) for name, target in edges if is_upward(name, target, order)}


def test_every_lazy_import_upwards_is_listed_with_its_reason():
    assert upward_imports() == set(UPWARD)


def test_a_lazy_import_downwards_is_a_plain_import():
    order = layer_order()
    down = {
        (module_of(source), target)
        for source in python_sources("passlab")
        if not any(table in source.text for table in TABLES)
        for target in targets(source)
        if module_of(source).count(".") and not is_upward(module_of(source), target, order)
    }
    assert down == set(WITHIN), "import these as usual: nothing forbids it"


# `import_module` with a name from a table: of optional packages, and of packages that load their own modules.
BY_NAME = {
    "passlab.course.lessons.porting_from_tvm",  # the tvm that `%load_ext passlab.compat` makes
    "passlab.course.registry",  # the exercises of one lesson
    "passlab.lazy",
    "passlab.relay.addresses",  # the table of addresses
    "passlab.frontend.onnx.entries",  # the table of operators
    "passlab.frontend.onnx.export.table",  # the table of exported operators
    "passlab.frontend.onnx.package",  # onnx
    "passlab.frontend.pytorch.entries",  # the table of operators
    "passlab.arguments",  # names that a module imports for type checkers only
    "passlab.frontend.pytorch.importing",  # torch
    "passlab.executor.aot.kernel_source",  # the source of a kernel
    "passlab.display.charts",  # altair and matplotlib
    "passlab.hosts.bisection",  # torch
    "passlab.hosts.reduction",  # torch
    "passlab.lab.reducer.reproducer",  # nbformat
    "passlab.vm.kernels.providers",  # torch and onnxruntime kernels
    "passlab.op",  # the modules that declare operators
    "passlab.op.dtypes",  # ml_dtypes
    "passlab.recorders.mlir",  # the Python bindings that are installed
    "passlab.recorders.torch",
    "passlab.recorders.triton",
    "passlab.recorders.protocol",
}


def test_modules_imported_by_name_are_few():
    users = {module_of(s) for s in python_sources("passlab") if "import_module(" in s.text}
    assert {name for name in users if not name.startswith("passlab.compat.")} == BY_NAME  # compat finds TVM's names


@pytest.mark.parametrize(
    ("call", "module"),
    [
        ('late("passlab.lab.recordings.recording", "rerun")', "passlab.lab.recordings.recording"),
        ('late(PASSES, "PASSES")', "passlab.passes"),
        ('late(f"{PASSES}.program.infer_type", "InferType")', "passlab.passes.program.infer_type"),
        ('late(f"{PASSES}.{module}", name)', "passlab.passes.*"),
    ],
)
def test_what_is_imported_is_read_from_the_call(call: str, module: str):
    node = ast.parse(call).body[0].value  # type: ignore[attr-defined]
    assert text_of(node.args[0], NAMES) == module
