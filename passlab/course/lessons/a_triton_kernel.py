"""The exercises of the lesson `22b-a-triton-kernel`."""

from __future__ import annotations

from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise

LINES = range(12, 20)  # of the kernel
STAGES = ["TTIR", "TTGIR", "LLVM IR", "PTX", "SASS"]
FILE = "softmax_triton.py"


@exercise(
    "22b",
    1,
    starter="61062115b1116914",
    solution="""
answer_1 = lambda line, stage: len(rec.lines_of(f"softmax_triton.py:{line}", step=stage))
""",
)
def what_is_left_of_a_line(lesson: Names) -> Exercise:
    """What is left of a line."""
    rec = lesson.rec

    return Exercise("What is left of a line", expects=callable).agrees(
        "it counts the lines",
        lambda line, stage: len(rec.lines_of(f"{FILE}:{line}", step=stage)),
        lambda rng: (int(rng.choice(LINES)), STAGES[rng.integers(len(STAGES))]),
        first=[(18, "PTX"), (18, "TTIR"), (17, "SASS"), (12, "LLVM IR")],
        hint=[
            "`rec.lines_of` returns a table with a row for each line; `step` takes the name of a stage",
            'a place is written `f"softmax_triton.py:{line}"`, and `len` counts the rows of a table',
        ],
    )


@exercise(
    "22b",
    2,
    starter="f597e1ffdc520db4",
    solution="""
answer_2 = lambda line: [step.name for step in rec.steps_of(f"softmax_triton.py:{line}")]
""",
)
def who_touched_it(lesson: Names) -> Exercise:
    """Who touched it."""
    rec = lesson.rec

    return Exercise("Who touched it", expects=callable).agrees(
        "it names the steps",
        lambda line: [step.name for step in rec.steps_of(f"{FILE}:{line}")],
        lambda rng: int(rng.choice(LINES)),
        first=[18, 13, 16],
        hint=[
            "`rec.steps_of` lists the steps that changed what comes from a line",
            "each of them has a `name`",
        ],
    )


@exercise(
    "22b",
    3,
    starter="58a4df671ed166d4",
    solution="""
answer_3 = lambda name: [int(at.split(":")[1]) for at in rec[name].places if at.startswith("softmax_triton.py")]
""",
)
def what_a_pass_touched(lesson: Names) -> Exercise:
    """What a pass touched."""
    rec = lesson.rec
    names = sorted({step.name for step in rec.changed if step.kind != "stage"})

    return Exercise("What a pass touched", expects=callable).agrees(
        "it lists the lines",
        lambda name: [int(at.split(":")[1]) for at in rec[name].places if at.startswith(FILE)],
        lambda rng: str(rng.choice(names)),
        first=["TritonGPUCoalesce", "EarlyCSEPass", "TailCallElimPass"],
        hint=[
            "`rec[name].places` has the places, also those in `standard.py`",
            "leave out what does not start with the name of the file, and take the number behind the colon",
        ],
    )


predicts(
    "22b",
    a_number("How many of the 282 steps changed something?", 42),
    one_of(
        "From which line comes most of the machine code?",
        "the load of the row",
        "the maximum",
        "the power",
        "the store, with the sum in it",
        right="d",
    ),
)
