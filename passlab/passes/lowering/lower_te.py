"""Move primitive functions to the module, so that each call names its kernel.

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
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from passlab.infer.type_env import TypeDependency, type_dependency_of
from passlab.ir.equal import structural_equal, structural_hash
from passlab.ir.expr import Call, Expr, Function, GlobalVar, Let, Var, set_checked_type
from passlab.ir.kept_types import call_of_typed, let_of_typed, set_type
from passlab.ir.kernel_key import FunctionOutline, outline
from passlab.ir.module import IRModule
from passlab.ir.op import Op, callee_of, is_op_call
from passlab.ir.walk import (
    CHILDREN,
    LEAVES,
    children,
    outside_kernels,
    post_order,
    result_of,
    rewrite,
    rewrite_observer,
    with_children,
)
from passlab.rewriting.beta_reduction import beta_reduced
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

# Prefixes of the operators that are instructions of the virtual machine, not kernels.
VM_OPERATORS = ("vm.", "memory.", "device_copy", "on_device")
_ATOMS = frozenset(LEAVES)
LONGEST_NAME = 80  # characters; a name lists the operators of its function up to this length


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT)
class LowerTE(ModulePass):
    """Move primitive function literals to global functions called `fused_<operators>`; equal ones become one.

    An operator that is not fused becomes a function of its own, unless it is an instruction of the virtual machine.
    Function literals that a primitive function calls, such as composites, are inlined: a kernel is a list of operators.

    Relay compiles them to machine code here; passlab compiles them to NumPy kernels when it loads a program.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        library = _KernelTable(mod)
        changes = {name: beta_reduced(f) if f.is_primitive else library.lower(f) for name, f in mod.items()}
        return mod.with_functions({**changes, **library.functions, **library.wrappers})


