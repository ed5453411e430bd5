"""Counts of operators: in a module, in its quantized regions, along its longest path, and by compiler.

Also the plainest facts about nodes: whether one is a constant, a visit of all of them, the users of each;
and `detect_feature`, the constructs of the language that a program uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

# ruff: noqa: N815 - the names are Relay's
from enum import IntEnum
from typing import Any

from passlab.arguments import checked
from passlab.ir.adt import Constructor
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_call_of, is_op_call
from passlab.ir.walk import CHILDREN, outside_kernels, post_order


def functions_of(program: IRModule | Expr) -> list[Expr]:
    """Return the functions of a module, or the expression itself."""
    return [f for _, f in program.items()] if isinstance(program, IRModule) else [program]


def operator_calls(*roots: Expr) -> list[Call]:
    """Return all calls of operators under `roots`, each once, in evaluation order.

    >>> [call.op.name for call in relay.analysis.operator_calls(passlab.parse("def @main() { exp(1f) + 2f }")["main"])]
    ['exp', 'add']
    """
    return _operator_calls(post_order(*roots))


def _operator_calls(nodes: list[Expr]) -> list[Call]:
    return [node for node in nodes if is_op_call(node)]


def list_op_freqs(mod: IRModule | Expr) -> dict[str, int]:
    """Return how often each operator is called, most often first, then by name.

    >>> relay.analysis.list_op_freqs(passlab.parse("def @main(%x: float32) { exp(exp(%x)) }"))
    {'exp': 2}
    """
    return _counts(operator_calls(*functions_of(mod)))


def _counts(calls: Iterable[Call]) -> dict[str, int]:
    counts = Counter(str(call.op) for call in calls)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def list_fake_quantized_op_freqs(mod: IRModule | Expr) -> dict[str, int]:
    """Return how often each operator is called inside fake-quantized regions.

    Such a region consists of the operators between a `qnn.quantize` and the `qnn.dequantize`s it depends on, with
    constants but no variables and no control flow. A call in two regions counts once.
    """
    inside: dict[Expr, None] = {}
    order = post_order(*functions_of(mod))
    is_quantized = _fake_quantized_nodes(order)
    for node in order:
        if is_call_of(node, "qnn.quantize") and is_quantized.get(node.args[0]):
            _add_region(node.args[0], inside)
    return _counts(node for node in inside if is_op_call(node) and not is_call_of(node, "qnn.dequantize"))


def _fake_quantized_nodes(order: list[Expr]) -> dict[Expr, bool]:
    """Return for each node whether it depends only on operators, constants and dequantizations."""
    result: dict[Expr, bool] = {}
    for node in order:
        if isinstance(node, Constant) or is_call_of(node, "qnn.dequantize"):
            result[node] = True
        elif is_op_call(node) or isinstance(node, (Tuple, TupleGetItem)):
            result[node] = all(result.get(child, type(child) is Op) for child in CHILDREN[type(node)](node))
        else:
            result[node] = type(node) is Op
    return result


def _add_region(root: Expr, inside: dict[Expr, None]) -> None:
    """Add the nodes that `root` depends on, up to dequantizations and other regions, to `inside`."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in inside:
            inside[node] = None
            if not is_call_of(node, "qnn.dequantize"):
                stack.extend(CHILDREN[type(node)](node))


@checked
def count_layers(expr: IRModule | Expr, valid_ops: Iterable[str | Op]) -> int:
    """Return the largest number of calls of `valid_ops` on any path through a function (of a module: its `main`).

    >>> relay.analysis.count_layers(passlab.parse("def @main(%x: float32) { exp(exp(%x)) }"), ["exp"])
    2
    """
    names = {op.name if isinstance(op, Op) else Op.get(op).name for op in valid_ops}
    root = expr["main"] if isinstance(expr, IRModule) else expr
    depth: dict[Expr, int] = {}
    for node in post_order(root):
        operand_depth = max((depth[child] for child in CHILDREN[type(node)](node)), default=0)
        depth[node] = operand_depth + (is_op_call(node) and node.op.name in names)
    return depth[root]


@checked
def analyze_operations_distribution(mod: IRModule) -> dict[str, tuple[str, str, int]]:
    """Return the compiler of each operator call: location -> (compiler, operator, number of the function).

    The compiler is the function's `Compiler` attribute, or "generic"; the location is the span of the call, or its
    running number.
    """
    rows: dict[str, tuple[str, str, int]] = {}
    for number, (_, function) in enumerate(mod.items()):
        seen: set[Expr] = set()
        functions = [node for node in post_order(function) if isinstance(node, Function)]
        external = [(node, str(node.attrs["Compiler"])) for node in functions if node.attrs.get("Compiler")]
        for root, compiler in [*external, (function, "generic")]:
            for call in _operator_calls(post_order(root, seen=seen)):
                key = str(call.span) if call.span is not None else f"{call.op}:{len(rows)}"
                rows.setdefault(key, (compiler, str(call.op), number))
    return rows


