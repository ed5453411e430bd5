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

before:
    def @main(%x: Tensor[(2), float32]) { let %y = exp(%x); %y }
after:
    def @main(%x: Tensor[(2), float32]) { let %y = @fused_exp(%x); %y }
    def @fused_exp(%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) }

keep:
    def @main(%x: Tensor[(2), float32]) { %x }
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable

from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.outline import outline
from passlab.ir.walk import post_order, rewrite
from passlab.transform.base import ModulePass
from passlab.transform.beta_reduction import beta_reduced
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

OF_THE_MACHINE = ("vm.", "memory.", "device_copy", "on_device")  # what is an instruction, not a kernel
LONGEST_NAME = 80  # characters; a name lists the operators of its function up to here


@standard_pass(opt_level=0, required=("InferType",), promise=EXACT)
class LowerTE(ModulePass):
    """Move primitive function literals to global functions called `fused_<operators>`; equal ones become one.

    An operator that fusion left alone becomes a function of its own, unless it has a meaning to the machine itself.
    Function literals that a primitive function calls, such as composites, are opened: a kernel is a list of operators.

    Relay compiles them to machine code here; passlab's machine makes NumPy kernels of them when a program is loaded.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        library = _Library(mod)
        changes = {name: beta_reduced(f) if f.is_primitive else library.lowered(f) for name, f in mod.items()}
        return mod.with_functions({**changes, **library.made})


class _Library:
    """The primitive functions found so far, each once."""

    def __init__(self, mod: IRModule) -> None:
        self.taken = {name for name, _ in mod.items()}
        self.counts: Counter[str] = Counter()  # the last number given to each stem
        self.made: dict[GlobalVar, Function] = {}
        self.by_outline: dict[Hashable, GlobalVar] = {}
        self.by_hash: defaultdict[int, list[tuple[Function, GlobalVar]]] = defaultdict(list)

    def lowered(self, function: Function) -> Function:
        """Return a function with its primitive literals named."""
        order = post_order(function, enter=_outside)
        names: dict[Expr, Expr] = {f: self.name(f) for f in order if isinstance(f, Function) and f.is_primitive}
        alone: dict[Expr, GlobalVar] = {
            n: self.name(_wrapped(n))
            for n in order
            if type(n) is Call and type(n.op) is Op and n.op.spec.kernel and not n.op.name.startswith(OF_THE_MACHINE)
        }
        if not names and not alone:
            return function
        bound = {n.var: names[n.value] for n in order if isinstance(n, Let) and n.value in names}

        def use(pre: Expr, post: Expr) -> Expr:
            """Drop the lets that now bind a variable to a global name, and call the name itself."""
            if isinstance(post, Let):
                return post.body if post.var in bound else post
            assert isinstance(post, Call)
            if pre in alone:
                return Call(alone[pre], post.args, None, (), post.span)
            return Call(bound[post.op], post.args, post.attrs, (), post.span) if post.op in bound else post

        return rewrite(function, use, replace=names, only=(Let, Call))  # type: ignore[return-value]

    def name(self, primitive: Function) -> GlobalVar:
        """Return the global name of a primitive function, the same for equal functions."""
        key = outline(primitive)  # of thousands of kernels few differ: most are found by this
        found = self.by_outline.get(key) if key is not None else None
        if found is None:
            found = self._equal(primitive)
            if key is not None:
                self.by_outline[key] = found
        return found

    def _equal(self, primitive: Function) -> GlobalVar:
        """Return the global name of the functions equal to this one, which may be the first."""
        same = self.by_hash[structural_hash(primitive)]
        for known, var in same:
            if structural_equal(known, primitive):
                return var
        stem = "fused_" + "_".join(
            n.op.name for n in post_order(primitive.body) if isinstance(n, Call) and isinstance(n.op, Op)
        )
        var = GlobalVar(self._free(stem.replace(".", "_")[:LONGEST_NAME]))
        same.append((primitive, var))
        self.made[var] = beta_reduced(primitive)
        return var

    def _free(self, stem: str) -> str:
        name = stem
        while name in self.taken:
            self.counts[stem] += 1
            name = f"{stem}_{self.counts[stem]}"
        self.taken.add(name)
        return name


def _outside(node: Expr) -> bool:
    return not (isinstance(node, Function) and node.is_primitive)


def _wrapped(call: Call) -> Function:
    """Return an operator's call as a primitive function of its arguments."""
    params = tuple([Var(f"p{i}", arg.checked_type) for i, arg in enumerate(call.args)])
    return Function(params, Call(call.op, params, call.attrs, (), call.span), call.checked_type, None, {"Primitive": 1})
