"""Merge allocations into one region of memory.

before:
    extern type Storage
    def @main(%x: Tensor[(2), float32]) {
      let %s: Storage = memory.alloc_storage(8i64, reshape(2i64, newshape=[1]), 64i64, virtual_device=None);
      let %t: Storage = memory.alloc_storage(8i64, reshape(2i64, newshape=[1]), 64i64, virtual_device=None);
      let %a = memory.alloc_tensor(%s, 0i64, reshape(2i64, newshape=[1]), const_shape=None, assert_shape=[2]);
      let %b = memory.alloc_tensor(%t, 0i64, reshape(2i64, newshape=[1]), const_shape=None, assert_shape=[2]);
      (%a, %b)
    }
after:
    extern type Storage
    def @main(%x: Tensor[(2), float32]) {
      let %region_0: Storage = memory.alloc_storage(72i64, meta[relay.Constant][0], 64i64, virtual_device=None);
      let %a = memory.alloc_tensor(%region_0, 0i64, reshape(2i64, newshape=[1]), const_shape=None, assert_shape=[2]);
      let %b = memory.alloc_tensor(%region_0, 64i64, reshape(2i64, newshape=[1]), const_shape=None, assert_shape=[2]);
      (%a, %b)
    }
    #[metadata]
    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
     {"type_key": "Array", "data": [3]}, {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "0",
     "span": "0", "virtual_device_": "0"}}],
     "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAABAAQABAAAAAAAAAAgAAAAAAAAAEgAAAAAAAAA="],
     "attrs": {"tvm_version": "0.14.0"}}

keep:
    extern type Storage
    def @main(%n: int64) {
      let %s: Storage = memory.alloc_storage(%n, reshape(%n, newshape=[1]), 64i64, virtual_device=None);
      let %t: Storage = memory.alloc_storage(%n, reshape(%n, newshape=[1]), 64i64, virtual_device=None);
      let %a = memory.alloc_tensor(%s, 0i64, reshape(2i64, newshape=[1]), const_shape=None, assert_shape=[2]);
      let %b = memory.alloc_tensor(%t, 0i64, reshape(2i64, newshape=[1]), const_shape=None, assert_shape=[2]);
      (%a, %b)
    }
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TypeGuard

import numpy as np

from passlab.ir.expr import Call, Constant, Expr, Function, Let, Var
from passlab.ir.module import IRModule
from passlab.ir.op import OpCall, is_call_of, is_op_call
from passlab.ir.walk import CHILDREN, may_rewrite, outside_kernels, post_order, rewrite
from passlab.op import make
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass


@standard_pass(opt_level=0, contract=EXACT)
class MemoryPlan(FunctionPass):
    """Replace the allocations of constant size in a chain of bindings by one for each dtype and device.

    For use between ManifestAlloc and ManifestLifetimes. A tensor with a storage of its own gets an aligned offset in
    the common one, which is allocated where the first storage was, so nothing is allocated in a branch that does not
    run. The whole region is alive as long as any tensor in it. Allocations of computed size, and storages with other
    uses than `memory.alloc_tensor` at constant offsets, are not changed.
    """

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        order = post_order(func, enter=outside_kernels)
        regions = _regions(order)
        if not regions:
            return func
        region_of = {let.var: region for region in regions for let in region.offsets}

        def rule(pre: Expr, post: Expr) -> Expr:
            if type(post) is Let:
                region = region_of.get(post.var)
                if region is None:
                    return post
                return Let(region.var, region.allocation(), post.body) if pre is region.first else post.body
            assert type(post) is Call
            storage = post.args[0] if is_call_of(post, "memory.alloc_tensor") else None
            return post if storage not in region_of else region_of[storage].place_in_region(post)

        return rewrite(func, rule, only=(Let, Call))


_NAME = "allocations as one"  # the name of the rewrite of each region


class _Arena:
    """Allocations merged into one, with the offset of each in bytes."""

    def __init__(self, number: int, lets: list[Let]) -> None:
        self.first = lets[0]
        self.offsets: dict[Let, int] = {}
        self.alignment = max(_number(let.value, 2) for let in lets)
        self.size = 0
        for let in lets:
            start = -(-self.size // self.alignment) * self.alignment
            self.offsets[let] = start
            self.size = start + _number(let.value, 0)
        self.start: dict[Expr, int] = {let.var: start for let, start in self.offsets.items()}
        self.var = Var(f"region_{number}", lets[0].var.type_annotation)

    def allocation(self) -> Expr:
        """Return the call that allocates the whole region."""
        assert is_op_call(self.first.value)
        attrs = self.first.value.attrs
        elements = -(-self.size // max(1, np.dtype(_NUMPY.get(attrs["dtype"], attrs["dtype"])).itemsize))
        return make(
            "memory.alloc_storage",
            Constant(np.int64(self.size)),
            Constant(np.array([elements], "int64")),
            Constant(np.int64(self.alignment)),
            dtype=attrs["dtype"],
            virtual_device=attrs["virtual_device"],
        )

    def place_in_region(self, call: Call) -> Call:
        """Return an `alloc_tensor` of one of the storages as one in the region."""
        start = self.start[call.args[0]] + _number(call, 1)
        args = (self.var, Constant(np.int64(start)), *call.args[2:])
        return Call(call.op, args, call.attrs, call.type_args, call.span)


_NUMPY = {"bool": "bool", "bfloat16": "uint16"}  # NumPy dtypes of the same width as those that NumPy lacks


def _number(call: Expr, index: int) -> int:
    """Return the number that is a constant argument of a call."""
    assert type(call) is Call
    constant = call.args[index]
    assert type(constant) is Constant
    return int(constant.data)


def _is_fixed(value: Expr) -> TypeGuard[OpCall]:
    """Return whether a value is an allocation of constant size."""
    return is_call_of(value, "memory.alloc_storage") and all(type(value.args[i]) is Constant for i in (0, 2))


def _regions(order: list[Expr]) -> list[_Arena]:
    """Return the regions of a function: the storages to merge for each chain of bindings, dtype and device."""
    other_uses: set[Expr] = set()
    for node in order:
        if type(node) is Let:
            other_uses.update(e for e in (node.value, node.body) if type(e) is Var)
        elif is_call_of(node, "memory.alloc_tensor") and type(node.args[1]) is Constant:
            other_uses.update(e for e in node.args[1:] if type(e) is Var)
        else:
            other_uses.update(e for e in CHILDREN[type(node)](node) if type(e) is Var)
    chain: dict[Let, Let] = {}
    regions: defaultdict[tuple[Any, ...], list[Let]] = defaultdict(list)
    for node in reversed(order):  # outer bindings first
        if type(node) is not Let:
            continue
        head = chain.setdefault(node, node)
        if type(node.body) is Let:
            chain.setdefault(node.body, head)
        if _is_fixed(node.value) and node.var not in other_uses:
            attrs = node.value.attrs
            regions[(head, attrs["dtype"], attrs["virtual_device"])].append(node)
    groups = [lets for lets in regions.values() if len(lets) > 1 and may_rewrite(_NAME)]
    return [_Arena(number, lets) for number, lets in enumerate(groups)]
