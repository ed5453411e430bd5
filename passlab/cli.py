"""The command line: `passlab opt|simplify|run|report|culprit|fuzz|bisect|dump|host|passes|docs|doctor`.

    passlab simplify net.onnx small.onnx
    passlab opt net.relay "InferType, FoldConstant, FuseOps(fuse_opt_level=2)" -O 3 -o out.relay
    passlab run net.relay --random 0
    passlab report net.relay @pipeline.passes report.html
    passlab culprit net.relay "InferType, SimplifyExpr, FuseOps" --script bug.py
    passlab fuzz SimplifyExpr --seconds 60 -o fuzzed
    clang -O2 -c x.c -mllvm -print-changed 2>&1 | passlab dump - --open
    passlab host bisect --check ./test.sh clang -O2 x.c

Programs are files of Relay text (`-` reads standard input) or ONNX models (`.onnx`); pipelines are in the pipeline
language, or in a file after `@`. The exit status is 0, 1 where a program, a pipeline or a pass is at fault
or a search tried nothing, 2 for wrong arguments, 130 after an interrupt. This module only reads arguments and prints;
`lab` does the work.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab import __version__, arguments, instrument, limits
from passlab.atomic_file import checked_path, write_text
from passlab.errors import Diagnostic, PassError, PasslabError, RunError, did_you_mean, visible
from passlab.frontend import to_onnx
from passlab.infer import infer_module
from passlab.lab.recordings.recording import Recording, record
from passlab.lab.simplification import simplify, simplify_folder
from passlab.oracle.deadline import SLOW, LastResort
from passlab.text.parser import parse
from passlab.transform import list_passes
from passlab.transform.base import Pass
from passlab.transform.pipeline_text import as_pass, context_names

if TYPE_CHECKING:
    from passlab.ir.module import IRModule

# What numpy and zipfile raise for files that are not archives of arrays, or damaged ones.
DAMAGED = (AttributeError, EOFError, MemoryError, RuntimeError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)
HOST_ACTIONS = {
    "record": "record one run, each pass",
    "bisect": "find the pass after which a check of the output fails",
    "reduce": "make the input smaller, as long as the check fails",
    "compare": "record two commands, and compare them pass by pass",
}
OWN_PASSES = "a Python file whose passes the pipeline may name"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status."""
    options, unknown = _parser().parse_known_args(argv)
    if unknown:
        known = [option for action in options.parser._actions for option in action.option_strings]
        word = unknown[0].partition("=")[0]
        hint = (did_you_mean(word, known) if word.startswith("-") else "") or ""
        problem = f"unrecognized arguments: {' '.join(unknown)}{': ' if hint else ''}{hint}"
        options.parser.error(problem)
    try:
        status: int = options.command(options)
        sys.stdout.flush()
        return status
    except PasslabError as error:
        print(error, file=sys.stderr)
    except BrokenPipeError:  # the reader of the output has closed it, as `head` does
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
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_CommandParser)
    opt = commands.add_parser("opt", help="run a pipeline and print the resulting program")
    _pipeline_arguments(opt, _opt)
    opt.add_argument("-o", "--out", type=Path, metavar="FILE", help="write the program there, *.onnx as a model")
    opt.add_argument("--shape", action="append", default=[], metavar="NAME=DIMS", help="simplify: an input's shape")
    opt.add_argument("--steps", action="store_true", help="say on standard error what each pass did")
    opt.add_argument("--time", action="store_true", help="say on standard error how long each pass took")
    opt.add_argument("--verify", action="store_true", help="check the program after each pass")
    opt.add_argument("--limit", type=arguments.count_from_zero, metavar="N", help="run only the first N passes")
    opt.add_argument("--print-after", metavar="PASSES", help="print the program after these passes (`all`: after each)")
    opt.add_argument("--dump", type=Path, metavar="DIR", help="write the program after each pass to numbered files")
    opt.add_argument("--no-meta-data", action="store_true", help="leave the metadata section out")
    _simplify_arguments(commands)
    _run_arguments(commands)
    report = commands.add_parser("report", help="record a pipeline as one HTML file, or as a folder")
    _pipeline_arguments(report, _report)
    report.add_argument("out", type=Path, help="the HTML file; a name without .html is a folder of text and JSON")
    report.add_argument("--static", action="store_true", help="a page without scripts")
    _search_arguments(commands)
    _dump_arguments(commands)
    _host_arguments(commands)
    commands.add_parser("passes", help="list all passes").set_defaults(command=_passes)
    docs = commands.add_parser("docs", help="print a page of the manual, or the part of it that answers a question")
    docs.add_argument("words", nargs="*", help="the name of a page, or a question; without words: the list of pages")
    docs.set_defaults(command=_docs)
    commands.add_parser("doctor", help="list what is installed and what works").set_defaults(command=_doctor)
    _course_arguments(commands)
    return parser


