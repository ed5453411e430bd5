"""The common parts of the magics: names of programs, options of a line, pipelines in a line or cell.

An unknown name ends in a `UsageError` that lists the known ones.
"""

from __future__ import annotations

import ast
import keyword
import re
from argparse import Namespace
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from IPython.core.error import UsageError
from IPython.core.magic import Magics
from IPython.core.magic_arguments import argument
from IPython.display import display

import passlab
from passlab import arguments
from passlab.errors import did_you_mean, naming_interrupts, type_in_words
from passlab.notebook import lazy_modules as rooms
from passlab.notebook import values

P = ParamSpec("P")
R = TypeVar("R")
NAME = re.compile(r"[^\W\d]\w*\Z")
# A name, then attributes and items by number. Calls are none: a line of a magic has no side effects.
PATH = re.compile(r"([^\W\d]\w*)(?:\.[^\W\d]\w*|\[-?\w+\])+\Z")
ABSENT = object()  # what a text is that names no value
_QUOTES = "\"'"
_UNKNOWN_OPTION = re.compile(r"unrecognized arguments: .*?(--?[\w-]+)")

_PIPELINE = (
    argument(
        "pipeline", nargs="*", default=[], help="passes with their options: FoldConstant, FuseOps(fuse_opt_level=2)"
    ),
    argument(
        "-O",
        "--opt-level",
        type=arguments.count_from_zero,
        default=None,
        help="the optimisation level (default: the level of the current PassContext, 3 without one)",
    ),
    argument("--disable", metavar="PASSES", default="", help="passes that must not run, separated by commas"),
    argument("--require", metavar="PASSES", default="", help="passes that run at any level, separated by commas"),
    argument(
        "--config",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="an option of the pass context, as in --config relay.FuseOps.max_depth=4; may be given several times",
    ),
)


def takes_pipeline(magic: Any) -> Any:
    """Give a magic the arguments of a pipeline and its context."""
    for one in reversed(_PIPELINE):
        magic = one(magic)
    return magic


def _with_short_interrupts(magic: Callable[P, R]) -> Callable[P, R]:
    """Return a magic that names itself in an interrupt, unless the interrupt says already what was interrupted."""

    @wraps(magic)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with naming_interrupts(f"%{magic.__name__.partition('_')[0]}", hint="run the cell again"):
            return magic(*args, **kwargs)

    return run


class NamedMagics(Magics):
    """Magics whose arguments are names of a notebook. An interrupt of a magic is an error of one line."""

    shell: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if hasattr(value, "has_arguments"):
                setattr(cls, name, _with_short_interrupts(value))

    def _arguments(self, function: Any, names: str, seed: int | None) -> list[Any]:
        """The arguments of a run: by name, or random from a seed."""
        from passlab.evaluate.samples import random_arguments

        if names and seed is not None:
            raise UsageError("--args names the arguments, and --random makes them: give one of the two")
        if names:
            return values.from_names(names, self.shell.user_ns)
        if seed is not None or function.params:
            return random_arguments(function, seed or 0, "give it with --args")
        return []

    def _record(
        self, mod: passlab.IRModule, text: str, options: Namespace, instruments: list[str]
    ) -> tuple[passlab.Recording, list[Any]]:
        """Run a pipeline under the options of a line; return the recording and the reports of instruments."""
        context = rooms.pipelines.PipelineOptions(
            options.opt_level, words(options.require), words(options.disable), config_of(options.config)
        )
        with rooms.progress.Progress() as progress:
            own = () if "progress" in instruments else (rooms.progress.PassProgress(progress),)
            return rooms.pipelines.run(mod, text, context, self.shell.user_ns, instruments, own)

    def _program(self, name: str) -> passlab.IRModule:
        """The module of a name of the notebook, or of a path that begins with one: `rec.output`, `recs[0].last`."""
        value = self._value(name)
        if isinstance(value, passlab.IRModule):
            return value
        if value is not ABSENT:
            hint = f": `passlab.IRModule.from_expr({name})` makes one" if isinstance(value, rooms.expr.Expr) else ""
            hint = f": `{name}.output` is its last program" if isinstance(value, passlab.Recording) else hint
            raise UsageError(f"`{name}` is {type_in_words(value)}, not a program{hint}")
        space = self.shell.user_ns.items()
        candidates = [n for n, v in space if isinstance(v, passlab.IRModule) and not n.startswith("_")]
        hint = did_you_mean(name, candidates) or (
            f"programs here: {', '.join(candidates)}" if candidates else "make one with %%relay"
        )
        raise UsageError(f"there is no program `{name}` in this notebook: {hint}")

    def _value(self, name: str) -> Any:
        """The value of a name of the notebook, or of a path of attributes and items that begins with one.

        `ABSENT` for another text, and for a path to None.
        """
        space = self.shell.user_ns
        if name in space:
            return space[name]
        head, _, function = name.partition(".")
        whole = space.get(head)
        if isinstance(whole, passlab.IRModule) and function in [var.name_hint for var in whole.functions]:
            hint = f"give `{head}`; %run and %vm take --entry {function}"
            raise UsageError(f"`{name}` is one function of the program `{head}`: {hint}")
        root = PATH.match(name)
        if root is None or root[1] not in space:
            return ABSENT
        try:
            value = self.shell.ev(name)
        except Exception as error:  # noqa: BLE001 - a property of the user may raise anything
            raise UsageError(f"`{name}` has no value: {type(error).__name__}: {error}") from None
        return ABSENT if value is None else value

    def _recording(self, name: str, kind: type | None = None) -> Any:
        """The recording of a name of the notebook, of a class (default: passlab's own)."""
        kind = kind or passlab.Recording
        value = self._value(name)
        if isinstance(value, kind):
            return value
        if value is not ABSENT:
            actual = type(value).__name__
            raise UsageError(f"`{name}` is not a recording; its type is {actual}: %passes NAME ... -r rec makes one")
        space = self.shell.user_ns.items()
        candidates = [n for n, v in space if isinstance(v, kind) and not n.startswith("_")]
        there = f"recordings here: {', '.join(candidates)}" if candidates else "make one with %passes NAME ... -r rec"
        raise UsageError(f"there is no recording `{name}` in this notebook: {did_you_mean(name, candidates) or there}")

    def _part(self, name: str) -> passlab.IRModule | rooms.expr.Expr:
        """The module or expression of a name (`net`), or one function of a module (`net.main`)."""
        head, dot, function = name.partition(".")
        module = self.shell.user_ns.get(head)
        if dot and isinstance(module, passlab.IRModule):
            part: rooms.expr.Expr = module[function]
            return part
        value = self._value(name)
        return value if isinstance(value, (rooms.expr.Expr, passlab.IRModule)) else self._program(name)

    def _check_targets(self, *names: str) -> None:
        """Reject invalid names before anything runs whose result would be lost. Empty names are allowed."""
        for name in filter(None, names):
            if not NAME.match(name):
                raise UsageError(f"`{name}` is not a Python name")
            if keyword.iskeyword(name):
                raise UsageError(f"`{name}` is a keyword of Python: choose another name, such as `{name}_`")
            if names.count(name) > 1:
                raise UsageError(f"two results cannot have one name, `{name}`: give each its own")

    def _cell_number(self) -> int:
        """The number of the running cell; IPython 9 has counted it already, earlier ones have not."""
        return max(1, len(self.shell.user_ns.get("In", ["", ""])) - 1)

    def _display(self, value: Any) -> None:
        from passlab.display.view import View

        if isinstance(value, View):
            value = rooms.widgets.show(value)
        display(value)


