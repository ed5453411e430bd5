"""The magics that find faults: `%bisect` names the pass that broke a program, `%culprit` finds pass, rewrite and
operator, `%fuzz` searches for programs that a pass breaks.

The file begins with the magic for models: `%simplify` makes an ONNX model, or a program of the notebook, smaller.
"""

from __future__ import annotations

import os
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments

import passlab
from passlab import arguments, lab
from passlab.atomic_file import checked_path
from passlab.errors import did_you_mean, type_in_words
from passlab.notebook import lazy_modules as rooms
from passlab.notebook import values
from passlab.notebook.naming import ABSENT, NamedMagics, options_of, pipeline_of, takes_pipeline, words


@magics_class
class ModelMagics(NamedMagics):
    """The magics for models of other formats."""

    @no_var_expand
    @magic_arguments()
    @argument("model", help="a file `net.onnx`, or the name of a program or a model of the notebook")
    @argument(
        "--shape",
        metavar="NAME=DIMS",
        action="append",
        default=[],
        help="the shape of an input, as in --shape image=1,3,224,224; may be given several times",
    )
    @argument("--disable", metavar="PASSES", default="", help="passes that must not run, separated by commas")
    @argument("--save", metavar="FILE", default="", help="write the small model to a file")
    @argument("-o", "--out", metavar="NAME", default="", help="the name the result is bound to")
    @line_magic
    def simplify(self, line: str) -> Any:
        """Make a model smaller, and show what each pass removed and whether the values are the same.

        %simplify net.onnx --shape image=1,3,224,224 --save small.onnx -o small
        """
        options = options_of(self.simplify, line)
        self._check_targets(options.out)
        shapes = dict(map(_shape, options.shape))
        small = lab.simplify(self._model(options.model), shapes, words(options.disable))
        if options.save:
            small.save(options.save)
        if options.out:
            self.shell.user_ns[options.out] = small
        return small

    def _model(self, name: str) -> Any:
        """Return the program or model of the notebook with this name, or else the path of a file."""
        path = checked_path(name)
        is_file = os.path.isfile(path)  # noqa: PTH113 - `is_file` raises for a name that no file can have
        is_name = name in self.shell.user_ns or not (is_file or name.endswith(".onnx"))  # `net.onnx` is no attribute
        value = self._value(name) if is_name else ABSENT
        if isinstance(value, passlab.IRModule) or hasattr(value, "SerializeToString"):
            return value
        if not is_file:
            kind = f", and `{name}` of this notebook is of type {type(value).__name__}" if value is not ABSENT else ""
            raise UsageError(f"there is no file `{name}`{kind}: give a model `net.onnx`, or the name of a program")
        return path


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    """Return the name and the shape of an input from a text `name=1,3,224,224`."""
    name, _, dims = text.partition("=")
    if not name or not all(dim.strip().isdigit() for dim in dims.split(",")):
        raise UsageError(f"--shape: `{text}` is not NAME=DIMS: --shape image=1,3,224,224")
    return name, tuple(map(int, dims.split(",")))


