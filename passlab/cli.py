"""The command line: `passlab opt|run|report|bisect|passes`, also as `python -m passlab`.

    passlab opt net.relay "InferType, FoldConstant, FuseOps(fuse_opt_level=2)" -O 3 -o out.relay
    passlab run net.relay --random 0
    passlab report net.relay @pipeline.passes report.html
    passlab bisect net.relay SimplifyExpr

Programs are files of Relay text (`-` reads standard input) or ONNX models (`.onnx`); pipelines are in the pipeline
language, or in a file after `@`. The exit status is 0, 1 where a program, a pipeline or a pass is at fault, 2 for wrong
arguments, 130 after an interrupt. What is asked of recordings is in `lab`; this module only reads arguments and prints.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab import __version__, instrument
from passlab.errors import Diagnostic, PassError, PasslabError, RunError
from passlab.infer import infer_module
from passlab.lab.recording import Recording, record
from passlab.text.parser import parse
from passlab.transform import list_passes
from passlab.transform.pipeline import as_pass, context_names

if TYPE_CHECKING:
    from passlab.ir.module import IRModule


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status."""
    options = _parser().parse_args(argv)
    try:
        status: int = options.command(options)
        sys.stdout.flush()
        return status
    except PasslabError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # whoever read the output has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"error: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
    except UnicodeDecodeError as error:
        print(f"error: the program is not UTF-8: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 1


# ---------------------------------------------------------------- arguments
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="passlab", description="Read, transform, run and explain Relay programs.")
    parser.add_argument("--version", action="version", version=f"passlab {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    opt = commands.add_parser("opt", help="run a pipeline and print the program it leaves")
    _pipeline_arguments(opt, _opt)
    opt.add_argument("-o", "--out", type=Path, metavar="FILE", help="write the program there instead")
    opt.add_argument("--steps", action="store_true", help="say on standard error what each pass did")
    opt.add_argument("--time", action="store_true", help="say on standard error how long each pass took")
    opt.add_argument("--verify", action="store_true", help="check the program after each pass")
    opt.add_argument("--limit", type=int, metavar="N", help="run only the first N passes")
    opt.add_argument("--print-after", metavar="PASSES", help="print the program after these passes (`all`: after each)")
    opt.add_argument("--dump", type=Path, metavar="DIR", help="write the program after each pass to numbered files")
    opt.add_argument("--no-meta-data", action="store_true", help="leave the metadata section out")
    run = commands.add_parser("run", help="run a function of a program and print its result")
    _program_argument(run, _run)
    run.add_argument("--entry", default="main", metavar="FUNCTION", help="the function (default main)")
    run.add_argument("--args", type=Path, metavar="FILE", help="arguments, an .npz by name of the parameter")
    run.add_argument("--random", type=int, default=0, metavar="SEED", help="the seed of made-up arguments (default 0)")
    run.add_argument("--executor", default="debug", help="debug, graph, vm or aot (default debug)")
    report = commands.add_parser("report", help="record a pipeline as one HTML file, or as a folder")
    _pipeline_arguments(report, _report)
    report.add_argument("out", type=Path, help="the HTML file; a name without .html is a folder of text and JSON")
    report.add_argument("--static", action="store_true", help="a page without scripts")
    bisect = commands.add_parser("bisect", help="name the first pass that changes what the program computes")
    _pipeline_arguments(bisect, _bisect)
    bisect.add_argument("--random", type=int, default=0, metavar="SEED", help="the seed of the inputs (default 0)")
    bisect.add_argument("--reduce", action="store_true", help="print the smallest program that the pass breaks so")
    passes = commands.add_parser("passes", help="list the passes there are")
    passes.set_defaults(command=_passes)
    return parser


def _program_argument(parser: argparse.ArgumentParser, command: Any) -> None:
    parser.add_argument("program", help="a file of Relay text, or an ONNX model (.onnx); `-` is standard input")
    parser.set_defaults(command=command)


def _pipeline_arguments(parser: argparse.ArgumentParser, command: Any) -> None:
    _program_argument(parser, command)
    parser.add_argument("pipeline", help='passes, as in "InferType, FuseOps(fuse_opt_level=2)"; @FILE reads a file')
    parser.add_argument("-O", "--opt-level", type=int, default=3, help="the level of the context (default 3)")
    parser.add_argument("--disable", default="", metavar="PASSES", help="passes that must not run")
    parser.add_argument("--require", default="", metavar="PASSES", help="passes that run whatever their level")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="an option of the context")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _config(settings: list[str]) -> dict[str, Any]:
    """Return options of a context from texts `key=value`; values are JSON, or else plain words."""
    found: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign:
            raise PassError(Diagnostic("an option of the context is written KEY=VALUE", found=repr(setting)))
        try:
            found[key.strip()] = json.loads(text)
        except ValueError:
            found[key.strip()] = text
    return found


