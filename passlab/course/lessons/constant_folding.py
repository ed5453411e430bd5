"""The exercises of the lesson `05-constant-folding`."""

from __future__ import annotations

from typing import Any

import numpy as np

import passlab
from passlab import relay
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import DisagreementError, Exercise
from passlab.testing import count_ops


def folds_to(cls: Any, text: Any, expected: Any) -> Any:
    before, after = (passlab.parse(f"def @main(%x: float32) {{ {t} }}")["main"].body for t in (text, expected))
    return passlab.structural_equal(cls().visit(before), after, map_free_vars=True)


def sum_of_fields(rng: Any) -> Any:
    """A tuple of variables and constants, of which two fields are subtracted; and what is left."""
    fields = ["%x" if rng.random() < 0.5 else f"{rng.integers(1, 9)}f" for _ in range(4)]
    i, j = (int(k) for k in rng.integers(0, 4, 2))
    expected = f"{fields[i]} - {fields[j]}"
    if fields[i] != "%x" and fields[j] != "%x":
        expected = f"{int(fields[i][:-1]) - int(fields[j][:-1])}f"
    return f"let %t = ({', '.join(fields)}); %t.{i} - %t.{j}", expected


def shape_folded(cls: Any, shape: Any, dtype: Any) -> Any:
    mod = passlab.parse(f'def @main(%x: Tensor[{shape}, float32]) {{ shape_of(%x + 1f, dtype="{dtype}") }}')
    return cls().visit(mod["main"]).body


def has_dtype(constant: Any, dtype: str) -> bool:
    if constant.data.dtype != dtype:
        hint = "; `relay.const` makes int32 of int64, `relay.Constant` keeps the array" * (dtype == "int64")
        raise DisagreementError(f"it is {constant.data.dtype}, expected {dtype}{hint}")
    return True


def folds_shape(cls: Any, shape: Any, dtype: Any) -> Any:
    node = shape_folded(cls, f"({', '.join(map(str, shape))})", dtype)
    return isinstance(node, relay.Constant) and np.array_equal(node.data, shape) and str(node.data.dtype) == dtype


guarded = passlab.parse("def @main(%c: bool) { if (%c) { 1 / 0 } else { 2 + 3 } }")["main"]


hidden = passlab.parse("def @main(%c: bool) { let %zero = 0; if (%c) { 1 / %zero } else { 2 + 3 } }")["main"]


def left_by(cls: Any, func: Any = guarded) -> Any:
    return count_ops(cls().visit(func))


