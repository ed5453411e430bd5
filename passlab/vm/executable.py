"""A compiled program: functions of instructions, constants, kernels, and their listings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.arguments import checked
from passlab.devices import VirtualDevice
from passlab.errors import Diagnostic, RunError, RunTypeError, counted, did_you_mean, type_in_words
from passlab.evaluate.arguments import check_argument
from passlab.ir.adt import Constructor, TypeData, constructor_numbers
from passlab.ir.expr import Function, Var
from passlab.lazy import notebook_forms
from passlab.table import Table
from passlab.vm.isa import Instruction, Opcode, encode
from passlab.vm.kernels.primitive import Kernel, make_kernel
from passlab.vm.kernels.providers import Choice, Provider, provider_for

if TYPE_CHECKING:
    from passlab.ir.module import IRModule
    from passlab.vm.files.saving import KernelLibrary


def device_of(virtual_device: VirtualDevice | None) -> VirtualDevice:
    """Return a virtual device without its target, the host for None."""
    return (
        VirtualDevice(virtual_device.device, None, virtual_device.memory_scope) if virtual_device else VirtualDevice()
    )


COLUMN = 40  # of a listing: here the text of an instruction begins


@dataclass(frozen=True)
class VMFunction:
    """One function: its name, parameter names, instructions and number of registers.

    >>> exe = vm.compile(passlab.parse("def @main(%x: float32) { %x + 1f }"))
    >>> exe.function("main").name, exe.function("main").params
    ('main', ('x',))
    """

    name: str
    params: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    register_file_size: int
    param_device_indexes: tuple[int, ...] = ()

    @cached_property
    def returned_register(self) -> tuple[int | None, ...]:
        """For each instruction the register that is returned if only its moves, kills of others and jumps ahead follow.

        None where other instructions follow.
        """
        count = len(self.instructions)
        # One entry more than instructions: each looks at the entry behind it.
        targets: list[int | None] = [None] * (count + 1)
        # Backwards, so that jumps ahead find the entry of their target.
        for pc in range(count - 1, -1, -1):
            i = self.instructions[pc]
            if i.opcode is Opcode.RET:
                targets[pc] = i.operands[0]
            elif i.opcode is Opcode.GOTO and 0 < i.operands[0] <= count - pc:
                targets[pc] = targets[pc + i.operands[0]]
            # What is returned is a copy of this operand.
            elif i.opcode is Opcode.MOVE and targets[pc + 1] == i.operands[1]:
                targets[pc] = i.operands[0]
            elif i.opcode is Opcode.KILL_REGISTER and targets[pc + 1] != i.operands[0]:
                targets[pc] = targets[pc + 1]
        return tuple(targets)

    def listing(self) -> str:
        """Return the function's instructions as Relay lists them: numbers, then text."""
        lines = [
            f"# reg file size = {self.register_file_size}",
            f"# instruction count = {len(self.instructions)}",
            "opcode, fields # inst(text):",
        ]
        for i, instruction in enumerate(self.instructions):
            numbers = "".join(f"{n} " for n in encode(instruction))
            lines.append(f"{f'{i:2}: {numbers}':<{COLUMN}}  # {instruction}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Compilation:
    """The program, parameters, target, pass context options and entry that an executable was compiled from.

    Views compile the program again to show where instructions come from.
    """

    program: IRModule
    params: Mapping[str, Any] | None
    target: Any
    options: Mapping[str, Any]
    entry: str = "main"


@checked
@dataclass(eq=False)
class Executable:
    """A compiled program. Functions, kernels, constants and devices are numbered in the order of their tuples.

    `kernel_functions` are the primitive functions of the kernels; `type_definitions` the data types, for results;
    `entry_types` the signatures of functions that may be called from outside. A late-bound constant is None, and
    `late_bound` has its name by number. The first device is the host; `const_device_indexes` has the device of each
    constant. `providers`, one for each device, have the kernels; NumPy is the default. Executables read from files have
    no `compilation`.

    >>> exe = vm.compile(passlab.parse("def @main(%x: Tensor[(2), float32]) { %x + 1f }"))
    >>> code, library = exe.save()
    >>> print(vm.VirtualMachine(vm.Executable.load_exec(code, library)).run(np.float32([1, 2])))
    [2. 3.]
    """

    _repr_mimebundle_ = notebook_forms

    functions: tuple[VMFunction, ...]
    constants: tuple[np.ndarray[Any, Any] | None, ...]
    kernel_names: tuple[str, ...]
    kernel_functions: tuple[Function, ...]
    type_definitions: tuple[TypeData, ...] = ()
    entry_types: dict[str, Function] = field(default_factory=dict)
    late_bound: dict[int, str] = field(default_factory=dict)
    virtual_devices: tuple[VirtualDevice, ...] = (VirtualDevice(),)
    const_device_indexes: tuple[int, ...] = ()
    providers: tuple[Provider, ...] = ()
    compilation: Compilation | None = None

    def __post_init__(self) -> None:
        if not self.const_device_indexes:
            self.const_device_indexes = (0,) * len(self.constants)

    @cached_property
    def kernel_devices(self) -> tuple[int, ...]:
        """The number of the device of each kernel."""
        numbers = {device: i for i, device in enumerate(self.virtual_devices)}
        return tuple([numbers.get(device_of(f.virtual_device), 0) for f in self.kernel_functions])

    @cached_property
    def constructors(self) -> dict[int, Constructor]:
        """The constructors by the numbers in instructions: their tags, unless two types share one."""
        return {number: c for c, number in constructor_numbers(self.type_definitions).items()}

    @cached_property
    def global_map(self) -> dict[str, int]:
        """The number of each function by name."""
        return {f.name: i for i, f in enumerate(self.functions)}

    @property
    def globals(self) -> list[str]:
        """The names of the functions, by number."""
        return [f.name for f in self.functions]

    @property
    def primitive_ops(self) -> list[str]:
        """The names of the kernels, by number."""
        return list(self.kernel_names)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels, made on first use by the providers of their devices."""
        if not self.providers:
            return tuple(make_kernel(f) for f in self.kernel_functions)
        return tuple(
            # Shape functions compute on shapes, which are NumPy arrays on all devices.
            make_kernel(f) if f.attrs.get("ShapeFunction") else self.providers[device].kernel(f)
            for f, device in zip(self.kernel_functions, self.kernel_devices, strict=True)
        )

    def on(self, providers: Sequence[Provider]) -> Executable:
        """Return the executable with a provider for each device, its constants moved to their devices."""
        if all(type(p) is Provider for p in providers):
            return self
        targets = [providers[i] for i in self.const_device_indexes]
        constants = [None if c is None else p.to_device(c) for c, p in zip(self.constants, targets, strict=True)]
        return replace(self, constants=tuple(constants), providers=tuple(providers))

    def placement(self, providers: Choice = None) -> Table:
        """Return where each kernel runs and why: its number, name, device, what computes it, and the reason.

        `providers` are the providers of a `VirtualMachine`; its own executable, `vm.machine.exe`, has them already.
        Operators without a counterpart in the provider run on NumPy, on the host; shape functions always do.
        """
        exe = self
        if providers is not None or not self.providers:
            exe = self.on([provider_for(place.device, providers) for place in self.virtual_devices])
        places = [str(exe.virtual_devices[device].device) for device in exe.kernel_devices]
        rows = [(i, name, places[i], *exe.placed(i)) for i, name in enumerate(exe.kernel_names)]
        return Table(("number", "kernel", "device", "runs_on", "why"), rows)

    def placed(self, number: int) -> tuple[str, str]:
        """Return what computes a kernel ("numpy", "torch on cuda:0", both), and why not the provider alone."""
        kernel = self.kernels[number]
        is_shape = bool(kernel.shapes and self.providers)
        return ("numpy", "it computes a shape, which the host needs") if is_shape else kernel.placement

    def is_native(self, device: int) -> bool:
        """Whether the arrays on a device are NumPy's."""
        return not self.providers or self.providers[device].native

    def copier(self, source: int, target: int) -> Callable[[Any], Any]:
        """Return the function that copies an array from one device to another."""
        if not self.providers:
            return lambda value: value.copy()
        src, dst = self.providers[source], self.providers[target]
        if src.native and dst.native:
            return lambda value: value.copy()
        return lambda value: dst.to_device(src.to_host(value))

    @cached_property
    def compiled_code(self) -> dict[str, Any]:
        """A cache of the engines: code compiled from the functions and constants, dropped when constants change."""
        return {}

    def function(self, name: Any) -> VMFunction:
        """Return a function by name. Raises `RunError` with the nearest names."""
        if not isinstance(name, str) or name not in self.global_map:
            hint = did_you_mean(str(name), self.globals) or f"it has {', '.join(self.globals)}"
            raise RunError(Diagnostic(f"the executable has no function `{name}`", hint=hint))
        return self.functions[self.global_map[name]]

    def get_function_arity(self, name: str) -> int:
        """Return how many parameters a function has."""
        return len(self.function(name).params)

    def get_function_params(self, name: str) -> list[str]:
        """Return the parameter names of a function."""
        return list(self.function(name).params)

    @property
    def bytecode(self) -> str:
        """The listing of all functions."""
        parts = [
            f"VM Function[{i}]: {f.name}({', '.join(f.params)})\n{f.listing()}\n" for i, f in enumerate(self.functions)
        ]
        return "\n".join(parts)

    @property
    def primitives(self) -> str:
        """The listing of the kernels."""
        return "".join(f"VM PackedFunc[{i}]: {name}\n" for i, name in enumerate(self.kernel_names))

    @property
    def lib(self) -> KernelLibrary:
        """The kernels as Relay text."""
        return self.save()[1]

    @property
    def stats(self) -> str:
        """A summary: constants, globals, kernels."""
        shapes = ", ".join(_shape_text(c) for c in self.constants)
        names = ", ".join(f'("{n}", {i})' for i, n in enumerate(self.globals))
        return "\n".join(
            (
                "Relay VM executable statistics:",
                f"  Constant shapes (# {len(self.constants)}): [{shapes}]",
                f"  Globals (#{len(self.functions)}): [{names}]",
                f"  Primitive ops (#{len(self.kernel_names)}): [{', '.join(self.kernel_names)}]",
            )
        )

    # ------------------------------------------------------------ files
    def __copy__(self) -> Executable:
        return replace(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what `save` writes, without late-bound constants."""
        bytecode, library = self.save()
        return Executable.load_exec, (bytecode, library.text)

    def save(self) -> tuple[bytes, KernelLibrary]:
        """Return the executable as bytes, and its kernels. Equal executables have equal bytes."""
        # Imported here since `saving` imports this module.
        from passlab.vm.files.saving import save

        return save(self)

    @property
    def mod(self) -> Executable:
        """The executable itself, for Relay programs that use the runtime module: `exe.mod.export_library(path)`."""
        return self

    module = mod

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a method by its name, as Relay programs get functions of a loaded module. Raises `RunError`."""
        late_bound = ("get_late_bound_consts", "load_late_bound_consts_from_map", "move_late_bound_consts")
        names = (*late_bound, "get_function_arity", "load_late_bound_consts", "save")
        if name not in names:
            hint = did_you_mean(name, names) or f"it has {', '.join(names)}"
            raise RunError(Diagnostic(f"the executable has no function `{name}`", hint=hint))
        method: Callable[..., Any] = getattr(self, name)
        return method

    def export_library(self, file_name: str | PathLike[str], *_: Any, **__: Any) -> None:
        """Write the executable and its kernels to one file, which `relay.runtime.load_module` reads.

        Further arguments, about compilers of other languages, are accepted and ignored. Raises `RunError` where the
        file cannot be written.
        """
        from passlab.vm.files.disk import write_bytes
        from passlab.vm.files.library_file import pack
        from passlab.vm.files.saving import EXECUTABLE

        code, library = self.save()
        write_bytes(file_name, pack(EXECUTABLE, (code, library.bytes)), "the library")

    @staticmethod
    def load_exec(bytecode: bytes | bytearray | str, lib: KernelLibrary | str | None = None) -> Executable:
        """Return the executable that `save` wrote. Raises `VerifyError` for malformed bytes and invalid bytecode."""
        from passlab.vm.files.loading import load

        return load(bytecode, lib)

    def get_late_bound_consts(self, byte_limit: int) -> dict[str, np.ndarray[Any, Any]]:
        """Remove the constants of at least `byte_limit` bytes and return them by name.

        `save` leaves them out as well. Raises `RunTypeError` if the limit is not a whole number.
        """
        if isinstance(byte_limit, bool) or not isinstance(byte_limit, (int, np.integer)):
            raise RunTypeError(f"`byte_limit` is a number of bytes, not {type_in_words(byte_limit)}")
        removed: dict[str, np.ndarray[Any, Any]] = {}
        constants = list(self.constants)
        for i, constant in enumerate(constants):
            if constant is not None and constant.nbytes >= byte_limit:
                self.late_bound[i] = f"const_{i}"
                removed[f"const_{i}"] = constant
                constants[i] = None
        self.constants = tuple(constants)
        # Compiled code contains the constants as they were.
        self.__dict__.pop("compiled_code", None)
        return removed

    def move_late_bound_consts(self, path: str, byte_limit: int) -> None:
        """Move the constants of at least `byte_limit` bytes to a file."""
        from passlab.vm.files.constant_files import save_constants

        before = self.constants, dict(self.late_bound)
        try:
            save_constants(path, self.get_late_bound_consts(byte_limit))
        # Without this, an interrupt would lose constants that are removed and not yet written.
        except BaseException:
            self.constants, self.late_bound = before
            raise

    def load_late_bound_consts(self, path: str) -> None:
        """Restore the late-bound constants from a file."""
        from passlab.vm.files.constant_files import load_constants

        self.load_late_bound_consts_from_map(load_constants(path))

    def load_late_bound_consts_from_map(self, constants: Mapping[str, Any]) -> None:
        """Restore the late-bound constants by name.

        Raises `RunError`, changing nothing, for a wrong set of names. Raises `RunTypeError` for values that are not
        arrays.
        """
        if not isinstance(constants, Mapping):
            raise RunTypeError(f"constants are a dict of arrays by name, not {type_in_words(constants)}")
        expected = {name: i for i, name in self.late_bound.items()}
        missing = [n for n in expected if n not in constants]
        unused = [n for n in constants if n not in expected]
        if missing or unused:
            what = f"has no `{missing[0]}`" if missing else f"has `{unused[0]}`, which the executable does not need"
            raise RunError(f"the map of late-bound constants {what}")
        filled = list(self.constants)
        for name, i in expected.items():
            filled[i] = check_argument(Var(name), constants[name])
            if not isinstance(filled[i], np.ndarray):
                raise RunTypeError(f"the constant `{name}` must be an array, not {type_in_words(filled[i])}")
        self.constants = tuple(filled)
        self.__dict__.pop("compiled_code", None)
        self.late_bound = {}

    def check_complete(self) -> None:
        """Raise `RunError` while late-bound constants are missing."""
        if self.late_bound:
            names = ", ".join(list(self.late_bound.values())[:4])
            raise RunError(
                Diagnostic(
                    f"{counted(len(self.late_bound), 'constant')} of the executable are missing: {names}",
                    hint="restore them with `load_late_bound_consts`",
                )
            )

    def __repr__(self) -> str:
        count = sum(len(f.instructions) for f in self.functions)
        return f"Executable({len(self.functions)} functions, {count} instructions, {len(self.kernel_names)} kernels)"


def _shape_text(constant: np.ndarray[Any, Any] | None) -> str:
    if constant is None:
        return "elsewhere"
    return f"[{', '.join(map(str, constant.shape))}]" if constant.shape else "scalar"
