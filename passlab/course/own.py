"""The learner's own compiler: what its parts share, and how they become one.

Over the course the learner writes ten functions, one at the end of a lesson: from a reader of text to loops in Python.
The check of each keeps it as a file in `my_compiler`, next to the notebooks; a part that was skipped is the one of the
solution. `compiler()` returns all parts, and `build` puts them together:

    mine = compiler()                                   # says which parts are the learner's
    digits = mine.build(text, weights, {"image": (1, 1, 8, 8)})
    digits.run(image)                                   # digits.source is the program in Python that ran

The compiler has a language of its own, small enough to be held in mind: a program is a list of steps.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from itertools import islice
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from passlab.atomic_file import make_folder, write_bytes, write_text
from passlab.errors import Diagnostic, FileAccessError, PasslabError
from passlab.ir.expr import Call, Expr, Function, If, Let, Match, Var
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.relay import create_executor
from passlab.text.parser import parse

FOLDER = "my_compiler"
PARTS = {  # the parts in the order of the course, and what each of them is called
    "read": "the reader",
    "shape_of": "the types",
    "fold": "constant folding",
    "open_norm": "a pattern",
    "run_passes": "the pass manager",
    "normalise": "the normal form",
    "fuse": "fusion",
    "plan": "the memory plan",
    "emit": "the loops",
}
ELEMENTWISE = {
    "add": "{} + {}", "subtract": "{} - {}", "multiply": "{} * {}", "divide": "{} / {}", "nn.bias_add": "{} + {}",
    "negative": "-{}", "sqrt": "math.sqrt({})", "exp": "math.exp({})", "tanh": "math.tanh({})",
    "nn.relu": "max({}, 0.0)",
}  # fmt: skip
_ANSWER = re.compile(r"answer_\d+")


class Step(NamedTuple):
    """One line of a program: its name, the operator, the names (or numbers) it is called with, and the attributes."""

    name: str
    op: str
    args: tuple[str | float, ...]
    attrs: Mapping[str, Any]


class Program(NamedTuple):
    """The names of the inputs, the steps in order (the last one is the result), and the weights by name."""

    inputs: tuple[str, ...]
    steps: list[Step]
    weights: dict[str, Any]


class Life(NamedTuple):
    """A value in memory: its name, its size in bytes, the kernel that writes it, and the last one that reads it."""

    name: str
    size: int
    born: int
    dies: int


def compute(step: Step, arrays: Sequence[Any]) -> Any:
    """Return the value of one step by passlab's own operators; the arrays are its arguments, in order."""
    names = [f"a{number}" for number in range(len(arrays))]
    one = Program(tuple(names), [step._replace(name="result", args=tuple(names))], {})
    arrays = [np.asarray(array, "float32") for array in arrays]
    return evaluate(one, dict(zip(names, arrays, strict=True)))


def evaluate(program: Program, values: Mapping[str, Any]) -> Any:
    """Return the result of a program by passlab's evaluator, for arrays of its inputs."""
    arrays = {**program.weights, **values}
    mod = parse(as_relay(program, {name: np.shape(array) for name, array in arrays.items()}))
    order = [array for name, array in arrays.items() if name in _used(program)]
    return np.asarray(create_executor("debug", mod).evaluate()(*order))


def as_relay(program: Program, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """Return a program as Relay text. `shapes` has the inputs and the weights; those that are not used are left out."""
    used = _used(program)
    params = [
        f"%{variable(name)}: Tensor[{_written(shape)}, float32]" for name, shape in shapes.items() if name in used
    ]
    lines = []
    for step in program.steps:
        args = [f"%{variable(arg)}" if isinstance(arg, str) else f"{float(arg)!r}f" for arg in step.args]
        args += [f"{key}={_attribute(value)}" for key, value in step.attrs.items()]
        projection = ".0" if step.op == "nn.batch_norm" else ""
        name = variable(step.name)
        value = f"{step.op}({', '.join(args)})"
        lines += [f"  let %{name}_all = {value};", f"  let %{name} = %{name}_all.0;"] if projection else []
        lines += [] if projection else [f"  let %{name} = {value};"]
    return (
        f"def @main({', '.join(params)}) {{\n" + "\n".join([*lines, f"  %{variable(program.steps[-1].name)}"]) + "\n}\n"
    )


def _used(program: Program) -> set[str]:
    return {arg for step in program.steps for arg in step.args if isinstance(arg, str)}


def _attribute(value: Any) -> str:
    return f"{value!r}f" if isinstance(value, float) else repr(value)


def _written(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})" if shape else "()"


