"""The exercises and predictions of the lesson `19b-search-and-e-graphs`."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise


@exercise(
    "19b",
    1,
    starter="a2dc00ec419b4cac",
    solution="""
answer_1 = ["regroup", "one", "times one", "shift"]
""",
)
def a_good_order(lesson: Names) -> Exercise:
    """A good order."""
    rules, term = lesson.RULES, lesson.TERM

    def reached(order: Any) -> bool:
        result = lesson.in_order(term, [rules[name] for name in order])
        if result != "x":
            raise DisagreementError(f"in this order, the result is {lesson.text(result)}")
        return True

    return (
        Exercise("A good order", expects=[str])
        .requires(
            "each of the four rules is there once",
            lambda order: sorted(order) == sorted(rules),
            hint=f"the names are {', '.join(rules)}",
        )
        .requires(
            "the result is x",
            reached,
            hint=(
                "which rule makes another one impossible?",
                "first regroup, so that 2 / 2 appears; `shift` comes last",
            ),
        )
    )


def classes_of(pairs: list[tuple[int, int]], a: int, b: int) -> bool:
    """Whether a chain of pairs connects two numbers, by walking through all of them."""
    seen, todo = set(), [a]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += [other for pair in pairs if one in pair for other in pair]
    return b in seen


@exercise(
    "19b",
    2,
    starter="b4b4e1b4df1fdc67",
    solution="""
def equal(pairs, a, b):
    parent = {}

    def find(number):
        while parent.get(number, number) != number:
            number = parent[number]
        return number

    for one, other in pairs:
        parent[find(one)] = find(other)
    return find(a) == find(b)


answer_2 = equal
""",
)
def union_and_find(lesson: Names) -> Exercise:
    """Union and find."""

    def question(rng: np.random.Generator) -> tuple[Any, int, int]:
        size = int(rng.integers(2, 9))
        pairs = [(int(a), int(b)) for a, b in rng.integers(0, size, (int(rng.integers(0, size)), 2))]
        return pairs, int(rng.integers(0, size)), int(rng.integers(0, size))

    chain = [(number, number + 1) for number in range(3000)]

    return (
        Exercise("Union and find", expects=callable)
        .agrees(
            "it says whether a chain of pairs connects two numbers",
            classes_of,
            question,
            first=[
                ([], 1, 1),
                ([], 1, 2),
                ([(1, 2), (3, 2)], 1, 3),
                ([(1, 2), (3, 4)], 1, 4),
                ([(1, 2), (3, 4), (2, 4)], 1, 3),
            ],
            times=60,
            hint=(
                "each number points to another one of its class, or to itself: the last one is the representative",
                "to merge two classes, let the *representative* of one point to the representative of the other",
            ),
        )
        .requires(
            "it is right for a chain of 3,000 pairs",
            lambda equal: bool(equal(chain, 0, 3000)) and not equal(chain, 0, 4000),
            hint="walk with a loop: calls within calls end at a depth of a thousand",
        )
    )


def random_term(rng: np.random.Generator) -> Any:
    """A term of up to five operators, made from its leaves upwards."""
    terms: list[Any] = ["x", "y", 1, 2, 4]
    for _ in range(int(rng.integers(0, 6))):
        left, right = (terms[int(place)] for place in rng.integers(len(terms) // 2, len(terms), 2))
        terms.append((str(rng.choice(["*", "/", "<<"])), left, right))
    return terms[-1]


def cost_by_definition(term: Any, costs: Any) -> float:
    """The cost of a term: of its operators together."""
    total, todo = 0.0, [term]
    while todo:
        part = todo.pop()
        if isinstance(part, tuple):
            total += costs[part[0]]
            todo += part[1:]
    return int(total)


@exercise(
    "19b",
    3,
    starter="311ffc1511e8bd61",
    solution="""
def cost_of(term, costs):
    if not isinstance(term, tuple):
        return 0
    op, *parts = term
    return costs[op] + sum(cost_of(part, costs) for part in parts)


answer_3 = cost_of
""",
)
def what_a_term_costs(lesson: Names) -> Exercise:
    """What a term costs."""
    return Exercise("What a term costs", expects=callable).agrees(
        "it adds the costs of all operators in the term",
        cost_by_definition,
        lambda rng: (random_term(rng), {"*": int(rng.integers(1, 9)), "/": int(rng.integers(9, 20)), "<<": 1}),
        first=[
            ("x", {"*": 3}),
            (7, {"*": 3}),
            (("*", "x", 2), {"*": 3}),
            (("/", ("*", "x", 2), ("*", 1, 2)), {"*": 3, "/": 8}),
        ],
        hint=(
            "a name or a number costs nothing",
            "a tuple costs what its operator costs, and what each of its arguments costs",
        ),
    )


predicts(
    "19b",
    one_of("Which result is reached by most orders?", "`x`", "a term that is worse than `x`", right="b"),
    a_number("Of the 24 orders of the passes, how many leave the fewest operators?", 12),
)
