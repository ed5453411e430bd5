"""From manifest A-normal form to instructions.

Registers are numbered by a counter for each function, parameters first, and never reused. Branches and arms nest as
deep as programs do, so the generator of code is a set of Python generators that `drive` runs without recursion.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from passlab.analysis.well_formed import outside_scope
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
from passlab.ir.op import OpCall, is_op_call
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
        self._numbers: dict[tuple[Constant, int], int] = {}  # of the nodes met so far, on each device
        self.kernels: dict[str, int] = {}
        self.constructors = constructor_numbers(mod.type_definitions.values())

    def device(self, device: Any) -> int:
        """Return the number of a device; what is not said to be elsewhere is on the host."""
        if device is None:
            return 0
        place = device_of(device)
        return self.devices.setdefault(place, len(self.devices))

    def constant(self, node: Constant, device: int = 0) -> int:
        """Return the number of a constant; equal ones, bit for bit, share it on each device."""
        number = self._numbers.get((node, device))
        if number is None:
            number = self._numbers[node, device] = self._number(node.data, device)
        return number

    def _number(self, data: np.ndarray[Any, Any], device: int) -> int:
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
        try:
            result = drive(self.value(body))
        except KeyError as error:
            if type(var := error.args[0]) is not Var:
                raise
            raise outside_scope(var) from None
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
        self.emit(opcode, *[dst if o is ... else o for o in operands], node=node)
        return dst

    def later(self) -> int:
        """Leave room for a jump; return where."""
        self.code.append(None)
        return len(self.code) - 1

    # ------------------------------------------------------------ values
    def value(self, expr: Expr) -> Work:
        """Generate the code of an expression; return the register of its value."""
        while isinstance(expr, Let):
            bound = expr.value
            if isinstance(bound, Function):
                raise _no("a function bound inside another", bound, "LambdaLift moves it to the module")
            if isinstance(bound, (Constant, Tuple)):
                self.held[expr.var] = bound
            register = self._at_once(bound)
            self.registers[expr.var] = (yield self.value(bound)) if register is None else register
            expr = expr.body
        if isinstance(expr, (If, Match)):
            return (yield self._if(expr) if isinstance(expr, If) else self._match(expr))
        register = self._at_once(expr)
        if register is not None:
            return register
        operands = []
        for part in self._operands(expr):
            operands.append((yield self.value(part)))
        return self._instruction(expr, tuple(operands))

    def _at_once(self, expr: Expr) -> int | None:
        """Generate an expression on variables and constants, as most are; None where other parts need code first."""
        if isinstance(expr, Var):
            return self.registers[expr]
        if isinstance(expr, (Let, If, Match)):
            return None
        parts = self._operands(expr)
        for part in parts:
            if type(part) is not Var and type(part) is not Constant:
                return None
        operands = [self.registers[p] if type(p) is Var else self._instruction(p, ()) for p in parts]
        return self._instruction(expr, tuple(operands))

    def _operands(self, expr: Expr) -> Sequence[Expr]:
        """Return the parts of a simple expression whose registers its instruction takes, in the order of evaluation."""
        if isinstance(expr, Call):
            if is_op_call(expr):
                return self._operator_operands(expr)
            return expr.args if isinstance(expr.op, (GlobalVar, Constructor)) else (*expr.args, expr.op)
        if isinstance(expr, Tuple):
            return expr.fields
        return (expr.tuple_value,) if isinstance(expr, TupleGetItem) else ()

    def _instruction(self, expr: Expr, operands: tuple[int, ...]) -> int:
        """Emit the instruction of a simple expression; return the register of its value."""
        if isinstance(expr, Call):
            return self._operator(expr, operands) if is_op_call(expr) else self._call(expr, operands)
        if isinstance(expr, Constant):
            return self.into(Opcode.LOAD_CONST, self.pool.constant(expr), 0, ..., node=expr)
        if isinstance(expr, GlobalVar):
            return self.into(Opcode.ALLOC_CLOSURE, self._function(expr), ..., (), node=expr)
        if isinstance(expr, Tuple):
            return self.into(Opcode.ALLOC_ADT, 0, ..., operands, node=expr)
        if isinstance(expr, TupleGetItem):
            return self.into(Opcode.GET_FIELD, operands[0], expr.index, ..., node=expr)
        if isinstance(expr, (RefCreate, RefRead, RefWrite)):
            raise _no("a reference", expr, "the `debug` executor runs programs with references")
        if isinstance(expr, Constructor):
            raise _no("a constructor as a value", expr, "EtaExpand(expand_constructor=True) wraps it in a function")
        raise _no(f"a {type(expr).__name__}", expr)

    def _function(self, var: GlobalVar) -> int:
        number = self.pool.functions.get(var.name_hint)
        if number is None:
            raise _no(f"the primitive function @{var.name_hint} as a value", var)
        return number

    # ------------------------------------------------------------ calls
    def _call(self, call: Call, operands: tuple[int, ...]) -> int:
        callee = call.op
        if isinstance(callee, GlobalVar):
            if callee.name_hint in self.pool.closures:
                return self.into(Opcode.ALLOC_CLOSURE, self._function(callee), ..., operands, node=call)
            return self.into(Opcode.INVOKE, self._function(callee), ..., operands, node=call)
        if isinstance(callee, Constructor):
            return self.into(Opcode.ALLOC_ADT, self.pool.constructors[callee], ..., operands, node=call)
        return self.into(Opcode.INVOKE_CLOSURE, operands[-1], ..., operands[:-1], node=call)

    def _operator_operands(self, call: OpCall) -> Sequence[Expr]:
        """Return the operands of an operator's call: some of its arguments are written into the instruction."""
        name = call.op.name
        if name == "vm.invoke_tvm_op":
            return (*self._fields(call.args[1]), *self._fields(call.args[2]))
        if name == "memory.alloc_tensor":
            return call.args[: 2 if isinstance(call.attrs.const_shape, Constant) else 3]
        if name == "on_device":
            return () if self._constant(call.args[0]) else call.args
        return call.args if name == "vm.reshape_tensor" else call.args[:1]

    def _operator(self, call: OpCall, operands: tuple[int, ...]) -> int:
        name, attrs = call.op.name, call.attrs
        if name == "vm.invoke_tvm_op":
            primitive, _, results = call.args
            assert isinstance(primitive, GlobalVar)
            kernel, count = self.pool.kernel(primitive.name_hint), len(self._fields(results))
            self.emit(Opcode.INVOKE_PACKED, kernel, count, operands, node=call)
            return operands[-1] if operands else 0
        if name == "memory.alloc_storage":
            device = self.pool.device(attrs.virtual_device)
            return self.into(Opcode.ALLOC_STORAGE, *operands, 64, attrs.dtype, device, ..., (), node=call)
        if name == "memory.alloc_tensor":
            if isinstance(attrs.const_shape, Constant):
                shape = tuple(attrs.const_shape.data.reshape(-1).tolist())
                return self.into(Opcode.ALLOC_TENSOR, *operands, attrs.dtype, ..., shape, node=call)
            return self.into(Opcode.ALLOC_TENSOR_REG, *operands, attrs.dtype, ..., node=call)
        if name == "vm.shape_of":
            return self.into(Opcode.SHAPE_OF, *operands, ..., node=call)
        if name == "vm.reshape_tensor":
            return self.into(Opcode.RESHAPE_TENSOR, *operands, ..., node=call)
        if name == "memory.kill":
            self.emit(Opcode.KILL_REGISTER, *operands, node=call)
            return operands[0]
        if name == "device_copy":
            places = self.pool.device(attrs.src_virtual_device), self.pool.device(attrs.dst_virtual_device)
            return (
                operands[0]
                if len(set(places)) == 1
                else self.into(Opcode.DEVICE_COPY, *operands, *places, ..., node=call)
            )
        if name == "on_device":
            return self._on_device(call, operands)
        raise _no(f"the operator `{name}` outside a kernel", call, "FuseOps and LowerTE put operators into kernels")

    def _fields(self, expr: Expr) -> tuple[Expr, ...]:
        """Return the fields of a tuple, which may be bound to a variable. Raises `VerifyError` for anything else."""
        value = self.held.get(expr) if isinstance(expr, Var) else expr
        if not isinstance(value, Tuple):
            raise _no("a kernel whose inputs and results are not written as tuples", expr)
        return value.fields

    def _constant(self, expr: Expr) -> Constant | None:
        """Return the constant that an expression is or names, None for anything else."""
        value = self.held.get(expr) if isinstance(expr, Var) else expr
        return value if isinstance(value, Constant) else None

    def _on_device(self, call: OpCall, operands: tuple[int, ...]) -> int:
        """Load a constant on the device where it is needed; all else is where it is said to be already."""
        constant = self._constant(call.args[0])
        if constant is None:
            return operands[0]
        device = self.pool.device(call.attrs.virtual_device)
        return self.into(Opcode.LOAD_CONST, self.pool.constant(constant, device), device, ..., node=constant)

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
