"""The order of evaluation: what is shared between scopes is evaluated before the inner ones, as Relay binds it.

`%n(k)` writes a digit behind those of the calls before it, so that the cell tells in which order they came.
"""

from __future__ import annotations

import numpy as np

from passlab import relay
from passlab.infer import infer_module
from passlab.text.parser import parse
from passlab.transform import get_pass
from tests.each import each

COUNTER = """
  let %r = ref(0);
  let %n = fn (%k: int32) -> int32 { let %u = ref_write(%r, ref_read(%r) * 10 + %k); ref_read(%r) };
  let %z = 0;
"""
# what is shared, the result, and the digits when %c is true, and when it is not
ORDERS = {
    "arguments, then the callee": ("", "({ let %q = %n(1); (fn (%a: int32) -> int32 { %a },).0 })(%n(2))", 21, 21),
    "in a branch and behind it": ("%0 = %n(1);", "%n(2), if (%c) { %0 + %n(3) } else { %n(4) }, %0", 213, 214),
    "in both branches": ("%0 = %n(1);", "%n(2), if (%n(5) > 0) { %n(3) + %0 } else { %n(4) - %0 }", 2513, 2513),
    "in a branch that is not taken": (
        "%0 = %n(1);",
        "%n(2), if (%c) { 0 } else { if (%c) { %0 } else { 1 } }, %0",
        21,
        21,
    ),
    "in a function and around it": ("%0 = %n(1); let %g = fn () { %0 + %n(5) };", "%n(2), %g(), %g(), %0", 1255, 1255),
    "in a function that is not called": ("%0 = %n(1); let %g = fn () { %0 };", "%n(2), %0", 12, 12),
    "in the body of a let and behind it": ("%0 = %n(1);", "{ let %b = %n(2); %b - %0 }, %0", 21, 21),
    "in the value of a let and behind it": ("%0 = %n(1);", "{ let %b = %0; %b - %n(2) }, %0", 12, 12),
    "in an arm and behind it": ("%0 = %n(1);", "match ((%n(2), %c)) { (%a, %b) => { %n(3) - %0 } }, %0", 213, 213),
    "one in another, in nested branches": (
        "%0 = %n(1); %1 = %n(2) + %0;",
        "if (%c) { if (%n(6) > 0) { %1 } else { %0 } } else { %n(4) }, %1, %0",
        216,
        214,
    ),
    "two of a branch in their order": (
        "%0 = %n(1); %1 = %n(2);",
        "if (%c) { %n(3) + %1 - %0 } else { %0 }, %0, %1",
        213,
        21,
    ),
}


@each("taken", [True, False], ids=["taken", "not taken"])
@each("name", ORDERS)
def test_the_order_is_that_of_relay_on_every_executor(name: str, taken: bool):
    shared, result, yes, no = ORDERS[name]
    mod = infer_module(parse(f"def @main(%c: bool) {{ {COUNTER} {shared} ({result}, ref_read(%r)) }}"))
    for stage in (mod, get_pass("ToANormalForm")(mod), get_pass("PartialEvaluate")(mod), get_pass("LambdaLift")(mod)):
        for kind in ("debug", "definition", "aot"):
            value = relay.create_executor(kind, infer_module(stage)).evaluate()(np.bool_(taken))
            assert int(value[-1]) == (yes if taken else no), kind
