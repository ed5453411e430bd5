"""The language constructs that a program uses: the result of `detect_feature`, numbered as in Relay."""

# ruff: noqa: N815 - the names are Relay's
from __future__ import annotations

from enum import IntEnum
from typing import Any

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
from passlab.ir.op import Op
from passlab.ir.walk import CHILDREN, outside_kernels, post_order


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
