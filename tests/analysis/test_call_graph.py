"""Which global functions a module names, and in which order they stand, whatever their number."""

from __future__ import annotations

from passlab import relay
from passlab.analysis.call_graph import CallGraph, named_functions
from passlab.infer import infer_expr
from passlab.infer.order import strongly_connected
from passlab.text.parser import parse

HEADER = '#[version = "0.0.5"]\n'
PROGRAM = f"""{HEADER}
def @main(%x: int32) {{ @f(%x) }}
def @f(%x: int32) -> int32 {{ if (equal(%x, 0)) {{ 0 }} else {{ @f(subtract(%x, 1)) }} }}
def @g(%x: int32) {{ let %h = @f; %h(%x) }}
"""


def test_named_functions_are_those_that_some_function_mentions():
    mod = parse(PROGRAM)
    assert named_functions(mod) == {mod["f"]}


def test_named_functions_of_a_module_that_was_edited_are_those_it_mentions_now():
    mod = parse(PROGRAM)
    named_functions(mod)
    mod["k"] = relay.Function([], relay.Call(mod.get_global_var("g"), [relay.const(1)]))
    assert named_functions(mod) == {mod["f"], mod["g"]}
    mod.remove("k")
    assert named_functions(mod) == {mod["f"]}


def test_every_mention_counts_as_a_reference():
    graph = CallGraph(parse(PROGRAM))
    assert [graph.ref_count(name) for name in ("main", "f", "g")] == [0, 3, 0]
    assert graph.callers("f") == {"main": 1, "f": 1, "g": 1}


def test_groups_come_callees_first_and_members_in_the_order_they_are_met():
    chain = {str(i): [str(i + 1)] for i in range(5)}
    assert strongly_connected({**chain, "5": []}) == [["5"], ["4"], ["3"], ["2"], ["1"], ["0"]]
    assert strongly_connected({**chain, "5": ["2"]}) == [["2", "3", "4", "5"], ["1"], ["0"]]


def test_an_expression_is_typed_under_the_functions_it_reaches_and_no_others():
    mod = parse(
        HEADER + "def @f(%x: int32) { @g(%x) }\ndef @g(%x: int32) { %x }\ndef @wrong(%x: int32) { add(%x, 1f) }"
    )
    call = relay.Call(mod.get_global_var("f"), [relay.const(1)])
    assert str(infer_expr(call, mod).checked_type) == "int32"