def variable(name: str) -> str:
    """Return a name as one of Python and of Relay: "0" becomes "x_0"."""
    return "x_" + re.sub(r"\W", "_", name)


def infer(program: Program, shapes: Mapping[str, tuple[int, ...]], shape_of: Callable[..., Any]) -> dict[str, Any]:
    """Return the shape of each input, weight and step; `shape_of(op, shapes, attrs)` is asked for each step."""
    known: dict[str, Any] = {name: np.shape(array) for name, array in program.weights.items()} | dict(shapes)
    for step in program.steps:
        given = [known[arg] if isinstance(arg, str) else () for arg in step.args]
        known[step.name] = tuple(islice(shape_of(step.op, given, step.attrs), 20))  # an answer may have no end
    return known


# --------------------------------------------------------------------------------------------------------------- loops
def first_lines(step: Step, shapes: Mapping[Any, Any], indices: Sequence[str]) -> list[str]:
    """Return lines of Python that put one element of a step into `value`: the one at `indices`."""
    if step.op in ELEMENTWISE:
        return [f"value = {ELEMENTWISE[step.op].format(*(element(arg, shapes, indices, step) for arg in step.args))}"]
    data = variable(str(step.args[0]))
    here = ", ".join(indices)
    if step.op == "nn.dense":
        weight = variable(str(step.args[1]))
        inner = [f"    value += {data}[{indices[0]}, k] * {weight}[{indices[1]}, k]"]
        return ["value = 0.0", f"for k in range({shapes[step.args[0]][1]}):", *inner]
    if step.op == "nn.conv2d":
        return _convolution(step, shapes, indices)
    if step.op == "nn.max_pool2d":
        n, c, y, x = indices
        (rows, columns), (down, right) = step.attrs["pool_size"], step.attrs["strides"]
        loops = [f"for dy in range({rows}):", f"    for dx in range({columns}):"]
        return [
            "value = -math.inf",
            *loops,
            f"        value = max(value, {data}[{n}, {c}, {y} * {down} + dy, {x} * {right} + dx])",
        ]
    if step.op == "nn.batch_flatten":
        return [f"value = {data}.reshape({data}.shape[0], -1)[{here}]"]
    if step.op == "expand_dims":
        return [f"value = {data}.reshape({list(shapes[step.name])})[{here}]"]
    if step.op == "nn.softmax":
        row = ", ".join(indices[:-1])
        lines = [f"row = {data}[{row}]", "top = max(row)", "total = 0.0", "for number in row:"]
        return [*lines, "    total += math.exp(number - top)", f"value = math.exp(row[{indices[-1]}] - top) / total"]
    expected = ", ".join(
        sorted([*ELEMENTWISE, "nn.dense", "nn.conv2d", "nn.max_pool2d", "nn.batch_flatten", "nn.softmax"])
    )
    raise PasslabError(Diagnostic("there are no loops for this operator", expected=f"one of {expected}", found=step.op))


def _convolution(step: Step, shapes: Mapping[Any, Any], indices: Sequence[str]) -> list[str]:
    data, weight = (variable(str(arg)) for arg in step.args)
    n, c, y, x = indices
    _, channels, height, width = shapes[step.args[0]]
    rows, columns = shapes[step.args[1]][2:]
    top, left = step.attrs.get("padding", [0, 0, 0, 0])[:2]
    return [
        "value = 0.0",
        f"for k in range({channels}):",
        f"    for dy in range({rows}):",
        f"        for dx in range({columns}):",
        f"            row, column = {y} + dy - {top}, {x} + dx - {left}",
        f"            if 0 <= row < {height} and 0 <= column < {width}:",
        f"                value += {data}[{n}, k, row, column] * {weight}[{c}, k, dy, dx]",
    ]


def next_line(step: Step, shapes: Mapping[Any, Any], indices: Sequence[str]) -> str:
    """Return the line that applies an element-wise step to `value`, which stands for its first argument."""
    rest = [element(arg, shapes, indices, step) for arg in step.args[1:]]
    return f"value = {ELEMENTWISE[step.op].format('value', *rest)}"


def element(arg: str | float, shapes: Mapping[Any, Any], indices: Sequence[str], step: Step) -> str:
    """Return the element of an argument that belongs to an element of the result: axes of size 1 are repeated."""
    if not isinstance(arg, str):
        return repr(float(arg))
    shape, whole = shapes[arg], shapes[step.name]
    if step.op == "nn.bias_add" and len(shape) == 1 and len(whole) > 1:
        return f"{variable(arg)}[{indices[step.attrs.get('axis', 1)]}]"
    last = indices[len(indices) - len(shape) :]
    places = ["0" if size == 1 else index for size, index in zip(shape, last, strict=True)]
    return f"{variable(arg)}[{', '.join(places)}]" if places else variable(arg)


