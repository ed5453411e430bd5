"""The exercises of the lesson `15-memory`."""

from __future__ import annotations

from typing import Any

from passlab import transform
from passlab.course.predictions import a_number, one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.transform import PassContext
from passlab.vm import VirtualMachine, compile


@exercise(
    15,
    1,
    starter="fee9eea3e85accf1",
    solution="""
answer_1 = 64 * 64 * 4
""",
)
def how_many_bytes(lesson: Names) -> Exercise:
    """How many bytes."""
    exe = lesson.exe

    return Exercise("How many bytes", hint=["how many elements are there?", "elements times the bytes of one"]).equals(
        int(exe.constants[0])
    )


@exercise(
    15,
    2,
    starter="8686a1aa970325ac",
    solution="""
answer_2 = 4
""",
)
def a_longer_chain(lesson: Names) -> Exercise:
    """A longer chain."""
    plan, softmaxes = lesson.plan, lesson.softmaxes

    storages = set(plan(softmaxes(10)).values())

    return Exercise(
        "A longer chain",
        hint=["look at the plan for five", "the one that is read and the one that is written change places"],
    ).equals(len(storages))


@exercise(
    15,
    3,
    starter="f70971e2b5c2a1fb",
    solution="""
answer_3 = "ManifestLifetimes"
""",
)
def kill_in_time(lesson: Names) -> Exercise:
    """Kill in time."""
    chain, x = lesson.chain, lesson.x

    def allocations(disabled: Any) -> Any:
        with PassContext(opt_level=3, disabled_pass=disabled):
            machine = VirtualMachine(compile(chain), memory_cfg="pooled")
        machine.run(x)
        return machine.machine.allocator.allocations

    return (
        Exercise(
            "Kill in time",
            expects=str,
            hint=["which instruction ends a lifetime?", "the pass is named in the section on lifetimes"],
        )
        .requires("it is a pass", lambda name: transform.get_pass(name) is not None)
        .requires("without it more memory is needed", lambda name: allocations([name]) > allocations([]))
    )


predicts(
    "15",
    a_number("How many of the three results are alive at the same time?", 2),
    one_of(
        "Which value is the largest?", "the image", "the result of the convolution", "the ten probabilities", right="b"
    ),
)