# ---------------------------------------------------------------- constants
@checked
def check_constant(expr: Expr) -> bool:
    """Return True if an expression is a constant, or a (nested) tuple of constants.

    >>> relay.analysis.check_constant(relay.const(1.0)), relay.analysis.check_constant(relay.var("x"))
    (True, False)
    """
    stack, seen = [expr], {expr}
    while stack:
        node = stack.pop()
        if isinstance(node, Tuple):
            fresh = [field for field in node.fields if field not in seen]
            seen.update(fresh)
            stack += fresh
        elif not isinstance(node, Constant):
            return False
    return True


# ---------------------------------------------------------------- nodes and their users
@checked
def post_order_visit(expr: Expr, fvisit: Callable[[Expr], Any]) -> None:
    """Call `fvisit` on every node once, children first; the callee of a call precedes its arguments.

    >>> relay.analysis.post_order_visit(passlab.parse_expr("exp(1f)"), lambda node: print(type(node).__name__))
    Op
    Constant
    Call
    """
    for node in post_order(expr):
        fvisit(node)


@checked
def users(root: Expr) -> dict[Expr, list[Expr]]:
    """Return for every node its parents, in evaluation order; a parent with two uses is listed twice.

    >>> f = passlab.parse("def @main(%x: float32) { %0 = exp(%x); %0 + tanh(%0) }")["main"]
    >>> [user.op.name for user in relay.analysis.users(f)[f.body.args[0]]]
    ['tanh', 'add']
    """
    result: dict[Expr, list[Expr]] = {root: []}
    for node in post_order(root):
        for child in CHILDREN[type(node)](node):
            result.setdefault(child, []).append(node)
    return result


# ---------------------------------------------------------------- features
# The language constructs that a program uses: the result of `detect_feature`, numbered as in Relay.
class Feature(IntEnum):
    """A language construct. `fGraph` is an inner node with two uses; `fLetRec` is local recursion."""

    fVar = 0
    fGlobalVar = 1
    fConstant = 2
    fTuple = 3
    fTupleGetItem = 4
    fFunction = 5
    fOp = 6
    fCall = 7
    fLet = 8
    fIf = 9
    fRefCreate = 10
    fRefRead = 11
    fRefWrite = 12
    fConstructor = 13
    fMatch = 14
    fGraph = 15
    fLetRec = 16


_FEATURES = {
    Var: Feature.fVar,
    GlobalVar: Feature.fGlobalVar,
    Constant: Feature.fConstant,
    Tuple: Feature.fTuple,
    TupleGetItem: Feature.fTupleGetItem,
    Function: Feature.fFunction,
    Op: Feature.fOp,
    Call: Feature.fCall,
    Let: Feature.fLet,
    If: Feature.fIf,
    RefCreate: Feature.fRefCreate,
    RefRead: Feature.fRefRead,
    RefWrite: Feature.fRefWrite,
    Constructor: Feature.fConstructor,
    Match: Feature.fMatch,
}
_ATOMS = (Var, GlobalVar, Constant, Op, Constructor)


def detect_feature(a: Any, b: Any = None) -> set[Feature]:
    """Return the features of an expression, of a module, or of both (in either order).

    The bodies of primitive functions (fused kernels) are not visited.

    >>> sorted(f.name for f in relay.analysis.detect_feature(passlab.parse_expr("exp(1f)")))
    ['fCall', 'fConstant', 'fOp']
    """
    roots: list[Expr] = []
    for part in (a, b):
        roots += [f for _, f in part.items()] if isinstance(part, IRModule) else [part] if part is not None else []
    return set().union(*map(_features, roots))


def _features(root: Expr) -> set[Feature]:
    order = post_order(root, enter=outside_kernels)
    position = {node: i for i, node in enumerate(order)}
    result = {_FEATURES[type(node)] for node in order}
    used: set[Expr] = set()
    values = {node.var: node.value for node in order if isinstance(node, Let)}
    for i, node in enumerate(order):
        if isinstance(node, Function) and node.is_primitive:
            continue
        for child in CHILDREN[type(node)](node)[isinstance(node, Let) :]:
            if isinstance(child, _ATOMS):
                if child in values and i <= position[values[child]]:
                    result.add(Feature.fLetRec)  # the value uses its own variable
            elif child in used:
                result.add(Feature.fGraph)
            used.add(child)
    return result
