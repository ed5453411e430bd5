"""`relay.backend._backend.GraphPlanMemory`: where the values of a function lie, as Relay's programs ask for it."""

from __future__ import annotations

import random

import pytest

import passlab
from passlab import relay, transform
from passlab.devices import VirtualDevice
from passlab.errors import RunTypeError, VerifyError
from passlab.ir import Call, Constant, Expr, Function, IRModule, Tuple, Var
from passlab.ir.walk import children, post_order
from tests.each import each

plan = relay.backend._backend.GraphPlanMemory


def typed(function: Function) -> Function:
    return transform.InferType()(IRModule.from_expr(function))["main"]


def test_a_chain_alternates_between_two_storages():
    x, y = relay.var("x", shape=(10,)), relay.var("y", shape=(1,))
    z = relay.add(x, relay.exp(y))
    for _ in range(5):
        z = relay.exp(z)
    mod = transform.InferType()(IRModule.from_expr(relay.Function([x, y], z)))
    function = transform.FuseOps(0)(mod)["main"]
    info = plan(function).expr_to_storage_info
    sizes = {storage: size for v in info.values() for storage, size in zip(v.storage_ids, v.storage_sizes, strict=True)}
    assert sizes == {0: 40, 1: 4, 2: 4, 3: 40}  # as in Relay: the size is that of the first value in a storage
    assert {kind for v in info.values() for kind in v.device_types} == {1}
    assert info[function.params[0]].storage_ids == [0]


def random_function(seed: int) -> Function:
    choice = random.Random(seed)
    params = [relay.var(f"x{i}", shape=(4,)) for i in range(2)]
    values: list[Expr] = [*params, relay.const([1.0, 2.0, 3.0, 4.0], "float32")]
    for _ in range(choice.randrange(3, 20)):
        make = choice.choice((relay.add, relay.multiply))
        values.append(make(choice.choice(values[-4:]), choice.choice(values)))
    return typed(relay.Function(params, relay.Tuple(values[-choice.randrange(1, 3) :])))


@each("seed", range(40))
@each("fused", [True, False], ids=["fused", "plain"])
def test_values_that_are_still_needed_share_no_storage(seed: int, fused: bool):
    function = random_function(seed)
    if fused:
        function = transform.FuseOps(seed % 3)(IRModule.from_expr(function))["main"]
    info = plan(function).expr_to_storage_info
    nodes = post_order(function.body, enter=lambda n: not isinstance(n, Function))
    calls = [n for n in nodes if isinstance(n, Call)]
    order = [n for n in (*function.params, *nodes) if isinstance(n, (Var, Constant, Call))]
    assert set(info) >= set(order)
    last = {kid: at for at, node in enumerate(calls) for kid in children(node)}
    ends = function.body.fields if isinstance(function.body, Tuple) else [function.body]
    last.update(dict.fromkeys(ends, len(calls)))
    for at, call in enumerate(calls):
        (own,) = info[call].storage_ids
        alive = {
            n for n in order if (n not in calls or calls.index(n) < at) and (not isinstance(n, Call) or last[n] >= at)
        }
        assert own not in {storage for n in alive for storage in info[n].storage_ids}


def test_values_on_two_devices_share_no_storage():
    x = relay.var("x", shape=(4,))
    there = VirtualDevice(passlab.cuda())
    y = relay.device_copy(relay.exp(x), passlab.cpu(), passlab.cuda())
    info = plan(typed(relay.Function([x], relay.device_copy(y, passlab.cuda(), passlab.cpu())))).expr_to_storage_info
    kinds = {
        (storage, place) for v in info.values() for storage, place in zip(v.storage_ids, v.virtual_devices, strict=True)
    }
    assert len({storage for storage, _ in kinds}) == len(kinds)
    assert there.device in {place.device for _, place in kinds}


def test_what_has_no_plan_is_refused():
    with pytest.raises(RunTypeError, match="the memory of a function is planned"):
        plan("x")
    with pytest.raises(VerifyError, match="unknown shape"):
        plan(passlab.parse("def @main(%x: Tensor[(?), float32]) { exp(%x) }")["main"])
    with pytest.raises(VerifyError, match="references"):
        plan(passlab.parse("def @main(%x: float32) { ref_read(ref(%x)) }")["main"])
