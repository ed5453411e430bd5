"""The exercise and the predictions of the lesson `01-tour`."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab import IRModule, relay
from passlab.course.predictions import one_of, predicts
from passlab.course.registry import Names, exercise
from passlab.course.verdicts import Exercise
from passlab.testing import count_ops

SOLUTION = '''
answer_1 = passlab.parse("""
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32]) {
  nn.relu(nn.dense(%x, %w))
}
""")
'''


def types(mod: Any) -> list[str]:
    return [str(param.checked_type) for param in mod["main"].params]


def agrees(mod: Any, x: Any, w: Any) -> bool:
    result = relay.create_executor("debug", mod).evaluate()(x, w)
    return np.shape(result) == (1, 4) and np.allclose(result, np.maximum(x @ w.T, 0), rtol=1e-4, atol=1e-5)


@exercise(1, 1, starter="d4b048f84e479d93", solution=SOLUTION)
def mend_the_weight(names: Names) -> Exercise:
    """Mend the weight."""
    return (
        Exercise("Mend the weight", expects=IRModule)
        .requires(
            "it takes two parameters, `%x` as it was given",
            lambda mod: len(types(mod)) == 2 and types(mod)[0] == "Tensor[(1, 8), float32]",
            hint="the message is about the weight: leave `%x` as it is",
        )
        .requires(
            "it calls `nn.dense` and `nn.relu`",
            lambda mod: dict(count_ops(mod["main"])) == {"nn.dense": 1, "nn.relu": 1},
        )
        .requires(
            "the weight has four rows",
            lambda mod: types(mod)[1] == "Tensor[(4, 8), float32]",
            hint=("a row of the weight is multiplied with a row of `%x`", "so a row has 8 numbers: `(4, 8)`"),
        )
        .asks(
            "it computes the layer",
            agrees,
            lambda rng: (rng.normal(size=(1, 8)).astype("float32"), rng.normal(size=(4, 8)).astype("float32")),
        )
    )


predicts(
    "01",
    one_of(
        "Nine passes are about to run. How many of them will change the program?",
        "all nine",
        "five",
        "none",
        right="b",
    ),
)