@magics_class
class FaultMagics(NamedMagics):
    """The magics that find the faults of a pipeline."""

    @no_var_expand
    @magic_arguments()
    @argument("program", help="the name of a program or of a recording; a recording is examined as it ran")
    @takes_pipeline
    @argument("--good", metavar="NAME", default="", help="a predicate that is true for good programs")
    @argument("--every", action="store_true", help="call it after every pass, in order")
    @argument("--args", metavar="NAMES", default="", help="names of the arguments, separated by commas")
    @argument(
        "--random", metavar="SEED", type=arguments.seed, default=0, help="the seed of made up arguments (default 0)"
    )
    @argument("--entry", metavar="FUNCTION", default="main", help="the function to run (default main)")
    @argument("--reduce", action="store_true", help="show the smallest program too")
    @argument("-o", "--out", metavar="NAME", default="", help="the name the result is bound to")
    @line_cell_magic
    def bisect(self, line: str, cell: str | None = None) -> Any:
        """Name the pass that broke a program, or raised.

        %bisect net InferType, FoldConstant, mine -O 3 -o bisection

        The results of the program before and after each pass are compared, on random arguments or on --args; with
        --good your own predicate decides. With %%bisect the pipeline is the text of the cell. With --reduce the
        smallest program that the pass breaks in the same way is shown as well; -o names the bisection.
        """
        options = options_of(self.bisect, line)
        self._check_targets(options.out)
        text, program = pipeline_of(options, cell), self._value(options.program)
        good = self._predicate(options.good) if options.good else None
        if isinstance(program, passlab.Recording):
            if text:
                raise UsageError(f"%bisect: `{options.program}` is a recording, which has its pipeline already")
            recording = program
        else:
            mod = self._program(options.program)
            if not text:
                raise UsageError(f"%bisect needs a pipeline: %bisect {options.program} InferType, FoldConstant")
            recording, _ = self._record(mod, text, options, [])
        inputs = values.from_names(options.args, self.shell.user_ns) if options.args else None
        places = {id(event): number for number, event in enumerate(recording.events)}
        with rooms.progress.Progress() as progress:

            def show_progress(event: Any) -> None:
                number, total = places[id(event)], len(places) - 1
                progress.show("bisect", f"{number} of {total}: {event.name}", part=(number - 1) / total)

            bisection = recording.bisect(
                good,
                inputs=inputs,
                entry=options.entry,
                seed=options.random,
                every=options.every,
                looking=show_progress,
            )
        if options.out:
            self.shell.user_ns[options.out] = bisection
        if not options.reduce or not bisection.found:
            return bisection
        self._display(bisection)
        return bisection.reduce()

    @no_var_expand
    @magic_arguments()
    @argument("program", help="the name of a program or of a recording; a recording is examined as it ran")
    @takes_pipeline
    @argument("--args", metavar="NAMES", default="", help="names of the arguments, separated by commas")
    @argument(
        "--random", metavar="SEED", type=arguments.seed, default=0, help="the seed of made up arguments (default 0)"
    )
    @argument("--entry", metavar="FUNCTION", default="main", help="the function to run (default main)")
    @argument("--executors", metavar="NAMES", default="debug", help="to compare: debug,vm,aot,graph (default debug)")
    @argument("--seconds", type=arguments.seconds, default=60.0, help="how long to search (default 60)")
    @argument("-o", "--out", metavar="NAME", default="", help="the name the result is bound to")
    @line_cell_magic
    def culprit(self, line: str, cell: str | None = None) -> Any:
        """Find what broke a program: the pass, the rewrite, the operator, and the smallest program that shows it.

        %culprit net InferType, FoldConstant, mine -O 3 -o culprit      %culprit rec --seconds 20

        Every step is compared with the one before on inputs that find faults. The answer says
        what was not examined. With %%culprit the pipeline is the text of the cell.
        """
        options = options_of(self.culprit, line)
        self._check_targets(options.out)
        text, program = pipeline_of(options, cell), self._value(options.program)
        inputs = values.from_names(options.args, self.shell.user_ns) if options.args else None
        if not isinstance(program, passlab.Recording):
            mod = self._program(options.program)
            if not text:
                raise UsageError(f"%culprit needs a pipeline: %culprit {options.program} InferType, FoldConstant")
            program, _ = self._record(mod, text, options, [])
        elif text:
            raise UsageError(f"%culprit: `{options.program}` is a recording, which has its pipeline already")
        with rooms.progress.Progress() as progress:
            result = lab.culprit(
                program,
                inputs=inputs,
                entry=options.entry,
                seed=options.random,
                executors=words(options.executors),
                seconds=options.seconds,
                progress=progress.show,
            )
        if options.out:
            self.shell.user_ns[options.out] = result
        return result

    @no_var_expand
    @magic_arguments()
    @argument("passes", nargs="+", help="a pass or a pipeline; passes of the notebook by their names")
    @argument("--seconds", type=arguments.seconds, default=20.0, help="how long to search (default 20)")
    @argument("--programs", type=arguments.count, help="stop after this number of programs")
    @argument("--seed", type=arguments.seed, default=0, help="the seed of the programs (default 0)")
    @argument("--most", type=arguments.count, default=3, help="stop after this number of kinds of failures (default 3)")
    @argument("-o", "--out", metavar="NAME", default="", help="the name the result is bound to")
    @line_magic
    def fuzz(self, line: str) -> Any:
        """Generate programs and find those that a pass breaks.

        %fuzz mine --seconds 30 -o campaign      %fuzz SimplifyExpr, FoldConstant

        Each failure comes with the smallest program that shows it, and as a test.
        """
        options = options_of(self.fuzz, line)
        self._check_targets(options.out)
        subject = rooms.pipelines.pass_of(" ".join(options.passes), self.shell.user_ns)
        with rooms.progress.Progress() as progress:
            campaign = lab.fuzz(
                subject,
                seconds=options.seconds,
                programs=options.programs,
                seed=options.seed,
                most=options.most,
                progress=progress.show,
            )
        if options.out:
            self.shell.user_ns[options.out] = campaign
        return campaign

    def _predicate(self, name: str) -> Any:
        """The function of the notebook with this name."""
        value = self._value(name)
        if callable(value):
            return value
        if value is not ABSENT:
            raise UsageError(f"--good: `{name}` is {type_in_words(value)}, not a function")
        candidates = [n for n, v in self.shell.user_ns.items() if callable(v) and not n.startswith("_")]
        raise UsageError(
            f"--good: there is no function `{name}` in this notebook: {did_you_mean(name, candidates) or 'define it'}"
        )
