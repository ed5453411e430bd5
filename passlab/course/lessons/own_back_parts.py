"""The second half of a compiler of one's own: normal form, fusion, memory plan, loops (`passlab.course.own`)."""

from __future__ import annotations

import math
from itertools import islice, pairwise
from typing import Any

import numpy as np

from passlab.course.lessons.own_parts import agree, plain, same_value
from passlab.course.own import ELEMENTWISE, Life, Program, Step, arguments_of, compute, random_program, variable
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise
from passlab.errors import type_in_words


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


def twins(*steps: tuple[str, str, tuple[str, ...]]) -> tuple[Program, dict[str, Any]]:
    program = Program(("data",), [Step(*step, {}) for step in steps], {})
    return program, {"data": np.float32([[1, -2, 3], [0.5, 1, 2]])}


TWINS = [
    twins(  # what is there twice is known only when its arguments are
        ("a", "exp", ("data",)),
        ("b", "exp", ("data",)),
        ("c", "tanh", ("a",)),
        ("d", "tanh", ("b",)),
        ("e", "nn.relu", ("d",)),
        ("f", "subtract", ("c", "e")),
    ),
    twins(  # the order of arguments counts, and how often one is there
        ("a", "exp", ("data",)),
        ("b", "subtract", ("a", "data")),
        ("c", "subtract", ("data", "a")),
        ("d", "multiply", ("a", "data")),
        ("e", "multiply", ("a", "a")),
        ("f", "subtract", ("b", "c")),
        ("g", "subtract", ("d", "e")),
        ("h", "add", ("f", "g")),
    ),
]


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
        .asks("programs keep their value", same_value, untidy, first=TWINS, times=10)
        .asks(
            "steps are called v0, v1 and so on, no step is there twice, and each is needed",
            tidy,
            untidy,
            first=TWINS,
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
    late: tuple[Any, ...] = (Program(("data",), steps, {}), dict.fromkeys(("data", "a", "b", "c"), (2, 3)), {})

    steps = [Step("a", "exp", ("data",), {}), Step("b", "multiply", ("a", "w"), {}), Step("c", "tanh", ("b",), {})]
    shapes: dict[str, Any] = {"data": (1, 3), "a": (1, 3), "w": (2, 3), "b": (2, 3), "c": (2, 3)}
    wide: tuple[Any, ...] = (Program(("data",), steps, {"w": np.ones((2, 3))}), shapes, {})
    names = ["data", *(f"s{number}" for number in range(7))]
    steps = [Step(name, "exp", (before,), {}) for before, name in pairwise(names)]
    long: tuple[Any, ...] = (Program(("data",), steps, {}), dict.fromkeys(names, (2, 3)), {})

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
            first=[wide, long],
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
    agree(sorted(islice(buffers, len(lives) + 1)), sorted(life.name for life in lives), "the names in the plan")
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
    many = [Life(f"v{number}", 4, number, 20) for number in range(15)]

    return (
        Exercise("Your memory plan", expects=callable)
        .asks(
            "values that are alive at the same time are in different buffers",
            kept_apart,
            lambda rng: (lifetimes(rng),),
            first=[(chain,), (many,)],
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
        raise DisagreementError(f"it returns {type_in_words(text)}, expected a text")
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