class _KernelTable:
    """The primitive functions of a module, each once."""

    def __init__(self, mod: IRModule) -> None:
        self.names = {name for name, _ in mod.items()}
        self.counts: Counter[str] = Counter()  # the last number appended to each stem
        self.functions: dict[GlobalVar, Function] = {}
        self.kernels = {name: f for name, f in mod.items() if f.is_primitive}  # all primitive functions by name
        self.wrappers: dict[GlobalVar, Function] = {}
        self.wrapper_of: dict[str, GlobalVar] = {}
        self.by_outline: dict[FunctionOutline, GlobalVar] = {}
        self.by_call: dict[Hashable, GlobalVar] = {}  # of operators that are not fused
        self.by_hash: defaultdict[int, list[tuple[Function, GlobalVar]]] = defaultdict(list)

    def lower(self, function: Function) -> Function:
        """Return a function with its primitive literals named."""
        order = post_order(function, enter=outside_kernels)
        names: dict[Expr, GlobalVar] = {}
        unfused: dict[Expr, GlobalVar] = {}
        for kernel in _kernels_in_order(order):
            if isinstance(kernel, Function):
                names[kernel] = self.name(kernel)
            else:
                unfused[kernel] = self.name_call(kernel)
        bound: dict[Expr, GlobalVar] = {}
        for n in reversed(order):  # the outer lets first: a variable may be an alias of a bound one
            if type(n) is Let and (n.value in names or n.value in bound):
                bound[n.var] = names[n.value] if n.value in names else bound[n.value]
        may_be_value = self._has_kernel_as_value(order, {*names, *bound})
        if names or unfused:
            function = self._use_names(function, order, names, unfused, bound)
        return self._wrap_values(function, bound) if may_be_value else function

    def _has_kernel_as_value(self, order: list[Expr], kernels: set[Expr]) -> bool:
        """Whether a kernel is anything but the callee of a call, or bound by a let to a variable among `kernels`."""
        kernels.update(n for n in order if type(n) is GlobalVar and n.name_hint in self.kernels)
        if not kernels:
            return False
        for node in order:
            kind = type(node)
            if kind is Let:
                let: Any = node
                if let.body in kernels or (let.value in kernels and let.var not in kernels):
                    return True
            elif kind not in _ATOMS and not kernels.isdisjoint(_value_operands(node)):
                return True
        return False

    def _use_names(
        self,
        function: Function,
        order: list[Expr],
        names: dict[Expr, GlobalVar],
        unfused: dict[Expr, GlobalVar],
        bound: dict[Expr, GlobalVar],
    ) -> Function:
        """Replace kernels by their global names."""
        dependency = _dependency(function, {*names.values(), *unfused.values()})
        if dependency is not None and not unfused and not bound:
            return _call_by_name(function, order, names, dependency)

        def use(pre: Expr, post: Expr) -> Expr:
            """Drop lets that now bind a variable to a global name, and use the name itself."""
            if isinstance(post, Let):
                assert isinstance(pre, Let)
                return post.body if pre.var in bound else post
            assert isinstance(post, Call)
            if pre in unfused:
                post = Call(unfused[pre], post.args, None, (), post.span)
            elif post.op in bound:
                post = Call(bound[post.op], post.args, post.attrs, (), post.span)
            if post.op in self.functions and dependency is not None:
                if pre._checked_type is not None and post._checked_type is None:
                    set_type(post, pre._checked_type, post.args, dependency)
            return post

        replace: dict[Expr, Expr] = dict(names)
        return rewrite(function, use, replace=replace, only=(Let, Call), order=order)

    def _wrap_values(self, function: Function, bound: dict[Expr, GlobalVar]) -> Function:
        """Replace kernels used as values by functions that call them: a kernel itself is not a value."""
        order = post_order(function, enter=outside_kernels)
        kernels: dict[Expr, Expr] = dict(bound)
        kernels.update((n, n) for n in order if type(n) is GlobalVar and n.name_hint in self.kernels)
        uses: set[Expr] = set()
        for node in order if kernels else ():
            if type(node) not in _ATOMS and not kernels.keys().isdisjoint(operands := _value_operands(node)):
                uses.update(operands)
        values = {node: self._wrapper(kernel) for node, kernel in kernels.items() if node in uses}
        if not values:
            return function

        def keep(pre: Call, post: Call) -> Expr:
            args = post.args if callee_of(pre) is pre.op else (pre.args[0], *post.args[1:])
            return Call(kernels.get(pre.op, post.op), args, post.attrs, post.type_args, post.span)

        replace: dict[Expr, Expr] = dict(values)
        return rewrite(function, keep, replace=replace, enter=outside_kernels, only=(Call,))

    def _wrapper(self, kernel: Expr) -> GlobalVar:
        """Return the name of a non-primitive function that calls a kernel."""
        assert isinstance(kernel, GlobalVar)
        name = kernel.name_hint
        if name not in self.wrapper_of:
            primitive = self.kernels[name]
            params = [Var(p.name_hint, p.type_annotation, p.span) for p in primitive.params]
            result = Var("x_0")
            body = Let(result, Call(kernel, params), result)
            var = self.wrapper_of[name] = GlobalVar(self._unique_name(f"call_{name}"))
            self.wrappers[var] = Function(params, body, primitive.ret_type, span=primitive.span)
        return self.wrapper_of[name]

    def name(self, primitive: Function) -> GlobalVar:
        """Return the global name of a primitive function, the same for equal functions."""
        key = outline(primitive)
        if key is None:
            return self._name_of_equal(primitive)
        result = self.by_outline.get(key)
        if result is None:  # of thousands of kernels few differ
            result = self.by_outline[key] = self._add(primitive) if key.complete else self._name_of_equal(primitive)
        return result

    def name_call(self, call: Call) -> GlobalVar:
        """Return the global name of the primitive function that contains only a call of an operator."""
        key = (call.op, call.attrs, call.checked_type, *[arg.checked_type for arg in call.args])
        try:
            result = self.by_call.get(key)
        except TypeError:  # an attribute that Python cannot hash
            return self.name(_wrap(call))
        if result is None:
            result = self.by_call[key] = self.name(_wrap(call))
        return result

    def _name_of_equal(self, primitive: Function) -> GlobalVar:
        """Return the global name of the functions equal to this one; add it if it is the first."""
        same = self.by_hash[structural_hash(primitive, exact=True)]
        for other, var in same:
            if structural_equal(other, primitive, exact=True):
                return var
        var = self._add(primitive)
        same.append((primitive, var))
        return var

    def _add(self, primitive: Function) -> GlobalVar:
        """Add a primitive function under a new global name."""
        body = primitive.body
        is_alone = is_op_call(body) and all(type(arg) in _ATOMS for arg in body.args)  # the body is one call
        order = [body] if is_alone else post_order(body)
        stem = "fused_" + "_".join([n.op.name for n in order if is_op_call(n)])
        var = GlobalVar(self._unique_name(stem.replace(".", "_")[:LONGEST_NAME]))
        composed = any(type(n) is Function for n in order)
        result = beta_reduced(primitive) if composed else primitive
        self.functions[var] = self.kernels[var.name_hint] = result
        if result._checked_type is not None:
            set_checked_type(var, result._checked_type)
        return var

    def _unique_name(self, stem: str) -> str:
        name = stem
        while name in self.names:
            self.counts[stem] += 1
            name = f"{stem}_{self.counts[stem]}"
        self.names.add(name)
        return name