# --------------------------------------------------------------------------------------------------------------- parts
def keep(folder: Path, part: str, source: str, why_not: Callable[[Any], str]) -> str:
    """Keep the cell of a part as a file; return why it cannot stand alone, "" where it can.

    `why_not` tries the answer that the cell gives when it runs by itself. A cell that cannot be kept leaves an older
    file as it was. Raises `FileAccessError`.
    """
    make_folder(folder / FOLDER)
    path = folder / FOLDER / f"{part}.py"
    old = path.read_bytes() if path.is_file() else None
    write_text(path, source.rstrip() + "\n")
    try:
        why = why_not(_answer_of(_loaded(path)))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the learner's own cell may raise anything
        why = f"{type(error).__name__}: {error}"
    if why and old is not None:
        write_bytes(path, old)
    elif why:
        path.unlink()
    return why


def kept(folder: Path, part: str) -> tuple[Callable[..., Any] | None, str]:
    """Return a part that the learner wrote, or None and why it could not be used ("" if it is not there)."""
    path = folder / FOLDER / f"{part}.py"
    if not path.is_file():
        return None, ""
    try:
        return _answer_of(_loaded(path)), ""
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the learner's own file may raise anything
        return None, f"yours raised {type(error).__name__}: {error}"


class _Loader(SourceFileLoader):
    """Reads the file each time: a file that a learner has just changed must not come from a cache of bytecode.

    With `source`, the file need not be there.
    """

    def __init__(self, name: str, path: str, source: str | None) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path) if self._source is None else self._source, self.path)


def _loaded(path: Path, source: str | None = None) -> ModuleType:
    name = f"{FOLDER}_{path.stem}"
    spec = importlib.util.spec_from_loader(name, _Loader(name, str(path), source))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answer_of(module: ModuleType) -> Any:
    """Return the answer that a kept cell binds. Raises `PasslabError` for one that binds none."""
    names = [name for name in vars(module) if _ANSWER.fullmatch(name)]
    if not names:
        raise PasslabError(Diagnostic("the file has no answer", expected="answer_5 = ..."))
    return vars(module)[names[-1]]


@dataclass(frozen=True)
class Part:
    """A part of a compiler: the function, whether it is the learner's, and why his own could not be used."""

    name: str
    function: Callable[..., Any]
    is_own: bool
    trouble: str = ""


class OwnCompiler:
    """A compiler made of parts. Each part is an attribute: `mine.read(text)`."""

    def __init__(self, parts: Sequence[Part], folder: Path) -> None:
        self.parts = {part.name: part for part in parts}
        self.folder = folder

    def __getattr__(self, name: str) -> Any:
        parts = self.__dict__.get("parts", {})
        if name not in parts:
            raise AttributeError(f"a compiler of one's own has no part {name!r}: it has {', '.join(PARTS)}")
        return parts[name].function

    def __repr__(self) -> str:
        lines = []
        for part in self.parts.values():
            whose = "yours" if part.is_own else "of the solution" + (f" ({part.trouble})" if part.trouble else "")
            lines.append(f"{part.name:10}  {PARTS[part.name]:16}  {whose}")
        return "\n".join(lines)

    def replaced(self, name: str, function: Callable[..., Any]) -> OwnCompiler:
        """Return this compiler with another function for one part."""
        assert name in PARTS, name
        return OwnCompiler([*(self.parts | {name: Part(name, function, False)}).values()], self.folder)

    def build(
        self, text: str, weights: Mapping[str, Any], inputs: Mapping[str, tuple[int, ...]], name: str = "digits"
    ) -> Compiled:
        """Compile a program in Relay text with its weights; `inputs` are the shapes of its inputs by name.

        Writes the Python that it makes to `my_compiler/NAME_compiled.py`, if it can. Errors of the learner's parts pass
        through. Raises `PasslabError` for a text that is not a program, and where the reader misses some of it.
        """
        main = parse(text)["main"]
        program = Program(tuple(inputs), list(self.read(text)), dict(weights))
        _check_reading(main.body, program)
        passes = [(name, getattr(self, name)) for name in ("open_norm", "fold", "normalise")]
        program, log = self.run_passes(passes, program)
        return self.lower(program, inputs, name, list(log))

    def lower(
        self, program: Program, inputs: Mapping[str, tuple[int, ...]], name: str, log: Sequence[Any] = ()
    ) -> Compiled:
        """Turn a program into kernels, a plan of memory, and Python."""
        shapes = infer(program, inputs, self.shape_of)
        by_name = {step.name: step for step in program.steps}
        groups = [[by_name[step] for step in group] for group in self.fuse(program, shapes)]
        lives = lives_of(groups, shapes)
        buffers = dict(self.plan(lives))
        kernels = [self.emit(f"kernel_{number}", group, shapes) for number, group in enumerate(groups)]
        source = "\n\n".join(
            ["import math\n\nimport numpy as np", *kernels, _main(program, groups, shapes, buffers, lives)]
        )
        path, trouble = self.folder / FOLDER / f"{name}_compiled.py", ""
        try:
            make_folder(path.parent)
            write_text(path, source)
        except FileAccessError as error:
            trouble = str(error)
        return Compiled(program, groups, buffers, lives, source, _loaded(path, source).main, tuple(log), trouble)


