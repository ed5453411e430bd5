"""Group operators into kernels.

before:
    def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
      nn.relu(nn.bias_add(nn.dense(%x, %w, units=4), %b, axis=-1))
    }
after:
    def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
      %0 = fn (%p0: Tensor[(1, 8), float32], %p1: Tensor[(4, 8), float32], %p2: Tensor[(4), float32], Primitive=1)
          -> Tensor[(1, 4), float32] {
        nn.relu(nn.bias_add(nn.dense(%p0, %p1, units=4), %p2, axis=-1))
      };
      %0(%x, %w, %b)
    }

keep:
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) };
      %0(%x)
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from passlab.analysis.fusion import FusionGraph, FusionGroups
from passlab.analysis.state import Movability
from passlab.ir.attrs import DictAttrs
from passlab.ir.expr import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var, set_span
from passlab.ir.kept_types import call_of_typed, keep_type, kept_type, let_with, set_function_type, typed_var
from passlab.ir.module import IRModule
from passlab.ir.new_nodes import new_call, new_function, new_var
from passlab.ir.op import Trait, has_trait, is_op_call
from passlab.ir.types import FuncType, TensorType, Type
from passlab.ir.walk import LEAVES, post_order, rebuild_typed, result_of, rewrite_observer
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

KERNEL = DictAttrs({"Primitive": 1})
RESHAPE = DictAttrs({"Primitive": 1, "relay.reshape_only": 1})
NO_KERNEL = DictAttrs({"Primitive": 0})


_ATOMS = frozenset(LEAVES)


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT)
class FuseOps(FunctionPass):
    """Replace groups of operators by calls of function literals marked `Primitive=1`, each of them one future kernel.

    `fuse_opt_level` is the level of fusion: -1 takes the level of the pass context, 0 puts each operator alone into a
    function. Parameters are called p0, p1, ... in the order of first use; if several arguments have effects, parameters
    follow the order of evaluation, so that effects keep theirs. Scalar constants move inside; with
    `relay.FuseOps.link_params` all constants do. A group has at most `relay.FuseOps.max_depth` nodes.
    `annotation.stop_fusion` separates groups and disappears. A function that only reshapes is marked
    `relay.reshape_only=1`. Existing primitive functions stay as they are.
    """

    fuse_opt_level: int = -1

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        level = ctx.opt_level if self.fuse_opt_level == -1 else self.fuse_opt_level
        depth = int(ctx.get_config("relay.FuseOps.max_depth") or 256)
        link = bool(ctx.get_config("relay.FuseOps.link_params")) or bool(func.attrs.get("link-params"))
        if func.is_primitive:
            return func
        graph = FusionGraph(func)
        return _Fuser(graph, FusionGroups(graph, depth, fuse=level > 0), link, Movability(mod)).fuse_groups(func)


def _is_fused(node: Expr) -> bool:
    """Return True for a function created by fusion: a kernel (Primitive=1), or one without calls (Primitive=0)."""
    return type(node) is Function and "Primitive" in node.attrs


_NAMES = tuple([f"p{i}" for i in range(32)])  # of parameters: most kernels have few


class _KernelBuilder:
    """A group under construction: its parameters and their arguments."""

    __slots__ = ("params", "reshapes", "calls", "computed")

    def __init__(self) -> None:
        self.params: dict[Expr, Var] = {}
        self.computed: list[Expr] = []  # the arguments that are not variables, before fusion
        self.reshapes = True
        self.calls = False

    def param(self, value: Expr, like: Expr) -> Var:
        cached = self.params.get(value)
        if cached is None:
            ty, number = like.checked_type, len(self.params)
            name = _NAMES[number] if number < len(_NAMES) else f"p{number}"
            if type(ty) is TensorType:
                cached = new_var(name, ty, None, None, ty)
            else:
                cached = typed_var(name, ty)
                self.reshapes = False
            self.params[value] = cached
            if type(value) is not Var:
                self.computed.append(like)
        return cached


class _Fuser:
    """Builds the fused program from the groups, arguments before users."""

    def __init__(self, graph: FusionGraph, groups: FusionGroups, link: bool, is_movable: Movability) -> None:
        self.graph = graph
        self.groups = groups
        self.link = link
        self.is_movable = is_movable
        self.kernels: dict[int, _KernelBuilder] = {}
        self.result: dict[Expr, Expr] = {}
        self.function_types: dict[tuple[Type | None, ...], Type] = {}  # of kernels: few differ

    def fuse_groups(self, func: Function) -> Function:
        """Return the function with its groups as primitive functions."""
        nodes, observer = self.graph.nodes, rewrite_observer()
        if any(type(node) is Function and _is_fused(node) for node in nodes):
            nodes = post_order(func, enter=lambda n: not _is_fused(n))
        for node in nodes:
            kind = type(node)
            if kind in _ATOMS or (kind is Function and _is_fused(node)):
                continue
            if type(node) is Let:
                result: Expr = let_with(node, self._now(node.value), self._now(node.body))
            else:
                result = self._node(node)
            if result is not node:
                if result.span is None:
                    set_span(result, node.span)
                if observer is not None:
                    observer(node, result, "")
                self.result[node] = result
        return result_of(func, self.result)

    def _now(self, expr: Expr) -> Expr:
        return self.result.get(expr, expr)

    def _root(self, expr: Expr) -> int:
        return self.groups.root(self.graph.index[expr])

    def _node(self, node: Expr) -> Expr:
        if is_op_call(node) and node.op.spec.computes:
            return self._now(node.args[0]) if node.op.name == "annotation.stop_fusion" else self._call(node)
        if type(node) is Tuple:
            if self._is_root(node):
                return rebuild_typed(node, self._now)
            root = self._root(node)
            inner = node.with_fields(fields=self._inside(self._kernel(root), root, node.fields))
            keep_type(node, inner, node.fields, inner.fields)
            return inner
        if type(node) is TupleGetItem:
            return self._projection(node)
        return rebuild_typed(node, self._now)

    def _is_root(self, node: Expr) -> bool:
        number = self.graph.index[node]
        return self.groups.root(number) == number

    def _call(self, call: Call) -> Expr:
        number = self.graph.index[call]
        root = self.groups.root(number)
        kernel = self._kernel(root)
        kernel.calls = True
        if kernel.reshapes and not has_trait(call, Trait.RESHAPES):
            kernel.reshapes = False
        inner, args = call, self._inside(kernel, root, call.args)
        if args != call.args:
            ty = kept_type(call, call.args, args)
            inner = new_call(call.op, args, call.attrs, call._type_args, call.span, ty)
            if ty is None:
                keep_type(call, inner, call.args, args)
        return self._closed(call, inner, kernel) if root == number else inner

    def _projection(self, node: TupleGetItem) -> Expr:
        alone = self._is_root(node)
        if alone and self._root(node.tuple_value) != self.graph.index[node]:
            return rebuild_typed(node, self._now)
        root = self._root(node)
        kernel = self._kernel(root)
        inner = node.with_fields(tuple_value=self._inside(kernel, root, (node.tuple_value,))[0])
        keep_type(node, inner, (node.tuple_value,), (inner.tuple_value,))
        return self._closed(node, inner, kernel) if alone else inner

    def _kernel(self, root: int) -> _KernelBuilder:
        kernel = self.kernels.get(root)
        if kernel is None:
            kernel = self.kernels[root] = _KernelBuilder()
        return kernel

    def _inside(self, kernel: _KernelBuilder, root: int, args: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the arguments inside a kernel: nodes of the kernel itself, and parameters for all others."""
        inside: list[Expr] = []
        root_of, number, param_of = self.groups.root, self.graph.index, kernel.params.get
        for arg in args:
            if type(arg) is Var:  # no variable is in a group
                inside.append(param_of(arg) or kernel.param(arg, arg))
                continue
            now = self.result.get(arg, arg)
            own = root_of(number[arg]) == root or (self.link and type(now) is Constant)
            inside.append(now if own else kernel.param(now, arg))
        return tuple(inside)

    def _closed(self, node: Expr, body: Expr, kernel: _KernelBuilder) -> Expr:
        attrs = (RESHAPE if kernel.reshapes else KERNEL) if kernel.calls else NO_KERNEL
        args = self._in_order(kernel, body)
        params = tuple(map(kernel.params.__getitem__, args))
        ty = node.checked_type
        function_type = self._function_type(params, ty)
        if function_type is None or body._checked_type is not ty or body._type_dependency is not None:
            function = Function(params, body, ty, None, attrs)
            set_function_type(function)
        else:
            function = new_function(params, body, ty, attrs, None, function_type)
        return call_of_typed(function, args, ty, node.span)

    def _function_type(self, params: tuple[Var, ...], ret: Type) -> Type | None:
        """Return the type of a kernel whose parameters are tensors, None for any other."""
        key = (ret, *[param._checked_type for param in params])
        result = self.function_types.get(key)
        if result is None:
            types = [ty for ty in key[1:] if type(ty) is TensorType]
            if len(types) == len(params):
                result = self.function_types[key] = FuncType(types, ret)
        return result

    def _in_order(self, kernel: _KernelBuilder, body: Expr) -> tuple[Expr, ...]:
        """Return the arguments in the order of first use, or of evaluation if several have effects.

        Arguments are ordered by when their evaluation starts, not by when it ends: one argument may be a part of
        another, after an effect of the latter.
        """
        args = tuple(kernel.params)
        if len(kernel.computed) < 2 or sum(not self.is_movable(arg) for arg in kernel.computed) < 2:
            return args
        asked = {node: number for number, node in enumerate(post_order(body))}
        return tuple(sorted(args, key=lambda arg: asked[kernel.params[arg]]))
