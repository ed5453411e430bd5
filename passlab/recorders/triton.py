"""Triton, live: every pass of a kernel, from its Python to the machine code, with a GPU or without one.

    rec = passlab.recorders.triton.record(
        softmax, "*fp32, *fp32, i32, i32", constexprs={"BLOCK": 512}, target="cuda:90"
    )
    rec["TTGIR"].diff(), rec.lines_of("softmax.py:8")

Triton's pass managers have no callbacks; they print. The kernel is compiled in a process of its own (a fork). So
nothing that Triton prints reaches the session, no option of LLVM stays set, and a crash of the compiler ends no
session. Each stage has a file for what it prints and one for its result.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import io
import json
import linecache
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from passlab.dumps.source import BytesSource
from passlab.dumps.stages import Stage, Stream
from passlab.dumps.triton import TritonRecording, stage_of
from passlab.errors import Diagnostic, DumpError, did_you_mean, type_in_words
from passlab.ir.span import Source, Span
from passlab.recorders.protocol import import_host

_TARGETS = {"cuda": 32, "hip": 64}  # back ends, and the size of a warp
_TARGET = re.compile(r"(?P<backend>\w+):(?:sm_?)?(?P<arch>\w+)")
_TYPES = frozenset(
    [
        "i1",
        "i8",
        "i16",
        "i32",
        "i64",
        "u1",
        "u8",
        "u16",
        "u32",
        "u64",
        "bf16",
        "fp16",
        "fp32",
        "fp64",
        "fp8e4nv",
        "fp8e5",
        "fp8e4b8",
        "fp8e4b15",
        "fp8e5b16",
    ]
)
_HINT = re.compile(r"(?P<type>.+):(?P<hint>1|16)")
_DUMPS = {
    "MLIR_ENABLE_DUMP": "1",
    "LLVM_IR_ENABLE_DUMP": "1",
    "TRITON_ALWAYS_COMPILE": "1",
    "TRITON_KERNEL_DUMP": "0",
}
_FLAGS = ("print-before-all", "print-after-all", "print-module-scope")
# What LLVM's pass manager says beside the programs once it is asked for these.
_CHATTER = re.compile(
    rb"^(?:Running (?:pass|analysis): |Skipping pass: |Invalidating analysis: |Clearing all analysis)[^\n]*\n",
    re.MULTILINE,
)
_ERROR = re.compile(
    r"^(?:(?P<file>[^\s:][^\n:]*):(?P<line>\d+):(?P<column>\d+): )?error: (?P<what>[^\n]+)", re.MULTILINE
)
_FATAL = re.compile(r"\b(?:fatal|error)\b\s*:")
_ENDED, _RAISED = "ended", "raised"


class _Kernel(NamedTuple):
    """A kernel with all that its compilation takes."""

    function: Any
    signature: dict[str, str]
    constants: dict[str, Any]
    attributes: dict[tuple[int, ...], list[list[Any]]]


def record(
    kernel: Any,
    signature: str | Mapping[str, str],
    target: Any = None,
    *,
    constexprs: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> TritonRecording:
    """Compile a kernel and return the recording of all its passes, under the stages of the compilation.

    `kernel` is a function under `@triton.jit` (or `@triton.autotune` above it). `signature` has the types of its
    arguments as Triton writes them, by name or in order: `*fp32`, `i32`, `*fp32:16` for a pointer to 16 bytes, `i32:16`
    for a multiple of 16. Arguments that are `tl.constexpr` have no type there, but a value in `constexprs`. `target` is
    `cuda:90`, `hip:gfx942` or a `GPUTarget`; without one it is the GPU of this machine. `options` are options of the
    back end (`num_warps`, `num_stages`, ...).

    A pass that fails is the last step. Raises `DumpError` for a kernel, signature or target that Triton does not take,
    and for a kernel that does not get as far as its first pass; `MissingPackageError` without Triton.
    """
    parts = _kernel(kernel, signature, dict(constexprs or {}))
    device = _target(target)
    with tempfile.TemporaryDirectory(prefix="passlab-triton-") as folder:
        outcome = _run_apart(lambda: _compile(parts, device, dict(options or {}), Path(folder)), Path(folder))
        name = parts.function.__name__
        stages = _stages(Path(folder), outcome, parts)
    recording = TritonRecording(stages, name, [f"target = {device.backend}:{device.arch}"])
    file = inspect.getsourcefile(parts.function.fn) or ""
    if lines := linecache.getlines(file):
        recording.add_source(file, "".join(lines))
    return recording


# ---------------------------------------------------------------- what is compiled
_import = partial(
    import_host,
    passes="Triton's",
    package="triton",
    fix="pip install triton (Linux); it compiles for any target without a GPU",
)


def _kernel(kernel: Any, signature: Any, constexprs: dict[str, Any]) -> _Kernel:
    """Return a kernel with its checked signature. Raises `DumpError`."""
    jit = _import("triton.runtime.jit").JITFunction
    function = kernel
    for _ in range(8):  # autotune and heuristics wrap the function
        if isinstance(function, jit) or not hasattr(function, "fn"):
            break
        function = function.fn
    if not isinstance(function, jit):
        what = f"the function `{kernel.__name__}`" if inspect.isfunction(kernel) else type_in_words(kernel)
        raise DumpError(Diagnostic(f"{what} is not a Triton kernel", hint="put `@triton.jit` above its definition"))
    params = list(function.arg_names)
    fixed = [params[at] for at in function.constexprs]
    for one in constexprs:
        if one not in params:
            hint = did_you_mean(one, params) or f"it has {', '.join(params)}"
            raise DumpError(Diagnostic(f"{function.__name__} has no parameter `{one}`", hint=hint))
    values = _defaults(function, fixed) | constexprs
    if missing := [one for one in fixed if one not in values]:
        hint = f"pass constexprs={{{', '.join(f'{one!r}: ...' for one in missing)}}}"
        raise DumpError(Diagnostic(f"`{missing[0]}` is tl.constexpr and has no value", hint=hint))
    open_ones = [one for one in params if one not in values]
    types = _types(function.__name__, signature, params, open_ones)
    attributes: dict[tuple[int, ...], list[list[Any]]] = {}
    for one, text in list(types.items()):
        if match := _HINT.fullmatch(text):
            types[one] = match["type"]
            if match["hint"] == "1":
                values[one] = 1
            else:
                attributes[(params.index(one),)] = [["tt.divisibility", 16]]
    whole = {one: "constexpr" if one in values else types[one] for one in params}
    return _Kernel(function, whole, values, attributes)


def _defaults(function: Any, fixed: list[str]) -> dict[str, Any]:
    found = inspect.signature(function.fn).parameters
    return {one: found[one].default for one in fixed if found[one].default is not inspect.Parameter.empty}


def _types(name: str, signature: Any, params: list[str], open_ones: list[str]) -> dict[str, str]:
    """Return the type of each parameter that has no fixed value."""
    if isinstance(signature, str):
        words = [word.strip() for word in signature.split(",")] if signature.strip() else []
        if len(words) == len(params):  # with `constexpr` where a value is fixed
            given = {one: word for one, word in zip(params, words, strict=True) if one in open_ones}
        elif len(words) == len(open_ones):
            given = dict(zip(open_ones, words, strict=True))
        else:
            hint = f"give the types of {', '.join(open_ones)}"
            raise DumpError(
                Diagnostic(f"the signature has {len(words)} types, and {name} takes {len(open_ones)}", hint=hint)
            )
    elif isinstance(signature, Mapping):
        given = {str(one): str(text) for one, text in signature.items()}
        for one in given:
            if one not in params:
                hint = did_you_mean(one, params) or f"it has {', '.join(params)}"
                raise DumpError(Diagnostic(f"{name} has no parameter `{one}`", hint=hint))
        given = {one: text for one, text in given.items() if one in open_ones}
        if missing := [one for one in open_ones if one not in given]:
            hint = f"give the types of {', '.join(open_ones)}"
            raise DumpError(Diagnostic(f"the signature has no type for `{missing[0]}`", hint=hint))
    else:
        hint = '"*fp32, i32", or a dictionary with a type for each name'
        raise DumpError(Diagnostic(f"{type_in_words(signature)} is not a signature", hint=hint))
    for one, text in given.items():
        plain = match["type"] if (match := _HINT.fullmatch(text)) else text
        if plain == "constexpr":
            raise DumpError(Diagnostic(f"`{one}` has no value", hint=f"pass constexprs={{{one!r}: ...}}"))
        if not _is_type(plain):
            hint = "types are written *fp32 (a pointer), fp16, bf16, i32, u8, i1"
            raise DumpError(Diagnostic(f"`{text}`, for `{one}`, is not a Triton type", hint=hint))
    return given


def _is_type(text: str) -> bool:
    return text.startswith(("tensordesc", "(", "nvTmaDesc")) or text.removeprefix("*").removeprefix("k") in _TYPES


def _target(target: Any) -> Any:
    """Return the target as Triton's object. Raises `DumpError` for one that its back ends do not have."""
    make = _import("triton.backends.compiler").GPUTarget
    if target is None:
        try:
            return _import("triton.runtime.driver").driver.active.get_current_target()
        except Exception as error:
            hint = 'without a GPU give one, as target="cuda:90" or target="hip:gfx942"'
            raise DumpError(Diagnostic(f"this machine has no GPU for Triton: {error}", hint=hint)) from error
    if isinstance(target, str):
        match = _TARGET.fullmatch(target.strip())
        if match is None or match["backend"] not in _TARGETS:
            hint = did_you_mean(target.partition(":")[0], _TARGETS) or "it is written cuda:90 or hip:gfx942"
            raise DumpError(Diagnostic(f"`{target}` is not a Triton target", hint=hint))
        arch = match["arch"]
        warp = 32 if arch.startswith("gfx1") else _TARGETS[match["backend"]]
        target = make(match["backend"], int(arch) if arch.isdigit() else arch, warp)
    try:
        _import("triton.compiler.compiler").make_backend(target)
    except Exception as error:
        first = str(error).strip().split("\n")[0]
        raise DumpError(
            Diagnostic(f"Triton takes no target {target}: {first}", hint="as cuda:90 or hip:gfx942")
        ) from error
    return target