class _CommandParser(argparse.ArgumentParser):
    """The parser of a command, which the options that it returns name, so that a misspelled one can be asked for."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.set_defaults(parser=self)


def _course_arguments(commands: Any) -> None:
    """Declare the commands of learners and teachers."""
    course = commands.add_parser("course", help="the course: start, status, next, reset, submit, grade, adapt")
    actions = course.add_subparsers(title="actions", required=True, metavar="ACTION")
    for name, what in (
        ("start", "copy the lessons into a folder; files that are there stay as they are"),
        ("status", "list the lessons, and what is solved in each"),
        ("next", "name the first lesson with an open exercise"),
        ("submit", "write the lessons and the progress as one zip file"),
        ("template", "write a lesson of one's own to begin with: a notebook, its exercises, and their test"),
    ):
        action = actions.add_parser(name, help=what)
        action.add_argument("folder", type=Path, nargs="?", default=Path(), help="the folder (default .)")
        action.set_defaults(command=_course, action=name)
    reset = actions.add_parser("reset", help="put a fresh copy of a lesson there; yours is kept under another name")
    reset.add_argument("lesson", help="the number of the lesson, such as 05 or 11b")
    reset.add_argument("folder", type=Path, nargs="?", default=Path(), help="the learner's folder (default .)")
    reset.set_defaults(command=_course, action="reset")
    grade = actions.add_parser(
        "grade", help="run all submissions in a folder, and write grades.csv and a page for each"
    )
    grade.add_argument("folder", type=Path, help="a folder, zip file or notebook for each student is in it")
    grade.add_argument("-o", "--out", type=Path, metavar="DIR", help="where grades are written (default FOLDER-grades)")
    grade.add_argument("--lesson", action="append", default=[], metavar="N", help="grade this lesson only")
    grade.add_argument(
        "--jobs", type=arguments.count_from_zero, default=0, metavar="N", help="how many at once (default: processors)"
    )
    grade.add_argument(
        "--seconds", type=arguments.seconds, default=120.0, help="the time of one notebook (default 120)"
    )
    grade.add_argument(
        "--memory", type=arguments.count, default=4096, metavar="MIB", help="the memory of one notebook (default 4096)"
    )
    grade.set_defaults(command=_grade)
    adapt = actions.add_parser("adapt", help="write lessons for another grader: nbgrader or otter")
    adapt.add_argument("grader", help="nbgrader or otter")
    adapt.add_argument("folder", type=Path, help="the folder of the course there")
    adapt.add_argument("lessons", nargs="+", metavar="lesson", help="the number of a lesson, such as 05 or 11b")
    adapt.set_defaults(command=_adapt)


def _simplify_arguments(commands: Any) -> None:
    """Declare the command that makes ONNX models smaller."""
    command = commands.add_parser(
        "simplify",
        help="make an ONNX model smaller, keep its names, and compare its values",
        description="The exit status is 0 only if all results were run and their values agree.",
    )
    command.add_argument("model", type=Path, help="an ONNX model, or a folder of models")
    command.add_argument("out", type=Path, nargs="?", help="the file or folder to write; without it, none is written")
    command.add_argument("-o", "--out", type=Path, dest="option_out", metavar="PATH", help="the same as an option")
    command.add_argument(
        "--shape", action="append", default=[], metavar="NAME=DIMS", help="an input's shape, or a size: batch=1"
    )
    command.add_argument(
        "--value",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of an input that is fixed: sr=16000",
    )
    command.add_argument("--disable", default="", metavar="PASSES", help="passes whose removals are left out")
    command.add_argument(
        "--fold-limit",
        type=arguments.count_from_zero,
        default=None,
        metavar="BYTES",
        help="weights that folding one node may add",
    )
    command.add_argument(
        "--random", type=arguments.seed, default=0, metavar="SEED", help="the seed of the inputs (default 0)"
    )
    command.add_argument("--unchecked", action="store_true", help="write a result also where it could not be run")
    command.set_defaults(command=_simplify_models)


def _run_arguments(commands: Any) -> None:
    """Declare the command that runs programs."""
    run = commands.add_parser("run", help="run a function of a program and print its result")
    _program_argument(run, _run)
    run.add_argument("--entry", default="main", metavar="FUNCTION", help="the function (default main)")
    run.add_argument("--args", type=Path, metavar="FILE", help="arguments, an .npz by name of the parameter")
    run.add_argument(
        "--random", type=arguments.seed, default=0, metavar="SEED", help="the seed of random arguments (default 0)"
    )
    run.add_argument(
        "--shape", action="append", default=[], metavar="NAME=DIMS", help="the shape of a random argument: x=2,3"
    )
    run.add_argument("--executor", default="debug", help="debug, graph, vm, aot or onnxruntime (default debug)")


def _search_arguments(commands: Any) -> None:
    """Declare the commands that look for faults."""
    culprit = commands.add_parser("culprit", help="find what broke a program: pass, rewrite, operator, executor")
    _pipeline_arguments(culprit, _culprit)
    culprit.add_argument(
        "--random", type=arguments.seed, default=0, metavar="SEED", help="the seed of the inputs (default 0)"
    )
    culprit.add_argument("--entry", default="main", metavar="FUNCTION", help="the function (default main)")
    culprit.add_argument(
        "--seconds", type=arguments.seconds, default=60.0, help="the time that it may take (default 60)"
    )
    culprit.add_argument("--executors", default="debug", help="to compare, as in debug,vm,graph,aot (default debug)")
    culprit.add_argument("--script", type=Path, metavar="FILE", help="write a Python script that shows the fault")
    culprit.add_argument("--notebook", type=Path, metavar="FILE", help="write a notebook that shows the fault")
    fuzz = commands.add_parser("fuzz", help="search for programs that a pipeline breaks")
    fuzz.add_argument("pipeline", help="passes, as in SimplifyExpr; @FILE reads a file")
    fuzz.add_argument("--passes", action="append", default=[], metavar="FILE", help=OWN_PASSES)
    fuzz.add_argument("--seconds", type=arguments.seconds, default=60.0, help="the time that it may take (default 60)")
    fuzz.add_argument("--hours", type=arguments.seconds, metavar="N", help="the same in hours")
    fuzz.add_argument("--programs", type=arguments.count, metavar="N", help="stop after N programs")
    fuzz.add_argument("--seed", type=arguments.seed, default=0, help="the seed of the programs (default 0)")
    fuzz.add_argument(
        "--most", type=arguments.count, default=3, metavar="N", help="stop after N kinds of failures (default 3)"
    )
    fuzz.add_argument(
        "-o", "--out", type=Path, metavar="DIR", help="write tests and a report, and continue an earlier campaign there"
    )
    fuzz.set_defaults(command=_fuzz)
    bisect = commands.add_parser("bisect", help="name the first pass that changes what the program computes")
    _pipeline_arguments(bisect, _bisect)
    bisect.add_argument(
        "--random", type=arguments.seed, default=0, metavar="SEED", help="the seed of the inputs (default 0)"
    )
    bisect.add_argument(
        "--reduce", action="store_true", help="print the smallest program that the pass breaks in the same way"
    )


def _dump_arguments(commands: Any) -> None:
    """Declare the command that reads dumps of other compilers."""
    dump = commands.add_parser("dump", help="read the pass dump of another compiler")
    dump.add_argument("dump", help="a file or folder of LLVM, MLIR, XLA, TVM, ... ; `-` is standard input")
    dump.add_argument("-o", "--out", type=Path, metavar="FILE", help="write the recording there, as one HTML file")
    dump.add_argument("--static", action="store_true", help="a page without scripts")
    dump.add_argument("--format", default=None, help="the format, if it cannot be detected")
    dump.add_argument("--every-pass", action="store_true", help="the compiler printed all of its passes, and no list")
    dump.add_argument("--step", metavar="STEP", help="print what this step changed: a number, or the name of a pass")
    dump.add_argument(
        "--unit", metavar="NAME", help="a function: the step that wrote each line; with --step, the changes of it there"
    )
    dump.add_argument(
        "--compare", type=Path, metavar="OTHER", help="print where two dumps diverge; with -o, write a page"
    )
    dump.add_argument(
        "--table", metavar="NAME", help="print a table: steps; of torch.compile also guards, graph breaks, metrics, ..."
    )
    reports = "join remarks, or times, to the passes"
    dump.add_argument("--with", dest="reports", action="append", default=[], metavar="FILE", help=reports)
    dump.add_argument("--find", metavar="REGEX", help="print where text of the programs matches")
    dump.add_argument("--hide", default="", metavar="KINDS", help="noise to leave out, as in `debug info,metadata`")
    dump.add_argument(
        "--bisect",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="name the first step after which the command fails on the program ({} is its file)",
    )
    dump.add_argument(
        "--open", action="store_true", help="show the page; the page of a pipe fills while the compiler runs"
    )
    dump.set_defaults(command=_hosts)


def _host_arguments(commands: Any) -> None:
    """Declare the commands that run other compilers."""
    host = commands.add_parser("host", help="run opt, clang, mlir-opt, ...: record, bisect, reduce, compare")
    actions = host.add_subparsers(title="actions", required=True, metavar="ACTION")
    for name, what in HOST_ACTIONS.items():
        add = (action := actions.add_parser(name, help=what)).add_argument
        add("words", nargs=argparse.REMAINDER, metavar="COMMAND", help="the command of the compiler")
        add("--seconds", type=arguments.seconds, default=600.0, metavar="N", help="of one run of it (default 600)")
        if name != "bisect":
            result = "the input found" if name == "reduce" else "the recording, as one HTML file"
            add("-o", "--out", type=Path, metavar="FILE", help=f"write there {result}")
        if name in ("record", "compare"):
            add("--whole", action="store_true", help="print the whole program with each pass")
        else:
            add("--match", metavar="REGEX", help="what the output matches if it is right")
            add("--check", metavar="COMMAND", help="exits with 0 if the output, {} or its last word, is right")
        if name == "record":
            add("--save", type=Path, metavar="FILE", help="write the dump there")
            add("--open", action="store_true", help="show the page")
            add("--reports", action="store_true", help="join remarks and times to the passes")
        elif name == "bisect":
            add("--by", default="pass", choices=("pass", "rewrite"), help="what is counted (default pass)")
        elif name == "compare":
            add("--against", required=True, metavar="COMMAND", help="the other command, or program (opt-16)")
        action.set_defaults(command=_hosts, action=name)


def _program_argument(parser: argparse.ArgumentParser, command: Any) -> None:
    parser.add_argument("program", help="a file of Relay text, or an ONNX model (.onnx); `-` is standard input")
    parser.set_defaults(command=command)


def _pipeline_arguments(parser: argparse.ArgumentParser, command: Any) -> None:
    _program_argument(parser, command)
    parser.add_argument("pipeline", help='passes, as in "InferType, FuseOps(fuse_opt_level=2)"; @FILE reads a file')
    parser.add_argument("--passes", action="append", default=[], metavar="FILE", help=OWN_PASSES)
    parser.add_argument(
        "-O", "--opt-level", type=arguments.count_from_zero, default=3, help="the level of the context (default 3)"
    )
    parser.add_argument("--disable", default="", metavar="PASSES", help="passes that must not run")
    parser.add_argument("--require", default="", metavar="PASSES", help="passes that run at any level")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="an option of the context")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _config(settings: list[str]) -> dict[str, Any]:
    """Return options of a context from texts `key=value`; values are JSON, or else strings."""
    config: dict[str, Any] = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign:
            raise PassError(Diagnostic("an option of the context is written KEY=VALUE", found=repr(setting)))
        try:
            config[key.strip()] = json.loads(text)
        except ValueError:
            config[key.strip()] = text
    return config


def _read(name: str) -> IRModule:
    """Return a program, with types if inference succeeds; type errors are left to the passes."""
    if name.lower().endswith(".onnx"):
        from passlab.frontend import from_onnx

        return from_onnx(name)[0]
    text = sys.stdin.read() if name == "-" else checked_path(name).read_text(encoding="utf-8")
    return parse(text, source_name="stdin" if name == "-" else name)


def _pipeline(options: argparse.Namespace) -> Pass:
    """Return the pipeline of a command, including passes from `--passes` files."""
    text: str = options.pipeline
    text = Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
    return as_pass(
        text, {name: own for path in options.passes for name, own in _own_passes(checked_path(path)).items()}
    )


def _own_passes(path: Path) -> dict[str, Any]:
    """Run a Python file and return the passes that it defines. Raises `PassError` if it fails."""
    loader = SourceFileLoader(path.stem, str(path))
    spec = spec_from_file_location(path.stem, path, loader=loader)
    assert spec is not None
    module = sys.modules[path.stem] = module_from_spec(spec)
    try:
        loader.exec_module(module)
    except Exception as error:
        del sys.modules[path.stem]  # what did not run to its end is no module
        if isinstance(error, OSError):
            raise
        what = f"the file of passes {path} does not run: {type(error).__name__}: {error}"
        raise PassError(Diagnostic(what)) from error
    names = vars(module).items()
    return {name: v for name, v in names if isinstance(v, Pass) or (isinstance(v, type) and issubclass(v, Pass))}


def _record(options: argparse.Namespace, *instruments: Any) -> Recording:
    pipeline = _pipeline(options)
    return record(
        _read(options.program),
        pipeline,
        options.opt_level,
        instruments=instruments,
        required_pass=context_names(_names(options.require), pipeline),
        disabled_pass=context_names(_names(options.disable), pipeline),
        config=_config(options.config),
        name="" if options.program == "-" else Path(options.program).stem,
    )


# ---------------------------------------------------------------- commands
def _course(options: argparse.Namespace) -> int:
    """Run a command of a learner."""
    from passlab.course import folder as course

    folder: Path = options.folder
    if options.action == "start":
        copied, kept = course.start(folder)
        print(f"{len(copied)} files copied to {folder}" + (f", {len(kept)} were there already" if kept else ""))
        print(f"Next: `jupyter lab {folder / '01-tour.ipynb'}`")
    elif options.action == "reset":
        fresh, kept_as = course.reset(folder, options.lesson)
        print(f"{fresh} is as it was given" + (f"; yours is {kept_as}" if kept_as else ""))
    elif options.action == "submit":
        print(course.submit(folder))
    elif options.action == "template":
        print(*course.write_template(folder), sep="\n")
    else:
        rows = course.status(folder)
        if options.action == "next":
            rows = [row for row in rows if not row.is_done][:1]
            if not rows:
                print("Every exercise is solved.")
        for row in rows:
            print(f"{row.number} {row.title}: {len(row.solved)} of {len(row.solved) + len(row.open)} solved")
        if options.action == "next" and rows:
            print(f"   open: {', '.join(rows[0].open)}\n   {rows[0].notebook}")
        elif options.action == "status":
            print(f"{sum(row.points for row in rows):g} of {sum(row.most_points for row in rows):g} points")
    return 0


def _adapt(options: argparse.Namespace) -> int:
    """Write lessons for another grader."""
    from passlab.course.adapters import adapt

    print(*adapt(options.grader, options.folder, options.lessons), sep="\n")
    return 0


def _grade(options: argparse.Namespace) -> int:
    """Grade a class; the status is 0 also where answers are wrong."""
    from passlab.course import grading

    grades = grading.grade(
        options.folder, options.lesson, jobs=options.jobs, seconds=options.seconds, megabytes=options.memory
    )
    out = options.out or options.folder.with_name(f"{options.folder.resolve().name}-grades")
    print(*grading.write_grades(grades, out), sep="\n")
    return 0


def _opt(options: argparse.Namespace) -> int:
    if options.pipeline == "simplify":
        return _simplify(options)
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
    recording = _record(options, *used)
    if options.steps:
        print(recording.text(), file=sys.stderr)
    if options.time:
        print(timing.render(), end="", file=sys.stderr)
    _write(recording.output, options)
    return 0


def _write(mod: IRModule, options: argparse.Namespace) -> None:
    """Write a program: as ONNX to a file `*.onnx`, as Relay text otherwise."""
    if options.out is not None and options.out.suffix.lower() == ".onnx":
        to_onnx(mod, path=options.out)
        return
    text = mod.astext(show_meta_data=not options.no_meta_data)
    if options.out is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        write_text(options.out, text)


def _simplify(options: argparse.Namespace) -> int:
    """Make a model smaller and say on standard error what each pass removed."""
    is_model = options.program.lower().endswith(".onnx")
    shapes = dict(map(_shape, options.shape))
    small = simplify(options.program if is_model else _read(options.program), shapes, _names(options.disable))
    print(small.text(), file=sys.stderr)
    if options.out is not None and options.out.suffix.lower() == ".onnx":
        small.save(options.out)
    else:
        _write(small.module, options)
    return 0


def _simplify_models(options: argparse.Namespace) -> int:
    """Make one model smaller, or all models of a folder, and print what was done."""
    if options.out is not None and options.option_out is not None:
        raise PassError(Diagnostic("two results are named", found=f"{options.out} and -o {options.option_out}"))
    out = options.out or options.option_out
    settings = {
        "shape": dict(map(_shape, options.shape)),
        "values": dict(map(_value, options.value)),
        "disabled_pass": _names(options.disable),
        "seed": options.random,
        **({} if options.fold_limit is None else {"fold_limit": options.fold_limit}),
    }
    if not options.model.is_dir():
        small = simplify(options.model, **settings)
        print(small.text())
        if out is not None:
            small.save(out, options.unchecked)
        return 0 if small.compared.is_right else 1
    table, failed = simplify_folder(options.model, out, options.unchecked, **settings)
    print(table)
    return 1 if failed else 0


def _value(text: str) -> tuple[str, Any]:
    """Return the name and the value of an input from a text `name=16000`; the value is JSON."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        raise PassError(Diagnostic("a value is written NAME=16000 or NAME=[1, 2]", found=repr(text))) from None


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    """Return the name and the shape of an input from a text `name=1,3,224,224`; a size has one number: `batch=1`."""
    name, _, dims = text.rpartition("=")
    if not name or not all(part.strip().isdecimal() for part in dims.split(",")):
        raise PassError(Diagnostic("a shape is written NAME=1,3,224,224", found=repr(text)))
    return name, tuple(int(part) for part in dims.split(","))