def _check_reading(result: Expr, program: Program) -> None:
    """Raise `PasslabError` where a reader left out a call of a program, or an argument, or where a name is nowhere."""
    calls = [node for node in post_order(result) if isinstance(node, (Call, If, Match, Function))]
    expected = Counter(
        f"{node.op.name} of {len(node.args)}"
        if isinstance(node, Call) and isinstance(node.op, Op)
        else f"{type(node).__name__}"
        for node in calls
    )
    missed = expected - Counter(f"{step.op} of {len(step.args)}" for step in program.steps)
    hint = "the language of the course has one operator in each line, on names: `%1 = add(%0, %bias);`"
    if missed or not program.steps:
        found = ", ".join(f"{step.op} of {len(step.args)}" for step in program.steps) or "no step"
        what = "the reader did not read the whole program"
        raise PasslabError(Diagnostic(what, expected=", ".join(missed) or "a step", found=found, hint=hint))
    known = {*program.inputs, *program.weights}
    for step in program.steps:
        for arg in step.args:
            if isinstance(arg, str) and arg not in known:
                what = f"nothing defines `{arg}`, which the step `{step.name}` reads"
                raise PasslabError(Diagnostic(what, expected=f"one of {', '.join(sorted(known))}", hint=hint))
        known.add(step.name)
    while isinstance(result, Let):
        result = result.body
    if isinstance(result, Var) and result.name_hint != program.steps[-1].name:
        raise PasslabError(
            Diagnostic(f"the program returns `%{result.name_hint}`, which is not its last step", hint=hint)
        )


@dataclass(frozen=True)
class Compiled:
    """What a compiler of one's own made: kernels, the plan of memory, the Python text, and the function itself.

    `trouble` says why the text could not be kept as a file, "" where it is.
    """

    program: Program
    groups: list[list[Step]]
    buffers: dict[str, int]
    lives: list[Life]
    source: str
    main: Callable[..., Any]
    log: tuple[Any, ...] = ()
    trouble: str = ""

    def run(self, *inputs: Any) -> Any:
        """Return the result for arrays of the inputs, in order."""
        return self.main(self.program.weights, *(np.asarray(array, "float32") for array in inputs))

    @property
    def bytes_of_buffers(self) -> int:
        """The bytes of all buffers: each is as large as the largest value in it."""
        sizes: dict[int, int] = {}
        for life in self.lives:
            buffer = self.buffers[life.name]
            sizes[buffer] = max(sizes.get(buffer, 0), life.size)
        return sum(sizes.values())


def lives_of(groups: Sequence[Sequence[Step]], shapes: Mapping[str, Any]) -> list[Life]:
    """Return when each result of a kernel is written, and when it is read for the last time."""
    lives = []
    for number, group in enumerate(groups):
        name = group[-1].name
        readers = [at for at, other in enumerate(groups) if any(name in step.args for step in other)]
        dies = max(readers, default=len(groups))
        lives.append(Life(name, 4 * math.prod(shapes[name]), number, dies if number < len(groups) - 1 else len(groups)))
    return lives