# ---------------------------------------------------------------- the process that compiles
def _run_apart(work: Callable[[], None], folder: Path) -> dict[str, Any]:
    """Run a function in a fork of this process, and return how it ended: a status and, after an error, its facts.

    The fork has the kernel, which may be a cell of a notebook; it reads and writes files alone.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads: this one uses no other's lock
        child = os.fork()
    if not child:
        try:
            _go_quiet(folder)
            work()
            outcome: dict[str, Any] = {"status": _ENDED}
        except BaseException as error:
            outcome = {"status": _RAISED, "type": type(error).__name__, "message": str(error), **_place_of(error)}
        with contextlib.suppress(OSError):
            (folder / "outcome.json").write_text(json.dumps(outcome), "utf-8")
        os._exit(0)  # no handlers and no cleaning: these belong to the process that goes on
    try:
        _, status = os.waitpid(child, 0)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    try:
        found: dict[str, Any] = json.loads((folder / "outcome.json").read_text("utf-8"))
    except (OSError, ValueError):
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        what = signal.Signals(number).name if number else f"exit status {os.waitstatus_to_exitcode(status)}"
        found = {"status": _RAISED, "type": "", "message": f"the compiler crashed ({what})"}
    return found


def _go_quiet(folder: Path) -> None:
    """Send what this process prints into a file."""
    faulthandler.disable()  # of the session, whose terminal it would write to
    warnings.simplefilter("default")  # those of Triton are printed, also where the session makes warnings errors
    _open_stream(folder / "00.begin.txt")
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _open_stream(path: Path) -> None:
    """Let the standard streams of this process go into a file."""
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()  # those of a notebook are sockets of another process
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)


def _place_of(error: BaseException) -> dict[str, Any]:
    """Return the place in the kernel where Triton's front end stopped: the first line of its function, and the line."""
    node, source = getattr(error, "node", None), getattr(error, "src", None)
    cause = error
    while getattr(cause, "__cause__", None) is not None:
        cause = cause.__cause__  # type: ignore[assignment]
    what = getattr(cause, "error_message", None) or str(cause)
    column = getattr(node, "col_offset", 0)
    return {"line": getattr(node, "lineno", None), "column": column, "source": source, "what": what}


