"""`passlab doctor`: which optional parts are installed, and whether widgets, extension, Graphviz and a browser work.

    $ passlab doctor

Each part is tried, not only looked for: a graph is laid out, the scripts of the widgets are read. For a missing part,
the table says what it is needed for and how to install it.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from passlab.errors import PasslabError, counted
from passlab.table import Table
from passlab.threads import thread_count

# Package, what it is for, and how it is installed.
REQUIRED = ("numpy", "scipy", "pandas", "ml_dtypes", "ipython", "ipywidgets", "anywidget", "graphviz", "pygments")
OPTIONAL = (
    ("onnx", "reading and writing ONNX models", "pip install onnx"),
    ("torch", "kernels of PyTorch, on a GPU if there is one", "pip install torch"),
    ("jupyterlab", "notebooks in a browser", "pip install jupyterlab ipykernel"),
    ("onnxruntime", "whole networks on ONNX Runtime", "pip install onnxruntime onnx"),
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "firefox", "microsoft-edge")


class Finding(NamedTuple):
    """One part. Its `state` is `ok`, `missing` (it is optional) or `broken` (it is needed); `fix` repairs it.

    >>> from passlab import doctor
    >>> doctor.examine()[0].part
    'passlab'
    """

    part: str
    state: str
    detail: str
    fix: str = ""


def examine() -> list[Finding]:
    """Try every part and return the findings, in a fixed order.

    >>> from passlab import doctor
    >>> [finding.part for finding in doctor.examine()][:1]
    ['passlab']
    """
    return [*_platform(), *_require(), *_optional(), _widgets(), _extension(), _graphviz(), _browser(), _threads()]


def report(findings: list[Finding]) -> Table:
    """Return the findings as a table."""
    return Table(("part", "state", "detail", "what_to_do"), [tuple(finding) for finding in findings])


def _platform() -> Iterator[Finding]:
    from passlab import __version__

    yield Finding("passlab", "ok", __version__)
    supported = (3, 10) <= sys.version_info[:2]
    state, fix = ("ok", "") if supported else ("broken", "passlab needs Python 3.10 or newer")
    yield Finding("Python", state, f"{platform.python_version()} on {platform.system()} {platform.machine()}", fix)


def _installed_version(package: str) -> str:
    """Return the version of an installed package, "" if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _require() -> Iterator[Finding]:
    for package in REQUIRED:
        number = _installed_version(package)
        fix = "" if number else f"pip install {package}"
        yield Finding(package, "ok" if number else "broken", number or "not installed", fix)


def _optional() -> Iterator[Finding]:
    for package, purpose, fix in OPTIONAL:
        number = _installed_version(package)
        detail = f"{number}: {purpose}" if number else f"needed for {purpose}"
        yield Finding(package, "ok" if number else "missing", detail, "" if number else fix)


def _attempt(part: str, attempt: Callable[[], str], fix: str) -> Finding:
    """Return the result of an attempt, or how it failed."""
    try:
        return Finding(part, "ok", attempt())
    except (PasslabError, ImportError, OSError, ValueError) as error:
        return Finding(part, "broken", f"{type(error).__name__}: {error}".splitlines()[0], fix)


def _widgets() -> Finding:
    def attempt() -> str:
        for package in ("ipywidgets", "anywidget"):
            if find_spec(package) is None:
                raise ImportError(f"{package} is not installed")
        from passlab.display.pages import scripts

        folder = scripts.WEB / "dist"
        count = sum(path.stat().st_size > 0 for path in folder.glob("*.js"))
        if not count:
            raise OSError(f"no scripts in {folder}")
        return f"{count} scripts of the package"

    return _attempt("widgets", attempt, "install passlab again: its wheel carries the scripts")


def _extension() -> Finding:
    """Look for the extension that colours Relay in the folders that JupyterLab searches."""
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path.home() / ".local"]
    for folder in folders:
        extension = folder / "share" / "jupyter" / "labextensions" / "passlab"
        if (extension / "package.json").exists():
            return Finding("JupyterLab extension", "ok", "installed with the package")
    return Finding(
        "JupyterLab extension",
        "missing",
        "needed for coloured %%relay cells and .relay files",
        "install passlab into the environment that JupyterLab runs in",
    )


def _graphviz() -> Finding:
    def attempt() -> str:
        from passlab.display.graphs.dataflow import dataflow
        from passlab.display.graphs.layout import LayoutError, forget, lay_out
        from passlab.ir.expr import Function, Var
        from passlab.ir.types import TensorType

        x = Var("x", TensorType((2,), "float32"))
        graph = dataflow(Function([x], x))
        forget()  # a layout that is remembered would need no Graphviz
        try:
            lay_out(graph, [(60.0, 20.0)] * len(graph.boxes))
        except LayoutError as error:
            raise OSError(str(error)) from error
        return "a graph was laid out"

    fix = "pip install pygraphviz (its wheel carries Graphviz), or put `dot` on PATH; without it graphs are plainer"
    return _attempt("Graphviz", attempt, fix)


def _browser() -> Finding:
    names = [name for name in BROWSERS if shutil.which(name)]
    if names:
        return Finding("browser", "ok", names[0])
    return Finding("browser", "missing", "none on PATH", "open the address that JupyterLab prints in any browser")


def _threads() -> Finding:
    """Say how many threads a run has, and when fewer would be faster: the threads of BLAS wait by spinning."""
    count, processors = thread_count(), os.cpu_count() or 1
    there = min(quota() or processors, processors)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    detail = f"{counted(count, 'thread')} for large kernels, {counted(processors, 'processor')}"
    if there < processors:
        detail += f", of which this container may use {there:g}"
    fix = "set OPENBLAS_NUM_THREADS=1 before Python starts: threads of BLAS that share a processor wait for one another"
    if count > 1 and (load > processors or there < count):
        return Finding("threads", "ok", f"{detail}, load {load:.1f}", fix)
    return Finding("threads", "ok", detail)


def quota(path: Path = Path("/sys/fs/cgroup/cpu.max")) -> float | None:
    """Return how many processors a container may use, None where nothing limits them."""
    try:
        most, period = path.read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return None
    return None if most == "max" else int(most) / int(period)
