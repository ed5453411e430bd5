"""Store the device of each kernel in its function, and remove the `on_device` annotations.

before:
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p0: Tensor[(2), float32], Primitive=1) -> Tensor[(2), float32] { exp(%p0) };
      on_device(%0(%x), virtual_device=meta[VirtualDevice][0], constrain_result=True)
    }
    #[metadata]
    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]},
     {"type_key": "Array", "data": [3]}, {"type_key": "VirtualDevice", "attrs": {"device_type_int": "1",
     "memory_scope": "4", "target": "0", "virtual_device_id": "1"}}, {"type_key": "runtime.String", "repr_str": ""}],
     "b64ndarrays": [], "attrs": {"tvm_version": "0.14.0"}}
after:
    def @main(%x: Tensor[(2), float32]) {
      %0 = fn (%p0: Tensor[(2), float32], Primitive=1, virtual_device=meta[VirtualDevice][0]) -> Tensor[(2), float32] {
        exp(%p0)
      };
      %0(%x)
    }
    #[metadata]
    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]},
     {"type_key": "Array", "data": [3]}, {"type_key": "VirtualDevice", "attrs": {"device_type_int": "1",
     "memory_scope": "4", "target": "0", "virtual_device_id": "1"}}, {"type_key": "runtime.String", "repr_str": ""}],
     "b64ndarrays": [], "attrs": {"tvm_version": "0.14.0"}}

keep:
    def @main(%x: Tensor[(2), float32]) { exp(%x) }
"""

from __future__ import annotations

from passlab.analysis.regions import is_closed
from passlab.devices import VirtualDevice
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_call_of
from passlab.ir.walk import note_rewrite, rebuild, result_of
from passlab.op import make
from passlab.passes.lowering.device_domains import Devices, names_device
from passlab.transform.base import ModulePass, infer_types, is_optimizable
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

HOST = VirtualDevice()


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT)
class PlaceKernels(ModulePass):
    """Store in each primitive function its device, so that later passes need not handle devices.

    The input is planned and fused (PlanDevices, then FuseOps). Kernels on the host are not changed; constants that are
    needed on another device stay in `on_device`. Every other `on_device` is removed, and so are the devices of
    functions that are not kernels. A program without devices is not changed.
    """

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {name: f for name, f in mod.items() if is_optimizable(f) and not f.is_primitive}
        if not any(map(names_device, functions.values())):
            return mod
        devices = Devices(functions, HOST)
        devices.choose_devices(functions, HOST)
        result = mod.with_functions({name: _place_kernels(devices, name, f) for name, f in functions.items()})
        return mod if result is mod else infer_types(result)


def _place_kernels(devices: Devices, name: str, function: Function) -> Function:
    """Return a function whose kernels have their devices; itself if it is on the host without annotations."""
    result: dict[Expr, Expr] = {}
    for node in devices.order[name]:
        output = _node(node, devices.device(node), result)
        if output is not node:
            note_rewrite(node, output)
            result[node] = output
    return result_of(function, result)


def _node(node: Expr, here: VirtualDevice, result: dict[Expr, Expr]) -> Expr:
    if is_closed(node) or type(node) in (Var, GlobalVar, Op, Constructor, Constant):
        return node
    if is_call_of(node, "on_device"):
        assert type(node) is Call
        body = result.get(node.args[0], node.args[0])
        where = node.attrs["virtual_device"] if node.attrs is not None else None
        return _on(body, where) if type(body) is Constant and where is not None and where != HOST else body

    def part(expr: Expr) -> Expr:
        output = result.get(expr, expr)
        return _on(output, here) if type(output) is Constant and here != HOST else output

    value = rebuild(node, part)
    if type(value) is Function:
        return value if value.virtual_device is None else value.with_fields(virtual_device=None)
    return _call(value, here) if type(value) is Call else value


def _on(constant: Expr, where: VirtualDevice) -> Expr:
    """Return a constant on a device, replacing any earlier annotation."""
    return make("on_device", constant, virtual_device=where, constrain_result=True, constrain_body=False)


def _call(call: Call, here: VirtualDevice) -> Expr:
    """Return a call of a kernel with its device stored in the kernel."""
    kernel = call.op
    if type(kernel) is Function and kernel.is_primitive:
        return call if here == HOST else call.with_fields(op=kernel.with_fields(virtual_device=here))
    is_unfused = type(kernel) is Op and kernel.spec.computes
    if here == HOST or not is_unfused or not all(a.checked_type_ for a in call.args):
        return call
    params = tuple([Var(f"p{i}", arg.checked_type) for i, arg in enumerate(call.args)])
    body = Call(kernel, params, call.attrs, (), call.span)
    return Call(Function(params, body, None, None, {"Primitive": 1}, virtual_device=here), call.args, span=call.span)