def _read(name: str) -> IRModule:
    """Return a program, typed where it has types; what does not type is for the passes to say."""
    if name.lower().endswith(".onnx"):
        from passlab.frontend import from_onnx

        return from_onnx(name)[0]
    text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    return parse(text, source_name="stdin" if name == "-" else name)


def _pipeline(text: str) -> str:
    return Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text


def _recorded(options: argparse.Namespace, *instruments: Any) -> Recording:
    pipeline = as_pass(_pipeline(options.pipeline))
    return record(
        _read(options.program), pipeline, options.opt_level, instruments=instruments,
        required_pass=context_names(_names(options.require), pipeline),
        disabled_pass=context_names(_names(options.disable), pipeline), config=_config(options.config),
        name="" if options.program == "-" else Path(options.program).stem,
    )  # fmt: skip


# ---------------------------------------------------------------- commands
def _opt(options: argparse.Namespace) -> int:
    timing = instrument.PassTimingInstrument()
    used: list[Any] = [timing]
    if options.limit is not None:
        used.append(instrument.PassLimit(options.limit))
    if options.verify:
        used.append(instrument.VerifyInstrument())
    if options.dump is not None:
        used.append(instrument.DumpIR(options.dump))
    if options.print_after is not None:
        names = None if options.print_after == "all" else _names(options.print_after)
        used.append(instrument.PrintIRAfter(names, file=sys.stderr))
    recording = _recorded(options, *used)
    if options.steps:
        print(recording.text(), file=sys.stderr)
    if options.time:
        print(timing.render(), end="", file=sys.stderr)
    text = recording.output.astext(show_meta_data=not options.no_meta_data)
    if options.out is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        options.out.write_text(text, encoding="utf-8")
    return 0


def _run(options: argparse.Namespace) -> int:
    from passlab.evaluate.samples import random_arguments
    from passlab.executor import create_executor

    mod = infer_module(_read(options.program))
    function = mod[options.entry]
    names = [param.name_hint for param in function.params]
    if options.args is None:
        arguments = random_arguments(function, options.random, "give it with --args")
    else:
        given = _arrays(options.args)
        missing = [name for name in names if name not in given]
        if missing:
            raise RunError(Diagnostic(f"{options.args} has no array `{missing[0]}`", hint=f"it has {', '.join(given)}"))
        arguments = [given[name] for name in names]
    print(create_executor(options.executor, mod).evaluate(mod.get_global_var(options.entry))(*arguments))
    return 0


def _arrays(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as held:
            return dict(held.items())
    except (ValueError, EOFError, AttributeError, TypeError) as error:
        hint = "`numpy.savez(path, x=..., w=...)` writes one, by name of the parameter"
        raise RunError(Diagnostic(f"{path} is not an .npz file of arrays", hint=hint)) from error


def _report(options: argparse.Namespace) -> int:
    recording = _recorded(options)
    if options.out.suffix.lower() in (".html", ".htm"):
        recording.to_html(options.out, options.static)
    else:
        recording.save(options.out)
    print(f"{options.out}: {recording.summary()}")
    if recording.error is not None:
        print(f"{type(recording.error).__name__}: {recording.error}", file=sys.stderr)
    return int(recording.error is not None)


def _bisect(options: argparse.Namespace) -> int:
    found = _recorded(options).bisect(seed=options.random)
    if found.event is None:
        print("every pass kept its promise")
        return 0
    print(f"step {found.event.id}, {found.event.text or found.event.name}: {found.why}")
    if options.reduce:
        print(found.reduce().text())
    return 1


def _passes(options: argparse.Namespace) -> int:
    print(list_passes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
