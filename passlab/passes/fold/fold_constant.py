"""Evaluate constant expressions at compile time.

before:
    def @main(%x: Tensor[(2), float32]) { add(%x, multiply(2f, 3f)) }
after:
    def @main(%x: Tensor[(2), float32]) { add(%x, 6f) }

before:
    def @main() { let %a = add(1, 2); if (less(%a, 5)) { multiply(%a, 2) } else { 0 } }
after:
    def @main() { 6 }

before:
    def @main(%x: Tensor[(2, 3), float32]) { add(ndarray_size(%x, dtype="int32"), 1) }
after:
    def @main(%x: Tensor[(2, 3), float32]) { 7 }

keep:
    def @main() { zeros(shape=[2], dtype="float32") }
"""

from __future__ import annotations

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.rewriting.constant_folding import STARTS, fold
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=2, contract=EXACT, acts_on=STARTS)
class FoldConstant(FunctionPass):
    """Evaluate operator calls whose arguments are constants, or tuples of them, with the kernels of the operators.

    An `if` on a constant becomes one of its branches; a projection of a tuple literal becomes the field; a let of a
    constant tensor is removed, and the constant replaces its variable. `shape_of` and `ndarray_size` of static types
    are folded. Not folded: stateful operators, calls without arguments, QNN operators (unless `fold_qnn`), calls inside
    primitive functions, and calls that fail, which still fail at run time.
    """

    fold_qnn: bool = False

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return fold(func, self.fold_qnn, mod)
