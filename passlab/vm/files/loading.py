"""Executables from untrusted bytes: each length is checked before use, and the bytecode is verified.

See `saving` for the format.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from passlab.devices import DEVICE_KINDS, Device, VirtualDevice
from passlab.errors import Diagnostic, OpNotFoundError, PasslabError, RunTypeError, VerifyError
from passlab.infer import infer_module
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.text.parser import parse
from passlab.text.tensor_bytes import tensor_of_record
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.files.saving import MAGIC, SECTIONS, SIGNATURE, VERSION, KernelLibrary, checksum
from passlab.vm.isa import Instruction, decode
from passlab.vm.verifier import verify

Part = TypeVar("Part")
# Device 0 has no number in its name, so each device has one spelling.
_DEVICE = re.compile(r"([a-z]+)(?::([1-9][0-9]{0,3}))?\Z")
CHUNK = 1 << 20  # bytes that are read at once
REGISTERS_PER_INSTRUCTION = 16  # at most; an instruction writes one


class Reader:
    """Reads a section, or a whole file, from its start. Raises `VerifyError` where the bytes end too early."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.at = 0

    def bad(self, why: str) -> VerifyError:
        """Return the error of a malformed section."""
        return VerifyError(Diagnostic(f"Invalid VM file format in the {self.name} section: {why}"))

    @property
    def left(self) -> int:
        """The number of bytes left."""
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        if count > self.left:
            raise self.bad(f"{count:,} bytes are announced and {self.left:,} are left")
        self.at += count
        return self.data[self.at - count : self.at]

    def number32(self) -> int:
        """Return a number of four bytes."""
        return int.from_bytes(self.take(4), "little")

    def number(self) -> int:
        """Return a number of eight bytes."""
        return int.from_bytes(self.take(8), "little")

    def count(self, size: int) -> int:
        """Return the length of a list whose elements take at least `size` bytes each."""
        count = self.number()
        # Checked before the list is allocated: a forged count could demand any amount of memory.
        if count * size > self.left:
            raise self.bad(f"a list of {count:,} is announced and {self.left:,} bytes are left")
        return count

    def text(self) -> str:
        """Return a string."""
        data = self.take(self.count(1))
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise self.bad("a string is not UTF-8") from None

    def texts(self) -> tuple[str, ...]:
        """Return a list of strings."""
        return tuple([self.text() for _ in range(self.count(8))])

    def numbers(self) -> list[int]:
        """Return a list of integers."""
        count = self.count(8)
        return list(struct.unpack(f"<{count}q", self.take(8 * count)))

    def head(self, magic: int, version: str) -> None:
        """Check the magic number and the version at the start of a file."""
        if self.number() != magic:
            raise self.bad("the magic number is wrong")
        text = self.text()
        if text != version:
            raise self.bad(f"the version is {text[:40]!r}, not {version!r}")

    def section(self, name: str) -> Reader:
        """Return the reader of the next section (see `saving.frame_section`), after a check of its checksum."""
        self.name = name
        data = self.take(self.number())
        if zlib.crc32(data) != self.number32():
            raise self.bad("its checksum is wrong")
        return Reader(data, name)

    def finish(self) -> None:
        """Check that nothing is left."""
        if self.left:
            raise self.bad(f"{self.left:,} bytes are left over")


def load(bytecode: bytes | bytearray | str, lib: KernelLibrary | str | None) -> Executable:
    """Return the executable of `bytecode` with the kernels of `lib`. Raises `VerifyError`, or `RunTypeError`."""
    if isinstance(bytecode, str):
        # Latin-1 turns each character below 256 into the byte of that number.
        bytecode = bytecode.encode("latin-1", "replace")
    if not isinstance(bytecode, (bytes, bytearray)):
        raise RunTypeError(f"bytecode is bytes or a bytearray, not {type(bytecode).__name__}")
    if not isinstance(lib, (KernelLibrary, str, type(None))):
        raise RunTypeError(f"a library is a KernelLibrary or its text, not {type(lib).__name__}")
    file = Reader(bytes(bytecode), "header")
    file.head(MAGIC, VERSION)
    sections = {name: file.section(name) for name in SECTIONS}
    file.finish()
    library = lib if isinstance(lib, KernelLibrary) else KernelLibrary(lib or "")
    # A checksum detects a mix-up of files; against forged bytes all parts are checked below.
    if _read_whole(sections["types"], Reader.number) != library.digest:
        raise VerifyError("the library is not the one that was saved with this executable")
    return _assemble(sections, _library_module(library.text))


def bytecode_size(read: Callable[[int], bytes]) -> int:
    """Return the number of bytes that bytecode announces; `read` returns its next bytes.

    Only the lengths of its sections are used: `load` checks the rest.
    """
    size = len(read(8))
    for frame in (0, *(4 for _ in SECTIONS)):  # the version has no checksum, sections have one
        length = int.from_bytes(read(8), "little") + frame
        size += 8 + length
        # In chunks, since an announced length may exceed the memory.
        while length > 0 and (data := read(min(length, CHUNK))):
            length -= len(data)
    return size


def _read_whole(section: Reader, read: Callable[[Reader], Part]) -> Part:
    part = read(section)
    section.finish()
    return part


