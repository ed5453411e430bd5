"""The exercises of the lesson `08-instruments`."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import passlab
from passlab import relay, transform
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.transform import PassContext


def some_passes(rng: Any) -> Any:
    return list(
        rng.choice(
            ["FoldConstant", "DeadCodeElimination", "FuseOps", "ToANormalForm", "EliminateCommonSubexpr"],
            3,
            replace=False,
        )
    )


fold, infer = transform.FoldConstant(), transform.InferType()


def of_level(level: Any) -> Any:
    @transform.module_pass(opt_level=level, name=f"Level{level}")
    def empty(mod: Any, ctx: Any) -> Any:
        return passlab.IRModule()

    return empty


def growing(by: Any, inner: Any = None) -> Any:
    """A pass that adds operators, after another one that it runs."""

    @transform.module_pass(opt_level=0, name=f"grow{by}")
    def grow(mod: Any, ctx: Any) -> Any:
        mod = inner(mod) if inner else mod
        body = mod["main"].body
        for _ in range(by):
            body = relay.tanh(body)
        return mod.with_functions({"main": relay.Function(mod["main"].params, body)})

    return grow


HELPED = passlab.parse("""
def @twice(%x: float32) -> float32 { %x + %x }
def @main(%x: float32) -> float32 { exp(@twice(%x)) }
""")


@exercise(
    8,
    1,
    starter="53abc670d200a202",
    solution="""
answer_1 = (6, 0)
""",
)
def read_the_diary(lesson: Names) -> Exercise:
    """Read the diary."""
    Diary, net = lesson.Diary, lesson.net

    def printed(name: Any) -> Any:
        """What the diary of the question prints."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), PassContext(instruments=[Diary("A"), Diary("B", refuses=[name])]):
            transform.get_pass(name)(net)
        return out.getvalue().splitlines()

    lines = printed("FuseOps")

    return Exercise(
        "Read the diary",
        hint=["does a refused pass call others?", "each instrument is entered, asked and left; the pass does not run"],
    ).equals((len(lines), sum("before" in line for line in lines)))


@exercise(
    8,
    2,
    starter="b9c57a783e57a9ec",
    solution="""
@instrument.pass_instrument
class Solution:
    def __init__(self):
        self.changed, self.running = [], []

    def run_before_pass(self, mod, info):
        self.running.append(mod)

    def run_after_pass(self, mod, info):
        if self.running.pop() is not mod:
            self.changed.append(info.name)

    def pass_failed(self, mod, info, error):
        self.running.pop()


answer_2 = Solution
""",
)
def count_the_changes(lesson: Names) -> Exercise:
    """Count the changes."""
    net = lesson.net

    def under(tool: Any, *passes: Any, program: Any = None) -> Any:
        with PassContext(opt_level=3, instruments=[tool]):
            for pass_ in passes:
                pass_(program or net)
        return tool

    def who_changed(names: Any) -> Any:
        """The passes of a pipeline that returned another module, in the order in which they end."""
        rec = passlab.record(net, ", ".join(names), opt_level=3)
        return [event.name for event in rec.steps if event.status == "ran" and event.changed]

    def in_pipeline(cls: Any, names: Any) -> Any:
        """What an instrument says of the passes that a pipeline names."""
        tool = cls()
        with PassContext(opt_level=3, instruments=[tool]):
            transform.parse_pipeline(", ".join(names))(net)
        return [name for name in tool.changed if name in names]

    return (
        Exercise("Count the changes", expects=type)
        .requires(
            "FoldConstant changes the program",
            lambda cls: "FoldConstant" in under(cls(), fold).changed,
            hint=["how do you tell that a pass changed nothing?", "compare with `is`, in run_after_pass"],
        )
        .requires(
            "InferType does not",
            lambda cls: "InferType" not in under(cls(), fold, infer).changed,
            hint="passes run inside others: use a stack",
        )
        .requires("each change is counted", lambda cls: list(under(cls(), fold, fold).changed) == ["FoldConstant"] * 2)
        .requires(
            "a pass inside another one ends first",
            lambda cls: list(under(cls(), growing(1, growing(2))).changed) == ["grow2", "grow1"],
            hint="note the name when the pass ends, not when it begins",
        )
        .asks(
            "it is right about random pipelines",
            lambda cls, names: in_pipeline(cls, names) == who_changed(names),
            lambda rng: (some_passes(rng),),
            times=6,
        )
    )


