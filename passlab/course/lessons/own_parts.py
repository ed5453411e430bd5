"""The first half of a compiler of one's own: reader, types, folding, a pattern, pass manager (`passlab.course.own`)."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from passlab.course.given import lessons_folder
from passlab.course.own import (
    Program,
    Step,
    compute,
    evaluate,
    infer,
    random_program,
)
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise
from passlab.errors import type_in_words


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

CALL = re.compile(r"(?s)(?:let\\s+)?(?:%(\\w+)\\s*(?::[^=]*)?=\\s*)?([\\w.]+)\\((.*)\\)")


def read(text):
    steps = []
    text = re.sub(r"(?s)/\\*.*?\\*/|//[^\\n]*", "", text)
    for call in text[text.index("{") + 1 : text.rindex("}")].split(";"):
        match = CALL.fullmatch(call.strip())
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
def kinds(n: int, c: int, h: int, w: int, k: int, pad: int, down: int) -> list[Any]:
    """Each operator of the language for some sizes: its name, the shapes of its arguments, and its attributes."""
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
        ("add", [(n, 1), (1, c)], {}),
        ("multiply", [(c, 1, 1), (n, 1, h, w)], {}),
        ("nn.relu", [(n, c, h)], {}),
    ]


def sized(rng: np.random.Generator) -> Any:
    """One of the operators, for random sizes."""
    sizes = [*rng.integers(1, 6, 5), rng.integers(0, 3), rng.integers(1, 4)]
    some = kinds(*(int(size) for size in sizes))
    return some[int(rng.integers(0, len(some)))]


def right_shape(shape_of: Any, op: str, shapes: list[Any], attrs: dict[str, Any]) -> bool:
    names = tuple(f"a{number}" for number in range(len(shapes)))
    expected = np.shape(compute(Step("s", op, names, attrs), [np.ones(shape, "float32") for shape in shapes]))
    return agree(tuple(islice(shape_of(op, list(shapes), attrs), 20)), expected, f"{op} of {shapes}")


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
            first=[*kinds(2, 3, 4, 5, 6, 2, 3), *kinds(3, 2, 5, 4, 1, 1, 1)],
            hint=(
                "padding is [top, left, bottom, right], and may be missing",
                "`np.broadcast_shapes` knows what `add` does with two shapes",
            ),
            times=30,
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
        raise DisagreementError(f"it returns {type_in_words(after)}, expected a Program")
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
                "a number is known as well",
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
    names = [*program.inputs, *program.weights, *(step.name for step in steps)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DisagreementError(f"the name {twice[0]!r} is there twice: a new step needs a new name")
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
                "epsilon is an attribute of the step, and 1e-5 if it is missing",
            ),
        )
    )


# -------------------------------------------------------------------------------------------------------- pass manager
def pipeline(rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Names of passes with what they do, and some that are disabled."""
    names = [
        f"{rng.choice(['keep', 'copy', 'rename', 'weigh', 'use'])}{number}" for number in range(int(rng.integers(1, 6)))
    ]
    return names, [name for name in names if rng.random() < 0.3]


ONE = Program(("data",), [Step("a", "exp", ("data",), {})], {})
DOES: dict[str, Any] = {
    "keep": lambda program, number: program,
    "copy": lambda program, number: program._replace(steps=list(program.steps)),
    "rename": lambda program, number: program._replace(steps=[Step(f"a{number}", "exp", ("data",), {})]),
    "weigh": lambda program, number: program._replace(weights={**program.weights, f"w{number}": np.ones(3)}),
    "use": lambda program, number: program._replace(
        steps=[*program.steps, Step(f"u{number}", "add", (program.steps[-1].name, f"k{number}"), {})],
        weights={**program.weights, f"k{number}": np.ones(3)},
    ),
}
BROKEN: dict[str, Any] = {  # what a pass may leave that no program can be
    "an argument that nothing defines": ONE._replace(steps=[Step("b", "tanh", ("nowhere",), {}), *ONE.steps]),
    "an argument that a later step defines": ONE._replace(steps=[Step("b", "tanh", ("a",), {}), *ONE.steps]),
    "an argument that is the step itself": ONE._replace(steps=[*ONE.steps, Step("b", "add", ("a", "b"), {})]),
    "a weight that is gone": ONE._replace(steps=[*ONE.steps, Step("b", "add", ("a", "w0"), {})]),
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
    words = {"keep": "unchanged", "copy": "unchanged", "weigh": "unchanged", "rename": "changed", "use": "changed"}
    expected = [(name, "skipped" if name in disabled else words[name[:-1]]) for name in names]
    agree([tuple(entry) for entry in log], expected, "the log")
    last = [name[-1] for name in kept if name.startswith("rename")]
    return agree(program.steps[0].name, f"a{last[-1]}" if last else "a", "the name of the step at the end")


def refuses(run_passes: Any, name: str, what: str) -> bool:
    program = ONE._replace(weights={"w0": np.ones(3)})
    passes = [("keep0", lambda program: program), (name, lambda program: BROKEN[what])]
    try:
        run_passes(passes, program)
    except ValueError as error:
        if name not in str(error):
            raise DisagreementError(f"the error does not name the pass: {error}") from None
        return True
    raise DisagreementError(f"a pass may leave {what}")


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
            lambda rng: (f"broken{int(rng.integers(0, 99))}", str(rng.choice(list(BROKEN)))),
            first=[("broken", what) for what in BROKEN],
            times=3,
            hint="go through the steps: a name is known if it is an input, a weight, or an earlier step",
        )
    )
