"""What a pass says that it acts on: a program without that stays as it is, whether or not the pass looks at it."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from functools import cache

import pytest

from passlab import relay, transform
from passlab.analysis.contents import contents_of
from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir import Function, IRModule
from passlab.ir.op import Op
from passlab.op import edge_cases
from passlab.passes import PASSES
from passlab.passes.simplify.fast_math import FastMath
from passlab.testing import programs
from passlab.text.parser import parse
from passlab.transform import FunctionPass, standard_pass
from passlab.transform.base import contains_any
from passlab.transform.registering import register_op_attr, unregister_op_attr
from tests.passes.docstring_programs import all_cases, cases_of
from tests.passes.law_programs import PROGRAMS
from tests.passes.test_laws import OPTIONS

HOOKS = {"AlterOpLayout": "FTVMAlterOpLayout", "QnnLegalize": "FTVMQnnLegalize"}  # passes that only hooks make act
WEIGHTS = {"weight_name": ["w"], "weight_shape": [[2, 1, 4, 2, 3]]}
MORE_OPTIONS = {
    **OPTIONS,
    "CombineParallelBatchMatmul": {"min_num_branches": 2},
    "DenseToSparse": WEIGHTS,
    "EtaExpand": {"expand_constructor": True, "expand_global_var": True},
    "FakeQuantizationToInteger": {"use_qat": True},
    "SimplifyFCTranspose": {"target_weight_name": ["w"]},
}


def _declared() -> list[str]:
    names = []
    for name in sorted(PASSES):
        options = MORE_OPTIONS.get(name, cases_of(name)[0].options if cases_of(name) else {})
        if transform.get_pass(name, **options).acts_on() is not None:
            names.append(name)
    return names


DECLARED = _declared()


@cache
def typed(text: str) -> IRModule | None:
    with contextlib.suppress(PasslabError):
        return infer_module(parse(text))
    return None


@cache
def texts() -> list[str]:
    """Programs of every operator, every pass, every construct."""
    result = [case.before for case in all_cases()] + list(PROGRAMS.values())
    for name in Op.list_op_names():
        edges = Op.get(name).spec.edge_cases
        result += [edge_cases.program(edges[0], dtype).source for dtype in ("float32", "int8") if edges]
    return result


@cache
def modules() -> list[IRModule]:
    return [m for m in map(typed, texts()) if m is not None] + [programs.program(seed).mod for seed in range(30)]


@pytest.fixture(autouse=True)
def hook_of_negative() -> Iterator[None]:
    """For each pass that acts by hooks, one on `negative`."""
    for attr in HOOKS.values():
        register_op_attr("negative", attr, lambda attrs, args, *types: relay.subtract(relay.zeros_like(*args), *args))
    yield
    for attr in HOOKS.values():
        unregister_op_attr("negative", attr)


def options_of(name: str) -> list[dict[str, object]]:
    choices = [MORE_OPTIONS.get(name, {})] if name in MORE_OPTIONS or not cases_of(name) else []
    choices += [case.options for case in cases_of(name) if case.options not in choices]
    return choices


def without_the_shortcut(pass_: transform.Pass, mod: IRModule, monkeypatch: pytest.MonkeyPatch) -> IRModule:
    """What a pass makes of a module if it has to look at every function."""
    with monkeypatch.context() as patch, transform.PassContext(opt_level=4):
        patch.setattr(type(pass_), "acts_on", lambda self: None)
        return pass_(mod)


@pytest.mark.rotating
@pytest.mark.parametrize("name", DECLARED)
def test_a_pass_changes_only_functions_with_what_it_acts_on(name: str, monkeypatch: pytest.MonkeyPatch):
    changed = 0
    for options in options_of(name):
        pass_ = transform.get_pass(name, **options)
        parts = pass_.acts_on()
        assert parts is not None
        for mod in modules():
            before = dict(mod.items())
            try:
                after = without_the_shortcut(pass_, mod, monkeypatch)
            except PasslabError:
                assert any(contains_any(f, parts) for f in before.values()), f"{name} refuses what it skips\n{mod}"
                continue
            if after is mod:
                continue
            changed += 1
            acted = [f for n, f in before.items() if dict(after.items()).get(n) is not f]
            scope = acted if isinstance(pass_, FunctionPass) else before.values()
            assert any(contains_any(f, parts) for f in scope), f"{name} changes without {parts}\n{mod}\n{after}"
            with transform.PassContext(opt_level=4):
                assert pass_(mod) is not mod, f"{name} skips what it changes"
    assert changed, "no program shows the pass at work"


def test_the_law_catches_a_declaration_that_lacks_an_operator(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(FastMath, "acts_on", lambda self: ("exp", "erf", "nn.softmax"))
    with pytest.raises(AssertionError, match="changes without"):
        test_a_pass_changes_only_functions_with_what_it_acts_on("FastMath", monkeypatch)


def function_of(text: str) -> Function:
    mod = typed(text)
    assert mod is not None
    return mod["main"]


def test_contents_are_those_of_everything_inside():
    contents = contents_of(function_of(PROGRAMS["kernels"]))
    assert {op.name for op in contents.operators} == {"exp", "add"}
    assert Function in contents.kinds
    assert Function not in contents_of(function_of(PROGRAMS["lets"])).kinds, "a function does not contain itself"


@pytest.mark.rotating
def test_contents_are_forgotten_with_their_function():
    from passlab.analysis.contents import _CONTENTS

    gc.collect()
    before = len(_CONTENTS)
    mods = [infer_module(parse(PROGRAMS["lets"])) for _ in range(50)]
    contents = [contents_of(mod["main"]) for mod in mods]
    assert len(_CONTENTS) == before + len(contents)
    del mods
    gc.collect()
    assert len(_CONTENTS) == before


def test_a_hook_registered_after_the_contents_were_found_counts():
    text = "def @main(%x: Tensor[(2), float32]) { abs(%x) }"
    mod = typed(text)
    assert mod is not None
    pass_ = transform.get_pass("Legalize", "MyLegalize")
    assert pass_(mod) is mod
    register_op_attr("abs", "MyLegalize", lambda attrs, args, types: relay.maximum(args[0], relay.negative(args[0])))
    try:
        assert "maximum" in str(pass_(mod))
    finally:
        unregister_op_attr("abs", "MyLegalize")
    assert pass_(mod) is mod


def test_a_pass_derived_from_a_standard_pass_may_act_on_anything():
    class Mine(FastMath):
        def transform_function(self, func, mod, ctx):
            return func.with_attr("seen", 1)

    mod = typed("def @main(%x: Tensor[(2), float32]) { abs(%x) }")
    assert mod is not None
    assert FastMath()(mod) is mod
    assert Mine()(mod)["main"].attrs["seen"] == 1


def test_a_declaration_may_name_kinds_of_nodes_and_conditions():
    @standard_pass(opt_level=0, acts_on=(relay.If, lambda op: op.name.startswith("nn.")))
    class Marks(FunctionPass):
        """Mark functions."""

        def transform_function(self, func, mod, ctx):
            return func.with_attr("seen", 1)

    def marked(body: str) -> bool:
        mod = typed(f"def @main(%c: bool, %x: Tensor[(2, 2), float32]) {{ {body} }}")
        return Marks()(mod)["main"].attrs.get("seen") == 1

    assert marked("if (%c) { %x } else { exp(%x) }")
    assert marked("add(%x, nn.relu(%x))")
    assert not marked("let %y = exp(%x); (%y, %y)")


def test_equal_contents_are_stored_once():
    first, second = (contents_of(function_of(PROGRAMS["kernels"] + " " * i)) for i in range(2))
    assert first is second
