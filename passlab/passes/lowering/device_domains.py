"""Device domains: the device of each expression, as far as the annotations of a program determine it.

Each expression has a *domain*: one unknown device for data, whatever its structure, and for a function one domain for
each parameter and one for the result. Expressions that must be on one device share a domain (unification); `on_device`,
`device_copy` and the devices of parameters and functions fix the devices of some. The source is TVM's device planner
(PlanDevices), except that a value whose device is free is copied for each use on another device. This is an analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from passlab.analysis.contents import contents_of
from passlab.analysis.regions import is_closed
from passlab.devices import VirtualDevice
from passlab.errors import Diagnostic, PassError
from passlab.ir.adt import Constructor, pattern_vars
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
from passlab.ir.op import Op, OpCall, is_call_of
from passlab.ir.types import FuncType, Type
from passlab.ir.walk import post_order

# The inputs of an operator that are on the host, by index, with -1 for the result.
ON_HOST: Mapping[str, tuple[int, ...]] = {
    "vm.shape_of": (-1,),
    "shape_of": (-1,),
    "vm.reshape_tensor": (1,),
    "memory.alloc_storage": (0, 1, 2),
    "memory.alloc_tensor": (1, 2),
}
ANY_DEVICE = {"vm.shape_of", "shape_of"}  # operators whose input may be on any device


class Domain:
    """One device, or with `parts` (parameters, then result) the devices of a function. Unified domains have one
    `leader`.
    """

    __slots__ = ("leader", "device", "parts")

    def __init__(self) -> None:
        self.leader: Domain = self
        self.device: VirtualDevice | None = None
        self.parts: tuple[Domain, ...] = ()

    def find(self) -> Domain:
        """Return the representative of all domains unified with this one."""
        at = self
        while at.leader is not at:
            at.leader = at = at.leader.leader
        return at

    def result(self) -> Domain:
        """Return the domain of the data that a function finally returns."""
        at = self.find()
        while at.parts:
            at = at.parts[-1].find()
        return at

    def leaves(self) -> list[Domain]:
        """Return the first-order domains in a domain, parameters first."""
        result: list[Domain] = []
        stack = [self.find()]
        while stack:
            at = stack.pop()
            if at.parts:
                stack.extend(p.find() for p in at.parts[::-1])
            else:
                result.append(at)
        return result


def domain_of_type(ty: Type) -> Domain:
    """Return a new domain for values of a type."""
    domain = Domain()
    stack = [(domain, ty)]
    while stack:
        result, at = stack.pop()
        if isinstance(at, FuncType):
            types = (*at.arg_types, at.ret_type)
            result.parts = tuple(Domain() for _ in types)
            stack += zip(result.parts, types, strict=True)
    return domain


def common_device(a: VirtualDevice, b: VirtualDevice) -> VirtualDevice | None:
    """Return the more precise of two compatible devices, or None if they differ."""
    if a == b:
        return a
    same_target = a.target is None or b.target is None or a.target == b.target
    same_scope = not a.memory_scope or not b.memory_scope or a.memory_scope == b.memory_scope
    if a.device != b.device or not (same_target and same_scope):
        return None
    return VirtualDevice(a.device, a.target or b.target, a.memory_scope or b.memory_scope)


def is_loose(expr: Expr) -> TypeGuard[OpCall]:
    """Return whether an expression is an `on_device` that leaves the device of its result open."""
    return is_call_of(expr, "on_device") and not expr.attrs["constrain_result"]


def is_open(expr: Expr) -> bool:
    """Return whether an expression is an `on_device` that names no device and only allows a copy."""
    return is_loose(expr) and not getattr(getattr(expr, "attrs", None), "constrain_body", True)


def names_device(function: Function) -> bool:
    """Return whether a function contains a device annotation."""
    contents = contents_of(function)
    if not (contents.is_placed or contents.has_operator("on_device", "device_copy")):
        return False
    return any(
        is_call_of(n, "on_device") or is_call_of(n, "device_copy") or getattr(n, "virtual_device", None) is not None
        for n in post_order(function, enter=lambda n: not is_closed(n))
    )


class Devices:
    """The domains of all expressions of some functions; values with a domain in `free` may be copied for each use.

    Raises `PassError` if a value would have to be on two devices at once.
    """

    def __init__(self, functions: Mapping[str, Function], host: VirtualDevice) -> None:
        self.host = host
        self.domain: dict[Expr, Domain] = {}
        self.free: set[Expr] = set()
        self._optional: list[tuple[Domain, Domain]] = []  # the two sides of each open `on_device`
        self.globals = {name: domain_of_type(f.checked_type) for name, f in functions.items()}
        self.order = {name: post_order(f, enter=lambda n: not is_closed(n)) for name, f in functions.items()}
        self._find_free_values(n for order in self.order.values() for n in order)
        for name, function in functions.items():
            for node in self.order[name]:
                self._visit(node)
            self.unify(self.of(function), self.globals[name], function)
        for a, b in self._optional:
            self._unify_if_compatible(a, b)

    def of(self, expr: Expr) -> Domain:
        """Return the domain of an expression."""
        domain = self.domain.get(expr)
        if domain is None:
            domain = self.globals.get(expr.name_hint) if type(expr) is GlobalVar else None
            domain = self.domain[expr] = domain or domain_of_type(expr.checked_type)
        return domain

    def device(self, expr: Expr) -> VirtualDevice:
        """Return the device of the data of an expression, after `choose_devices`."""
        return self.of(expr).result().device or self.host

    def choose_devices(self, functions: Iterable[str], default: VirtualDevice) -> None:
        """Choose a device where none is required: `default` for results, the device of the result for parameters."""
        for name in functions:
            for node in reversed(self.order[name]):
                domain = None
                if type(node) is Function:
                    domain = self.of(node)
                elif type(node) is Call and type(node.op) not in (Op, Constructor):
                    domain = self.of(node.op)
                if domain is not None:
                    self._default(domain, default)
        for domain in list(self.domain.values()):
            self._default(domain, default)

    def _default(self, domain: Domain, default: VirtualDevice) -> None:
        result = domain.result()
        result.device = result.device or default
        for leaf in domain.leaves():
            leaf.device = leaf.device or result.device

    # ------------------------------------------------------------ unification
    def unify(self, a: Domain, b: Domain, at: Expr) -> None:
        """Unify two domains; a function unified with data is on one device with all its parts."""
        stack = [(a, b)]
        while stack:
            a, b = (d.find() for d in stack.pop())
            if a is b:
                continue
            if a.parts and b.parts and len(a.parts) == len(b.parts):
                b.leader = a
                stack += zip(a.parts, b.parts, strict=True)
            elif a.parts or b.parts:
                whole, data = (a, b) if a.parts else (b, a)
                stack += [(data, leaf) for leaf in whole.leaves()]
            else:
                self._place(a, b.device, at)
                b.leader = a

    def _place(self, domain: Domain, device: Any, at: Expr) -> None:
        if device is None:
            return
        for leaf in domain.leaves():
            common = device if leaf.device is None else common_device(leaf.device, device)
            if common is None:
                what = f"this would have to be on {leaf.device.device} and on {device.device} at once"  # type: ignore[union-attr]
                raise PassError(Diagnostic(what, at.span, hint="put `device_copy` or `on_device` between the two"))
            leaf.device = common

    def _unify_if_compatible(self, a: Domain, b: Domain) -> None:
        """Unify two domains unless their devices differ; the result has the more precise memory scope."""
        a, b = a.find(), b.find()
        if a.parts or b.parts or a is b:
            return
        common = a.device or b.device
        if a.device is not None and b.device is not None:
            common = common_device(a.device, b.device)
            if common is None:
                return
        a.device = common
        b.leader = a

    def _use(self, part: Expr, domain: Domain, at: Expr) -> None:
        """Require a child on a device; a free value is copied there."""
        if is_open(part):
            self._optional.append((domain, self.of(part)))
        elif part not in self.free and type(part) is not Constant:
            self.unify(domain, self.of(part), at)

    # ------------------------------------------------------------ constraints
    def _find_free_values(self, nodes: Iterable[Expr]) -> None:
        """Add the free values: a loose `on_device`, a variable bound to one, and expressions that only pass one on."""
        nodes = list(nodes)
        loose = {n.var for n in nodes if type(n) is Let and is_loose(n.value)}
        for node in nodes:
            source = node.tuple_value if type(node) is TupleGetItem else node.body if type(node) is Let else None
            if is_loose(node) or node in loose or source in self.free:
                self.free.add(node)

    def _visit(self, node: Expr) -> None:
        own = self.of(node)
        kind = type(node)
        if isinstance(node, Call):
            self._call(node, own)
        elif isinstance(node, Function):
            self._function(node, own)
        elif isinstance(node, Let):
            value = node.value.args[0] if is_loose(node.value) else node.value
            self._use(value, self.of(node.var), node)
            self.unify(own, self.of(node.body), node)
        elif isinstance(node, TupleGetItem):
            self.unify(own, self.of(node.tuple_value), node)
        elif isinstance(node, If):
            for part in (node.cond, node.true_branch, node.false_branch):
                self._use(part, own, node)
        elif isinstance(node, Match):
            self._match(node, own)
        elif kind in (Tuple, RefCreate, RefRead, RefWrite):
            for name in node.field_names:
                parts = getattr(node, name)
                for part in parts if type(node) is Tuple else (parts,):
                    self._use(part, own, node)
        elif isinstance(node, Var):
            self._place(own, node.virtual_device, node)

    def _match(self, node: Match, own: Domain) -> None:
        data = self.of(node.data)
        for clause in node.clauses:
            self._use(clause.rhs, own, node)
            for var in pattern_vars(clause.lhs):
                self.unify(data, self.of(var), node)

    def _function(self, node: Function, own: Domain) -> None:
        if is_closed(node):
            for leaf in own.leaves():
                self.unify(own.result(), leaf, node)
            return
        for param, domain in zip(node.params, own.find().parts, strict=False):
            self.unify(domain, self.of(param), node)
        if is_open(node.body):
            self._optional.append((own.find().parts[-1], self.of(node.body)))
        else:
            self.unify(own.find().parts[-1], self.of(node.body), node)
        self._place(own.result(), node.virtual_device, node)

    def _call(self, node: Call, own: Domain) -> None:
        op = node.op
        if type(op) is Op:
            self._operator(node, op.name, own)
        elif type(op) is Constructor or is_closed(op):
            for arg in node.args:
                self._use(arg, own, node)
        else:
            callee = self.of(op).find()
            if not callee.parts:  # a function taken out of a data structure: all its parts are on one device
                self.unify(own, callee, node)
            for i, arg in enumerate(node.args):
                self._use(arg, callee.parts[i] if callee.parts else callee, node)
            if callee.parts:
                self.unify(callee.parts[-1], own, node)

    def _operator(self, node: Call, name: str, own: Domain) -> None:
        attrs: Any = node.attrs
        if name == "on_device":
            if attrs["constrain_body"]:
                self._place(self.of(node.args[0]), attrs["virtual_device"], node)
            if attrs["constrain_result"]:
                self._place(own, attrs["virtual_device"], node)
            else:
                self.unify(own, self.of(node.args[0]), node)
            return
        if name == "device_copy":
            self._place(self.of(node.args[0]), attrs["src_virtual_device"], node)
            self._place(own, attrs["dst_virtual_device"], node)
            return
        if name == "memory.alloc_storage":
            self._place(own, attrs["virtual_device"], node)
        host = ON_HOST.get(name, ())
        if -1 in host:
            self._place(own, self.host, node)
        for i, arg in enumerate(node.args):
            if i in host:
                self._use(arg, self._on_host(), node)
            elif name not in ANY_DEVICE:
                self._use(arg, own, node)

    def _on_host(self) -> Domain:
        domain = Domain()
        domain.device = self.host
        return domain
