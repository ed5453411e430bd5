"""The exercises in which the learner builds a compiler of his own: one part at the end of a lesson (`passlab.course.own`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from passlab.course.given import lessons_folder
from passlab.course.own import (
    ELEMENTWISE,
    Life,
    Program,
    Step,
    arguments_of,
    compute,
    evaluate,
    infer,
    random_program,
    variable,
)
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise


def agree(given: Any, expected: Any, what: str) -> bool:
    if given != expected:
        raise DisagreementError(f"{what}: it gives {given!r}, expected {expected!r}")
    return True


def digits() -> str:
    return (lessons_folder() / "digits.relay").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------- the reader
DIGITS = [
    Step("0", "nn.conv2d", ("image", "kernel"), {"padding": [1, 1, 1, 1], "channels": 4, "kernel_size": [3, 3]}),
    Step("1", "nn.batch_norm", ("0", "gamma", "beta", "mean", "var"), {}),
    Step("2", "nn.relu", ("1",), {}),
    Step("3", "nn.max_pool2d", ("2",), {"pool_size": [2, 2], "strides": [2, 2]}),
    Step("4", "nn.batch_flatten", ("3",), {}),
    Step("5", "nn.dense", ("4", "weight"), {}),
    Step("6", "nn.bias_add", ("5", "bias"), {}),
    Step("result", "nn.softmax", ("6",), {}),
]


def plain(steps: Any) -> list[Any]:
    """Steps as plain tuples, in a list."""
    return [(str(name), str(op), tuple(args), dict(attrs)) for name, op, args, attrs in steps]


def lines(rng: np.random.Generator) -> tuple[str, list[Any]]:
    """A random program as text, and its steps."""
    text, steps, names = ["def @main(%data: Tensor[(1, 4), float32]) {"], [], ["data"]
    for number in range(int(rng.integers(1, 5))):
        op, count = [("nn.relu", 1), ("add", 2), ("nn.bias_add", 2), ("concatenate", 3)][int(rng.integers(0, 4))]
        args = tuple(str(rng.choice(names)) for _ in range(count))
        some = {
            "axis": int(rng.integers(0, 9)),
            "units": int(rng.integers(1, 9)),
            "sizes": [2, int(rng.integers(1, 9))],
        }
        attrs = {key: value for key, value in some.items() if rng.random() < 0.4}
        name = ["h", "v", ""][int(rng.integers(0, 3))] + str(number)
        inside = ", ".join([*(f"%{arg}" for arg in args), *(f"{key}={value}" for key, value in attrs.items())])
        text.append(f"  %{name} = {op}({inside});")
        steps.append((name, op, args, attrs))
        names.append(name)
    text += [f"  tanh(%{names[-1]})", "}"]
    return "\n".join(text), [*steps, ("result", "tanh", (names[-1],), {})]


@exercise(
    2,
    5,
    starter="57631eb4c13c39c7",
    points=2,
    part="read",
    solution="""
import ast
import re

from passlab.course.own import Step

LINE = re.compile(r"(?:%(\\w+) = )?([\\w.]+)\\((.*)\\);?")


def read(text):
    steps = []
    for line in text.splitlines():
        match = LINE.fullmatch(line.strip())
        if match:
            name, op, inside = match.groups()
            attrs = re.findall(r"(\\w+)=(\\[[^\\]]*\\]|[^,\\[\\]]+)", inside)
            attrs = {key: ast.literal_eval(value) for key, value in attrs}
            steps.append(Step(name or "result", op, tuple(re.findall(r"%(\\w+)", inside)), attrs))
    return steps


