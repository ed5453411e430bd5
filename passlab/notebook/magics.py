"""The magics: `%%relay` parses, `%passes` runs pipelines, `%compare` compares two recordings, `%graph` draws,
`%blame` shows the pass that created each line, `%run` runs, `%vm` steps through a run.

`?` shows the help of a magic. Bad input ends in a diagnostic, and names keep their values.
"""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import cell_magic, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.core.magic_arguments import argument, magic_arguments

import passlab
from passlab import arguments, display, lab
from passlab.errors import InterruptedPassesError, PassError, PassIndexError, did_you_mean, visible
from passlab.notebook import lazy_modules as rooms
from passlab.notebook import values
from passlab.notebook.instruments import INSTRUMENTS, instrument_of
from passlab.notebook.naming import (
    NAME,
    PATH,
    NamedMagics,
    options_of,
    pipeline_of,
    takes_pipeline,
    words,
)

SHOWS = ("module", "text", "graph", "table", "none")


def shorten_traceback(error: BaseException, recording: passlab.Recording) -> BaseException:
    """Return the error of a pass so that a notebook shows one line: the recording above has the rest, `%tb` all."""
    failed = recording.failed
    if isinstance(error, KeyboardInterrupt) or failed is None:
        return error
    place = display.failure_view(failed).place
    where = f" at {place}" if place else ""
    step = failed
    while step.parent is not None and step not in recording.steps:
        step = step.parent
    inner = f"`{visible(failed.name)}` in " if failed is not step else ""
    what = f"{inner}the pass `{visible(step.name)}` raised {type(error).__name__}{where}"
    lines = [f"error: {what}; the recording above shows it"]
    error.__dict__["_render_traceback_"] = lambda: lines  # what IPython shows in place of the frames
    return error


