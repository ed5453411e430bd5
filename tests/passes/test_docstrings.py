"""Every standard pass does to the programs in its docstring what the docstring says."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import passlab
from passlab import transform
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.equal import assert_structural_equal
from passlab.passes import PASSES
from passlab.text.parser import parse
from passlab.transform.registry import find_factory
from tests.each import each
from tests.passes.docstring_programs import Case, all_cases, cases_of, parse_options


def typed(text: str) -> IRModule:
    return infer_module(parse(text))


def run(case: Case, mod: IRModule) -> IRModule:
    with transform.PassContext(opt_level=4):
        return transform.get_pass(case.factory, **case.options)(mod)


@each("case", all_cases(), ids=str)
def test_a_pass_does_what_its_docstring_shows(case: Case):
    before = typed(case.before)
    result = run(case, before)
    if case.after is None:
        assert result is before
    else:
        assert_structural_equal(infer_module(result), typed(case.after))


@each("factory", sorted(PASSES))
def test_every_pass_shows_what_it_does(factory: str):
    assert cases_of(factory), f"the docstring of {factory} shows no program"


def test_every_pass_shows_what_it_changes_and_what_it_leaves():
    changes = {c.factory for c in all_cases() if c.after is not None}
    leaves = {c.factory for c in all_cases() if c.after is None}
    assert set(PASSES) - changes == {
        "AlterOpLayout",
        "QnnLegalize",
        "PrintIR",
    }  # need something registered; change nothing
    assert set(PASSES) - leaves == {
        "AnnotateSpans",
        "CapturePostDfsIndexInSpans",
        "FirstOrderGradient",
        "ToCPS",
    }  # always change something


@each("factory", sorted(PASSES))
def test_every_option_is_documented(factory: str):
    result: Any = find_factory(factory)
    for option in dataclasses.fields(result):
        assert re.search(rf"\b{option.name}\b", result.__doc__ or ""), option.name


def test_options_are_read_as_in_a_call():
    assert parse_options("a=1, b='x', c=[1, 2]") == {"a": 1, "b": "x", "c": [1, 2]}
    assert parse_options("") == {}


@each("factory", sorted(PASSES))
def test_what_a_pass_rewrites_is_told_to_recorders(factory: str):
    for case in cases_of(factory):
        step = passlab.record(typed(case.before), transform.get_pass(case.factory, **case.options), opt_level=4)[1]
        new = set(step.after.functions.values()) - set(step.before.functions.values())
        assert not new or sum(len(event.rewrites) for event in step.walk()) > 0, str(case)
