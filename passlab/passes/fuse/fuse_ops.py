"""Group operators into kernels.

Which operators can share a kernel? To look at one edge at a time is not enough:

         conv2d
         |    |
      relu    exp
         |    |
          add

`conv2d` has two users. It can share the kernel of one only if the other is in that kernel as well. All its paths meet
again in `add`, its immediate post-dominator: if every node on them may share a kernel with `conv2d`, then the diamond
fuses as a whole. The steps have the names of TVM's `fuse_ops.cc`:

1. *Construct the DAG* (`FusionGraph`): nodes in topological order, and for each edge the fusion pattern of that use
   (element-wise, broadcast, injective, reduction, ...). A broadcast whose input has the shape of its result is
   element-wise along that edge.
2. *Find post-dominators* (`analysis/dominators.py`): the sink of each node, and the most restrictive pattern of the
   edges between them.
3. *Decide* for each node whether it joins the group of its sink (`FusionGroups`). CheckPath (`_check_path`) asks
   whether the groups on all paths to the sink, and the group of the sink, permit it. CommitFuse (`_commit_fuse`) merges
   these groups. There are three phases, in this order:
   - EPILOGUES: groups that end in element-wise operators, such as a convolution with its epilogue.
   - INJECTIVES: injective operators and tuples. One that joined earlier would come between a convolution and its
     epilogue: in `add(transpose(%b), conv2d)` the transpose would be computed inside the kernel of the convolution.
   - TUPLE_FIELDS: the injective producers of tuples that joined a group in the second phase.
4. *Turn each group into a function* (`_Fuser`).

A post-dominator costs log(depth) for each edge. A search for paths (`_between`) visits at most `max_nodes` nodes. The
docstring of `FusionGroups` shows the diamond fused, and a case in which it is not.

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

from collections.abc import Callable, Sequence

import numpy as np

from passlab.analysis.dominators import NONE, PostDominators
from passlab.analysis.state import Movability
from passlab.ir.attrs import DictAttrs
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    set_span,
)
from passlab.ir.kept_types import call_of_typed, keep_type, kept_type, let_with, set_function_type, typed_var
from passlab.ir.module import IRModule
from passlab.ir.new_nodes import new_call, new_function, new_var
from passlab.ir.op import Op, OpPattern, Trait, has_trait, is_op_call
from passlab.ir.types import FuncType, TensorType, TupleType, Type, is_dynamic
from passlab.ir.walk import CHILDREN, LEAVES, post_order, rebuild_typed, result_of, rewrite_observer
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

# From easy to hard to fuse, which the rules compare by `<=`. ANCHOR is Relay's OUT_ELEMWISE_FUSABLE: a convolution or a
# matrix product.
ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, ANCHOR, TUPLE, OPAQUE = (int(p) for p in OpPattern)
EPILOGUES, INJECTIVES, TUPLE_FIELDS = PHASES = range(3)
_SIMPLE_DTYPES = frozenset(map(np.dtype, ("int32", "int64", "float32", "float64", "bool")))


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
        if func.is_primitive:
            return func
        level = ctx.opt_level if self.fuse_opt_level == -1 else self.fuse_opt_level
        max_nodes = ctx.get_config("relay.FuseOps.max_depth")  # Relay's name; it counts nodes
        link = bool(ctx.get_config("relay.FuseOps.link_params")) or bool(func.attrs.get("link-params"))
        graph = FusionGraph(func)
        return _Fuser(graph, FusionGroups(graph, max_nodes, fuse=level > 0), link, Movability(mod)).fuse_groups(func)


class FusionGraph:
    """The dataflow of a function: `nodes` in topological order, `index` their numbers.

    `pattern[n]` is the fusion pattern of node n, and `outputs[n]` its users as (number, pattern of the edge).
    `outside[n]` says whether it has a use that cannot be fused: the result of a function, a let, a branch.
    """

    def __init__(self, root: Expr) -> None:
        self.nodes = post_order(root)
        self.index = {node: i for i, node in enumerate(self.nodes)}
        size = len(self.nodes)
        self.pattern = [OPAQUE] * size
        self.outputs: list[list[tuple[int, int]]] = [[] for _ in range(size)]
        self.outside = [False] * size
        self.outside[-1] = True  # the function itself
        self._is_tensor_tuple: dict[Type, bool] = {}  # cached, as a tuple may have many projections
        for number, node in enumerate(self.nodes):
            rule = _RULES.get(type(node))
            if rule is not None:
                rule(self, number, node)

    def _use_outside_kernels(self, number: int, node: Expr) -> None:
        for child in CHILDREN[type(node)](node):
            self.outside[self.index[child]] = True

    def _let(self, number: int, node: Let) -> None:
        outside, index = self.outside, self.index
        outside[index[node.var]] = outside[index[node.value]] = outside[index[node.body]] = True

    def _constant(self, number: int, node: Constant) -> None:
        data = node.data
        if data.ndim == 0 and data.dtype in _SIMPLE_DTYPES:  # it is written into the kernel, any other is a parameter
            self.pattern[number] = ELEMWISE

    def _call(self, number: int, node: Call) -> None:
        index, outputs = self.index, self.outputs
        self.outside[index[node.op]] = True
        pattern = OPAQUE
        if type(node.op) is Op:
            spec = node.op.spec
            # Where the shape of a result follows from data, it is computed before the kernel: no group contains it.
            unknown = spec.shape_function is not None and is_dynamic(node.checked_type)
            pattern = OPAQUE if unknown or spec.non_computational else int(spec.pattern)
        self.pattern[number] = pattern
        result = node.checked_type
        broadcast = result if pattern == BROADCAST and type(result) is TensorType else None
        for arg in node.args:
            edge = pattern
            if broadcast is not None:
                ty = arg.checked_type
                if ty is broadcast or (type(ty) is TensorType and ty.shape == broadcast.shape):
                    edge = ELEMWISE
            outputs[index[arg]].append((number, edge))

    def _tuple(self, number: int, node: Tuple) -> None:
        self.pattern[number] = TUPLE
        for field in node.fields:
            if type(field.checked_type) is TensorType:
                self.outputs[self.index[field]].append((number, INJECTIVE))
            else:
                self.outside[self.index[field]] = True

    def _projection(self, number: int, node: TupleGetItem) -> None:
        ty = node.tuple_value.checked_type
        if ty not in self._is_tensor_tuple:
            self._is_tensor_tuple[ty] = type(ty) is TupleType and all(type(f) is TensorType for f in ty.fields)
        if self._is_tensor_tuple[ty]:
            self.pattern[number] = INJECTIVE
            self.outputs[self.index[node.tuple_value]].append((number, INJECTIVE))
        else:  # kernels take tensors and tuples of tensors only
            self.outside[self.index[node.tuple_value]] = True


_RULES: dict[type, Callable[..., None]] = {
    Constant: FusionGraph._constant,
    Call: FusionGraph._call,
    Tuple: FusionGraph._tuple,
    TupleGetItem: FusionGraph._projection,
    Let: FusionGraph._let,
    **dict.fromkeys((Function, If, Match, RefCreate, RefRead, RefWrite), FusionGraph._use_outside_kernels),
}


# What CheckPath allows: the largest kind of the groups on the way, and the kinds of the group of the sink.
_EPILOGUE = (BROADCAST, frozenset((ELEMWISE, BROADCAST)))
_PROLOGUE = (INJECTIVE, frozenset((ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, ANCHOR)))
_MOVES = (INJECTIVE, frozenset((ELEMWISE, BROADCAST, INJECTIVE)))


class FusionGroups:
    """The nodes of a graph in groups, each of which becomes a kernel. `root(n)` is the last node of the group of n.

    With `fuse` False every node is a group of its own. No group has more than `max_nodes` nodes; the count before a
    merge is an upper bound, as in TVM: a node on the path that belongs to the group of the sink counts twice.

    >>> import passlab
    >>> def kernels(body):
    ...     params = "%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]"
    ...     mod = passlab.transform.InferType()(passlab.parse("def @main(" + params + ") { " + body + " }"))
    ...     graph, found = FusionGraph(mod["main"]), {}
    ...     groups = FusionGroups(graph, 256)
    ...     for number, node in enumerate(graph.nodes):
    ...         if graph.pattern[number] != OPAQUE:
    ...             name = node.op.name if isinstance(node, Call) else "tuple"
    ...             found.setdefault(groups.root(number), []).append(name)
    ...     return list(found.values())
    >>> conv = "%0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]); %1 = nn.relu(%0); %2 = exp(%0);"
    >>> kernels(conv + "add(%1, %2)")
    [['nn.conv2d', 'nn.relu', 'exp', 'add']]
    >>> # exp is a result itself. So the paths meet in the tuple only, and no convolution fuses into a tuple.
    >>> kernels(conv + "(add(%1, %2), %2)")
    [['nn.conv2d'], ['nn.relu', 'add'], ['exp'], ['tuple']]
    """

    def __init__(self, graph: FusionGraph, max_nodes: int, fuse: bool = True) -> None:
        size = len(graph.nodes)
        self._graph = graph
        self._max = max_nodes
        self._parent = list(range(size))
        self._size = [1] * size
        self._kind = list(graph.pattern)
        self._anchored = [p == ANCHOR for p in graph.pattern]
        if fuse:
            self._tree = PostDominators(graph.outputs, graph.outside, OPAQUE)
            pairs = zip(graph.pattern, self._tree.parent, strict=True)
            self._candidates = [n for n, (p, sink) in enumerate(pairs) if p != OPAQUE and sink != NONE]
            for phase in PHASES if TUPLE in graph.pattern else (EPILOGUES, INJECTIVES):  # the third is about tuples
                self._run(phase)

    def root(self, node: int) -> int:
        """Return the last node of the group of a node."""
        parent = self._parent
        top = node
        while parent[top] != top:
            top = parent[top]
        while parent[node] != top:  # path compression
            parent[node], node = top, parent[node]
        return top

    def _run(self, phase: int) -> None:
        """Carry out one phase: from the first node to the last, each towards its sink."""
        dominator = self._tree.parent
        for node in self._candidates:
            sink = dominator[node]
            if phase == TUPLE_FIELDS:
                if self._kind[node] <= INJECTIVE and (between := self._between(node, sink)):
                    self._fuse_into_tuple(node, sink, between)
            elif self._kind[sink] != TUPLE and self.root(node) != self.root(sink):
                if between := self._between(node, sink):
                    self._try_fuse(node, sink, phase, between)

    def _between(self, node: int, sink: int) -> list[int] | None:
        """Return the nodes on all paths from `node`, which is the first, to before `sink`; None for too large a group.

        The search ends where the group would have more than `max_nodes` nodes, so that its cost does not depend on the
        size of the graph.
        """
        outputs = self._graph.outputs
        total = self._size[self.root(sink)]
        if len(outputs[node]) == 1 and outputs[node][0][0] == sink:  # most nodes have one user: there is no other path
            return [node] if total + self._size[node] <= self._max else None
        between, seen = [node], {node, sink}
        total += self._size[node]
        for at in between:  # which grows
            for user, _ in outputs[at]:
                if total > self._max:  # asked for each user: a node may have thousands
                    return None
                if user not in seen:
                    seen.add(user)
                    between.append(user)
                    total += self._size[user]
        return between if total <= self._max else None

    def _try_fuse(self, node: int, sink: int, phase: int, between: list[int]) -> None:
        """Fuse a node into the group of its sink, with the groups in between, if the phase permits it."""
        # Both are asked: the relation is about the edges of the graph, the path about the groups so far, which an
        # earlier merge may have made more restrictive. No rule begins at a reduction: as in TVM, its users are
        # other kernels.
        kind, relation = self._kind[node], self._tree.relation[node]
        joins = False
        if kind == ANCHOR:
            # The kernel of a convolution applies its epilogue to each element as it is computed.
            joins = phase == EPILOGUES and relation == ELEMWISE and self._check_path(between, sink, _EPILOGUE)
        elif kind <= BROADCAST:
            # What is cheap to compute for each element is computed wherever it is used, even in a reduction.
            joins = relation <= COMM_REDUCE and self._check_path(between, sink, _PROLOGUE)
        elif kind in (INJECTIVE, TUPLE):
            joins = phase == INJECTIVES and self._check_path(between, sink, _MOVES)
        if joins:
            self._commit_fuse(between, sink)

    def _fuse_into_tuple(self, node: int, sink: int, between: list[int]) -> None:
        """Fuse an injective producer into a tuple that was itself fused into an injective operator."""
        is_fused_tuple = self._kind[sink] == TUPLE and self._kind[self.root(sink)] <= INJECTIVE
        if is_fused_tuple and self._check_path(between, sink, _MOVES):
            self._commit_fuse(between, sink)

    def _check_path(self, between: list[int], sink: int, allowed: tuple[int, frozenset[int]]) -> bool:
        """Whether the groups on the paths, and the group of the sink, are of kinds that are allowed there."""
        most, kinds_of_sink = allowed
        kind, root = self._kind, self.root
        return kind[root(sink)] in kinds_of_sink and all(kind[root(at)] <= most for at in between[1:])

    def _commit_fuse(self, between: list[int], sink: int) -> None:
        """Merge the groups on the paths into the group of the sink."""
        for node in between:
            self._join(self.root(node), self.root(sink))

    def _join(self, child: int, parent: int) -> None:
        """Merge two groups, each given by its last node."""
        if child == parent:
            return
        # Not the smaller under the larger, as union-find usually does: the root must be the last node.
        self._size[parent] += self._size[child]
        self._parent[child] = parent
        # The kind of a group without an anchor stays that of its last node: what follows sees only its result.
        if self._anchored[child]:
            self._anchored[parent] = True
            self._kind[parent] = max(self._kind[child], self._kind[parent])


# ---------------------------------------------------------------- from groups to functions
KERNEL = DictAttrs({"Primitive": 1})
RESHAPE = DictAttrs({"Primitive": 1, "relay.reshape_only": 1})
NO_KERNEL = DictAttrs({"Primitive": 0})
_ATOMS = frozenset(LEAVES)
_NAMES = tuple([f"p{i}" for i in range(32)])  # of parameters: most kernels have few


def _is_fused(node: Expr) -> bool:
    """Return True for a function created by fusion: a kernel (Primitive=1), or one without calls (Primitive=0)."""
    return type(node) is Function and "Primitive" in node.attrs


class _KernelBuilder:
    """A group under construction: its parameters and their arguments."""

    __slots__ = ("params", "reshapes", "calls", "computed")

    def __init__(self) -> None:
        self.params: dict[Expr, Var] = {}
        self.computed: list[Expr] = []  # the arguments that are not variables, before fusion
        self.reshapes = True
        self.calls = False

    def param(self, now: Expr, before: Expr) -> Var:
        """Return the parameter for an argument: `before` is the original, which has the type, `now` its replacement."""
        cached = self.params.get(now)
        if cached is None:
            ty, number = before.checked_type, len(self.params)
            name = _NAMES[number] if number < len(_NAMES) else f"p{number}"
            if type(ty) is TensorType:
                cached = new_var(name, ty, None, None, ty)
            else:
                cached = typed_var(name, ty)
                self.reshapes = False
            self.params[now] = cached
            if type(now) is not Var:
                self.computed.append(before)
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
        """Return what stands for a node so far."""
        return self.result.get(expr, expr)

    def _root(self, expr: Expr) -> int:
        """Return the last node of the group of a node."""
        return self.groups.root(self.graph.index[expr])

    def _node(self, node: Expr) -> Expr:
        """Return what stands for a node: the last node of a group becomes a call of its kernel, others move inside."""
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
        return self._call_of_kernel(call, inner, kernel) if root == number else inner

    def _projection(self, node: TupleGetItem) -> Expr:
        alone = self._is_root(node)
        if alone and self._root(node.tuple_value) != self.graph.index[node]:
            return rebuild_typed(node, self._now)
        root = self._root(node)
        kernel = self._kernel(root)
        inner = node.with_fields(tuple_value=self._inside(kernel, root, (node.tuple_value,))[0])
        keep_type(node, inner, (node.tuple_value,), (inner.tuple_value,))
        return self._call_of_kernel(node, inner, kernel) if alone else inner

    def _kernel(self, root: int) -> _KernelBuilder:
        """Return the kernel under construction for a group."""
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

    def _call_of_kernel(self, node: Expr, body: Expr, kernel: _KernelBuilder) -> Expr:
        """Return the call of a finished kernel: `node` is the last of its group, `body` the same inside the kernel."""
        attrs = (RESHAPE if kernel.reshapes else KERNEL) if kernel.calls else NO_KERNEL
        args = self._in_order(kernel, body)
        params = tuple(map(kernel.params.__getitem__, args))
        ty = node.checked_type
        function_type = self._function_type(params, ty)
        if function_type is None or body._checked_type is not ty or body._type_dependency is not None:
            function = Function(params, body, ty, None, attrs)
            set_function_type(function)
        else:
            function = new_function(params, body, ty, attrs, function_type)
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
