"""Annotate each value with its device, and insert copies between devices.

before: config="cuda"
    def @main(%x: Tensor[(2), float32], %y: Tensor[(2), float32]) {
      add(on_device(exp(%x), virtual_device=meta[VirtualDevice][0]), %y)
    }
    #[metadata]
    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]},
     {"type_key": "Array", "data": [3]}, {"type_key": "VirtualDevice", "attrs": {"device_type_int": "1",
     "memory_scope": "4", "target": "0", "virtual_device_id": "0"}}, {"type_key": "runtime.String", "repr_str": ""}],
     "b64ndarrays": [], "attrs": {"tvm_version": "0.14.0"}}
after:
    def @main(%x {virtual_device=meta[VirtualDevice][0]}: Tensor[(2), float32],
              %y {virtual_device=meta[VirtualDevice][1]}: Tensor[(2), float32], virtual_device=meta[VirtualDevice][1]) {
      %0 = on_device(exp(%x), virtual_device=meta[VirtualDevice][0], constrain_result=True);
      add(device_copy(%0, src_virtual_device=meta[VirtualDevice][0], dst_virtual_device=meta[VirtualDevice][1]), %y)
    }
    #[metadata]
    {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["VirtualDevice"], "data": [2]},
     {"type_key": "Array", "data": [3, 5]}, {"type_key": "VirtualDevice", "attrs": {"device_type_int": "1",
     "memory_scope": "4", "target": "0", "virtual_device_id": "0"}}, {"type_key": "runtime.String", "repr_str": ""},
     {"type_key": "VirtualDevice", "attrs": {"device_type_int": "2", "memory_scope": "4", "target": "0",
     "virtual_device_id": "0"}}], "b64ndarrays": [], "attrs": {"tvm_version": "0.14.0"}}

keep:
    def @main(%x: Tensor[(2), float32]) { exp(%x) }
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from passlab.analysis.regions import is_closed
from passlab.analysis.stated_types import states_type
from passlab.devices import Device, VirtualDevice, device
from passlab.errors import Diagnostic, PassTypeError
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Let, Match, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_call_of, is_op_call
from passlab.ir.types import FuncType
from passlab.ir.walk import note_rewrite, post_order, rebuild, result_of, rewrite
from passlab.op import make
from passlab.passes.lowering.device_domains import ANY_DEVICE, ON_HOST, Devices, common_device, is_loose, names_device
from passlab.transform.base import ModulePass, infer_types, is_optimizable
from passlab.transform.context import PassContext
from passlab.transform.declare import EXACT, standard_pass

# Copies of values that operators on two devices read: each operator on another device than the first reads a copy.

Find = Callable[[Expr], VirtualDevice | None]


def without_conflicts(function: Function) -> Function:
    """Return a function in which no value is read on two devices; the same object if that holds already.

    Only reads by operators count: `on_device` and the annotations of parameters and functions do not change.
    """
    order = post_order(function, enter=lambda n: not is_closed(n))
    devices: dict[Expr, VirtualDevice] = {}  # where a value is first read, and so computed
    # The target device of the copy, by operator and index of its argument.
    copies: dict[tuple[Expr, int], VirtualDevice] = {}
    readers: dict[Expr, list[tuple[Call, int]]] = {}
    for node in order:
        if is_op_call(node):
            for i, arg in enumerate(node.args):
                readers.setdefault(arg, []).append((node, i))
    for node in reversed(order):  # users before values
        if isinstance(node, Op):
            continue
        for call, i in readers.get(node, ()):
            target = _argument_device(call, i, devices.get)
            if target is None or is_call_of(node, "on_device") or type(node) is Constant:
                continue
            common = common_device(devices[node], target) if node in devices else target
            if common is None:
                copies[call, i] = target
            else:
                devices[node] = common
    if not copies:
        return function
    copied: dict[tuple[Expr, VirtualDevice], Expr] = {}

    def rule(pre: Call, post: Call) -> Expr:
        args = list(post.args)
        for i, old in enumerate(pre.args):
            target = copies.get((pre, i))
            if target is None:
                continue
            if (args[i], target) not in copied:
                attrs = {"src_virtual_device": devices[old], "dst_virtual_device": target}
                copied[args[i], target] = make("device_copy", args[i], **attrs)
            args[i] = copied[args[i], target]
        return post.with_fields(args=tuple(args))

    calls = {call for call, _ in copies}
    result = rewrite(function, lambda pre, post: rule(pre, post) if pre in calls else post, only=(Call,))
    assert isinstance(result, Function)
    return result


def _argument_device(call: Call, number: int, find: Find) -> VirtualDevice | None:
    """Return the device on which an operator reads an argument, or None if it is not annotated."""
    assert isinstance(call.op, Op)
    attrs: Any = call.attrs
    device: VirtualDevice
    if call.op.name == "on_device" and attrs["constrain_body"]:
        device = attrs["virtual_device"]
        return device
    if call.op.name == "device_copy":
        device = attrs["src_virtual_device"]
        return device
    is_independent = call.op.name in ANY_DEVICE or number in ON_HOST.get(call.op.name, ())
    return None if is_independent else find(call)


@standard_pass(opt_level=0, required=("InferType",), contract=EXACT)
class PlanDevices(ModulePass):
    """Record the device of each parameter and function, wrap values elsewhere in `on_device`, insert `device_copy`.

    An operator runs on the device of its inputs and its result. `on_device(%e, virtual_device=d)` computes `%e` on d
    and copies it for each use on another device. A value that operators on two devices read is copied as well; it is
    computed where the program reads it first. Values without a constraint go to `config`: a `VirtualDevice`, a device,
    its name, or None for the CPU; with None a program without device annotations is not changed. Values bound by `let`
    are always annotated, except functions, which have no device (Relay annotates selected and computed functions).
    Raises `PassError` if a value would have to be on two devices, `PassTypeError` for a `config` of another type.
    """

    config: Any = None

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {name: f for name, f in mod.items() if is_optimizable(f) and not f.is_primitive}
        if self.config is None and not any(map(names_device, functions.values())):
            return mod
        separated = mod.with_functions({name: without_conflicts(f) for name, f in functions.items()})
        if separated is not mod:
            mod = infer_types(separated)
            functions = {name: mod[name] for name in functions}
        devices = Devices(functions, host_device(self.config))
        devices.choose_devices(functions, default_device(self.config))
        result = mod.with_functions({name: _Placement(devices).place(name, f) for name, f in functions.items()})
        return mod if result is mod else infer_types(result)


def host_device(config: Any) -> VirtualDevice:
    """Return the host device that a configuration names, else the CPU."""
    named = getattr(config, "host_virtual_device", None)
    return named if isinstance(named, VirtualDevice) else VirtualDevice()


def default_device(config: Any) -> VirtualDevice:
    """Return the device for values without a constraint."""
    named = getattr(config, "default_primitive_virtual_device", config)
    if isinstance(named, VirtualDevice):
        return named
    if named is None or isinstance(named, (str, Device)):
        return VirtualDevice(device(named or "cpu"))
    expected = "VirtualDevice, Device or the name of a device"
    raise PassTypeError(Diagnostic("PlanDevices: bad default device", expected=expected, found=repr(config)))


def _fixes_device(expr: Expr) -> bool:
    return is_call_of(expr, "on_device") and not is_loose(expr)


def _without_on_device(expr: Expr) -> Expr:
    while _fixes_device(expr):
        expr = expr.args[0]  # type: ignore[attr-defined]
    return expr


class _Placement:
    """Annotates one function with its devices, children first."""

    def __init__(self, devices: Devices) -> None:
        self.devices = devices
        self.result: dict[Expr, Expr] = {}
        self.edges: dict[tuple[Expr, VirtualDevice, VirtualDevice | None], Expr] = {}

    def place(self, name: str, function: Function) -> Function:
        """Return the function with all devices explicit; itself if they already are."""
        order = self.devices.order[name]
        params = {p for f in order if type(f) is Function for p in f.params}
        for node in order:
            result = self._param(node) if node in params else self._node(node)
            if result is not node:
                note_rewrite(node, result)
                self.result[node] = result
        return result_of(function, self.result)

    def _param(self, var: Var) -> Var:
        result: Var = var.with_fields(virtual_device=self._like(var.virtual_device, self.devices.device(var)))
        return result

    def _node(self, node: Expr) -> Expr:
        if is_closed(node) or type(node) in (Var, GlobalVar, Op, Constructor):
            return node
        here = self.devices.device(node)
        if type(node) is Call:
            return self._call(node, here)
        if type(node) is Let:
            value = self._to(node.value, self.devices.device(node.var), None)
            return node.with_fields(value=value, body=self._to(node.body, here, here))
        if type(node) is Function:
            return self._function(node)
        if type(node) is Match:
            data = self.devices.device(node.data)
            return rebuild(node, lambda e: self._to(e, data if e is node.data else here, here))
        return rebuild(node, lambda e: self._to(e, here, here))

    def _function(self, node: Function) -> Function:
        here = self.devices.device(node)
        params = tuple(self.result.get(p, p) for p in node.params)
        return node.with_fields(
            params=params if params != node.params else node.params,
            body=self._to(node.body, here, here),
            virtual_device=self._like(node.virtual_device, here),
        )

    def _call(self, node: Call, here: VirtualDevice) -> Expr:
        if is_call_of(node, "on_device"):
            return self.result.get(node.args[0], node.args[0])
        devices = self._argument_device(node, here)
        if is_call_of(node, "device_copy"):
            if devices[0] == here:
                return self._to(node.args[0], here, here)
            source = self._to(node.args[0], devices[0], here)
            return self._copy_to(source, devices[0], here, node)
        args = tuple(self._to(a, w, here) for a, w in zip(node.args, devices, strict=True))
        op = self.result.get(node.op, node.op)
        return node.with_fields(op=op, args=args if args != node.args else node.args)

    def _argument_device(self, node: Call, here: VirtualDevice) -> list[VirtualDevice]:
        """Return the devices on which a call needs its arguments."""
        op, devices = node.op, self.devices
        if type(op) is Op:
            if op.name in ("device_copy", "vm.shape_of", "shape_of"):
                return [devices.device(a) for a in node.args]
            host = ON_HOST.get(op.name, ())
            return [devices.host if i in host else here for i in range(len(node.args))]
        parts = () if type(op) is Constructor or is_closed(op) else devices.of(op).find().parts
        return [parts[i].result().device or here if parts else here for i in range(len(node.args))]

    def _to(self, part: Expr, device: VirtualDevice, here: VirtualDevice | None) -> Expr:
        """Return a child on a device, for a user on that device, wrapped or copied if it is on another."""
        key = (part, device, here)
        result = self.edges.get(key)
        if result is None:
            result = self.edges[key] = self._move(part, device, here)
        return result

    def _move(self, part: Expr, device: VirtualDevice, here: VirtualDevice | None) -> Expr:
        result = self.result.get(part, part)
        if type(part) in (Op, Constructor) or isinstance(part.checked_type_, FuncType):
            return result
        own_device = device if type(_without_on_device(part)) is Constant else self.devices.device(part)
        if own_device != device:
            source = result if own_device == here else self._on_device(result, own_device, part)
            result = self._copy_to(source, own_device, device, part)
        return result if device == here else self._on_device(result, device, part)

    def _on_device(self, expr: Expr, device: VirtualDevice, old: Expr) -> Expr:
        """Return an expression wrapped in `on_device`; the old wrapper if that is equal."""
        if type(expr) in (Var, GlobalVar, Function) or not states_type(expr):
            return expr  # a match without arms has no value, and the call would hide its type
        while _fixes_device(old):
            assert type(old) is Call
            if old.args[0] is expr and old.attrs is not None and old.attrs["virtual_device"] == device:
                return old
            old = old.args[0]
        return make("on_device", expr, virtual_device=device, constrain_result=True)

    def _copy_to(self, expr: Expr, source: VirtualDevice, target: VirtualDevice, old: Expr) -> Expr:
        if type(old) is Call and is_call_of(old, "device_copy") and old.args[0] is expr and old.attrs is not None:
            if old.attrs["src_virtual_device"] == source and old.attrs["dst_virtual_device"] == target:
                return old
        return make("device_copy", expr, src_virtual_device=source, dst_virtual_device=target)

    @staticmethod
    def _like(old: Any, new: VirtualDevice) -> object:
        """Return the old object if the new one equals it, so that nothing changes."""
        return old if old == new else new
