"""Give every intermediate result a name.

before:
    def @main(%x: Tensor[(2), float32]) {
      %0 = exp(%x);
      multiply(add(%0, 1f), %0)
    }
after:
    def @main(%x: Tensor[(2), float32]) {
      let %x_0 = exp(%x);
      let %x_1 = 1f;
      let %x_2 = add(%x_0, %x_1);
      let %x_3 = multiply(%x_2, %x_0);
      %x_3
    }

before:
    def @main(%c: bool, %x: Tensor[(2), float32]) {
      %0 = exp(%x);
      if (%c) { add(%0, %x) } else { %0 }
    }
after:
    def @main(%c: bool, %x: Tensor[(2), float32]) {
      let %x_0 = exp(%x);
      let %x_2 = if (%c) { let %x_1 = add(%x_0, %x); %x_1 } else { %x_0 };
      %x_2
    }

keep:
    def @main(%x: Tensor[(2), float32]) { let %y = exp(%x); let %f = fn () { %y }; %f }
"""

from __future__ import annotations

from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.rewriting.let_binding import bind_in_scopes, in_normal_form
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=1, contract=EXACT)
class ToANormalForm(ModulePass):
    """Bind every constant, call, tuple, projection, branch and function literal by a `let`.

    Each is bound in the innermost scope that contains all its uses, in the order of first evaluation, so sharing
    becomes visible. Operators, variables and global names are not bound; primitive functions are bound whole and not
    entered; functions for other compilers are left alone. New variables are called `x_0`, `x_1`, ... in each function.

    As in Relay, a let that is not yet in this form leaves an alias of its result behind. A function that is in A-normal
    form already is returned as it is (Relay adds aliases to it). The result is untyped: run InferType. With `annotate`,
    new variables have the types of their values as annotations, and the result is typed where the program was.
    """

    annotate: bool = False

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = [(name, f) for name, f in mod.items() if not f.attrs.get("Compiler")]
        return mod.with_functions({name: to_a_normal_form(f, self.annotate) for name, f in functions})


def to_a_normal_form(function: Function, annotate: bool = False) -> Function:
    """Return one function in A-normal form; the same object if it is.

    The function literal that a lifted closure returns stays its body, and primitive functions stay dataflow graphs.
    """
    if function.is_primitive:
        return function
    if function.attrs.get("Closure") and isinstance(function.body, Function):
        return function.with_fields(body=_bind_all(function.body, annotate))
    return _bind_all(function, annotate)


def _bind_all(function: Function, annotate: bool) -> Function:
    if in_normal_form(function):
        return function
    return bind_in_scopes(function, lambda node, plan: True, flatten=True, on_devices=True, annotate=annotate)
