"""A recording keeps no array that a pass computed and replaced, and yet shows its constant and computes it again."""

from __future__ import annotations

import numpy as np

import passlab
from passlab import relay
from passlab.ir.expr import Constant
from passlab.ir.released_arrays import Released
from passlab.ir.walk import post_order
from passlab.lab.recordings.recording import Recording, record

RNG = np.random.default_rng(0)
W, A, B = (RNG.random(shape, "float32") for shape in ((128, 256), (128, 1), (1, 256)))


def scaled_twice(weight: np.ndarray = W) -> passlab.IRModule:
    """Return a program whose weight is multiplied by two constants."""
    x = relay.var("x", shape=(2, weight.shape[1]))
    product = relay.multiply(relay.multiply(relay.const(weight), relay.const(A)), relay.const(B[:, : weight.shape[1]]))
    return passlab.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, product)))


def folded(rec: Recording) -> tuple[Constant, Constant]:
    """Return the constants that folding made: that of the inner product, and that of the outer one."""
    (event,) = (event for event in rec.events if event.name == "FoldConstant")
    inner, outer = (new for _, new, rule in event.rewrites.with_rules() if rule == "folded")
    return inner, outer


def test_the_array_between_two_products_is_computed_again():
    rec = record(scaled_twice(), "FoldConstant")
    inner, outer = folded(rec)
    assert type(inner._data) is Released
    assert str(inner.tensor_type) == "Tensor[(128, 256), float32]"
    assert type(outer._data) is np.ndarray
    np.testing.assert_array_equal(inner.data, W * A, strict=True)
    assert inner.data is inner.data
    assert not inner.data.flags.writeable


def test_a_biography_shows_the_constant_and_computes_nothing():
    rec = record(scaled_twice(), "FoldConstant")
    inner, _ = folded(rec)
    biography = rec.biography(inner)
    assert "constant" in str(biography)
    assert type(inner._data) is Released


def test_a_recording_holds_only_the_arrays_of_its_programs():
    rec = record(scaled_twice(), "InferType, FoldConstant")
    kept = {
        id(n.data) for e in rec.events for n in post_order(e.before["main"], e.after["main"]) if type(n) is Constant
    }
    for event in rec.events:
        for _, new in event.rewrites:
            if type(new) is Constant and type(new._data) is not Released:
                assert id(new.data) in kept


def test_small_arrays_are_kept():
    inner, _ = folded(record(scaled_twice(W[:, :8]), "FoldConstant"))
    assert type(inner._data) is np.ndarray


def test_values_of_variables_are_kept():
    v, x = relay.var("v"), relay.var("x", shape=(2, 256))
    body = relay.nn.dense(x, relay.multiply(relay.multiply(v, relay.const(A)), relay.const(B)))
    main = relay.Function([x], relay.Let(v, relay.const(W), body))
    rec = record(passlab.IRModule.from_expr(main), "FoldConstant")
    assert not any(type(new) is Constant and type(new._data) is Released for _, new in rec.events[-1].rewrites)
