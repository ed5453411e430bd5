"""The exercises and predictions of the lesson `09b-dataflow-analysis`."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise


@exercise(
    "09b",
    1,
    starter="35402a4a0a130e0c",
    solution="""
answer_1 = {"n", "s"}
""",
)
def live_at_the_head(lesson: Names) -> Exercise:
    """Live at the head."""
    expected = frozenset(lesson.solve(lesson.BLOCKS)["head"])

    def same(answer: Any) -> bool:
        return {str(name) for name in answer} == expected

    return Exercise(
        "Live at the head",
        expects=lambda answer: isinstance(answer, (set, frozenset, list, tuple)),
        expected_kind="a set of names",
    ).requires(
        "these are the variables that are live where `head` begins",
        same,
        hint=(
            "which variables are read on some path from there, before they are written?",
            "follow both paths: into the body, and to the exit",
        ),
    )


TOP, BOTTOM = "any", "none"


def below(a: Any, b: Any) -> bool:
    """The order of the flat lattice: bottom below every number, every number below top."""
    return a in (b, BOTTOM) or b == TOP


def least_above(join: Any, a: Any, b: Any) -> bool:
    """Whether the answer is the least upper bound, by its definition."""
    given = join(a, b)
    candidates = [TOP, BOTTOM, *{a, b, 0, 1}]
    if type(given) not in (int, float, str, np.int64) or given not in candidates:
        raise DisagreementError(f"it gives {given!r}, which is not an element of the lattice")
    if not (below(a, given) and below(b, given)):
        raise DisagreementError(f"it gives {given!r}, which is not above both")
    smaller = [c for c in candidates if below(a, c) and below(b, c) and below(c, given) and c != given]
    if smaller:
        raise DisagreementError(f"it gives {given!r}, but {smaller[0]!r} is above both, and below it")
    return True


@exercise(
    "09b",
    2,
    starter="3529fc4cbbeebe3b",
    solution="""
def join(a, b):
    if a == b or b == "none":
        return a
    if a == "none":
        return b
    return "any"


answer_2 = join
""",
)
def two_ways_meet(lesson: Names) -> Exercise:
    """Two paths meet."""
    elements = [TOP, BOTTOM, 0, 1, 2, 7]

    def pair(rng: np.random.Generator) -> tuple[Any, Any]:
        one, other = (elements[int(place)] for place in rng.integers(0, len(elements), 2))
        return one, other

    return Exercise("Two paths meet", expects=callable).asks(
        "it is the least element above both",
        least_above,
        pair,
        first=[(1, 1), (1, 2), (BOTTOM, 1), (1, BOTTOM), (TOP, BOTTOM), (0, BOTTOM), (BOTTOM, BOTTOM), (TOP, 1)],
        times=40,
        hint=("what is known when one path is never taken?", "two different numbers are both below `any` only"),
    )


def program(rng: np.random.Generator) -> dict[str, Any]:
    """Random blocks in the form of the lesson: assignments, and the names of the blocks that may follow."""
    names, count = list("abcd"), int(rng.integers(2, 6))
    labels = [f"b{number}" for number in range(count)]
    blocks = {}
    for number, label in enumerate(labels):
        lines = []
        for _ in range(int(rng.integers(0, 4))):
            reads = [str(name) for name in rng.choice(names, int(rng.integers(0, 3)), replace=False)]
            lines.append((str(rng.choice(names)), reads))
        if number == count - 1:
            lines.append((None, [str(rng.choice(names))]))
        after = (
            [str(label) for label in rng.choice(labels, int(rng.integers(1, 3)), replace=False)]
            if number < count - 1
            else []
        )
        blocks[label] = (lines, after)
    return blocks


def live_by_paths(blocks: dict[str, Any]) -> dict[str, set[str]]:
    """What is live at the beginning of each block, by the definition: some path reads it before it writes it."""
    live: dict[str, set[str]] = {}
    for start in blocks:
        live[start] = set()
        for name in "abcd":
            todo, seen = [start], set()
            while todo:
                label = todo.pop()
                if label in seen:
                    continue
                seen.add(label)
                lines, after = blocks[label]
                for target, reads in lines:
                    if name in reads:
                        live[start].add(name)
                        todo.clear()
                        break
                    if target == name:
                        break
                else:
                    todo += after
                    continue
                if name in live[start]:
                    break
    return live


def dead_by_paths(blocks: dict[str, Any]) -> set[tuple[str, int]]:
    """The assignments whose value no path reads."""
    live = live_by_paths(blocks)
    dead = set()
    for label, (lines, after) in blocks.items():
        for number, (target, _) in enumerate(lines):
            if target is None:
                continue
            for later, reads in lines[number + 1 :]:
                if target in reads:
                    break
                if later == target:
                    dead.add((label, number))
                    break
            else:
                if not any(target in live[block] for block in after):
                    dead.add((label, number))
    return dead


@exercise(
    "09b",
    3,
    starter="391c66f8c46404cb",
    solution="""
def dead(blocks):
    live, found = solve(blocks), set()
    for label, (lines, after) in blocks.items():
        now = set().union(*(live[block] for block in after))
        for number, (target, reads) in reversed(list(enumerate(lines))):
            if target is not None and target not in now:
                found.add((label, number))
            now = (now - {target}) | set(reads)
    return found


answer_3 = dead
""",
)
def dead_assignments(lesson: Names) -> Exercise:
    """Dead assignments."""

    def agrees(answer: Any, blocks: dict[str, Any]) -> bool:
        given = {(str(label), int(number)) for label, number in answer(blocks)}
        expected = dead_by_paths(blocks)
        if given != expected:
            raise DisagreementError(f"it gives {sorted(given)}, expected {sorted(expected)}")
        return True

    return Exercise("Dead assignments", expects=callable).asks(
        "it finds the assignments whose value is never read, in any program",
        agrees,
        lambda rng: (program(rng),),
        times=40,
        hint=(
            "what is live behind the last line of a block? The union of what is live at the beginning of the blocks that may follow",
            "go through the lines backwards: an assignment to a name that is not live is dead; then remove the target and add what the line reads",
        ),
    )


predicts(
    "09b",
    one_of("Which of the two is in SSA form?", "the blocks", "the Relay function", right="b"),
    a_number("After how many rounds does nothing change any more?", 3),
)