def faulty(rng: Any) -> Any:
    """A sum of divisions, some of them by zero, and what must be left of it."""
    text = left = "%n"
    for numerator in (0, *map(int, rng.integers(6, 20, 3))):
        name, divisor = str(rng.choice(["floor_divide", "floor_mod"])), int(rng.integers(0, 4))
        call = f"{name}({numerator}, {divisor})"
        value = (
            call
            if divisor == 0
            else {"floor_divide": numerator // divisor, "floor_mod": numerator % divisor}[name]
            if divisor
            else 0
        )
        text, left = (f"{total} + (if (%c) {{ {term} }} else {{ 1 }})" for total, term in ((text, call), (left, value)))
    return tuple(passlab.parse(f"def @main(%c: bool, %n: int32) {{ {body} }}")["main"] for body in (text, left))


@exercise(
    5,
    1,
    starter="d3bde6a13b29c7c5",
    solution="""
answer_1 = (3, 4)
""",
)
def how_often(lesson: Names) -> Exercise:
    """How often?"""
    fold = lesson.fold

    def left(first: Any) -> Any:
        text = f"def @main(%x: float32) {{ let %a = {first}; let %b = %a * 3f; %0 = (%b, %x + %a); %0.0 - %0.1 * %b }}"
        return count_ops(fold(passlab.parse(text))["main"]).total()

    return Exercise(
        "How often?",
        hint=[
            "write down what each line becomes",
            "what contains %x stays; a projection of a tuple that is written out always goes",
        ],
    ).equals((left("2f"), left("%x")))


@exercise(
    5,
    2,
    starter="6980eb00cc987712",
    solution="""
class Tuples(ConstantFolder):
    def visit_let(self, let):
        value = self.visit(let.value)
        if isinstance(value, relay.Tuple) and all(isinstance(f, (relay.Var, relay.Constant)) for f in value.fields):
            self.memo_map[let.var] = value
            return self.visit(let.body)
        return super().visit_let(let)


answer_2 = Tuples
""",
)
def values_that_may_be_moved(lesson: Names) -> Exercise:
    """Values that may be moved."""
    return (
        Exercise("Values that may be moved", expects=type)
        .requires(
            "a constant still replaces its variable", lambda cls: folds_to(cls, "let %a = 1f + 2f; %x + %a", "%x + 3f")
        )
        .requires(
            "a tuple of a variable and a constant replaces its variable",
            lambda cls: folds_to(cls, "let %t = (%x, 1f); %t.0 - %t.1", "%x - 1f"),
            hint=[
                "which kinds of fields may a tuple have to be moved?",
                "all(isinstance(field, (relay.Var, relay.Constant)) for field in value.fields)",
            ],
        )
        .requires(
            "so does a tuple whose field is folded to a constant",
            lambda cls: folds_to(cls, "let %t = (%x, 1f + 1f); %t.0 - %t.1", "%x - 2f"),
            hint="look at the value after it was visited",
        )
        .requires(
            "a call stays where it is",
            lambda cls: all(
                folds_to(cls, text, text)
                for text in (
                    "let %t = (exp(%x), 1f); %t.0 - %t.1",
                    "let %t = (1f, exp(%x)); %t.0 - %t.1",
                    "let %t = (%x, 1f, exp(%x)); %t.0 - %t.2",
                )
            ),
        )
        .asks("it is right about random tuples", folds_to, sum_of_fields)
    )


@exercise(
    5,
    3,
    starter="f831880faa9f1179",
    solution="""
class Shapes(ConstantFolder):
    def visit_call(self, call):
        if call.op == relay.op.get("shape_of"):
            type_ = call.args[0].checked_type
            if not relay.ty.is_dynamic(type_):
                return relay.Constant(np.array(type_.shape, call.attrs.dtype))
        return super().visit_call(call)


answer_3 = Shapes
""",
)
def shapes_are_known_before_values(lesson: Names) -> Exercise:
    """Shapes are known before values."""
    return (
        Exercise(
            "Shapes are known before values",
            expects=type,
            hint=["which call is it about?", "if call.op == relay.op.get('shape_of'): ..."],
        )
        .requires(
            "the shape is folded",
            lambda cls: np.array_equal(getattr(shape_folded(cls, "(2, 3)", "int32"), "data", None), [2, 3]),
            hint=["a constant is made of an array", "relay.Constant(np.array(shape, dtype))"],
        )
        .requires(
            "its dtype is the requested one",
            lambda cls: has_dtype(shape_folded(cls, "(2, 3)", "int64"), "int64"),
            hint="call.attrs.dtype",
        )
        .requires(
            "a shape with an unknown dimension is not folded",
            lambda cls: isinstance(shape_folded(cls, "(2, ?)", "int32"), relay.Call),
            hint="relay.ty.is_dynamic(type)",
        )
        .asks(
            "it is right about random shapes",
            folds_shape,
            lambda rng: (
                tuple(int(d) for d in rng.integers(1, 9, rng.integers(2, 5))),
                str(rng.choice(["int32", "int64"])),
            ),
        )
        .requires("other calls are folded as before", lambda cls: folds_to(cls, "%x + (1f + 2f)", "%x + 3f"))
    )


@exercise(
    5,
    4,
    starter="87ec2d65d816ccdc",
    solution="""
class Careful(ConstantFolder):
    def visit_call(self, call):
        try:
            return super().visit_call(call)
        except passlab.PasslabError:
            return ExprMutator.visit_call(self, call)


answer_4 = Careful
""",
)
def what_if_it_fails(lesson: Names) -> Exercise:
    """What if it fails?"""
    return (
        Exercise(
            "What if it fails?",
            expects=type,
            hint=[
                "what should be left of a call that cannot be computed?",
                "catch passlab.PasslabError, and visit the call as ExprMutator does",
            ],
        )
        .requires("the folder does not fail", left_by)
        .requires("the division is still there", lambda cls: left_by(cls)["divide"] == 1)
        .requires("the addition is folded", lambda cls: left_by(cls)["add"] == 0)
        .asks(
            "only divisions by zero are left",
            lambda cls, func, left: passlab.structural_equal(cls().visit(func), left),
            faulty,
        )
        .requires(
            "what is left has no variable that nothing defines",
            lambda cls: not relay.analysis.free_vars(cls().visit(hidden)),
            hint="a variable of a `let` that was folded is gone: visit the arguments of the call that you keep",
        )
    )


predicts(
    "05",
    one_of(
        "How many of the 18 operators does `fold` remove, and what does this do to the accuracy?",
        "none, and nothing",
        "nine, and nothing",
        "nine, and it gets worse",
        right="b",
    ),
)
