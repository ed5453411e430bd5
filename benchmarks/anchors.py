"""Measure source code by size, documentation and typing, so that codebases can be compared in one table.

    python -m benchmarks.anchors                            # passlab/ and tests/
    python -m benchmarks.anchors passlab path/to/xdsl       # any folders of Python files

The lengths of functions leave decorators and docstrings out. The figures describe; no test holds the code to them.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef

ONCE_LINES = 6  # a private function of at most so many lines that is called once costs its reader a jump


@dataclass
class Figures:
    """What was counted in one folder; `counts` has everything that is one number."""

    folder: str
    file_lines: list[int] = field(default_factory=list)
    function_lines: list[int] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def share(self, part: str, whole: str) -> float:
        """Return the quotient of two counts, 1 where there is nothing to count."""
        return self.counts[part] / self.counts[whole] if self.counts[whole] else 1.0


def measure(folder: Path) -> Figures:
    """Count every Python file below a folder."""
    figures = Figures(folder.name)
    figures.counts["files with one importer"] = len(imported_once(folder))
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        figures.file_lines.append(len(text.splitlines()))
        _count_text(text, figures)
        _count_tree(ast.parse(text), _package(path, folder), figures)
    return figures


def _package(path: Path, folder: Path) -> str:
    """Return the name of the package or module directly below the folder to which a file belongs."""
    return path.relative_to(folder).parts[0].removesuffix(".py")


def _count_text(text: str, figures: Figures) -> None:
    counts = figures.counts
    counts["type ignores"] += len(re.findall(r"#\s*type:\s*ignore", text))
    counts["fmt: skip"] += len(re.findall(r"#\s*fmt:\s*(?:skip|off)", text))
    counts["noqa"] += len(re.findall(r"#\s*noqa", text))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    counts["comment lines"] += len({token.start[0] for token in tokens if token.type == tokenize.COMMENT})
    counts["lines"] += len(text.splitlines())


def _count_tree(tree: ast.Module, package: str, figures: Figures) -> None:
    counts = figures.counts
    counts["modules"] += 1
    counts["modules with docstring"] += ast.get_docstring(tree) is not None
    counts["files with `if TYPE_CHECKING`"] += any(
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) for node in tree.body
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            counts["classes"] += 1
            counts["classes with docstring"] += ast.get_docstring(node) is not None
        elif isinstance(node, FunctionNode):
            _count_function(node, package, figures)
        elif isinstance(node, ast.Global):
            counts["global statements"] += 1
    once = called_once(tree)
    callees = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    called = {node.id if isinstance(node, ast.Name) else getattr(node, "attr", "") for node in callees}
    counts["short private functions called once"] += len(once)
    counts["- entries of tables and callbacks, never called"] += sum(node.name not in called for node in once)


def _count_function(function: FunctionNode, package: str, figures: Figures) -> None:
    counts = figures.counts
    figures.function_lines.append(function_length(function))
    counts["functions"] += 1
    documented = ast.get_docstring(function) is not None
    counts["functions with docstring"] += documented
    if not function.name.startswith("_"):
        counts["public functions"] += 1
        counts["public functions with docstring"] += documented
    counts["functions with return type"] += function.returns is not None
    counts["returns typed Any"] += is_any(function.returns)
    for parameter in parameters(function):
        counts["parameters"] += 1
        counts["parameters typed Any"] += is_any(parameter.annotation)
        counts[f"parameters in {package}"] += 1
        counts[f"parameters typed Any in {package}"] += is_any(parameter.annotation)
    imports = [node for node in ast.walk(function) if isinstance(node, (ast.Import, ast.ImportFrom))]
    counts["in-function imports"] += len(imports)


def function_length(function: FunctionNode) -> int:
    """Return the lines of a function without its decorators and docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def parameters(function: FunctionNode) -> list[ast.arg]:
    """Return the parameters of a function without `self` and `cls`."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [rest for rest in (arguments.vararg, arguments.kwarg) if rest is not None]
    return [parameter for parameter in every if parameter.arg not in {"self", "cls"}]


def is_any(annotation: ast.expr | None) -> bool:
    """Whether an annotation is exactly `Any`."""
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def called_once(tree: ast.Module) -> list[FunctionNode]:
    """Return the private functions of at most `ONCE_LINES` lines that their module mentions once."""
    mentions = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, (ast.Name, ast.Attribute))
    )
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, FunctionNode)
        and node.name.startswith("_")
        and not node.name.endswith("__")
        and not node.decorator_list
        and mentions[node.name] == 1
        and function_length(node) - 1 <= ONCE_LINES
    ]


def imported_once(folder: Path) -> list[str]:
    """Return the modules below a package that exactly one other module of it imports."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py")}
    modules = {".".join(path.relative_to(folder.parent).with_suffix("").parts): path for path in trees}
    importers: dict[str, set[Path]] = {name: set() for name in modules if not name.endswith(".__init__")}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in importers.keys() & names:
                importers[name].add(path)
    return sorted(name for name, users in importers.items() if len(users) == 1)


def percentile(values: Sequence[int], percent: int) -> int:
    """Return the smallest value that at least `percent` of the values do not exceed."""
    ordered = sorted(values) or [0]
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def rows(figures: Figures) -> dict[str, str]:
    """Return the figures of a folder as one column of the table."""
    files, functions, counts = figures.file_lines, figures.function_lines, figures.counts
    percents = {
        "functions with docstring": figures.share("functions with docstring", "functions"),
        "public functions with docstring": figures.share("public functions with docstring", "public functions"),
        "modules with docstring": figures.share("modules with docstring", "modules"),
        "classes with docstring": figures.share("classes with docstring", "classes"),
        "comment lines": figures.share("comment lines", "lines"),
        "functions with return type": figures.share("functions with return type", "functions"),
        "parameters typed Any": figures.share("parameters typed Any", "parameters"),
    }
    once = ("short private functions called once", "- entries of tables and callbacks, never called")
    single = ("type ignores", "fmt: skip", "noqa", "returns typed Any", "in-function imports", "global statements")
    return {
        "files": f"{len(files):,}",
        "lines": f"{counts['lines']:,}",
        "file lines, median / p90 / longest": " / ".join(str(percentile(files, p)) for p in (50, 90, 100)),
        "function lines, median / p90 / p99 / longest": " / ".join(
            str(percentile(functions, p)) for p in (50, 90, 99, 100)
        ),
        **{name: f"{part:.1%}" for name, part in percents.items()},
        **{name: f"{counts[name]:,}" for name in single},
        "files with `if TYPE_CHECKING`": f"{counts['files with `if TYPE_CHECKING`']:,}",
        "files with one importer": f"{counts['files with one importer']:,}",
        **{name: f"{counts[name]:,}" for name in once},
    }


def table(folders: Sequence[Path]) -> str:
    """Return the figures of several folders side by side, as text."""
    columns = [(folder.name, rows(measure(folder))) for folder in folders]
    width = max(len(name) for name in columns[0][1])
    lines = ["  ".join([" " * width, *(name.rjust(20) for name, _ in columns)])]
    lines += [
        "  ".join([name.ljust(width), *(column[name].rjust(20) for _, column in columns)]) for name in columns[0][1]
    ]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Print the figures of some folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / "passlab", ROOT / "tests"])
    print(table(parser.parse_args(argv).folders))
    return 0


if __name__ == "__main__":
    sys.exit(main())