def _call_by_name(
    function: Function, order: list[Expr], names: dict[Expr, GlobalVar], dependency: TypeDependency
) -> Function:
    """Return a function with kernels replaced by their global names; `order` are its nodes, without nodes of kernels.

    The types stay the same: what contains a call by name depends on the names from now on.
    """
    results: dict[Expr, Expr] = dict(names)
    observer, replaced, get = rewrite_observer(), results.keys(), results.get
    result: Expr
    for node in order:
        kind = type(node)
        if kind in _ATOMS or node in names:
            continue
        if type(node) is Let:
            value, body = get(node.value, node.value), get(node.body, node.body)
            if value is node.value and body is node.body:
                continue
            result = let_of_typed(node.var, value, body, node.span, dependency)
        elif (
            type(node) is Call
            and node.op in names
            and node.attrs is None
            and not node._type_args
            and node._checked_type is not None
        ):
            args = tuple(map(get, node.args, node.args))
            result = call_of_typed(names[node.op], args, node._checked_type, node.span, dependency)
        elif replaced.isdisjoint(parts := CHILDREN[kind](node)):
            continue
        else:
            result = with_children(node, parts, tuple(map(get, parts, parts)))
        results[node] = result
        if observer is not None:
            observer(node, result, "")
    return result_of(function, results)


def _dependency(function: Function, kernels: Iterable[GlobalVar]) -> TypeDependency | None:
    """Return what the types in a function depend on once it calls kernels by name; None if a kernel has no type."""
    before = type_dependency_of(function)
    signatures = dict(before.signatures) if before is not None else {}
    for kernel in kernels:
        if kernel._checked_type is None:
            return None
        signatures[kernel.name_hint] = kernel._checked_type
    return TypeDependency(signatures, before.data if before is not None else {})


def _kernels_in_order(order: list[Expr]) -> Iterator[Function | Call]:
    """Yield each primitive literal and each call of an operator once, in the order in which they run.

    In post-order a literal precedes the arguments of its call: one that is called is yielded at the call.
    """
    callees = {n.op for n in order if type(n) is Call and type(n.op) is Function}
    pending = set(callees)
    for n in order:
        kernel: Expr = n
        if type(n) is Call:
            kernel = n.op
            if type(kernel) is Op:
                if kernel.spec.kernel and not kernel.name.startswith(VM_OPERATORS):
                    yield n
                continue
            if kernel not in pending:
                continue
        elif type(n) is not Function or n in callees:
            continue
        if type(kernel) is Function and kernel.is_primitive:
            pending.discard(kernel)
            yield kernel


def _value_operands(node: Expr) -> Sequence[Expr]:
    """Return the children that a node uses as values: not its callee, nor the variables that it binds."""
    if type(node) is Call:
        return node.args if callee_of(node) is node.op else node.args[1:]
    if type(node) is Let:
        return node.value, node.body
    return (node.body,) if type(node) is Function else tuple(children(node))


def _wrap(call: Call) -> Function:
    """Return an operator's call as a primitive function of its arguments."""
    params = tuple([Var(f"p{i}", arg.checked_type) for i, arg in enumerate(call.args)])
    return Function(params, Call(call.op, params, call.attrs, (), call.span), call.checked_type, None, {"Primitive": 1})