def _run(options: argparse.Namespace) -> int:
    from passlab.evaluate.samples import random_arguments
    from passlab.executor import create_executor

    mod = infer_module(_read(options.program))
    function = mod[options.entry]
    names = [param.name_hint for param in function.params]
    if options.args is None:
        hint = "give its shape, as in `--shape x=2,3`, or its value with --args"
        arguments = random_arguments(function, options.random, hint, dict(map(_shape, options.shape)))
    else:
        arguments = _arrays(options.args, names)
    print(create_executor(options.executor, mod).evaluate(mod.get_global_var(options.entry))(*arguments))
    return 0


def _arrays(path: Path, names: Sequence[str]) -> list[Any]:
    """Return the named arrays of an .npz file; others in it are not read."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:  # numpy leaves bad files open
            missing = [name for name in names if name not in archive]
            if missing:
                hint = f"it has {', '.join(archive.files)}"
                raise RunError(Diagnostic(f"{path} has no array `{missing[0]}`", hint=hint))
            for part in archive.zip.infolist():
                if part.filename.removesuffix(".npy") in names:
                    limits.check("tensor_bytes", part.file_size, f"the array {part.filename} of {path.name}")
            return [archive[name] for name in names]
    except PasslabError:
        raise
    except DAMAGED as error:
        hint = "`numpy.savez(path, x=..., w=...)` writes one, by name of the parameter"
        raise RunError(Diagnostic(f"{path} is not an .npz file of arrays", hint=hint)) from error


def _report(options: argparse.Namespace) -> int:
    recording = _record(options)
    if options.out.suffix.lower() in (".html", ".htm"):
        recording.to_html(options.out, options.static)
    else:
        recording.save(options.out)
    print(f"{options.out}: {recording.summary()}")
    if recording.error is not None:
        print(f"{type(recording.error).__name__}: {recording.error}", file=sys.stderr)
    return int(recording.error is not None)


def _culprit(options: argparse.Namespace) -> int:
    from passlab.lab.culprits.culprit_search import culprit

    pipeline = _pipeline(options)
    with LastResort(None if options.seconds is None else SLOW * options.seconds):
        result = culprit(
            _read(options.program),
            pipeline,
            entry=options.entry,
            seed=options.random,
            executors=_names(options.executors),
            seconds=options.seconds,
            progress=_progress(),
            opt_level=options.opt_level,
            required_pass=context_names(_names(options.require), pipeline),
            disabled_pass=context_names(_names(options.disable), pipeline),
            config=_config(options.config),
        )
    print(visible(result.text()))
    if result.found:
        for path, write in ((options.script, result.script), (options.notebook, result.notebook)):
            if path is not None:
                write(path)
    return int(result.found)


def _fuzz(options: argparse.Namespace) -> int:
    from passlab.lab.fuzzer.fuzzing import fuzz

    seconds = options.seconds if options.hours is None else options.hours * 3600
    with LastResort(seconds):
        campaign = fuzz(
            _pipeline(options),
            seconds=seconds,
            programs=options.programs,
            seed=options.seed,
            most=options.most,
            progress=_progress(),
            directory=options.out,
        )
    print(visible(campaign.text()))
    if options.out is not None:
        from passlab.display.views.culprits import write_campaign

        print(f"{campaign.totals()} Report: {write_campaign(campaign, options.out)}")
    return int(campaign.found or not campaign.tried)


def _progress() -> Callable[[str, str, float], None] | None:
    """Return a function that shows the progress of a search on the terminal, None without a terminal."""
    if not sys.stderr.isatty():
        return None

    def show(stage: str, text: str, seconds: float) -> None:
        left = "" if seconds == float("inf") else f", {max(0.0, seconds):.0f} s left"
        sys.stderr.write(f"\r\x1b[K{visible(text)}{left}")
        sys.stderr.flush()

    return show


def _bisect(options: argparse.Namespace) -> int:
    bisection = _record(options).bisect(seed=options.random)
    if bisection.stopped:
        print(bisection.summary(), file=sys.stderr)
        return 130
    if bisection.event is None:
        print("every pass kept its contract")
        return 0
    print(f"step {bisection.event.id}, {bisection.event.text or bisection.event.name}: {bisection.why}")
    if options.reduce:
        print(bisection.reduce().text())
    return 1


def _hosts(options: argparse.Namespace) -> int:
    from passlab.hosts import command_line

    return command_line.drive(options) if hasattr(options, "action") else command_line.dump(options)


def _passes(options: argparse.Namespace) -> int:
    print(list_passes())
    return 0


def _docs(options: argparse.Namespace) -> int:
    from passlab.manual import document

    print(document(options.words))
    return 0


def _doctor(options: argparse.Namespace) -> int:
    from passlab.doctor import examine, report

    findings = examine()
    print(report(findings))
    return 1 if any(finding.state == "broken" for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