def _assemble(sections: dict[str, Reader], mod: IRModule) -> Executable:
    devices = _read_whole(sections["devices"], _devices)
    names = _read_whole(sections["globals"], Reader.texts)
    constants, late_bound, constant_devices = _read_whole(sections["constants"], _constants)
    kernels = _read_whole(sections["primitives"], _primitives)
    functions = _read_whole(sections["code"], _functions)
    if tuple(f.name for f in functions) != names or len(set(names)) < len(names):
        raise sections["globals"].bad("the names differ from the names of the functions")
    exe = Executable(
        functions,
        constants,
        kernels,
        tuple(_kernel(mod, k) for k in kernels),
        tuple(mod.type_definitions.values()),
        {name: f for name, f in mod.items() if f.attrs.get(SIGNATURE)},
        late_bound,
        devices,
        constant_devices,
    )
    for function in functions:
        entry = exe.entry_types.get(function.name)
        if entry is not None and len(entry.params) != len(function.params):
            count = len(function.params)
            raise VerifyError(f"{function.name} has {count} parameters, and {len(entry.params)} in the library")
    verify(exe)
    return exe


def _library_module(text: str) -> IRModule:
    if not text:
        return IRModule()
    with well_formed("the library"):
        return infer_module(parse(text, source_name="library"))


@contextmanager
def well_formed(what: str) -> Iterator[None]:
    """Raise `VerifyError` for text that does not parse or type, and for an operator that is not registered here."""
    try:
        yield
    except PasslabError as error:
        head = Diagnostic(f"{what} is not well-formed Relay")
        if isinstance(error.__cause__, OpNotFoundError):
            hint = f"import the module that registers it, then load {what} again"
            head = Diagnostic(f"{what} needs an operator that is not registered", hint=hint)
        raise VerifyError(head, *error.diagnostics) from error


def kernel_functions(text: str) -> dict[str, Function]:
    """Return the primitive functions of a library's text by name. Raises `VerifyError` if it is malformed."""
    return {name: f for name, f in _library_module(text).items() if f.is_primitive}


def _kernel(mod: IRModule, name: str) -> Function:
    if name not in mod or not mod[name].is_primitive:
        raise VerifyError(f"the library has no kernel `{name}`")
    function: Function = mod[name]
    return function


def _devices(r: Reader) -> tuple[VirtualDevice, ...]:
    # 16: the lengths of two strings, of 8 bytes each.
    devices = tuple([VirtualDevice(_device(r), None, r.text()) for _ in range(r.count(16))])
    if not devices or r.number() != 0 or devices[0] != VirtualDevice():
        raise r.bad("the host is not the first device")
    if len(set(devices)) < len(devices):
        raise r.bad("a device is listed twice")
    return devices


def _device(r: Reader) -> Device:
    name = r.text()
    match = _DEVICE.match(name)
    if match is None or match[1] not in DEVICE_KINDS:
        raise r.bad(f"there is no device {name[:40]!r}")
    return Device(match[1], int(match[2] or 0))


def _constants(r: Reader) -> tuple[tuple[Any, ...], dict[int, str], tuple[int, ...]]:
    constants: list[Any] = []
    late: dict[int, str] = {}
    for i in range(r.count(12)):  # a kind of 4 bytes and a length of 8
        kind = r.number32()
        if kind == 1:
            late[i] = r.text()
            constants.append(None)
        elif kind == 0:
            try:
                constants.append(tensor_of_record(r.take(r.number())))
            except ValueError as error:
                raise r.bad(str(error)) from None
        else:
            raise r.bad(f"constant {i} has the unknown kind {kind}")
    devices = tuple(r.numbers())
    if len(devices) != len(constants):
        raise r.bad(f"there are {len(constants)} constants and {len(devices)} devices of them")
    if len(set(late.values())) < len(late):
        raise r.bad("two constants share a name")
    return tuple(constants), late, devices


def _primitives(r: Reader) -> tuple[str, ...]:
    names = r.texts()
    if r.count(16) != len(names) or len(set(names)) < len(names):
        raise r.bad("the kernels are not numbered one by one")
    for i in range(len(names)):
        if r.number() != i:
            raise r.bad("the attributes are not in order")
        for _ in range(2 * r.count(16)):
            r.text()
    return names


def _functions(r: Reader) -> tuple[VMFunction, ...]:
    return tuple([_function(r) for _ in range(r.count(8))])


def _function(r: Reader) -> VMFunction:
    head = r.texts()
    # Twelve digits are more than any file has; Python's `int` takes quadratic time for long texts.
    if len(head) != 3 or not all(h.isascii() and h.isdecimal() and len(h) < 12 for h in head[1:]):
        raise r.bad("a function has no name, register count and instruction count")
    name, registers, count = head[0], int(head[1]), int(head[2])
    params, devices = r.texts(), r.numbers()
    if len(devices) != len(params):
        raise r.bad(f"{name}: the devices do not fit its parameters")
    # An instruction has at least a length, a checksum and an opcode, of 8 bytes each.
    if count * 24 > r.left or registers > REGISTERS_PER_INSTRUCTION * (count + len(params)) + 64:
        raise r.bad(f"{name}: {count:,} instructions and {registers:,} registers are announced")
    return VMFunction(name, params, tuple([_instruction(r) for _ in range(count)]), registers, tuple(devices))


def _instruction(r: Reader) -> Instruction:
    operands = r.numbers()
    if not operands or operands[0] != checksum(operands[1:]):
        raise r.bad("the checksum of an instruction is wrong")
    return decode(operands[1:])
