"""Give every primitive function a name of the module, so that a call names its kernel.

before:
    def @main(%x: Tensor[(2), float32]) {
      let %f = fn (%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) };
      let %y = %f(%x);
      %y
    }
after:
    def @main(%x: Tensor[(2), float32]) {
      let %y = @fused_exp(%x);
      %y
    }
    def @fused_exp(%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) }

keep:
    def @main(%x: Tensor[(2), float32]) { let %y = exp(%x); %y }
"""

from __future__ import annotations

from collections import defaultdict

from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.walk import post_order, rewrite
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

LONGEST_NAME = 80  # characters; a name lists the operators of its function up to here


@standard_pass(opt_level=0, required=("InferType",), promise=EXACT)
class LowerTE(ModulePass):
    """Move primitive function literals to global functions called `fused_<operators>`; equal ones become one.

    Relay compiles them to machine code here; passlab's machine makes NumPy kernels of them when a program is loaded.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        library = _Library(mod)
        changes = {name: library.lowered(f) for name, f in mod.items() if not f.is_primitive}
        return mod.with_functions({**changes, **library.made})


class _Library:
    """The primitive functions found so far, each once."""

    def __init__(self, mod: IRModule) -> None:
        self.taken = {name for name, _ in mod.items()}
        self.made: dict[GlobalVar, Function] = {}
        self.by_hash: defaultdict[int, list[tuple[Function, GlobalVar]]] = defaultdict(list)

    def lowered(self, function: Function) -> Function:
        """Return a function with its primitive literals named."""
        found = [n for n in post_order(function, enter=_outside) if isinstance(n, Function) and n.is_primitive]
        if not found:
            return function
        names: dict[Expr, Expr] = {f: self.name(f) for f in found}

        bound: dict[Expr, Expr] = {
            n.var: names[n.value]
            for n in post_order(function, enter=_outside)
            if isinstance(n, Let) and n.value in names
        }
        return _without_bindings(rewrite(function, replace=names), bound)

    def name(self, primitive: Function) -> GlobalVar:
        """Return the global name of a primitive function, the same for equal functions."""
        same = self.by_hash[structural_hash(primitive)]
        for known, var in same:
            if structural_equal(known, primitive):
                return var
        stem = "fused_" + "_".join(
            n.op.name for n in post_order(primitive.body) if isinstance(n, Call) and isinstance(n.op, Op)
        )
        var = GlobalVar(self._free(stem.replace(".", "_")[:LONGEST_NAME]))
        same.append((primitive, var))
        self.made[var] = primitive
        return var

    def _free(self, stem: str) -> str:
        name, count = stem, 0
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name


def _outside(node: Expr) -> bool:
    return not (isinstance(node, Function) and node.is_primitive)


def _without_bindings(function: Expr, bound: dict[Expr, Expr]) -> Function:
    """Drop the lets that now bind a variable to a global name, and call the name where the variable was called."""

    def use(pre: Expr, post: Expr) -> Expr:
        if isinstance(post, Let) and post.var in bound:
            return post.body
        if isinstance(post, Call) and post.op in bound:
            return Call(bound[post.op], post.args, post.attrs, (), post.span)
        return post

    return rewrite(function, use) if bound else function  # type: ignore[return-value]
