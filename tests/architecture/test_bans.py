"""What passlab never does: run text as code, unpickle, swallow errors, write markup outside `display`."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.sources import ROOT, Source, parse, python_sources, scripts

# Files that may call `exec`, with the reason. Everything they run is made from verified bytecode and typed kernels, never
# from user text.
MAY_EXEC: dict[str, str] = {
    "passlab/course/lessons/own_back_parts.py": "the loops that a learner's own compiler writes, in the learner's own process",
    "passlab/course/lessons/porting_from_tvm.py": "the program that a learner hands in, in the learner's own process",
    "passlab/course/registry.py": "the solutions of the package's own exercises",
    "passlab/vm/generated_code.py": "what the machine writes from its instruction table and from kernels",
}

BANNED_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve"}
BANNED_CALLS = {"eval", "exec", "__import__", "setrecursionlimit"}
BLIND = {"Exception", "BaseException", "PasslabError"}
BANNED_IN_SCRIPTS = {
    r"\binnerHTML\b|\bouterHTML\b|\binsertAdjacentHTML\b|\bdocument\.write": "text becomes markup; use textContent",
    r"\beval\s*\(|\bnew\s+Function\b": "text becomes code",
    r"https?://(?!www\.w3\.org/)": "nothing is fetched from outside; assets ship in the wheel",
}
# Loaded on first use, so that `import passlab` costs little more than `import numpy`.
LOADED_LATE = {
    "pandas",
    "scipy",
    "graphviz",
    "pygraphviz",
    "IPython",
    "ipywidgets",
    "anywidget",
    "onnx",
    "onnxruntime",
    "torch",
}


def imported_modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [node.module or ""]
    return []


def called_name(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr if node.func.attr == "setrecursionlimit" else ""
    return node.func.id if isinstance(node.func, ast.Name) else ""


def banned_code(source: Source) -> list[str]:
    results = []
    for node in source.all(ast.Import, ast.ImportFrom, ast.Call):
        names = {name.split(".")[0] for name in imported_modules(node)} & BANNED_MODULES
        if isinstance(node, ast.Call):
            names |= {called_name(node)} & BANNED_CALLS
            names |= {
                "allow_pickle"
                for keyword in node.keywords
                if keyword.arg == "allow_pickle"
                and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is False)
            }
        if source.path in MAY_EXEC:
            names.discard("exec")
        results += [f"{source.at(node)} {name}" for name in sorted(names)]
    return results


def swallowed_errors(source: Source) -> list[str]:
    """`except` clauses that catch every error, or every error of passlab, and do nothing with it."""
    return [
        source.at(node)
        for node in source.all(ast.ExceptHandler)
        if {name.id for name in ast.walk(node.type or ast.Name("Exception")) if isinstance(name, ast.Name)} & BLIND
        and all(
            isinstance(line, ast.Pass) or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            for line in node.body
        )
    ]


def early_imports(source: Source) -> list[str]:
    """Heavy packages imported when the module is, outside `if TYPE_CHECKING:`."""
    results = []
    for statement in source.tree.body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        nested = ast.walk(statement) if isinstance(statement, (ast.Try, ast.If)) else [statement]
        results += [
            f"{source.at(node)} {name}"
            for node in nested
            for name in imported_modules(node)
            if name.split(".")[0] in LOADED_LATE
        ]
    return results


def test_no_text_is_run_as_code_and_nothing_is_unpickled():
    results = [line for source in python_sources("passlab") for line in banned_code(source)]
    assert not results


def test_every_permission_to_exec_is_used():
    users = {
        source.path
        for source in python_sources("passlab")
        for node in source.all(ast.Call)
        if called_name(node) == "exec"
    }
    assert set(MAY_EXEC) <= users, "remove the entries of MAY_EXEC that are no longer needed"


def test_no_error_is_swallowed():
    results = [line for source in python_sources("passlab") for line in swallowed_errors(source)]
    assert not results, "handle it, or catch just the error that is expected here"


# Made of an optional package and loaded only when somebody asks for its kernels (`passlab.vm.kernels.providers.PROVIDERS`).
PROVIDERS = tuple(
    f"passlab/vm/kernels/{name}.py"
    for name in (
        "torch_provider",
        "torch_operators",
        "torch_movement",
        "onnx_provider",
    )
)


def test_heavy_packages_are_loaded_on_first_use():
    results = [
        line
        for source in python_sources("passlab")
        if not source.path.startswith(("passlab/notebook/", *PROVIDERS))
        for line in early_imports(source)
    ]
    assert not results, "import inside the function that needs it"


def test_markup_is_escaped_in_display_only():
    results = [
        source.at(node)
        for source in python_sources("passlab")
        if not source.path.startswith("passlab/display/")
        for node in source.all(ast.Import, ast.ImportFrom)
        if "html" in imported_modules(node)
    ]
    assert not results, "hostile text is escaped in one place: passlab/display"


@pytest.mark.parametrize("pattern", BANNED_IN_SCRIPTS, ids=["markup", "code", "network"])
def test_scripts_never_turn_text_into(pattern):
    results = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in scripts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert not results, BANNED_IN_SCRIPTS[pattern]


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from marshal import loads",
        "eval('1')",
        "exec(code)",
        "import sys; sys.setrecursionlimit(9)",
        "np.load(file, allow_pickle=True)",
        "__import__(name)",
    ],
)
def test_the_rule_finds(text):
    assert banned_code(parse(text))


def test_the_rules_know_what_is_harmless():
    assert not banned_code(parse("np.load(file, allow_pickle=False)\nmodule.exec(1)\nre.compile('x')"))
    assert swallowed_errors(parse("try: f()\nexcept: pass"))
    assert swallowed_errors(parse("try: f()\nexcept (ValueError, Exception): ..."))
    assert not swallowed_errors(parse("try: f()\nexcept Exception: raise SystemExit(1)"))
    assert not swallowed_errors(parse("try: return cache[x]\nexcept KeyError: pass"))
    assert early_imports(parse("import pandas as pd"))
    assert early_imports(parse("try:\n    import onnx\nfinally: f()"))
    assert not early_imports(parse("if TYPE_CHECKING:\n    import pandas\ndef f():\n    import scipy.special"))