def _main(
    program: Program,
    groups: Sequence[Sequence[Step]],
    shapes: Mapping[str, Any],
    buffers: Mapping[str, int],
    lives: Sequence[Life],
) -> str:
    """Return the function that allocates the buffers and calls the kernels."""
    sizes: dict[int, int] = {}
    for life in lives:
        sizes[buffers[life.name]] = max(sizes.get(buffers[life.name], 0), life.size // 4)
    lines = [f"def main(weights, {', '.join(map(variable, program.inputs))}):"]
    lines += [f"    buffer_{number} = np.empty({size}, 'float32')" for number, size in sorted(sizes.items())]
    results = {group[-1].name for group in groups}
    for number, group in enumerate(groups):
        name = group[-1].name
        elements = math.prod(shapes[name])
        lines.append(f"    {variable(name)} = buffer_{buffers[name]}[:{elements}].reshape({list(shapes[name])})")
        args = []
        for arg in arguments_of(group):
            own = arg in results or arg in program.inputs
            args.append(variable(arg) if own else f"weights[{arg!r}]")
        lines.append(f"    kernel_{number}({', '.join([*args, variable(name)])})")
    lines.append(f"    return {variable(groups[-1][-1].name)}.copy()")
    return "\n".join(lines) + "\n"


def arguments_of(group: Sequence[Step]) -> list[str]:
    """Return the names that a kernel takes: those its steps read and do not make, each once, in order."""
    made = {step.name for step in group}
    read = (arg for step in group for arg in step.args if isinstance(arg, str) and arg not in made)
    return list(dict.fromkeys(read))


# --------------------------------------------------------------------------------------------------------------- proof
def random_program(rng: np.random.Generator) -> tuple[Program, dict[str, Any]]:
    """Return a random program in the language of the compiler, and arrays for its inputs."""
    rows, width = (int(size) for size in rng.integers(1, 5, 2))
    values = {"data": (rows, width)}
    weights: dict[str, Any] = {}
    steps: list[Step] = []
    for number in range(int(rng.integers(2, 9))):
        name, arg = f"s{number}", str(rng.choice(list(values)[-3:]))
        shape, weight = values[arg], f"w{number}"
        same = [other for other in values if values[other] == shape]
        kind = int(rng.integers(0, 6))
        if kind == 0:
            units = int(rng.integers(1, 5))
            weights[weight] = rng.normal(size=(units, shape[1])).astype("float32")
            steps.append(Step(name, "nn.dense", (arg, weight), {}))
            shape = (shape[0], units)
        elif kind == 1:
            weights[weight] = rng.normal(size=shape[1:]).astype("float32")
            steps.append(Step(name, "nn.bias_add", (arg, weight), {}))
        elif kind == 2:
            weights[weight] = rng.normal(size=shape[1:]).astype("float32")
            steps.append(Step(f"{name}f", "exp", (weight,), {}))
            pair = (arg, f"{name}f") if rng.random() < 0.5 else (f"{name}f", arg)
            steps.append(Step(name, "multiply", pair, {}))
        elif kind == 3:
            steps.append(Step(name, "nn.softmax", (arg,), {}))
        elif kind == 4:
            steps.append(Step(name, str(rng.choice(["add", "subtract", "multiply"])), (arg, str(rng.choice(same))), {}))
        else:
            steps.append(Step(name, str(rng.choice(["nn.relu", "tanh", "negative"])), (arg,), {}))
        values[name] = shape
    return Program(("data",), steps, weights), {"data": rng.normal(size=(rows, width)).astype("float32")}


@dataclass(frozen=True)
class Fuzzed:
    """What a search with random programs found: how many were tried, and the first that went wrong, with the reason."""

    tried: int
    failure: Program | None = None
    why: str = ""

    def __repr__(self) -> str:
        if self.failure is None:
            return f"{self.tried} random programs, all right"
        shapes = {name: np.shape(array) for name, array in self.failure.weights.items()}
        lines = [f"    {step.name} = {step.op}({', '.join(map(str, step.args))})" for step in self.failure.steps]
        return "\n".join([f"random program {self.tried} goes wrong: {self.why}", *lines, f"    weights {shapes}"])


def fuzz(mine: OwnCompiler, programs: int = 50, seed: int = 0) -> Fuzzed:
    """Compile random programs with a compiler of one's own, and compare each result with passlab's evaluator."""
    for number, (program, values) in enumerate(_programs(programs, seed), 1):
        try:
            passes = [(name, getattr(mine, name)) for name in ("open_norm", "fold", "normalise")]
            after, _ = mine.run_passes(passes, program)
            result = mine.lower(after, {name: np.shape(array) for name, array in values.items()}, "fuzzed").run(
                *values.values()
            )
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the learner's own parts may raise anything
            return Fuzzed(number, program, f"{type(error).__name__}: {error}")
        expected = evaluate(program, values)
        if np.shape(result) != np.shape(expected) or not np.allclose(result, expected, rtol=1e-3, atol=1e-4):
            return Fuzzed(number, program, "its result differs from passlab's")
    return Fuzzed(programs)


def _programs(count: int, seed: int) -> Iterator[tuple[Program, dict[str, Any]]]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield random_program(rng)