answer_5 = read
""",
)
def the_reader(names: Names) -> Exercise:
    """The reader."""
    text = digits()

    def column(read: Any, place: int) -> bool:
        return agree([step[place] for step in plain(read(text))], [step[place] for step in plain(DIGITS)], "for digits")

    return (
        Exercise("The reader", expects=callable)
        .requires(
            "it finds the eight steps of digits, and calls the last one `result`",
            lambda read: column(read, 0),
            hint=(
                "which lines are steps? They end in `)` or `);`",
                "`re.fullmatch` on the line without its spaces; the name and ` = ` are optional",
            ),
        )
        .requires(
            "each step has its operator",
            lambda read: column(read, 1),
            hint="names of operators contain a dot: `[\\w.]+`",
        )
        .requires(
            "each step has the names of its arguments, `%1.0` as `1`",
            lambda read: column(read, 2),
            hint=("an argument begins with `%`", "`re.findall(r'%(\\w+)', inside)` stops before the dot"),
        )
        .requires(
            "each step has its attributes as Python values",
            lambda read: column(read, 3),
            hint=(
                "a comma inside `[...]` does not end a value",
                "match `name=[...]` or `name=value`, then `ast.literal_eval`",
            ),
        )
        .asks(
            "it reads any such program",
            lambda read, text, steps: agree(plain(read(text)), steps, "for this text"),
            lines,
        )
    )


# ----------------------------------------------------------------------------------------------------------- the types
def sized(rng: np.random.Generator) -> tuple[str, list[Any], dict[str, Any]]:
    """An operator of the language, the shapes of its arguments, and its attributes."""
    n, c, h, w, k = (int(size) for size in rng.integers(1, 6, 5))
    pad, down = int(rng.integers(0, 3)), int(rng.integers(1, 4))
    return [
        ("nn.conv2d", [(n, c, h + 2, w + 2), (k, c, 2, 3)], {"padding": [pad, 1, 0, pad]}),
        ("nn.conv2d", [(n, c, h + 2, w + 2), (k, c, 3, 1)], {}),
        ("nn.max_pool2d", [(n, c, h + 2, w + 3)], {"pool_size": [2, 3], "strides": [down, 1]}),
        ("nn.batch_flatten", [(n, c, h, w)], {}),
        ("nn.dense", [(n, c), (k, c)], {}),
        ("nn.bias_add", [(n, c), (c,)], {}),
        ("nn.softmax", [(n, c)], {}),
        ("expand_dims", [(c,)], {"axis": 1, "num_newaxis": 2}),
        ("expand_dims", [(c, h)], {"axis": 0}),
        ("multiply", [(n, c, h, w), (c, 1, 1)], {}),
        ("add", [(c,), (n, c)], {}),
        ("add", [(c,), ()], {}),
        ("nn.relu", [(n, c, h)], {}),
    ][int(rng.integers(0, 13))]


def right_shape(shape_of: Any, op: str, shapes: list[Any], attrs: dict[str, Any]) -> bool:
    names = tuple(f"a{number}" for number in range(len(shapes)))
    expected = np.shape(compute(Step("s", op, names, attrs), [np.ones(shape, "float32") for shape in shapes]))
    return agree(tuple(shape_of(op, list(shapes), attrs)), expected, f"{op} of {shapes}")


@exercise(
    3,
    5,
    starter="79bc749fa2769074",
    points=2,
    part="shape_of",
    solution="""
import math

import numpy as np


