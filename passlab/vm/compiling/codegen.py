"""From manifest A-normal form to instructions.

Registers are numbered by a counter for each function, parameters first, and never reused. Branches and arms nest as
deep as programs do, so the generator of code is a set of Python generators that `drive` runs without recursion.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from passlab.devices import VirtualDevice
from passlab.errors import Diagnostic, VerifyError
from passlab.ir.adt import Constructor, constructor_numbers
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
from passlab.ir.op import Op, OpCall, is_op_call
from passlab.ir.trampoline import drive
from passlab.ir.walk import children, post_order
from passlab.vm.compiling.match_code import MatchCode, Work
from passlab.vm.executable import VMFunction, device_of
from passlab.vm.isa import Instruction, Opcode

SAMPLE = 16  # elements by which constants are told apart before all of them are compared
HOST = VirtualDevice()


def _same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays of one shape and dtype hold the same bytes, NaN and -0 told apart as they are stored."""
    if a.size <= SAMPLE:
        return True  # they begin alike, and have no more
    return np.array_equal(np.ascontiguousarray(a).view(np.uint8), np.ascontiguousarray(b).view(np.uint8))


def is_closure(function: Function) -> bool:
    """Whether a function was lifted: it takes what a closure captures and returns the closure's literal."""
    return bool(function.attrs.get("Closure")) and isinstance(function.body, Function)


class Pool:
    """The constants, kernels and function numbers that the functions of one executable share."""

    def __init__(self, mod: IRModule) -> None:
        functions = list(mod.items())
        self.mod = mod
        self.primitives = {name: f for name, f in functions if f.is_primitive}
        self.functions = {name: i for i, name in enumerate(n for n, f in functions if not f.is_primitive)}
        self.closures = {name for name, f in functions if is_closure(f)}
        self.constants: list[np.ndarray[Any, Any]] = []
        self.constant_devices: list[int] = []
        self.devices: dict[VirtualDevice, int] = {HOST: 0}
        self._alike: dict[tuple[Any, ...], list[int]] = {}  # constants of one device and kind that begin alike
        self.kernels: dict[str, int] = {}
        self.constructors = constructor_numbers(mod.type_definitions.values())

    def device(self, device: Any) -> int:
        """Return the number of a device; what is not said to be elsewhere is on the host."""
        place = device_of(device)
        return self.devices.setdefault(place, len(self.devices))

    def constant(self, data: np.ndarray[Any, Any], device: int = 0) -> int:
        """Return the number of a constant; equal ones, bit for bit, share it on each device."""
        flat = data.reshape(-1)
        alike = self._alike.setdefault((device, data.shape, data.dtype, flat[:SAMPLE].tobytes()), [])
        for number in alike:
            if self.constants[number] is data or _same_bits(self.constants[number].reshape(-1), flat):
                return number
        self.constants.append(data)
        self.constant_devices.append(device)
        alike.append(len(self.constants) - 1)
        return alike[-1]

    def siblings(self, constructor: Constructor) -> int:
        """Return how many constructors the type of a constructor has, 0 when the module does not define it."""
        data = self.mod.find_type(constructor.belong_to.name_hint)
        return len(data.constructors) if data is not None else 0

    def kernel(self, name: str) -> int:
        """Return the number of a kernel."""
        return self.kernels.setdefault(name, len(self.kernels))


