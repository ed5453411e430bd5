"""A pass that changes nodes or constants of its input is named, whatever it changes, and its input is put back."""

from __future__ import annotations

import numpy as np
import pytest

from passlab import IRModule, lab, parse
from passlab.errors import VerifyError
from passlab.infer import infer_module
from passlab.instrument import Validate, VerifyInstrument
from passlab.instrument.unchanged import Memento, slot_of
from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Constant, Expr, Match
from passlab.ir.walk import post_order
from passlab.transform import PassContext, module_pass
from tests.each import each

TEXT = """
type Opt[A] { Some(A), Non }
def @twice(%a: Tensor[(3), float32], Primitive=1) -> Tensor[(3), float32] { add(%a, %a) }
def @main(%x: Tensor[(3), float32], %c: bool, %o: Opt[float32]) {
  let %r = ref(%x);
  let %u = ref_write(%r, if (%c) { nn.softmax(%x, axis=0) } else { @twice(%x) });
  %0 = match (%o) { Some(%v) => %v, Non => 2.5f };
  (ref_read(%r), multiply(ref_read(%r), %0), (%x, %0).1)
}
"""


def program() -> IRModule:
    return infer_module(parse(TEXT))


def changes() -> dict[str, tuple[int, str, str]]:
    """Each field of each kind of node: the number of a node in post-order, the part that has the field, its name."""
    found: dict[str, tuple[int, str, str]] = {}
    for number, node in enumerate(post_order(*program().functions.values())):
        names = [("", name) for name in node.field_names if getattr(node, name) is not None]
        attrs = getattr(node, "attrs", None)
        names += [("attrs", name) for name in (attrs.keys() if isinstance(attrs, Attrs) else ())]
        names += [("clauses", name) for name in ("lhs", "rhs") if isinstance(node, Match)]
        for part, name in names:
            if type(node).__name__ not in ("Op", "Constructor"):  # one for all programs
                found.setdefault(f"{type(node).__name__} {part} {name}", (number, part, name))
    return found


CHANGES = changes()


def change(mod: IRModule, key: str) -> Expr:
    number, part, name = CHANGES[key]
    node = post_order(*mod.functions.values())[number]
    if isinstance(node, Constant):
        node.data.setflags(write=True)
        node.data[...] += 1
        node.data.setflags(write=False)
        return node
    target = {"": node, "attrs": getattr(node, "attrs", None), "clauses": getattr(node, "clauses", [None])[0]}[part]
    if isinstance(target, DictAttrs):
        target._dict[name] = 7
    else:
        name = name if part else slot_of(node, name)
        old = getattr(target, name)
        object.__setattr__(target, name, old[:-1] if isinstance(old, tuple) and old else ("other", old))
    return node


@each("key", CHANGES)
def test_every_change_is_seen_and_undone(key: str) -> None:
    mod = program()
    memento = Memento(mod)
    assert not memento.changed()
    assert change(mod, key) in memento.changed()
    memento.restore()
    assert not memento.changed()
    assert structural_equal(mod, program(), exact=True)


def spoiling(key: str):
    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        change(mod, key)
        return mod

    return module_pass(transform, opt_level=0, name="Spoils")


SOME = ("Call  args", "Constant  data", "Call attrs axis", "If  true_branch", "Match clauses rhs")


@pytest.mark.parametrize("instrument", [VerifyInstrument, Validate])
@pytest.mark.parametrize("key", SOME)
def test_instruments_name_the_pass(instrument, key):
    match = "the pass `Spoils` changed the program that it was given"
    with pytest.raises(VerifyError, match=match), PassContext(instruments=[instrument()]):
        spoiling(key)(program())
    assert parse("def @main() { 2.5f }")["main"].body.data == 2.5, "all programs share a literal"


@pytest.mark.parametrize("key", SOME)
def test_the_culprit_is_the_pass_and_the_program_is_what_it_was(key):
    mod = program()
    result = lab.culprit(mod, [spoiling(key)], seconds=10)
    assert result.name == "Spoils"
    assert "changed the program that it was given" in result.summary()
    assert structural_equal(mod, program(), exact=True)


def test_a_large_constant_that_changed_is_seen():
    text = "def @main(%x: Tensor[(1000, 1000), float32]) { %x }"
    mod = parse(text)
    constant = Constant(np.zeros((1000, 1000), "float32"))
    mod = mod.with_functions({"main": mod["main"].with_fields(body=constant)})
    memento = Memento(mod)
    constant.data.setflags(write=True)
    constant.data[...] += 1
    assert memento.changed() == [constant]