def _compile(kernel: _Kernel, target: Any, options: dict[str, Any], folder: Path) -> None:
    """Compile a kernel; each stage writes what it prints and its result into files of the folder."""
    os.environ.update(_DUMPS, TRITON_CACHE_DIR=str(folder / "cache"))
    compiler = import_module("triton.compiler.compiler")
    source = compiler.ASTSource(kernel.function, kernel.signature, kernel.constants, kernel.attributes)
    backend = type(compiler.make_backend(target))
    add_stages = backend.add_stages
    count = 0

    def watched(kind: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def stage(module: Any, metadata: Any) -> Any:
            nonlocal count
            count += 1
            begin = time.perf_counter()
            if count == 1:
                (folder / "00.source").write_text(str(module), "utf-8", "surrogateescape")
            _open_stream(folder / f"{count:02}.{kind}.1.txt")
            after = run(module, metadata)
            seconds = time.perf_counter() - begin
            _open_stream(folder / "zz.txt")
            data = after if isinstance(after, bytes) else str(after).encode("utf-8", "surrogateescape")
            (folder / f"{count:02}.{kind}").write_bytes(data)
            (folder / f"{count:02}.{kind}.time").write_text(str(seconds))
            return after

        return stage

    def all_stages(self: Any, stages: dict[str, Any], *args: Any, **more: Any) -> None:
        add_stages(self, stages, *args, **more)
        stages.update({kind: watched(kind, run) for kind, run in stages.items()})

    backend.add_stages = all_stages
    _watch_llvm(folder)
    compiler.compile(source, target=target, options=options or None)


def _watch_llvm(folder: Path) -> None:
    """Let LLVM print around each pass, in a file of its own, and keep the program that it gets from MLIR."""
    llvm = import_module("triton._C.libtriton").llvm
    to_module, optimize, translate = llvm.to_module, llvm.optimize_module, llvm.translate_to_asm

    def next_stream() -> None:
        last = max(path.name for path in folder.glob("*.*.*.txt"))
        head, number, _ = last.rsplit(".", 2)
        _open_stream(folder / f"{head}.{int(number) + 1}.txt")

    def from_mlir(module: Any, *args: Any) -> Any:
        last = max(path.name for path in folder.glob("*.*.*.txt"))
        (folder / last.replace(".txt", ".after")).write_text(str(module), "utf-8", "surrogateescape")
        result = to_module(module, *args)
        next_stream()
        return result

    def optimized(module: Any, *args: Any, **more: Any) -> Any:
        given = list(args)  # level, architecture, features, flags, ...
        if len(given) > 3:
            given[3] = [*given[3], *_FLAGS]
        else:
            more["flags"] = [*more.get("flags", ()), *_FLAGS]
        return optimize(module, *given, **more)

    def translated(text: Any, triple: Any, proc: Any, features: Any, flags: Any, *args: Any, **more: Any) -> Any:
        return translate(text, triple, proc, features, [*flags, *_FLAGS], *args, **more)

    llvm.to_module, llvm.optimize_module, llvm.translate_to_asm = from_mlir, optimized, translated


# ---------------------------------------------------------------- its files
def _stages(folder: Path, outcome: dict[str, Any], kernel: _Kernel) -> list[Stage]:
    """Return the stages of a compilation from the files that it wrote."""
    begun = sorted(
        {path.name.split(".", 2)[1]: path.name[:2] for path in folder.glob("*.*.1.txt")}.items(), key=lambda one: one[1]
    )
    if not begun:
        raise _front_end_error(outcome, kernel)
    stages = [stage_of("source", _bytes(folder / "00.source"))]
    failure = "" if outcome["status"] == _ENDED else _failure(folder, outcome)
    for kind, number in begun:
        streams = []
        for path in sorted(folder.glob(f"{number}.{kind}.*.txt")):
            data = path.read_bytes()
            language = "llvm" if b"*** IR Dump" in data else "mlir"
            after = path.with_suffix(".after")
            streams.append(Stream(language, BytesSource(_CHATTER.sub(b"", data), path.name), _bytes(after)))
        result = _bytes(folder / f"{number}.{kind}")
        if kind in ("cubin", "hsaco"):
            kind, result = "sass", _disassembled(folder / f"{number}.{kind}") if result is not None else None
            if result is None and not failure:
                continue
        elif kind in ("ttir", "ttgir", "glir") and streams and streams[-1].after is None:
            streams[-1].after = result
        stage = stage_of(kind, result)
        stage.streams = streams
        if (timed := folder / f"{number}.{kind}.time").exists():
            stage.seconds = float(timed.read_text())
        stage.failure = failure if result is None else ""
        stages.append(stage)
    return stages


def _bytes(path: Path) -> BytesSource | None:
    return BytesSource(path.read_bytes(), path.name) if path.exists() else None


def _disassembled(path: Path) -> BytesSource | None:
    """Return the machine code of a cubin with its source lines; None without NVIDIA's disassembler, or for hsaco."""
    with contextlib.suppress(AttributeError, RuntimeError, OSError, subprocess.SubprocessError):
        tool = import_module("triton.knobs").nvidia.nvdisasm.path
        run = subprocess.run([tool, "-c", "-gi", str(path)], capture_output=True, check=True, timeout=120)
        return BytesSource(run.stdout, "sass")
    return None


def _failure(folder: Path, outcome: dict[str, Any]) -> str:
    """Return why a stage did not end: the last error that the compiler printed with its place, or what was raised."""
    printed = "".join(path.read_text("utf-8", "replace") for path in sorted(folder.glob("*.txt"))[-3:])
    errors = list(_ERROR.finditer(printed))
    lines = str(outcome["message"]).strip().split("\n")
    first = ": ".join([lines[0], *[line.strip() for line in lines[1:] if _FATAL.search(line)][:1]])
    raised = f"{outcome['type']}: {first}" if outcome["type"] else first
    if not errors:
        return raised
    place = f"{errors[-1]['file']}:{errors[-1]['line']}: " if errors[-1]["file"] else ""
    return f"{place}{errors[-1]['what']} ({raised})"


def _front_end_error(outcome: dict[str, Any], kernel: _Kernel) -> DumpError:
    """Return the error of a kernel that Triton's front end does not take, with its line."""
    function = kernel.function
    file = inspect.getsourcefile(function.fn) or ""
    line = outcome.get("line")
    name = function.__name__
    what = str(outcome.get("what") or outcome["message"]).strip() or outcome["type"]
    if line is None or outcome.get("source") is None:
        return DumpError(Diagnostic(f"Triton does not compile {name}: {outcome['type']}: {what}"))
    span = _span(Path(file), str(outcome["source"]), line, int(outcome.get("column") or 0))
    return DumpError(Diagnostic(f"Triton does not compile {name}: {what}", span))


def _span(file: Path, function: str, line: int, column: int) -> Span:
    """Return the place of a line of a function in its file; in the function's own text where the file is another."""
    lines = linecache.getlines(str(file))
    body = function.split("\n")
    wanted = [one.strip() for one in body if one.strip()]
    for at, text in enumerate(lines):
        if wanted and text.strip() == wanted[0]:
            found = [one.strip() for one in lines[at : at + len(body)] if one.strip()]
            if found == wanted[: len(found)] and len(found) >= min(len(wanted), 2):
                indent = len(text) - len(text.lstrip())
                return _line_span("".join(lines), str(file), at + line, column + indent)
    return _line_span(function, None, line, column)


def _line_span(text: str, name: str | None, line: int, column: int) -> Span:
    """Return the rest of a line from a column on."""
    source, lines = Source(name, text), text.split("\n")
    number = min(max(line, 1), len(lines))
    start = sum(len(one) + 1 for one in lines[: number - 1])
    return Span(source, min(start + column, start + len(lines[number - 1])), start + len(lines[number - 1]))