@magics_class
class RelayMagics(NamedMagics):
    """The magics of one shell, with the instruments of its pipelines."""

    def __init__(self, shell: Any, run_script: Any = None) -> None:
        super().__init__(shell)
        self.run_script = run_script
        self.instrument_names: list[str] = []
        self.last_recording: passlab.Recording | None = None  # of %passes

    # ------------------------------------------------------------ %%relay
    @no_var_expand
    @magic_arguments()
    @argument("name", nargs="?", default="_relay", help="the Python name the program is bound to (default _relay)")
    @argument("--no-infer", action="store_true", help="leave the program untyped")
    @argument("--show", choices=SHOWS, default="module", help="how the program is shown (default module)")
    @argument(
        "--const",
        metavar="NAMES",
        default="",
        help="names of arrays, separated by commas: parameters of @main that become constants",
    )
    @argument(
        "--live",
        metavar="PIPELINE",
        default="",
        help="an editor of the program, with this pipeline beneath, which runs again as you type",
    )
    @argument(
        "-O",
        "--opt-level",
        type=arguments.count_from_zero,
        default=None,
        help="the optimisation level of that pipeline",
    )
    @cell_magic
    def relay(self, line: str, cell: str) -> Any:
        """Read the cell as Relay, infer its types, bind it to a name and show it.

        %%relay net
        def @main(%x: Tensor[(1, 8), float32]) { nn.relu(%x) }

        A cell without `def` is one expression. With --live "InferType, FuseOps" the program is
        shown in an editor with that pipeline beneath, which runs again as you type, and when
        another cell redefines one of its passes.
        """
        options = options_of(self.relay, line)
        self._check_targets(options.name)
        if options.opt_level is not None and not options.live:
            raise UsageError('-O is the level of a pipeline: --live "InferType, FuseOps" gives one')
        if options.live and (options.no_infer or options.show != "module"):
            raise UsageError("--live shows an editor of the typed program: leave --show and --no-infer out")
        if options.live:
            settings = rooms.live.LiveOptions(options.name, options.opt_level, self._constants(options.const))
            return rooms.live.LiveWidget(cell.rstrip("\n"), options.live, settings, self.shell.user_ns)
        program = rooms.pipelines.read(
            cell, f"In[{self._cell_number()}]", infer=not options.no_infer, constants=self._constants(options.const)
        )
        self.shell.user_ns[options.name] = program
        return self._shown(program, options.show)

    def _constants(self, names: str) -> dict[str, Any]:
        if not names:
            return {}
        arrays = values.from_names(names, self.shell.user_ns, "make an array of that name in a cell above")
        return dict(zip(words(names), arrays, strict=True))

    def _shown(self, program: Any, how: str) -> Any:
        if how == "text":
            print(program.astext(show_meta_data=False))
        elif how in ("graph", "table"):
            self._display(display.graph_view(program) if how == "graph" else display.operators_view(program))
        elif how == "module":
            return program
        return None

    # ------------------------------------------------------------ %passes
    @no_var_expand
    @magic_arguments()
    @argument("mod", help="the name of the program")
    @takes_pipeline
    @argument("-o", "--out", metavar="NAME", default="", help="the name the result is bound to")
    @argument("-r", "--recording", metavar="NAME", default="", help="the name the recording is bound to")
    @argument("-q", "--quiet", action="store_true", help="show nothing")
    @line_cell_magic
    def passes(self, line: str, cell: str | None = None) -> Any:
        """Run a pipeline over a program inside a PassContext and show its recording.

        %passes net InferType, FoldConstant, FuseOps(fuse_opt_level=2) -O 3 -o out

        The pipeline runs under the current PassContext, its instruments included; -O, --disable,
        --require and --config change its settings. With %%passes the pipeline is the text of the
        cell: one pass on each line, comments after #. When a pass fails, the recording up to it
        is shown, then the error; nothing is bound to -o.
        Without a pipeline, `%passes net` lists the passes that would change the program.
        """
        options = options_of(self.passes, line)
        mod = self._program(options.mod)
        self._check_targets(options.out, options.recording)
        text = pipeline_of(options, cell)
        if not text:
            return display.prospects_view(mod, options.mod)
        try:
            recording, reports = self._record(mod, text, options, self.instrument_names)
            error = recording.error
        except InterruptedPassesError as interruption:
            recording, reports, error = interruption.recording, [], interruption
        self.last_recording = recording
        if options.recording:
            self.shell.user_ns[options.recording] = recording
        if not options.quiet:
            for report in reports:
                self._display(report)
        if error is not None:
            self._display(recording)
            raise shorten_traceback(error, recording)
        if options.out:
            self.shell.user_ns[options.out] = recording.output
        return None if options.quiet else recording

    @magic_arguments()
    @argument("names", nargs="*", help=f"{', '.join(INSTRUMENTS)}, or your own; `none` for none")
    @line_magic
    def instruments(self, line: str) -> Any:
        """Set the instruments of %passes in this notebook; without names, show them.

        %instruments timing statistics

        Your own instrument is given by its Python name; of a class, each pipeline gets a new
        instance. The results are shown with the recording. The instruments of the current
        PassContext see the passes as well.
        """
        names = options_of(self.instruments, line).names
        for name in names:
            if name != "none":
                try:
                    instrument_of(name, self.shell.user_ns)
                except PassError as error:
                    problem = error.diagnostics[0]
                    raise UsageError(f"%instruments: {problem.message}: {problem.hint}") from None
        if names:
            self.instrument_names = [n for n in names if n != "none"]
        print(f"instruments: {', '.join(self.instrument_names) or 'none'}")

    # ------------------------------------------------------------ %compare
    @magic_arguments()
    @argument("first", help="the name of a recording")
    @argument("second", help="the name of another one")
    @argument("-o", "--out", metavar="NAME", default="", help="the name the comparison is bound to")
    @line_magic
    def compare(self, line: str) -> Any:
        """Compare two recordings: their passes aligned, where the programs diverge, and the times of both.

        %compare before after

        Any step of one can be compared with any step of the other. `%passes net ... -r NAME` makes
        recordings; `%dump FILE -o NAME` makes recordings of other compilers.
        """
        options = options_of(self.compare, line)
        self._check_targets(options.out)
        first, second = (self._recording(name, rooms.steps.Steps) for name in (options.first, options.second))
        comparison = lab.compare(first, second)
        if options.out:
            self.shell.user_ns[options.out] = comparison
        return comparison

    # ------------------------------------------------------------ %graph, %blame, %run
    @magic_arguments()
    @argument("program", help="the name of a program or of one of its functions (net or net.main)")
    @argument("--changed-from", metavar="NAME", default="", help="an earlier program: nodes that are new are marked")
    @line_magic
    def graph(self, line: str) -> Any:
        """Draw the dataflow graph of a program.

        %graph net      %graph net.main --changed-from before
        """
        options = options_of(self.graph, line)
        before = self._part(options.changed_from) if options.changed_from else None
        self._display(display.graph_view(self._part(options.program), changed_from=before))

    @magic_arguments()
    @argument("recording", nargs="?", default="", help="the name of a recording (default: the last %%passes)")
    @argument("--step", metavar="STEP", default="-1", help="after which step: a number, an id or a pass (default: all)")
    @line_magic
    def blame(self, line: str) -> Any:
        """Show a recorded program with the pass that created each line.

        %blame rec      %blame rec --step FuseOps      %blame --step 3.1
        """
        options = options_of(self.blame, line)
        recording = self._recording(options.recording) if options.recording else self.last_recording
        if recording is None:
            raise UsageError("%blame: no %passes has run yet: %passes NAME ... -r rec makes a recording")
        step = int(options.step) if re.fullmatch(r"-?\d+", options.step) else options.step
        try:
            view = display.blame_view(recording, step)
        except PassIndexError as error:
            raise UsageError(f"%blame: there is no {error.diagnostics[0].message}") from None
        self._display(view)

    @no_var_expand
    @line_magic
    def run(self, line: str) -> Any:
        """Run a program: %run net --args x,w   or   %run net --random 0   (see %run_program?).

        For anything that is not the name of a program, this is IPython's own %run, which runs scripts.
        """
        first = line.split(maxsplit=1)[0] if line.strip() else ""
        if not first:
            raise UsageError("%run needs a program, or a script: %run net --random 0")
        is_name = NAME.match(first) or (PATH.match(first) and not first.endswith((".py", ".ipy", ".ipynb")))
        no_script = is_name and not Path(first).exists() and not Path(f"{first}.py").exists()
        if self.run_script is None or no_script or isinstance(self.shell.user_ns.get(first), passlab.IRModule):
            return self.run_program(line)
        return self.run_script(line)

    @no_var_expand
    @magic_arguments()
    @argument("mod", help="the name of the program")
    @argument("--args", metavar="NAMES", default="", help="names of the arguments, separated by commas")
    @argument("--random", metavar="SEED", type=arguments.seed, default=None, help="random arguments from this seed")
    @argument("--entry", metavar="FUNCTION", default="main", help="the function to run (default main)")
    @argument("--executor", default="debug", help="debug, vm, graph, aot or onnxruntime (default debug)")
    @argument("--watch", action="store_true", help="show the value of every line; -o names the watched run")
    @argument("--against", metavar="NAME", default="", help="an earlier watched run to compare with")
    @argument("-o", "--out", metavar="NAME", default="", help="the name the result is bound to")
    @line_magic
    def run_program(self, line: str) -> Any:
        """Run a function of a program on named or random arguments and return its result.

        %run net --random 0      %run net --args x,w --executor vm
        """
        from passlab.executor import create_executor

        options = options_of(self.run_program, line)
        mod = self._program(options.mod)
        self._check_targets(options.out)
        arguments = self._arguments(mod[options.entry], options.args, options.random)
        with rooms.progress.Progress() as progress:
            progress.wait_for("run", f"{options.mod} on {options.executor}")
            if options.watch or options.against:
                return self._watch(mod, arguments, options)
            result = create_executor(options.executor, mod).evaluate(mod.get_global_var(options.entry))(*arguments)
        if options.out:
            self.shell.user_ns[options.out] = result
        return result

    def _watch(self, mod: passlab.IRModule, arguments: list[Any], options: Namespace) -> Any:
        """Run a program and show its values, compared with an earlier run if one is named."""
        earlier = self._value(options.against) if options.against else None
        if options.against and not isinstance(earlier, lab.NodeValues):
            runs = [n for n, v in self.shell.user_ns.items() if isinstance(v, lab.NodeValues) and not n.startswith("_")]
            hint = did_you_mean(options.against, runs) or "make one with %run NAME --watch -o NAME"
            raise UsageError(f"there is no run `{options.against}` that was watched: {hint}")
        if options.executor == "debug":
            run = lab.watch(mod, *arguments, entry=options.entry)
        elif options.executor in ("vm", "graph"):
            recorded = lab.Debugger(mod, *arguments, entry=options.entry, executor=options.executor)
            run = recorded.trace.node_values()
        else:
            raise UsageError(f"values are watched on debug, vm and graph, not on `{options.executor}`")
        if options.out:
            self.shell.user_ns[options.out] = run
        self._display(display.node_values_view(run, earlier))
        return None

    # ------------------------------------------------------------ %vm
    @no_var_expand
    @magic_arguments()
    @argument("program", help="the name of a program, a recording, an executable, a trace or a debugger")
    @argument("--args", metavar="NAMES", default="", help="names of the arguments, separated by commas")
    @argument("--random", metavar="SEED", type=arguments.seed, default=None, help="random arguments from this seed")
    @argument("--entry", metavar="FUNCTION", default="main", help="the function to run (default main)")
    @argument(
        "--break",
        dest="breaks",
        metavar="WHAT",
        action="append",
        default=[],
        help="stop there: an operator, @function, line 6, nan; may be given several times, or with commas",
    )
    @argument(
        "--executor",
        choices=("vm", "graph", "debug"),
        default="vm",
        help="graph and debug run node by node (default vm)",
    )
    @argument("-o", "--out", metavar="NAME", default="", help="the name the debugger is bound to")
    @line_magic
    def vm(self, line: str) -> Any:
        """Run a program and step through it, forwards and backwards.

        %vm net --random 0 --break nn.dense      %vm net --args x,w -o dbg

        It opens at the first breakpoint, or at the start. Press ? in it for the keys.
        """
        options = options_of(self.vm, line)
        self._check_targets(options.out)
        with rooms.progress.Progress() as progress:
            progress.wait_for("vm", f"{options.program} runs, and every instruction is recorded")
            debugger = self._debugger(options)
        for expected in (part for text in options.breaks for part in words(text)):
            debugger.breakpoint(expected)
        if options.breaks:
            debugger.to_first_stop()
        if options.out:
            self.shell.user_ns[options.out] = debugger
        return debugger

    def _debugger(self, options: Any) -> lab.Debugger:
        """Return the debugger of a program, an executable, a recording or a trace, or the debugger of that name."""
        program, entry = self._value(options.program), options.entry
        if isinstance(program, (lab.Debugger, lab.Trace)):
            if (options.args, options.random, entry, options.executor) != ("", None, "main", "vm"):
                hint = "give the program to run it again"
                raise UsageError(
                    f"`{options.program}` has run: --args, --random, --entry, --executor set a run: {hint}"
                )
            return program if isinstance(program, lab.Debugger) else lab.Debugger(program)
        if type(program).__name__ == "Executable":
            ty = program.entry_types.get(entry)
            has_types = ty is not None or options.args
            arguments = self._arguments(ty, options.args, options.random) if has_types else []
            return lab.Debugger(program, *arguments, entry=entry)
        if not isinstance(program, passlab.Recording):
            program = self._program(options.program)
        mod = program.output if isinstance(program, passlab.Recording) else program
        arguments = self._arguments(mod[entry], options.args, options.random)
        return lab.Debugger(program, *arguments, entry=entry, executor=options.executor)
