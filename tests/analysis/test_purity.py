"""An expression is pure where all its parts are, a call also where what its function does is."""

from __future__ import annotations

from itertools import product

import pytest

import passlab
from passlab.analysis import module_purity
from passlab.infer import infer_module

PURE, IMPURE = "%b", "ref_read(%r)"
FORMS = [
    "if ({}) {{ {} }} else {{ {} }}",
    "let %v = {}; {}",
    "let %v = {}; let %w = %v; {}",
    "({}, {}).0",
    "ref({})",
    "logical_and({}, {})",
    "match (Box({})) {{ Box(%q) => {} }}",
    "@same({})",
    "(fn () {{ {} }})()",
    "let %f = fn () {{ {} }}; %f()",
    "let %f = fn () {{ {} }}; let %g = %f; %g()",
    "(if ({}) {{ fn () {{ {} }} }} else {{ fn () {{ {} }} }})()",
    "(let %v = {}; fn () {{ {} }})()",
    "(match (Box({})) {{ Box(%q) => fn () {{ {} }} }})()",
    "let %f = fn (%n: bool) -> bool {{ if (%n) {{ %f({}) }} else {{ {} }} }}; %f(True)",
]
MODULE = """
type Box {{ Box(bool) }}
def @same(%x: bool) -> bool {{ %x }}
def @main(%b: bool, %r: ref(bool)) {{ {} }}
"""


@pytest.mark.parametrize("form", FORMS)
def test_an_expression_is_pure_where_all_its_parts_are(form: str) -> None:
    for parts in product((PURE, IMPURE), repeat=form.count("{}")):
        mod = infer_module(passlab.parse(MODULE.format(form.format(*parts))))
        assert module_purity(mod).pure(mod["main"].body) == (IMPURE not in parts), parts


@pytest.mark.parametrize("form", ["ref_read(%r)", "ref_write(%r, {})", "({}, %r).1"])
def test_reading_and_writing_a_reference_is_not_pure_and_passing_it_on_is(form: str) -> None:
    mod = infer_module(passlab.parse(MODULE.format(form.format(PURE))))
    assert module_purity(mod).pure(mod["main"].body) == ("ref" not in form)
