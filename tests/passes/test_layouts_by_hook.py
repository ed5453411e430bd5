"""`register_infer_correct_layout`: a function of the user says in which layouts an operator can go along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from passlab import relay, transform
from passlab.errors import PassError
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.transform.registering import InferCorrectLayoutOutput

X = np.random.default_rng(1).standard_normal((1, 4, 6, 5)).astype("float32")


@pytest.fixture
def register() -> Iterator[Callable[..., None]]:
    """Register a function for `nn.lrn`, which has a rule of its own, and take it away again."""
    yield lambda hook: relay.op.register_infer_correct_layout("nn.lrn", hook, level=11)
    relay.op.unregister_op_attr("nn.lrn", "FInferCorrectLayout")


def network() -> IRModule:
    x = relay.var("x", shape=(1, 6, 5, 4))
    weight = relay.const(np.random.default_rng(0).standard_normal((3, 3, 4, 4)).astype("float32"))
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    body = relay.nn.conv2d(x, weight, channels=4, kernel_size=(3, 3), padding=(1, 1), **layouts)
    return infer_module(IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.lrn(body, axis=3)))))


def converted(mod: IRModule) -> IRModule:
    with transform.PassContext(opt_level=3):
        return transform.ConvertLayout({"nn.conv2d": ["NCHW", "default"]})(mod)


def value(mod: IRModule) -> Any:
    return relay.create_executor("debug", mod).evaluate()(X.transpose(0, 2, 3, 1))


def order(mod: IRModule) -> list[str]:
    """The operators behind the convolution, in the order in which they run."""
    names: list[str] = []
    relay.analysis.post_order_visit(mod["main"], lambda e: names.append(e.op.name) if type(e) is relay.Call else None)
    return names[names.index("nn.conv2d") + 1 :]


def test_an_operator_goes_along_in_the_layout_that_it_names(register: Callable[..., None]) -> None:
    asked: list[tuple[list[str], list[str]]] = []

    def hook(attrs: Any, new: list[Any], old: list[Any], types: list[Any]) -> Any:
        asked.append((list(new), list(old)))
        layout = (new or old)[0]
        attrs = attrs.with_fields(axis=layout.name.index("C"))
        return InferCorrectLayoutOutput([layout], [layout], attrs)

    register(hook)
    mod = network()
    module = converted(mod)
    assert asked == [([], ["NHWC"]), (["NCHW"], ["NHWC"])]
    assert order(module) == ["nn.lrn", "nn.relu", "layout_transform"]
    np.testing.assert_allclose(value(module), value(mod), rtol=1e-5, atol=1e-6)


def test_an_operator_may_ask_for_its_own_layout(register: Callable[..., None]) -> None:
    register(lambda attrs, new, old, types: [["NHWC"], ["NHWC"]])
    mod = network()
    module = converted(mod)
    assert order(module) == ["layout_transform", "nn.lrn", "nn.relu"]
    np.testing.assert_allclose(value(module), value(mod), rtol=1e-5, atol=1e-6)


def test_a_layout_that_changes_the_type_is_refused(register: Callable[..., None]) -> None:
    def hook(attrs: Any, new: list[Any], old: list[Any], types: list[Any]) -> Any:
        return [[(new or old)[0]], ["NHWC"]]  # the result is said to be where it is not

    register(hook)
    with pytest.raises(PassError, match="changes its type"):
        converted(network())