class FunctionCode:
    """Generates the instructions of one function."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.code: list[Instruction | None] = []
        self.registers: dict[Var, int] = {}
        self.held: dict[Var, Constant | Tuple] = {}  # what variables are bound to constants and tuples
        self.count = 0
        self.function: Function

    def generate(self, name: str, function: Function) -> VMFunction:
        """Return the code of a function. A closure's function takes what it captures before its parameters."""
        self.function = function
        params = list(function.params)
        body = function.body
        if is_closure(function) and isinstance(body, Function):
            params += body.params
            body = body.body
        for param in params:
            self.registers[param] = self.register()
        result = drive(self.value(body))
        self.emit(Opcode.RET, result, node=body)
        done = [i for i in self.code if i is not None]
        assert len(done) == len(self.code)
        devices = tuple([self.pool.device(p.virtual_device) for p in params])
        return VMFunction(name, tuple(p.name_hint for p in params), tuple(done), self.count, devices)

    @cached_property
    def read(self) -> set[Expr]:
        """The variables that the function reads anywhere."""
        return {part for node in post_order(self.function) for part in _read(node) if isinstance(part, Var)}

    # ------------------------------------------------------------ building
    def register(self) -> int:
        """Return a new register."""
        self.count += 1
        return self.count - 1

    def emit(self, opcode: Opcode, *operands: Any, node: Expr | None) -> None:
        """Append an instruction."""
        self.code.append(Instruction(opcode, *operands, node=node))

    def into(self, opcode: Opcode, *operands: Any, node: Expr) -> int:
        """Emit an instruction whose destination stands at `...`; return the new register."""
        dst = self.register()
        self.emit(opcode, *(dst if o is ... else o for o in operands), node=node)
        return dst

    def later(self) -> int:
        """Leave room for a jump; return where."""
        self.code.append(None)
        return len(self.code) - 1

    # ------------------------------------------------------------ values
    def value(self, expr: Expr) -> Work:
        """Generate the code of an expression; return the register of its value."""
        while isinstance(expr, Let):
            if isinstance(expr.value, Function):
                raise _no("a function bound inside another", expr.value, "LambdaLift moves it to the module")
            if isinstance(expr.value, (Constant, Tuple)):
                self.held[expr.var] = expr.value
            self.registers[expr.var] = yield self.value(expr.value)
            expr = expr.body
        return (yield self._leaf(expr)) if isinstance(expr, (If, Match)) else (yield from self._simple(expr))

    def _leaf(self, expr: Expr) -> Work:
        if isinstance(expr, If):
            return (yield from self._if(expr))
        assert isinstance(expr, Match)
        return (yield from self._match(expr))

    def _simple(self, expr: Expr) -> Work:
        if isinstance(expr, Var):
            return self.registers[expr]
        if isinstance(expr, Constant):
            return self.into(Opcode.LOAD_CONST, self.pool.constant(expr.data), 0, ..., node=expr)
        if isinstance(expr, GlobalVar):
            return self.into(Opcode.ALLOC_CLOSURE, self._function(expr), ..., (), node=expr)
        if isinstance(expr, Tuple):
            fields = yield from self._all(expr.fields)
            return self.into(Opcode.ALLOC_ADT, 0, ..., fields, node=expr)
        if isinstance(expr, TupleGetItem):
            whole = yield self.value(expr.tuple_value)
            return self.into(Opcode.GET_FIELD, whole, expr.index, ..., node=expr)
        if isinstance(expr, Call):
            return (yield from self._call(expr))
        if isinstance(expr, (RefCreate, RefRead, RefWrite)):
            raise _no("a reference", expr, "the `debug` executor runs programs with references")
        if isinstance(expr, Constructor):
            raise _no("a constructor as a value", expr, "EtaExpand(expand_constructor=True) wraps it in a function")
        raise _no(f"a {type(expr).__name__}", expr)

    def _all(self, exprs: Sequence[Expr]) -> Generator[Any, int, tuple[int, ...]]:
        out = []
        for expr in exprs:
            out.append((yield self.value(expr)))
        return tuple(out)

    def _function(self, var: GlobalVar) -> int:
        number = self.pool.functions.get(var.name_hint)
        if number is None:
            raise _no(f"the primitive function @{var.name_hint} as a value", var)
        return number

    # ------------------------------------------------------------ calls
    def _call(self, call: Call) -> Work:
        if is_op_call(call):
            return (yield from self._operator(call, call.op))
        callee = call.op
        args = yield from self._all(call.args)
        if isinstance(callee, GlobalVar):
            if callee.name_hint in self.pool.closures:
                return self.into(Opcode.ALLOC_CLOSURE, self._function(callee), ..., args, node=call)
            return self.into(Opcode.INVOKE, self._function(callee), ..., args, node=call)
        if isinstance(callee, Constructor):
            return self.into(Opcode.ALLOC_ADT, self.pool.constructors[callee], ..., args, node=call)
        closure = yield self.value(callee)
        return self.into(Opcode.INVOKE_CLOSURE, closure, ..., args, node=call)

    def _operator(self, call: OpCall, op: Op) -> Work:
        name = op.name
        if name == "vm.invoke_tvm_op":
            primitive, ins, outs = call.args
            assert isinstance(primitive, GlobalVar)
            inputs, results = self._fields(ins), self._fields(outs)
            args = yield from self._all((*inputs, *results))
            self.emit(Opcode.INVOKE_PACKED, self.pool.kernel(primitive.name_hint), len(results), args, node=call)
            return args[-1] if args else 0
        if name == "memory.alloc_storage":
            size = yield self.value(call.args[0])
            dtype, device = call.attrs.dtype, self.pool.device(call.attrs.virtual_device)
            return self.into(Opcode.ALLOC_STORAGE, size, 64, dtype, device, ..., (), node=call)
        if name == "memory.alloc_tensor":
            return (yield from self._alloc_tensor(call))
        if name == "vm.shape_of":
            tensor = yield self.value(call.args[0])
            return self.into(Opcode.SHAPE_OF, tensor, ..., node=call)
        if name == "vm.reshape_tensor":
            tensor, shape = yield from self._all(call.args)
            return self.into(Opcode.RESHAPE_TENSOR, tensor, shape, ..., node=call)
        if name == "memory.kill":
            dead = yield self.value(call.args[0])
            self.emit(Opcode.KILL_REGISTER, dead, node=call)
            return dead
        if name == "device_copy":
            source = yield self.value(call.args[0])
            attrs: Any = call.attrs
            places = self.pool.device(attrs.src_virtual_device), self.pool.device(attrs.dst_virtual_device)
            return self.into(Opcode.DEVICE_COPY, source, *places, ..., node=call) if len(set(places)) > 1 else source
        if name == "on_device":
            return (yield from self._on_device(call))
        raise _no(f"the operator `{name}` outside a kernel", call, "FuseOps and LowerTE put operators into kernels")

    def _fields(self, expr: Expr) -> tuple[Expr, ...]:
        """Return the fields of a tuple, which may be bound to a variable. Raises `VerifyError` for anything else."""
        value = self.held.get(expr) if isinstance(expr, Var) else expr
        if not isinstance(value, Tuple):
            raise _no("a kernel whose inputs and results are not written as tuples", expr)
        return value.fields

    def _on_device(self, call: OpCall) -> Work:
        """Load a constant on the device where it is needed; all else is where it is said to be already."""
        body = call.args[0]
        constant = self.held.get(body) if isinstance(body, Var) else body
        if not isinstance(constant, Constant):
            return (yield self.value(body))
        device = self.pool.device(call.attrs.virtual_device)
        return self.into(Opcode.LOAD_CONST, self.pool.constant(constant.data, device), device, ..., node=constant)

    def _alloc_tensor(self, call: Call) -> Work:
        attrs: Any = call.attrs
        storage, offset = yield from self._all(call.args[:2])
        if isinstance(attrs.const_shape, Constant):
            shape = tuple(int(d) for d in attrs.const_shape.data.reshape(-1))
            return self.into(Opcode.ALLOC_TENSOR, storage, offset, attrs.dtype, ..., shape, node=call)
        row = yield self.value(call.args[2])
        return self.into(Opcode.ALLOC_TENSOR_REG, storage, offset, row, attrs.dtype, ..., node=call)

    # ------------------------------------------------------------ control
    def _if(self, expr: If) -> Work:
        cond = yield self.value(expr.cond)
        one = self.into(Opcode.LOAD_CONSTI, 1, ..., node=expr)
        test = self.later()
        merged = self.register()
        result = yield self.value(expr.true_branch)
        self.emit(Opcode.MOVE, result, merged, node=expr)
        leave = self.later()
        self.code[test] = Instruction(Opcode.IF, cond, one, 1, len(self.code) - test, node=expr)
        result = yield self.value(expr.false_branch)
        self.emit(Opcode.MOVE, result, merged, node=expr)
        self.code[leave] = Instruction(Opcode.GOTO, len(self.code) - leave, node=expr)
        return merged

    def _match(self, expr: Match) -> Work:
        data = yield self.value(expr.data)
        return (yield MatchCode(self, expr, data).generate())


def _read(node: Expr) -> Sequence[Expr]:
    """The parts of a node, without the variables that it binds."""
    if isinstance(node, Let):
        return node.value, node.body
    if isinstance(node, Match):
        return node.data, *[clause.rhs for clause in node.clauses]
    return (node.body,) if isinstance(node, Function) else tuple(children(node))


def _no(what: str, expr: Expr, hint: str | None = None) -> VerifyError:
    return VerifyError(Diagnostic(f"the virtual machine cannot run {what}", expr.span, hint=hint))