@exercise(
    8,
    3,
    starter="1674b9ea2b12be9b",
    solution="""
@instrument.pass_instrument
class UpTo:
    def __init__(self, level):
        self.level = level

    def should_run(self, mod, info):
        return info.opt_level <= self.level


answer_3 = UpTo
""",
)
def keep_it_cheap(lesson: Names) -> Exercise:
    """Keep it cheap."""
    net = lesson.net

    def is_refused(tool: Any, pass_: Any) -> Any:
        with PassContext(opt_level=3, instruments=[tool]):
            return pass_(net) is net

    return (
        Exercise(
            "Keep it cheap",
            expects=type,
            hint=[
                "which hook may refuse a pass?",
                "should_run(self, mod, info) returns whether; the level is info.opt_level",
            ],
        )
        .requires("level 1 refuses FoldConstant", lambda cls: is_refused(cls(1), fold))
        .requires("level 2 allows it", lambda cls: not is_refused(cls(2), fold))
        .requires(
            "it goes by the level, not by the name",
            lambda cls: (
                is_refused(cls(2), transform.CanonicalizeOps()) and not is_refused(cls(3), transform.CanonicalizeOps())
            ),
        )
        .asks(
            "it is right about random levels",
            lambda cls, level, of_pass: is_refused(cls(level), of_level(of_pass)) == (of_pass > level),
            lambda rng: tuple(int(n) for n in rng.integers(0, 9, 2)),
        )
    )


@exercise(
    8,
    4,
    starter="1a7c9906663d5e2f",
    solution="""
@instrument.pass_instrument
class Limited:
    def __init__(self, most):
        self.most = most

    def run_after_pass(self, mod, info):
        count = count_ops(mod["main"]).total()
        if count > self.most:
            raise passlab.PasslabError(f"{info.name} left {count} operators; at most {self.most} are allowed")


answer_4 = Limited
""",
)
def a_budget(lesson: Names) -> Exercise:
    """A budget."""
    net = lesson.net

    def under(tool: Any, *passes: Any, program: Any = None) -> Any:
        with PassContext(opt_level=3, instruments=[tool]):
            for pass_ in passes:
                pass_(program or net)
        return tool

    def complaint(tool: Any, *passes: Any) -> Any:
        try:
            under(tool, *(passes or [growing(2)]))
        except passlab.PasslabError as error:
            return str(error)

    return (
        Exercise(
            "A budget",
            expects=type,
            hint=["which hook sees the result of a pass?", "in run_after_pass: count_ops(mod['main']).total()"],
        )
        .requires("six operators and two more are more than seven", lambda cls: complaint(cls(7)))
        .requires("the message names the pass", lambda cls: "grow" in complaint(cls(7)))
        .requires("eight are not more than eight", lambda cls: complaint(cls(8)) is None)
        .requires(
            "it is the result that counts, not the input",
            lambda cls: complaint(cls(5), transform.DeadCodeElimination()) is None,
        )
        .requires(
            "only the operators of `@main` count",
            lambda cls: under(cls(1), transform.DeadCodeElimination(), program=HELPED),
            hint="count_ops(mod['main']): the other functions do not count",
        )
        .asks(
            "it is right about random budgets",
            lambda cls, most, by: (complaint(cls(most), growing(by)) is not None) == (6 + by > most),
            lambda rng: (int(rng.integers(3, 20)), int(rng.integers(1, 12))),
            first=[(6, 1), (3, 1)],
        )
    )


predicts(
    "08",
    one_of(
        "When are the two methods called?",
        "`run_before_pass` is never called",
        "both are called once more, for a pass inside `FoldConstant`",
        "`run_after_pass` is called before the program changes",
        right="b",
    ),
    one_of(
        "Which passes change the number of multiply-accumulates?", "none", "`SimplifyInference`", "`FuseOps`", right="a"
    ),
)
