"""Executables as bytes. Everything is little-endian; lists and strings come after their length (8 bytes).

    magic number (8 bytes), version string
    then six sections, each as: length (8), that many bytes, their CRC-32 (4)
        devices     for each its kind (with its number, if that is not 0: "cpu:1") and memory; then the host's number
        globals     the names of the functions, by number
        constants   for each: 0 and a record of TVM's binary NDArray, or 1 and the name it is kept under elsewhere
        primitives  the names of the kernels, by number; then of each the attributes that are strings
        code        for each function: name, registers, instructions; parameter names; their devices; instructions
        types       the digest of the library's text, which has the data types and signatures

An instruction is a list of integers: a checksum of the rest, the opcode, the operands in the order of the listing.
The kernels themselves, the data types and the signatures of the functions are Relay text: `KernelLibrary`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, RunError, RunTypeError, VerifyError, type_in_words
from passlab.ir.adt import TypeData
from passlab.ir.expr import Function, Tuple
from passlab.ir.module import IRModule
from passlab.text.tensor_bytes import enough_memory, tensor_record
from passlab.vm.executable import Executable, VMFunction
from passlab.vm.files.disk import FileName, read_bytes, write_bytes
from passlab.vm.isa import encode

MAGIC = 0xD225DE2F4214151D  # TVM's, for the bytecode of its virtual machine
VERSION = "passlab-vm 1"
SECTIONS = ("devices", "globals", "constants", "primitives", "code", "types")
EXECUTABLE = "executable"  # the kind of a library file whose parts are an executable and its kernels
SIGNATURE = "Signature"  # the attribute of library functions that only declare the parameters of a function


@checked
@dataclass(frozen=True)
class KernelLibrary:
    """The kernels of an executable, its data types and the signatures of its functions, as Relay text."""

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise RunTypeError(f"a library is Relay text, not {type_in_words(self.text)}")

    def export_library(self, file_name: FileName, *_: Any, **__: Any) -> None:
        """Write the text to a file. Further arguments, about compilers, are accepted and ignored."""
        write_bytes(file_name, self.bytes, "the library")

    def get_source(self, fmt: str = "") -> str:
        """Return the text, whatever the format."""
        return self.text

    @staticmethod
    def of(functions: Mapping[str, Function], types: Iterable[TypeData] = ()) -> KernelLibrary:
        """Return the library of functions by name, and data types."""
        mod = IRModule()
        for data in types:
            mod.add_type(data)
        return KernelLibrary(mod.with_functions(functions).astext())

    @staticmethod
    def load(file_name: FileName) -> KernelLibrary:
        """Read the text from a file. Raises `VerifyError` if it is not UTF-8."""
        return KernelLibrary.of_bytes(read_bytes(file_name, "the library"))

    @staticmethod
    def of_bytes(data: bytes) -> KernelLibrary:
        """Return the library of a text in UTF-8. Raises `VerifyError` for other bytes."""
        try:
            return KernelLibrary(data.decode("utf-8", "surrogatepass"))
        except UnicodeDecodeError as error:
            raise VerifyError(Diagnostic(f"the library is not text: {error.reason} at byte {error.start:,}")) from None

    @property
    def digest(self) -> int:
        """A checksum of the text."""
        return zlib.crc32(self.bytes)

    @property
    def bytes(self) -> bytes:
        """The text in UTF-8."""
        return self.text.encode("utf-8", "surrogatepass")


@enough_memory("the bytes of this executable")
def save(exe: Executable) -> tuple[bytes, KernelLibrary]:
    """Return an executable as bytes, and its kernels."""
    functions: dict[str, Function] = dict(zip(exe.kernel_names, exe.kernel_functions, strict=True))
    for name, entry in exe.entry_types.items():
        # The body is a placeholder: only the parameters and their types are read back.
        functions[name] = Function(entry.params, Tuple(()), None, entry.type_params, {SIGNATURE: 1})
    library = KernelLibrary.of(functions, exe.type_definitions)
    sections = (
        _devices(exe),
        texts(exe.globals),
        _constants(exe),
        _primitives(exe),
        number(len(exe.functions)) + b"".join(map(_function, exe.functions)),
        number(library.digest),
    )
    return number(MAGIC) + text(VERSION) + b"".join(map(frame_section, sections)), library


def frame_section(section: bytes) -> bytes:
    """Return a section of a file: its length, its bytes, its checksum."""
    return number(len(section)) + section + struct.pack("<I", zlib.crc32(section))


def number(value: int) -> bytes:
    """Return a number as eight bytes."""
    return struct.pack("<Q", value)


def text(value: str) -> bytes:
    """Return a string as bytes, after its length."""
    # Python's strings may hold lone surrogates, which strict UTF-8 rejects.
    data = value.encode("utf-8", "surrogatepass")
    return number(len(data)) + data


def texts(values: Iterable[str]) -> bytes:
    """Return a list of strings as bytes, after its length."""
    items = list(values)
    return number(len(items)) + b"".join(map(text, items))


def numbers(values: Iterable[int]) -> bytes:
    """Return a list of integers as bytes, after its length."""
    items = list(values)
    return number(len(items)) + struct.pack(f"<{len(items)}q", *items)


def checksum(values: list[int]) -> int:
    """Return the checksum that stands before an instruction."""
    return zlib.crc32(struct.pack(f"<{len(values)}q", *values))


def _devices(exe: Executable) -> bytes:
    parts = [number(len(exe.virtual_devices))]
    for virtual_device in exe.virtual_devices:
        device = virtual_device.device
        name = f"{device.kind}:{device.device_id}" if device.device_id else device.kind
        parts.append(text(name) + text(virtual_device.memory_scope))
    return b"".join(parts) + number(0)  # the number of the host


def _constants(exe: Executable) -> bytes:
    parts = [number(len(exe.constants))]
    for i, constant in enumerate(exe.constants):
        if constant is None:
            parts.append(struct.pack("<I", 1) + text(exe.late_bound[i]))
        else:
            record = tensor_record(constant)
            parts.append(struct.pack("<I", 0) + number(len(record)) + record)
    parts.append(numbers(exe.const_device_indexes))
    return b"".join(parts)


def _primitives(exe: Executable) -> bytes:
    parts = [texts(exe.kernel_names), number(len(exe.kernel_functions))]
    for i, function in enumerate(exe.kernel_functions):
        # Sorted, so that equal executables have equal bytes.
        attrs = sorted((k, v) for k, v in function.attrs.items() if isinstance(v, str))
        parts.append(number(i) + number(len(attrs)) + b"".join(text(k) + text(v) for k, v in attrs))
    return b"".join(parts)


def _function(function: VMFunction) -> bytes:
    head = texts((function.name, str(function.register_file_size), str(len(function.instructions))))
    parts = [head, texts(function.params), numbers(function.param_device_indexes)]
    for instruction in function.instructions:
        fields = encode(instruction)
        try:
            parts.append(numbers([checksum(fields), *fields]))
        except struct.error as error:
            raise RunError(f"{function.name}: `{instruction}` does not fit 64-bit operands") from error
    return b"".join(parts)
