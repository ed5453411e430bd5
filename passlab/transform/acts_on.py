"""What a pass acts on: operators, kinds of nodes, or both. A function that contains none of it stays as it is.

    @standard_pass(opt_level=3, required=("InferType",), acts_on=("nn.bias_add",))

A pass whose options decide has the method `acts_on()` instead. A part of the declaration is the name of an operator, a
class of nodes, or a condition on operators, such as `with_attr("FTVMLegalize")`; one of them in a function is enough.
The declaration is a claim that a law tests on every pass: without these parts the pass changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from passlab.analysis.contents import contents_of
from passlab.ir.expr import Expr, Function
from passlab.ir.op import Op

Part = str | type[Expr] | Callable[[Op], bool]


def with_attr(name: str) -> Callable[[Op], bool]:
    """Return a condition that holds for operators with a registered attribute (`relay.op.register_op_attr`)."""
    return lambda op: op.spec.extra.get(name) is not None


def contains_any(function: Function, parts: Iterable[Part]) -> bool:
    """Whether a function contains one of the parts. What users have registered by now counts."""
    contents = contents_of(function)
    names = {op.name for op in contents.operators}
    for part in parts:
        if isinstance(part, str):
            if part in names:
                return True
        elif isinstance(part, type):
            if part in contents.kinds:
                return True
        elif any(map(part, contents.operators)):
            return True
    return False