def shape_of(op, shapes, attrs):
    first = shapes[0]
    if op == "nn.conv2d":
        (n, _, height, width), (channels, _, rows, columns) = shapes
        top, left, bottom, right = attrs.get("padding", [0, 0, 0, 0])
        return (n, channels, height + top + bottom - rows + 1, width + left + right - columns + 1)
    if op == "nn.max_pool2d":
        n, channels, height, width = first
        (rows, columns), (down, right) = attrs["pool_size"], attrs["strides"]
        return (n, channels, (height - rows) // down + 1, (width - columns) // right + 1)
    if op == "nn.batch_flatten":
        return (first[0], math.prod(first[1:]))
    if op == "nn.dense":
        return (first[0], shapes[1][0])
    if op == "expand_dims":
        axis = attrs["axis"]
        return first[:axis] + (1,) * attrs.get("num_newaxis", 1) + first[axis:]
    if op in ("nn.bias_add", "nn.batch_norm"):
        return first
    return np.broadcast_shapes(*shapes)


answer_5 = shape_of
""",
)
def the_types(names: Names) -> Exercise:
    """The types."""
    digit_shapes = [(1, 4, 8, 8), (1, 4, 8, 8), (1, 4, 8, 8), (1, 4, 4, 4), (1, 64), (1, 10), (1, 10), (1, 10)]
    given = {"image": (1, 1, 8, 8), "kernel": (4, 1, 3, 3), "weight": (10, 64), "bias": (10,)}
    given |= dict.fromkeys(("gamma", "beta", "mean", "var"), (4,))

    def through_digits(shape_of: Any) -> bool:
        known = infer(Program(("image",), DIGITS, {}), given, shape_of)
        return all(agree(known[step.name], shape, step.op) for step, shape in zip(DIGITS, digit_shapes, strict=True))

    return (
        Exercise("The types", expects=callable)
        .requires(
            "the shapes of digits are right",
            through_digits,
            hint=(
                "a convolution without padding loses rows: height - rows + 1; padding adds some above and some below",
                "a pooling takes (height - rows) // step + 1; flattening multiplies all sizes but the first",
            ),
        )
        .asks(
            "it is right for any sizes",
            right_shape,
            sized,
            hint=(
                "padding is [top, left, bottom, right], and may be missing",
                "`np.broadcast_shapes` knows what `add` does with two shapes",
            ),
            times=60,
        )
    )


# ------------------------------------------------------------------------------------------------------------- folding
def same_value(change: Any, program: Program, values: dict[str, Any]) -> bool:
    """Whether a pass keeps the result of a program; the program it is given stays as it is."""
    before = (list(program.steps), set(program.weights))
    after = change(program)
    if (list(program.steps), set(program.weights)) != before:
        raise DisagreementError("the program that it was given has changed: make new lists and dictionaries")
    if not isinstance(after, Program):
        raise DisagreementError(f"it returns a {type(after).__name__}, expected a Program")
    result, expected = evaluate(after, values), evaluate(program, values)
    if result.shape != expected.shape or not np.allclose(result, expected, rtol=1e-3, atol=1e-5, equal_nan=True):
        raise DisagreementError(f"the result is {result.ravel()[:3]}, expected {expected.ravel()[:3]}")
    return True


def all_folded(fold: Any, program: Program, values: dict[str, Any]) -> bool:
    after = fold(program)
    for step in after.steps[:-1]:
        if all(not isinstance(arg, str) or arg in after.weights for arg in step.args):
            raise DisagreementError(f"{step.name} = {step.op}{step.args} depends on weights alone")
    return True


def weighty(rng: np.random.Generator) -> tuple[Program, dict[str, Any]]:
    """A program with a chain of steps on weights, with numbers as arguments."""
    steps = [Step("a", "add", ("w", float(rng.integers(1, 5))), {}), Step("b", "sqrt", ("a",), {})]
    steps += [
        Step("c", "divide", (2.0, "b"), {}),
        Step("d", "multiply", ("data", "c"), {}),
        Step("e", "add", ("d", "w"), {}),
    ]
    values = {"data": rng.normal(size=(2, 3)).astype("float32")}
    return Program(("data",), steps, {"w": rng.uniform(1, 2, 3).astype("float32")}), values


@exercise(
    5,
    5,
    starter="d1aa18a8c296ec58",
    points=2,
    part="fold",
    solution="""
from passlab.course.own import compute


def fold(program):
    weights, left = dict(program.weights), []
    for step in program.steps:
        known = [weights.get(arg) if isinstance(arg, str) else arg for arg in step.args]
        if step is program.steps[-1] or any(value is None for value in known):
            left.append(step)
        else:
            weights[step.name] = compute(step, known)
    return program._replace(steps=left, weights=weights)


answer_5 = fold
""",
)
def the_folding(names: Names) -> Exercise:
    """Your constant folding."""
    whole = Program(("data",), [Step("a", "exp", ("w",), {}), Step("b", "tanh", ("a",), {})], {"w": np.float32([1, 2])})

    return (
        Exercise("Your constant folding", expects=callable)
        .asks(
            "programs keep their value",
            same_value,
            random_program,
            times=10,
            hint="`compute(step, arrays)` wants the arrays in the order of `step.args`",
        )
        .asks(
            "chains and numbers are folded",
            lambda fold, program, values: same_value(fold, program, values) and all_folded(fold, program, values),
            weighty,
            times=5,
            hint=(
                "a number is known, too",
                "what you have folded is a weight from now on: look it up for the next step",
            ),
        )
        .asks("nothing that can be folded is left", all_folded, random_program, times=10)
        .requires(
            "the last step stays, whatever it depends on",
            lambda fold: agree([step.name for step in fold(whole).steps], ["b"], "for exp and tanh of a weight"),
            hint="a program without steps has no result",
        )
    )


# ------------------------------------------------------------------------------------------------------------- pattern
def normed(rng: np.random.Generator) -> tuple[Program, dict[str, Any]]:
    """A program with one or two normalisations."""
    channels = int(rng.integers(1, 4))
    small = {
        "gamma": (0.5, 2.0),
        "beta": (0.5, 2.0),
        "mean": (0.5, 2.0),
        "var": (1e-6, 1e-4),
    }  # so that epsilon matters
    weights = {
        f"{name}{number}": rng.uniform(*bounds, channels).astype("float32")
        for number in range(2)
        for name, bounds in small.items()
    }
    attrs = [{}, {"epsilon": 0.5}][int(rng.integers(0, 2))]
    steps = [Step("r", "nn.relu", ("data",), {})]
    steps.append(Step("n0", "nn.batch_norm", ("r", "gamma0", "beta0", "mean0", "var0"), attrs))
    steps.append(Step("t", "tanh", ("n0",), {}))
    if rng.random() < 0.5:
        steps.append(Step("n1", "nn.batch_norm", ("t", "gamma1", "beta1", "mean1", "var1"), {}))
        steps.append(Step("s", "add", ("n1", "n0"), {}))
    return Program(("data",), steps, weights), {"data": rng.normal(size=(2, channels, 2, 3)).astype("float32")}


def opened(change: Any, program: Program, values: dict[str, Any]) -> bool:
    steps = change(program).steps
    if any(step.op == "nn.batch_norm" for step in steps):
        raise DisagreementError("a `nn.batch_norm` is left")
    rest = [step for step in program.steps if step.op != "nn.batch_norm"]
    return agree([step for step in steps if step in rest], rest, "the other steps")


@exercise(
    6,
    5,
    starter="564f696b53688c0b",
    points=2,
    part="open_norm",
    solution="""
from passlab.course.own import Step


def open_norm(program):
    steps = []
    for step in program.steps:
        if step.op != "nn.batch_norm":
            steps.append(step)
            continue
        data, gamma, beta, mean, var = step.args
        name, spread = step.name, {"axis": 1, "num_newaxis": 2}
        steps += [
            Step(f"{name}_a", "add", (var, step.attrs.get("epsilon", 1e-5)), {}),
            Step(f"{name}_b", "sqrt", (f"{name}_a",), {}),
            Step(f"{name}_scale", "divide", (gamma, f"{name}_b"), {}),
            Step(f"{name}_c", "multiply", (mean, f"{name}_scale"), {}),
            Step(f"{name}_shift", "subtract", (beta, f"{name}_c"), {}),
            Step(f"{name}_d", "expand_dims", (f"{name}_scale",), spread),
            Step(f"{name}_e", "expand_dims", (f"{name}_shift",), spread),
            Step(f"{name}_f", "multiply", (data, f"{name}_d"), {}),
            Step(name, "add", (f"{name}_f", f"{name}_e"), {}),
        ]
    return program._replace(steps=steps)


answer_5 = open_norm
""",
)
def the_pattern(names: Names) -> Exercise:
    """Open the normalisation."""
    return (
        Exercise("Open the normalisation", expects=callable)
        .asks(
            "no `nn.batch_norm` is left, and the other steps stay",
            opened,
            normed,
            times=8,
            hint=(
                "look at each step: is it a `nn.batch_norm`?",
                "the last of the new steps takes the name of the old one, so that its users find it",
            ),
        )
        .asks(
            "programs keep their value",
            same_value,
            normed,
            times=8,
            hint=(
                "scale = gamma / sqrt(var + epsilon), shift = beta - mean * scale",
                "a scale of shape (channels) must become (channels, 1, 1): `expand_dims` with axis=1, num_newaxis=2",
                "epsilon is an attribute of the step, and 1e-5 where it is missing",
            ),
        )
    )


# -------------------------------------------------------------------------------------------------------- pass manager
def pipeline(rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Names of passes with what they do, and some that are disabled."""
    names = [f"{rng.choice(['keep', 'copy', 'rename', 'weigh'])}{number}" for number in range(int(rng.integers(1, 6)))]
    return names, [name for name in names if rng.random() < 0.3]


ONE = Program(("data",), [Step("a", "exp", ("data",), {})], {})
DOES: dict[str, Any] = {
    "keep": lambda program, number: program,
    "copy": lambda program, number: program._replace(steps=list(program.steps)),
    "rename": lambda program, number: program._replace(steps=[Step(f"a{number}", "exp", ("data",), {})]),
    "weigh": lambda program, number: program._replace(weights={**program.weights, f"w{number}": np.ones(3)}),
    "broken": lambda program, number: program._replace(steps=[Step("b", "tanh", ("nowhere",), {}), *program.steps]),
}


def managed(run_passes: Any, names: list[str], disabled: list[str]) -> bool:
    ran: list[str] = []

    def made(name: str) -> Any:
        def function(program: Program) -> Program:
            ran.append(name)
            result: Program = DOES[name[:-1]](program, name[-1])
            return result

        return function

    program, log = run_passes([(name, made(name)) for name in names], ONE, disabled)
    kept = [name for name in names if name not in disabled]
    agree(ran, kept, "the passes that ran")
    words = {"keep": "unchanged", "copy": "unchanged", "weigh": "unchanged", "rename": "changed"}
    expected = [(name, "skipped" if name in disabled else words[name[:-1]]) for name in names]
    agree([tuple(entry) for entry in log], expected, "the log")
    last = [name[-1] for name in kept if name.startswith("rename")]
    return agree(program.steps[0].name, f"a{last[-1]}" if last else "a", "the name of the step at the end")


def refuses(run_passes: Any, name: str) -> bool:
    passes = [("keep0", lambda program: program), (name, lambda program: DOES["broken"](program, 0))]
    try:
        run_passes(passes, ONE)
    except ValueError as error:
        if name not in str(error):
            raise DisagreementError(f"the error does not name the pass: {error}") from None
        return True
    raise DisagreementError("a pass that leaves a name undefined passes")


@exercise(
    7,
    5,
    starter="93e393957a81f55a",
    points=2,
    part="run_passes",
    solution="""
def run_passes(passes, program, disabled=()):
    log = []
    for name, function in passes:
        if name in disabled:
            log.append((name, "skipped"))
            continue
        after = function(program)
        known = {*after.inputs, *after.weights}
        for step in after.steps:
            for arg in step.args:
                if isinstance(arg, str) and arg not in known:
                    raise ValueError(f"after {name}, nothing defines {arg}")
            known.add(step.name)
        log.append((name, "unchanged" if after.steps == program.steps else "changed"))
        program = after
    return program, log


answer_5 = run_passes
""",
)
def the_manager(names: Names) -> Exercise:
    """Your pass manager."""
    return (
        Exercise("Your pass manager", expects=callable)
        .asks(
            "it runs the passes in order, skips what is disabled, and says what each of them did",
            managed,
            pipeline,
            first=[(["rename1", "keep2", "rename3"], ["rename3"])],
            hint=(
                "the log has one pair for each pass: its name, and `changed`, `unchanged` or `skipped`",
                "a pass changed the program if its steps are others than before; compare with `==`",
            ),
        )
        .asks(
            "a pass that leaves a name undefined is refused with a ValueError that names the pass",
            refuses,
            lambda rng: f"broken{int(rng.integers(0, 99))}",
            times=3,
            hint="go through the steps: a name is known if it is an input, a weight, or an earlier step",
        )
    )


# --------------------------------------------------------------------------------------------------------- normal form
def untidy(rng: np.random.Generator) -> tuple[Program, dict[str, Any]]:
    """A random program with a step that is there twice and one that nothing needs."""
    program, values = random_program(rng)
    steps = list(program.steps)
    place = int(rng.integers(0, len(steps)))
    double = steps[place]._replace(name="again")
    steps[place + 1 :] = [
        double,
        *(
            step._replace(
                args=tuple("again" if arg == steps[place].name and rng.random() < 0.5 else arg for arg in step.args)
            )
            for step in steps[place + 1 :]
        ),
    ]
    if steps[-1].name == "again" or rng.random() < 0.5:
        steps.append(Step("both", "add", (steps[place].name, "again"), {}))
    last = steps[-1].name
    first, second = [
        (Step("one", "tanh", (last,), {}), Step("other", "exp", (last,), {})),  # another operator, other attributes
        (Step("one", "nn.softmax", (last,), {"axis": 0}), Step("other", "nn.softmax", (last,), {"axis": -1})),
    ][int(rng.integers(0, 2))]
    steps += [first, second, Step("all", "subtract", ("one", "other"), {})]
    steps.insert(int(rng.integers(1, len(steps))), Step("dead", "exp", ("data",), {}))
    return program._replace(steps=steps), values


def tidy(normalise: Any, program: Program, values: dict[str, Any]) -> bool:
    steps = normalise(program).steps
    agree([step.name for step in steps], [f"v{number}" for number in range(len(steps))], "the names")
    keys = [(step.op, tuple(step.args), repr(sorted(step.attrs.items()))) for step in steps]
    if len(set(keys)) < len(keys):
        raise DisagreementError("two steps compute the same")
    needed = {steps[-1].name}
    for step in reversed(steps):
        if step.name not in needed:
            raise DisagreementError(f"nothing needs {step.name} = {step.op}{step.args}")
        needed.update(arg for arg in step.args if isinstance(arg, str))
    return True


def renamed(normalise: Any, program: Program, values: dict[str, Any]) -> bool:
    own = {step.name for step in program.steps}
    other = [
        step._replace(name=f"q_{step.name}", args=tuple(f"q_{arg}" if arg in own else arg for arg in step.args))
        for step in program.steps
    ]
    return agree(
        plain(normalise(program._replace(steps=other)).steps), plain(normalise(program).steps), "with other names"
    )


@exercise(
    9,
    5,
    starter="c4be3017e530c0a4",
    points=2,
    part="normalise",
    solution="""
def normalise(program):
    needed, live = {program.steps[-1].name}, []
    for step in reversed(program.steps):
        if step.name in needed:
            needed.update(step.args)
            live.insert(0, step)
    names, seen, steps = {}, {}, []
    for step in live:
        args = tuple(names.get(arg, arg) for arg in step.args)
        key = (step.op, args, repr(sorted(step.attrs.items())))
        if key not in seen:
            seen[key] = f"v{len(seen)}"
            steps.append(step._replace(name=seen[key], args=args))
        names[step.name] = seen[key]
    return program._replace(steps=steps)


answer_5 = normalise
""",
)
def the_normal_form(names: Names) -> Exercise:
    """Your normal form."""
    return (
        Exercise("Your normal form", expects=callable)
        .asks("programs keep their value", same_value, untidy, times=10)
        .asks(
            "steps are called v0, v1 and so on, none is there twice, and each is needed",
            tidy,
            untidy,
            times=20,
            hint=(
                "first drop what nothing needs: go backwards from the result, and collect the names that are needed",
                "then go forwards: rename the arguments first, and look up whether you have seen this operator with these arguments and attributes",
            ),
        )
        .asks("two programs that differ in names only have the same normal form", renamed, untidy, times=5)
    )


# -------------------------------------------------------------------------------------------------------------- fusion
def shaped(rng: np.random.Generator) -> tuple[Program, dict[str, Any], dict[str, Any]]:
    """A random program, the shapes of all its names, and arrays for its inputs."""
    program, values = random_program(rng)
    arrays = {**program.weights, **values}
    for step in program.steps:
        arrays[step.name] = compute(step, [arrays[arg] for arg in step.args])
    return program, {name: np.shape(array) for name, array in arrays.items()}, values


def groups_run(fuse: Any, program: Program, shapes: Any, values: Any) -> bool:
    groups = [list(group) for group in fuse(program, shapes)]
    agree(
        sorted(name for group in groups for name in group),
        sorted(step.name for step in program.steps),
        "the steps in the groups",
    )
    steps = {step.name: step for step in program.steps}
    done = {*program.inputs, *program.weights}
    for group in groups:
        here: set[str] = set()
        for name in group:
            for arg in steps[name].args:
                if isinstance(arg, str) and arg not in done | here:
                    raise DisagreementError(
                        f"{name} reads {arg}, which is not there yet, or stays inside another group"
                    )
            here.add(name)
        done.add(group[-1])
    return True


def rule(program: Program, shapes: Any) -> set[frozenset[str]]:
    """The groups by the rule of the lesson, without an order."""
    steps = {step.name: step for step in program.steps}
    reads = [arg for step in program.steps for arg in step.args]
    group = {name: {name} for name in steps}
    for step in program.steps:
        first = step.args[0]
        if step.op in ELEMENTWISE and first in steps and reads.count(first) == 1 and shapes[first] == shapes[step.name]:
            group[first].add(step.name)
            group[step.name] = group[first]
    return {frozenset(members) for members in group.values()}


def by_the_rule(fuse: Any, program: Program, shapes: Any, values: Any) -> bool:
    given = {frozenset(group) for group in fuse(program, shapes)}
    for one in rule(program, shapes) - given:
        raise DisagreementError(f"{sorted(one)} belong into one group")
    return True


@exercise(
    10,
    5,
    starter="d894183b15a9ac26",
    points=2,
    part="fuse",
    solution="""
from collections import Counter

from passlab.course.own import ELEMENTWISE


def fuse(program, shapes):
    uses = Counter(arg for step in program.steps for arg in step.args)
    groups, group_of, place = [], {}, {}
    for number, step in enumerate(program.steps):
        first = step.args[0]
        joins = step.op in ELEMENTWISE and first in group_of and uses[first] == 1 and shapes[first] == shapes[step.name]
        group = group_of[first] if joins else []
        if not joins:
            groups.append(group)
        group.append(step.name)
        group_of[step.name], place[step.name] = group, number
    return sorted(groups, key=lambda group: place[group[-1]])


answer_5 = fuse
""",
)
def the_fusion(names: Names) -> Exercise:
    """Your fusion."""
    steps = [Step("a", "exp", ("data",), {}), Step("b", "nn.softmax", ("data",), {}), Step("c", "add", ("a", "b"), {})]
    late = (Program(("data",), steps, {}), dict.fromkeys(("data", "a", "b", "c"), (2, 3)), {})

    return (
        Exercise("Your fusion", expects=callable)
        .asks(
            "the groups can run in their order",
            groups_run,
            shaped,
            first=[late],
            times=20,
            hint=(
                "a step may need a group that begins behind its own",
                "sort the groups by the place of their last step",
            ),
        )
        .asks(
            "an element-wise step joins the group of its first argument where the rule allows it, and only there",
            by_the_rule,
            shaped,
            times=30,
            hint=("how often is the first argument used in the whole program?", "and has it the shape of the result?"),
        )
    )


# -------------------------------------------------------------------------------------------------------------- memory
def lifetimes(rng: np.random.Generator) -> list[Life]:
    lives = []
    for number in range(int(rng.integers(1, 12))):
        born = number if rng.random() < 0.8 else int(rng.integers(0, 12))
        lives.append(Life(f"v{number}", int(rng.integers(1, 9)) * 4, born, born + int(rng.integers(0, 5))))
    return [lives[place] for place in rng.permutation(len(lives))]


def overlap(one: Life, other: Life) -> bool:
    return one.born <= other.dies and other.born <= one.dies


def kept_apart(plan: Any, lives: list[Life]) -> bool:
    buffers = plan(list(lives))
    agree(sorted(buffers), sorted(life.name for life in lives), "the names in the plan")
    for number, one in enumerate(lives):
        for other in lives[:number]:
            if overlap(one, other) and buffers[one.name] == buffers[other.name]:
                raise DisagreementError(f"{one.name} and {other.name} are alive at the same time, in one buffer")
    return True


def few(plan: Any, lives: list[Life]) -> bool:
    most = max(
        sum(life.born <= at <= life.dies for life in lives) for at in range(max(life.dies for life in lives) + 1)
    )
    return agree(len(set(plan(list(lives)).values())), most, "the number of buffers")


@exercise(
    15,
    4,
    starter="be6e9f071fc55adb",
    points=2,
    part="plan",
    solution="""
def plan(lives):
    buffers, free_from = {}, []
    for life in sorted(lives, key=lambda life: life.born):
        free = [number for number, end in enumerate(free_from) if end < life.born]
        if not free:
            free = [len(free_from)]
            free_from.append(0)
        buffers[life.name] = free[0]
        free_from[free[0]] = life.dies
    return buffers


answer_4 = plan
""",
)
def the_memory_plan(names: Names) -> Exercise:
    """Your memory plan."""
    chain = [Life("a", 1024, 0, 1), Life("b", 256, 1, 2), Life("c", 256, 2, 3)]

    return (
        Exercise("Your memory plan", expects=callable)
        .asks(
            "values that are alive at the same time are in different buffers",
            kept_apart,
            lambda rng: (lifetimes(rng),),
            first=[(chain,)],
            hint=(
                "kernel 1 reads `a` while it writes `b`",
                "a buffer is free if its last value died before this one is born: `<`, and not `<=`",
            ),
        )
        .asks(
            "there are only as many buffers as values alive at one time",
            few,
            lambda rng: (lifetimes(rng),),
            first=[(chain,)],
            times=60,
            hint=(
                "take the values in the order in which they are born",
                "take any buffer that is free, and make a new one only if none is",
            ),
        )
    )


# --------------------------------------------------------------------------------------------------------------- loops
def fused(rng: np.random.Generator) -> tuple[list[Step], dict[str, Any], dict[str, Any]]:
    """The steps of one kernel, the shapes of all names, and the arrays that it reads."""
    n, c, k = (int(size) for size in rng.integers(1, 5, 3))
    kind = int(rng.integers(0, 4))
    arrays: dict[str, Any] = {"data": rng.normal(size=(n, c)).astype("float32")}
    if kind == 0:
        arrays |= {"w": rng.normal(size=(k, c)).astype("float32"), "b": rng.normal(size=k).astype("float32")}
        steps = [
            Step("s0", "nn.dense", ("data", "w"), {}),
            Step("s1", "nn.bias_add", ("s0", "b"), {}),
            Step("s2", "nn.relu", ("s1",), {}),
        ]
    elif kind == 1:
        arrays["data"] = rng.normal(size=(n, c, 4, 4)).astype("float32")
        arrays |= {
            "w": rng.normal(size=(k, c, 3, 3)).astype("float32"),
            "b": rng.normal(size=(k, 1, 1)).astype("float32"),
        }
        steps = [
            Step("s0", "nn.conv2d", ("data", "w"), {"padding": [1, 1, 1, 1]}),
            Step("s1", "multiply", ("s0", "b"), {}),
        ]
    elif kind == 2:
        arrays["b"] = rng.normal(size=c).astype("float32")
        steps = [
            Step("s0", "tanh", ("data",), {}),
            Step("s1", "subtract", ("s0", "b"), {}),
            Step("s2", "multiply", ("s1", 0.5), {}),
        ]
    else:
        steps = [Step("s0", "nn.softmax", ("data",), {})]
    known = dict(arrays)
    for step in steps:
        known[step.name] = compute(step, [known[arg] if isinstance(arg, str) else arg for arg in step.args])
    return steps, {name: np.shape(array) for name, array in known.items()}, {**arrays, "out": known[steps[-1].name]}


def head(emit: Any, steps: list[Step], shapes: Any, arrays: Any) -> bool:
    text = emit("kernel_7", steps, shapes)
    if not isinstance(text, str):
        raise DisagreementError(f"it returns a {type(text).__name__}, expected a text")
    expected = f"def kernel_7({', '.join([*map(variable, arguments_of(steps)), 'out'])}):"
    return agree(text.strip().partition("\n")[0], expected, "the first line")


def loops_compute(emit: Any, steps: list[Step], shapes: Any, arrays: Any) -> bool:
    space: dict[str, Any] = {"math": math, "np": np}
    text = emit("kernel_7", steps, shapes)
    try:
        exec(compile(text, "<kernel>", "exec"), space)  # the learner's own text, in his own process
        out = np.full_like(arrays["out"], np.nan)
        space["kernel_7"](*(arrays[name] for name in arguments_of(steps)), out)
    except (SyntaxError, NameError, KeyError, IndexError) as error:
        raise DisagreementError(f"{type(error).__name__}: {error}\n{text}") from None
    if not np.allclose(out, arrays["out"], rtol=1e-4, atol=1e-5):
        raise DisagreementError(f"out[...] is {out.ravel()[:3]}, expected {arrays['out'].ravel()[:3]}\n{text}")
    return True


@exercise(
    "15b",
    4,
    starter="edf941ddbabc634d",
    points=2,
    part="emit",
    solution="""
from passlab.course.own import arguments_of, first_lines, next_line, variable


def emit(name, steps, shapes):
    shape = shapes[steps[-1].name]
    indices = [f"i{axis}" for axis in range(len(shape))]
    params = ", ".join([variable(arg) for arg in arguments_of(steps)] + ["out"])
    lines, indent = [f"def {name}({params}):"], "    "
    for index, size in zip(indices, shape):
        lines.append(f"{indent}for {index} in range({size}):")
        indent += "    "
    body = first_lines(steps[0], shapes, indices)
    body += [next_line(step, shapes, indices) for step in steps[1:]]
    body.append(f"out[{', '.join(indices)}] = value")
    return "\\n".join([*lines, *(indent + line for line in body)]) + "\\n"


answer_4 = emit
""",
)
def the_loops(names: Names) -> Exercise:
    """Your loops."""
    return (
        Exercise("Your loops", expects=callable)
        .asks("the function has its name and its parameters", head, fused, times=4)
        .asks(
            "the kernel computes its steps",
            loops_compute,
            fused,
            times=12,
            hint=(
                "one loop for each axis of the result: `for i0 in range(...):`, each four spaces further in",
                "inside: `first_lines` of the first step, `next_line` of each further one, then `out[i0, i1] = value`",
            ),
        )
    )
