"""Laws of inference over random programs: what was left out is found again, and nothing escapes but findings."""

from __future__ import annotations

from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from passlab.errors import Diagnostic, TypeInferenceError
from passlab.infer import infer_expr, inference
from passlab.infer.inference_state import InferenceState
from passlab.ir import Expr, GlobalVar, Op, Var
from passlab.ir.adt import Constructor
from passlab.ir.equal import structural_equal
from passlab.ir.walk import post_order, rewrite
from tests.infer.typed_programs import LIBRARY, Writer
from tests.ir.random_programs import Generator

SEEDS = st.integers(0, 10**9)


def copied(expr: Expr) -> Expr:
    """The same program in nodes that were never typed."""

    def fresh(pre: Expr, post: Expr) -> Expr:
        if isinstance(post, (Op, GlobalVar, Constructor)) or post is not pre:
            return post
        return type(post)(**{name: getattr(post, name) for name in post.field_names})

    return rewrite(expr, fresh)


def types(expr: Expr) -> list[str]:
    return [str(node.checked_type) for node in post_order(expr)]


@given(SEEDS)
def test_what_was_left_out_is_found_again(seed):
    writer = Writer(seed)
    ty = writer.ty()
    typed = infer_expr(writer.expr(ty, 12, {}), LIBRARY)
    assert typed.checked_type is ty
    assert all(node.type_annotation is node.checked_type for node in post_order(typed) if isinstance(node, Var))
    assert infer_expr(typed, LIBRARY) is typed


@given(SEEDS)
def test_typing_again_from_nothing_gives_the_same_types(seed):
    writer = Writer(seed)
    typed = infer_expr(writer.expr(writer.ty(), 12, {}), LIBRARY)
    again = infer_expr(copied(typed), LIBRARY)
    assert structural_equal(typed, again)
    assert types(again) == types(typed)


@given(SEEDS)
def test_annotations_change_nothing(seed):
    bare, full = Writer(seed, annotated=0.0), Writer(seed, annotated=1.0)
    ty = bare.ty()
    assert full.ty() is ty
    a, b = (infer_expr(w.expr(ty, 10, {}), LIBRARY) for w in (bare, full))
    assert a.checked_type is b.checked_type
    assert types(a) == types(b)


@given(SEEDS)
def test_the_exact_mode_finds_the_same_types(seed):
    writer = Writer(seed, annotated=0.1)
    program = writer.expr(writer.ty(), 12, {})
    quick = infer_expr(copied(program), LIBRARY)
    with mock.patch.object(inference, "InferenceState", lambda world, exact: InferenceState(world, exact=True)):
        exact = infer_expr(copied(program), LIBRARY)
    assert types(exact) == types(quick)


@given(SEEDS, st.integers(1, 40))
def test_any_program_is_typed_or_refused(seed, size):
    program = Generator(seed).program(size)
    pair: tuple[Diagnostic, ...] = ()
    try:
        typed = infer_expr(program)
    except TypeInferenceError as error:
        pair = error.diagnostics
    assert pair or all(node._checked_type is not None for node in post_order(typed))
    assert all(finding.message for finding in pair)
