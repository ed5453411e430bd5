"""Each choice of each attribute, at each edge case, means the same in Relay and in the model that is written.

A choice that ONNX cannot say is refused by name. Modes that operators take as plain text are listed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from onnx import ModelProto

import passlab
from passlab import IRModule, relay
from passlab.errors import ModelError, PasslabError
from passlab.frontend import to_onnx
from passlab.frontend.onnx.export.table import writers
from passlab.infer import infer_module
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.walk import rewrite
from passlab.op.edge_cases import program
from tests.frontend.onnx_text import reference
from tests.frontend.test_export import NOT_IN_RUNTIME, evaluate, run
from tests.op.test_edges import values_of

TEXTS = {("nn.depth_to_space", "mode"): ("DCR", "CRD")}


def choices(name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The attributes of an operator with the values that each may have."""
    attrs = Op.get(name).spec.attrs
    for field in attrs.schema if attrs else ():
        values = TEXTS.get((name, field.name)) or tuple(re.findall(r"'([^']*)'", field.kind))
        if len(values) > 1:
            yield field.name, values


NAMES = [name for name in Op.list_op_names() if name in writers() and list(choices(name))]


def programs(name: str) -> Iterator[tuple[str, IRModule, list[np.ndarray]]]:
    """The edge cases of an operator with each choice of one attribute, and arguments."""
    for edge in Op.get(name).spec.edge_cases:
        written = program(edge)
        try:
            mod = infer_module(passlab.parse(written.source))
        except PasslabError:
            continue  # of other dtypes
        args = list(values_of(written.variables).values())
        for attribute, values in choices(name):
            for value in values:
                yield f"{attribute}={value!r} in {edge}", with_choice(mod, name, attribute, value), args


def with_choice(mod: IRModule, name: str, attribute: str, value: str) -> IRModule:
    def chosen(pre: Call, post: Call) -> Call:
        is_it = post.op is relay.op.get(name)
        return Call(post.op, post.args, post.attrs.with_fields(**{attribute: value})) if is_it else post

    return IRModule.from_expr(rewrite(mod["main"], chosen, only=(Call,)))


def computed(model: ModelProto, args: list[np.ndarray]) -> list[np.ndarray]:
    """What onnxruntime computes or, where it has no such kernel, ONNX's reference."""
    try:
        return run(model, args)
    except Exception as error:
        if not any(text in str(error) for text in (*NOT_IN_RUNTIME, "in the Resize operator")):
            raise
    with np.errstate(all="ignore"):
        return reference(model, *args)


@pytest.mark.rotating
@pytest.mark.parametrize("name", NAMES)
def test_each_choice_is_exported_as_what_it_means(name: str) -> None:
    compared = 0
    for what, mod, args in programs(name):
        try:
            typed = infer_module(mod)
            expected = evaluate(typed, args)
        except PasslabError:
            continue  # the case is not made for this choice
        try:
            model = to_onnx(typed)
        except ModelError as error:
            if name not in str(error):
                raise
            continue
        for theirs, ours in zip(computed(model, args), expected, strict=True):
            assert (theirs.dtype, theirs.shape) == (ours.dtype, ours.shape), what
            np.testing.assert_allclose(
                np.asarray(theirs, "float64"), np.asarray(ours, "float64"), rtol=1e-4, atol=1e-5, err_msg=what
            )
        compared += 1
    assert compared
