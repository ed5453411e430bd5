"""Whatever is given to the Python function of an operator, the answer is a call or an error that names the argument.

A right call of each operator is its first edge case that type-checks; then each argument is replaced by values of the
wrong kind. `tests/package/test_wrong_arguments.py` asks the same of all other public functions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import PasslabError, TypeInferenceError
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.walk import post_order
from passlab.op.edge_cases import program
from passlab.relay.operators import COMPOSITIONS
from tests.rotation import PARTS

NAMES = [name for name in Op.list_op_names() if Op.get(name).spec.builder is not None]
PLACEHOLDER = relay.var("v", shape=(2, 3))
MATRIX = tuple(relay.var(name, shape=(2,)) for name in ("data", "indices", "indptr"))
RIGHT = {"sparse_mat": MATRIX, "x of nn.sparse_transpose": MATRIX, "shape": (2, 3)}  # of parameters that are no inputs
WRONG = (None, object(), "nonsense", [object()], {1}, np.ones((2, 3)), "\ud800", passlab, -1, 1.5, 10**30, float("nan"))
WRONG += ([], [[1], [2]], 1j, b"x", {"a": 1}, True, PLACEHOLDER)  # type: ignore[assignment]


def right_arguments(name: str) -> dict[str, Any] | None:
    """The arguments of a call of an operator, by the names of its parameters; None without an edge case."""
    spec = Op.get(name).spec
    for edge in spec.edge_cases:
        for dtype in ("float32", "int32"):
            try:
                mod = passlab.parse(program(edge, dtype).source)
            except TypeInferenceError:
                continue
            call = [node for node in post_order(mod["main"]) if isinstance(node, Call) and node.op is Op.get(name)][-1]
            given: dict[str, Any] = {} if call.attrs is None else {key: call.attrs[key] for key in [*call.attrs.keys()]}
            given.update(zip(spec.inputs, call.args, strict=False))
            return {
                key: RIGHT.get(f"{key} of {name}", given.get(key, RIGHT.get(key, default)))
                for key, default in parameters(spec.builder).items()
            }
    return None


def parameters(function: Any) -> dict[str, Any]:
    """The parameters of a function with their defaults, or a variable."""
    found = inspect.signature(function).parameters.values()
    return {one.name: PLACEHOLDER if one.default is one.empty else one.default for one in found}


def complaints(title: str, function: Any, right: dict[str, Any], names: dict[str, Any]) -> Iterator[str]:
    """Yield the wrong calls that end in a foreign error, or in one that does not name the argument."""
    for key in right:
        target = names.get(key, key)
        known = [key, *([target] if isinstance(target, str) else target)]
        for value in WRONG:
            try:
                function(**{**right, key: value})
            except TypeInferenceError:
                pass  # it asks for the type of an expression, of whatever argument
            except PasslabError as error:
                if not any(re.search(rf"\b{name}\b", str(error)) for name in known):
                    yield f"{title}({key}={ascii(value)[:40]}) does not name it: {error}"
            except Exception as error:  # noqa: BLE001 - what is looked for
                yield f"{title}({key}={ascii(value)[:40]}): {type(error).__name__}: {error}"[:200]


@pytest.mark.rotating
@pytest.mark.parametrize("part", range(PARTS))
def test_a_wrong_argument_of_an_operator_is_named(part: int) -> None:
    found: list[str] = []
    for name in NAMES[part::PARTS]:
        right, builder = right_arguments(name), Op.get(name).spec.builder
        if right is not None:
            builder(**right)
            python = builder._python
            found += complaints(name, builder, right, python.names if python is not None else {})
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_a_wrong_argument_of_a_composition_is_refused_in_words(name: str) -> None:
    found = [*complaints(name, COMPOSITIONS[name], parameters(COMPOSITIONS[name]), {})]
    foreign = [text for text in found if "does not name it" not in text]  # it may name the inner operator's argument
    assert not foreign, "\n".join(foreign)


def test_nearly_every_operator_is_asked() -> None:
    assert len(NAMES) > 280
    assert len([name for name in NAMES if not Op.get(name).spec.edge_cases]) < 15
