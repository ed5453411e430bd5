"""Taking lets out: a variable bound to another variable stands for that one's value."""

from __future__ import annotations

import pytest

import passlab
from passlab.analysis.well_formed import well_formed
from passlab.ir import Function, IRModule, Let, TensorType, Var
from passlab.transform import ToGraphNormalForm
from tests.transform.programs import make

FLOAT = TensorType((2,), "float32")


@pytest.mark.parametrize(
    "body",
    [
        "let %a = exp(%x); let %b = %a; %b",
        "let %a = exp(%x); let %b = %a; let %c = %b; add(%a, add(%b, %c))",
        "let %a = %x; let %b = %a; exp(%b)",
        "let %a = exp(%x); if (%p) { let %b = %a; %b } else { let %c = %a; tanh(%c) }",
    ],
)
def test_aliases_of_variables_are_followed(body):
    mod = passlab.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32], %p: bool) {{ {body} }}')
    new = ToGraphNormalForm()(mod)
    assert well_formed(new)
    assert "let" not in str(new)


def test_a_long_chain_of_aliases():
    x = Var("x", FLOAT)
    names = [Var(f"a{i}", FLOAT) for i in range(20_000)]
    body = make("tanh", names[-1])
    for var, value in reversed(list(zip(names, [make("exp", x), *names], strict=False))):
        body = Let(var, value, body)
    new = ToGraphNormalForm()(IRModule({"main": Function([x], body)}))
    assert str(new).count("exp") == 1
    assert well_formed(new)
