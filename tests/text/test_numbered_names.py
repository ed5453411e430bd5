"""Names that end in a number without quotes, as PyTorch's exports have them: `%input.1`."""

from __future__ import annotations

import time

import pytest

import passlab
from passlab import relay
from passlab.errors import ParseError
from tests.each import each

NAMES = ("input.1", "x.0", "layer1.0.1", "a.b.3", "x.1f", "x.12.0")
PROGRAMS = {
    "parameter": "def @main({n}: float32) {{ exp({n}) }}",
    "two parameters": "def @main({n}: float32, {m}: float32) {{ {n} + {m} }}",
    "without a type": "def @main(%y: float32) {{ let %f = fn ({n}) {{ {n} }}; %f(%y) }}",
    "second without a type": "def @main(%y: float32) {{ let %f = fn (%z, {n}) {{ {n} }}; %f(%y, %y) }}",
    "let": "def @main(%y: float32) {{ let {n} = exp(%y); let {m}: float32 = {n}; {m} * {n} }}",
    "projection of it": "def @main({n}: (float32, (float32, int32))) {{ {n}.1.0 + {n}.0 }}",
    "inner function": "def @main(%y: float32) {{ let %f = fn ({n}: float32) -> float32 {{ {n} }}; %f(%y) }}",
    "in data": "type L {{ C(float32), N }}\ndef @main(%y: float32) {{ match (C(%y)) {{ C({n}: float32) => {n}, N => %y }} }}",
}


@each("name", NAMES)
@each("program", PROGRAMS)
def test_a_bound_name_that_ends_in_a_number_reads_as_its_quoted_form(name, program):
    mod = passlab.parse(PROGRAMS[program].format(n=f"%{name}", m=f"%{name}0"))
    quoted = PROGRAMS[program].format(n=f'%"{name}"', m=f'%"{name}0"')
    assert passlab.structural_equal(mod, passlab.parse(quoted))
    assert passlab.structural_equal(mod, passlab.parse(mod.astext()))
    names = {var.name_hint for f in mod.functions.values() for var in relay.analysis.all_vars(f)}
    assert name in names


def test_a_projection_of_another_function_stays_one():
    mod = passlab.parse("def @f(%t.0: float32) { %t.0 }\ndef @g(%t: (float32, int32)) { %t.0 }")
    assert isinstance(mod["f"].body, relay.Var)
    assert isinstance(mod["g"].body, relay.TupleGetItem)


def test_the_name_in_scope_wins():
    mod = passlab.parse("def @main(%x: (float32, float32), %x.1: float32) { %x.1 + %x.0 }")
    one, two = mod["main"].body.args
    assert one is mod["main"].params[1]
    assert isinstance(two, relay.TupleGetItem)


@pytest.mark.parametrize(
    "text", ["def @main(%t: (float32,)) { %t .0 }", "def @main(%t: (float32,)) { add(%t.0, %t.0) }"]
)
def test_other_texts_have_projections(text):
    assert isinstance(passlab.parse(text)["main"].body, (relay.TupleGetItem, relay.Call))


def test_a_name_that_nobody_binds_is_no_name():
    with pytest.raises(ParseError, match=r"expected the number|not been previously declared"):
        passlab.parse("def @main(%y: float32) { %input.1 }")


def test_long_names_take_linear_time():
    start = time.process_time()
    for end in (":", "", "="):
        with pytest.raises(ParseError):
            passlab.parse("def @main(%y: float32) { let %x" + ".1" * 100_000 + end)
    assert time.process_time() - start < 5