def options_of(magic: Any, line: str) -> Any:
    """The options of a line. Raises `UsageError`, with the nearest option for an unknown one, else with an example."""
    try:
        return magic.parser.parse_intermixed_args(words_of(line))  # options may stand before the pipeline
    except UsageError as error:
        message = str(error)
        if unknown := _UNKNOWN_OPTION.match(message):
            names = dict.fromkeys(re.findall(r"--[\w-]+", magic.parser.format_help()))
            hint = did_you_mean(unknown[1], names) or f"its options are {', '.join(names)}"
            message += f": {hint}"
        elif not message.startswith(("argument ", "this quotation")):  # which say what is expected
            message += f"; for example: {example_of(magic)}"
        raise UsageError(message) from None


def words_of(line: str) -> list[str]:
    r"""The words of a line as a shell cuts it, but what stands in brackets stays whole, with its quotes.

    So `Rename(prefix="a b")` is one word. A bracket that is not closed is a character like others. Raises `UsageError`
    for a quotation that is not closed.

    >>> words_of("net 'FuseOps, Rename(\"a b\")' -o out")
    ['net', 'FuseOps, Rename("a b")', '-o', 'out']
    """
    words: list[str] = []
    word: str | None = None
    at = 0
    while at < len(line):
        char, end = line[at], at
        if char.isspace():
            words += [] if word is None else [word]
            word = None
        elif char in _QUOTES:
            end = line.find(char, at + 1)
            if end == -1:
                hint = """close it, or write "it's" for a mark that is meant itself"""
                raise UsageError(f"this quotation never ends: {line[at:]}: {hint}")
            word = (word or "") + line[at + 1 : end]
        else:
            end = _end_of_brackets(line, at)
            word = (word or "") + line[at : end + 1]
        at = end + 1
    return words if word is None else [*words, word]


def _end_of_brackets(line: str, start: int) -> int:
    """Where the bracket at `start` is closed; `start` itself if no bracket is there, or none closes it."""
    depth, at = 0, start
    while at < len(line):
        if line[at] in _QUOTES:
            at = max(at, line.find(line[at], at + 1))
        depth += (line[at] in "([{") - (line[at] in ")]}")
        if depth <= 0:
            return at if line[start] in "([{" else start
        at += 1
    return start


def example_of(magic: Any) -> str:
    """The first example in the docstring of a magic, which comes after its usage."""
    lines = [line.strip() for line in (magic.__doc__ or "").splitlines()]
    return next(re.split(r"\s{3,}", line)[0] for line in lines if line.startswith("%") and "[" not in line)


def pipeline_of(options: Namespace, cell: str | None) -> str:
    """The pipeline of a line, followed by the pipeline of the cell; "" if both are empty."""
    line = " ".join(options.pipeline)
    return "\n".join(part for part in (line, cell or "") if part.strip())


def words(text: str) -> list[str]:
    """The words of a list with commas."""
    return [w.strip() for w in text.split(",") if w.strip()]


def config_of(settings: list[str]) -> dict[str, Any]:
    """The options of a context given as `key=value`. A value is a Python literal; any other text is a string."""
    config: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise UsageError(f"--config: `{setting}` is not KEY=VALUE: --config relay.FuseOps.max_depth=4")
        try:
            config[key.strip()] = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            config[key.strip()] = text.strip()
    return config
