"""From Relay to one Python module that needs only NumPy.

    source = python_source(mod)          # text, and constants for the file next to it
    source.save("net.py")                # net.py and net.npz; `import net; net.main(x)`

The passes of `relay.build` and the VM compiler run first, up to fusion. The text begins with the program and ends with
its support code: kernels, operators, the driver of calls.

The file begins with a program as one Python file for a machine without passlab, and a stub of its types for editors and
type checkers.
"""

from __future__ import annotations

import base64
import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from passlab import limits
from passlab.atomic_file import atomic_files, write_text
from passlab.errors import Diagnostic, LimitError, RunError, VerifyError
from passlab.executor.aot import prelude
from passlab.executor.aot.kernel_source import VendoredDefinitions
from passlab.executor.aot.program_source import ProgramText
from passlab.executor.value_form import value_form
from passlab.ir.adt import constructor_numbers
from passlab.ir.expr import Function
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.span import Span
from passlab.ir.type_text import brief_type_text
from passlab.ir.types import TensorType, TupleType, Type, fold_tuple
from passlab.op.dtypes import Array
from passlab.passes.external.inline_composites import inlined
from passlab.rewriting.operator_values import operators_called
from passlab.rewriting.parameters import bind_params
from passlab.transform import Sequential, parse_pipeline
from passlab.vm.compiling.compiler import OPTIMISE, as_module, compiling, reachable
from passlab.vm.files.disk import as_path, write_bytes
from passlab.vm.kernels.kernel_text import Names, docstring, literal

LONGEST_TUPLE = 1000  # tensors of one type in a stub; longer types are abbreviated
WIDTH = 118  # characters of a line of an array
MARK = "# ------------------------------ arrays, in base64"
_LOAD_BESIDE = 'with np.load(Path(__file__).with_suffix(".npz")) as file:'
_LOAD_INSIDE = f"""_data = Path(__file__).read_text(encoding="utf-8").rpartition("{MARK}\\n")[2]
with np.load(BytesIO(b64decode(_data.replace("# ", "")))) as file:"""


def single_text(text: str, constants: dict[str, Array]) -> str:
    """Return the text of a module with its arrays in it. The same program gives the same text."""
    if not constants:
        return text
    text = text.replace(_LOAD_BESIDE, _LOAD_INSIDE, 1)
    text = text.replace(", and the constants in the .npz file next to it", "", 1)
    text = re.sub(
        r"^from functools ", "from base64 import b64decode\nfrom functools ", text, count=1, flags=re.MULTILINE
    )
    text = re.sub(r"^from pathlib ", "from io import BytesIO\nfrom pathlib ", text, count=1, flags=re.MULTILINE)
    file = io.BytesIO()
    # NumPy's .npz format. `np.savez` writes the time into it, so the text would differ between runs.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as arrays:
        for name, array in constants.items():
            member = io.BytesIO()
            np.save(member, array, allow_pickle=False)
            arrays.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED)
    encoded = base64.b64encode(file.getvalue()).decode("ascii")
    # `textwrap.wrap` is quadratic here: it copies the rest of a long word for each line.
    lines = [encoded[at : at + WIDTH] for at in range(0, len(encoded), WIDTH)]
    return f"{text.rstrip()}\n\n\n{MARK}\n" + "".join(f"# {line}\n" for line in lines)


def stub_text(name: str, parameters: Sequence[str], types: Sequence[Type], result: Type) -> str:
    """Return the stub of a module: its entry function, with Relay's type of each parameter in a comment."""
    lines = [
        f"    {p}: {_annotation(ty)},  # {brief_type_text(ty, LONGEST_TUPLE)}"
        for p, ty in zip(parameters, types, strict=True)
    ]
    end = f") -> {_annotation(result)}: ...  # {brief_type_text(result, LONGEST_TUPLE)}"
    imports = ["from typing import Any", "", "import numpy as np", "from numpy.typing import NDArray", ""]
    return "\n".join([*imports, f"def {name}(", *lines, *(["    /,"] if lines else []), end, ""])


def _annotation(ty: Type) -> str:
    """Return a type as a Python annotation of arrays and tuples; a tuple of more than `LONGEST_TUPLE` tensors briefly.

    A short program can share one tuple many times, so that the full type is exponentially long.
    """
    with limits.override(tuple_fields=LONGEST_TUPLE):
        try:
            text: str = fold_tuple(ty, _array_annotation, lambda fields: f"tuple[{', '.join(fields) or '()'}]")
        except LimitError:
            return "tuple[Any, ...]"
    return text


def _array_annotation(ty: Type) -> str:
    if not isinstance(ty, TensorType):
        return "Any"
    name = "bool_" if ty.dtype == "bool" else ty.dtype
    return f"NDArray[np.{name}]" if hasattr(np, name) else "NDArray[Any]"


LOWER = """
    FuseOps
    LowerTE
    ToANormalForm(annotate=True)
    InferType
"""

PROGRAM = "the program"  # the title of the section with the functions of the program
SUPPORT = ("TailCall", "Ref", "ProgramError", "limits", "run")  # definitions of the prelude that `loading` uses


@dataclass(frozen=True)
class PythonSource:
    """A program as Python: its text, the arrays of its constants file, and the entry functions by Relay's names.

    `support` maps names of the prelude to their names in the text; `spans` maps lines of the text to locations in the
    Relay program; `stub` is the text of the stub file.
    """

    text: str
    constants: Mapping[str, np.ndarray[Any, Any]]
    entries: Mapping[str, str]
    support: Mapping[str, str] = field(default_factory=dict)
    spans: Mapping[str, Span | None] = field(default_factory=dict)
    stub: str = ""

    def with_loops(self, condition: str) -> PythonSource:
        """Return the source with `while condition:` instead of `while True:` in the program."""
        lines = self.text.split("\n")
        start = lines.index(_section_line(PROGRAM)) + 1
        end = next((i for i in range(start, len(lines)) if lines[i].startswith(_section_line(""))), len(lines))
        for i in range(start, end):
            if lines[i].strip() == "while True:":
                lines[i] = lines[i].replace("True", condition)
        return replace(self, text="\n".join(lines))

    def save(self, path: str | Path) -> Path:
        """Write the module to `path` (`.py`), and its constants next to it (`.npz`).

        Raises `FileAccessError`, and `RunError` for a text that is not a name, and for a kernel that is defined in the
        script or notebook that runs: no other process can import it.
        """
        target = as_path(path)
        if target.suffix != ".py" or not target.stem.isidentifier():
            raise RunError(Diagnostic(f"{target.name} is not a name of a Python module", hint="such as net.py"))
        found = re.search(r"^from __main__ import (\w+)", self.text, re.MULTILINE)
        if found is not None:
            message = f"{target.name} would import `{found[1]}` from the script or notebook that runs now"
            raise RunError(Diagnostic(message, hint=f"define `{found[1]}` in a module of its own, and import it there"))
        write_module(self, target)
        return target

    def save_single(self, path: str | Path) -> Path:
        """Write the module to `path` (`.py`) with its constants in it, and the stub of its types next to it
        (`.pyi`).
        """
        whole = replace(self, text=single_text(self.text, dict(self.constants)), constants={})
        target = whole.save(path)
        write_bytes(target.with_suffix(".pyi"), self.stub.encode("utf-8"), "the stub")
        return target

    def __str__(self) -> str:
        return self.text


def write_module(source: PythonSource, target: Path) -> None:
    """Write a module to a `.py` file, and its constants next to it (`.npz`). Raises `FileAccessError`."""
    beside = [target.with_suffix(".npz")] if source.constants else []
    with atomic_files(*beside, target) as unfinished:
        if beside:
            np.savez(unfinished[0], **source.constants)  # type: ignore[arg-type]
        write_text(unfinished[-1], source.text)


def python_source(mod: IRModule, params: Mapping[str, Any] | None = None, entry: str = "main") -> PythonSource:
    """Compile `entry` and all it calls, with `params` bound by name. Passes run under the current context.

    Raises `VerifyError` for what cannot be written in Python: operators with a state, attributes that are expressions.

    >>> source = executor.python_source(passlab.parse("def @main(%x: float32) { %x + 1f }"))
    >>> "def main(x)" in source.text
    True
    """
    # `building` makes the garbage collector wait: passes and writers create many small objects.
    with building():
        return source_of(lower(mod, params, entry), entry)


def lower(mod: IRModule, params: Mapping[str, Any] | None = None, entry: str = "main") -> IRModule:
    """Run the passes that precede `source_of`. Raises `VerifyError` if there is no such function."""
    mod = as_module(mod)
    if entry not in mod:
        raise VerifyError(Diagnostic(f"a Python module is compiled from the function `{entry}`, which does not exist"))
    passes = Sequential(parse_pipeline(OPTIMISE + LOWER).passes, name="aot.compile")
    with compiling():
        return passes(bind_params(operators_called(inlined(value_form(reachable(mod, entry)))), params, entry))


def source_of(mod: IRModule, entry: str = "main") -> PythonSource:
    """Write a module that `lower` returned as Python. Raises `VerifyError` for programs that Python cannot express."""
    with building():
        return _ModuleWriter(mod, entry).source()


class _ModuleWriter:
    """Writes the sections of the text of one module."""

    def __init__(self, mod: IRModule, entry: str) -> None:
        self.mod = mod
        self.names = Names()
        self.public = self.names.make(entry)
        self.names.take(("ml_dtypes",))
        self.library = VendoredDefinitions(self.names)
        self.library.reserve(prelude.Data)  # before the names of the program, one of which may be `Data`
        self.entry = entry
        self.program = ProgramText(mod, self.names, self.library, self.public)
        own = Names()
        own.take(("function",))  # the first parameter of `prelude.entry`
        self.parameters = [own.make(p.name_hint) for p in mod[entry].params]

    def source(self) -> PythonSource:
        """Return the finished module."""
        program = self.program
        program.write()
        entry = self._entry_text(self.mod[self.entry])
        constants = program.constants
        data = [] if not program.constructors else self._data_classes()
        records = [f"{name} = {text}" for text, name in constants.records.items()]
        if records:
            records = [self._copy_of(prelude.Attributes), "", "", *records]
        parts = [
            self._head(),
            _section("constants", "\n".join(self._loading_lines() + constants.lines)),
            _section("data types", "\n\n\n".join(data)),
            _section(PROGRAM, "\n\n".join(program.blocks)),
            _section("kernels: operators that were fused", "\n\n".join(program.kernels.blocks)),
            _section("attributes of operators", "\n".join(records)),
            _section("operators and the driver, as they stand in passlab", "\n\n".join(self.library.blocks)),
            _section("entry", entry),
        ]
        text = re.sub(r"\n{4,}", "\n\n\n", "\n\n".join(p for p in parts if p)).rstrip() + "\n"
        table = {name: self.library.copy_names.get(id(getattr(prelude, name))) for name in SUPPORT}
        support = {name: copy for name, copy in table.items() if copy}
        spans = program.spans | program.kernels.spans
        function = self.mod[self.entry]
        types = [p.checked_type for p in function.params]
        stub = stub_text(self.public, self.parameters, types, function.body.checked_type)
        return PythonSource(text, constants.arrays, {self.entry: self.public}, support, spans, stub)

    def _head(self) -> str:
        imports = dict(self.library.imports)
        constants = self.program.constants
        if constants.arrays:
            imports["from pathlib import Path"] = None
        if constants.needs_ml_dtypes:
            imports["import ml_dtypes"] = None
        if self.program.constructors:
            imports["from dataclasses import dataclass"] = None
        future, *rest = imports
        signature = f"{self.public}({', '.join(self.parameters)})"
        needs = "NumPy and ml_dtypes" if constants.needs_ml_dtypes else "NumPy"
        beside = ", and the constants in the .npz file next to it" if constants.arrays else ""
        text = f"A Relay program as Python: call `{signature}`. It needs only {needs}{beside}."
        lines = "\n".join(sorted(rest, key=_import_order))
        return f'"""{text}\n\nMade by passlab.\n"""\n\n{future}\n\n{lines}'

    def _loading_lines(self) -> list[str]:
        """Return the statements that load the constants file."""
        if not self.program.constants.arrays:
            return []
        return [
            'with np.load(Path(__file__).with_suffix(".npz")) as file:',
            "    constants = {name: file[name] for name in file.files}",
            "for array in constants.values():",
            "    array.flags.writeable = False",
        ]

    def _copy_of(self, definition: type) -> str:
        """Return the copy of a definition of the prelude, for a section other than the operators."""
        self.library.value(definition, definition.__name__)
        return self.library.blocks.pop()

    def _data_classes(self) -> list[str]:
        """Return the classes of the constructors, and their base class."""
        base = self.library.reserve(prelude.Data)
        out = [self._copy_of(prelude.Data)]
        numbers = constructor_numbers(self.mod.type_definitions.values())
        for constructor, name in self.program.constructors.items():
            fields = [f"    _{i}: object" for i in range(len(constructor.inputs))]
            doc = "    " + docstring(f"{constructor.name_hint} of {constructor.belong_to.name_hint}.")
            lines = ["@dataclass(slots=True, eq=False, repr=False)", f"class {name}({base}):", doc, ""]
            tag = f"    tag: ClassVar = {numbers[constructor]}"
            self.library.imports["from typing import ClassVar"] = None
            out.append("\n".join([*lines, *fields, tag]))
        return out

    def _entry_text(self, function: Function) -> str:
        """Return the statement that wraps the entry function in `prelude.entry`, with the checks of its arguments."""
        tensor = ""

        def check_of(ty: Type) -> str:
            nonlocal tensor
            if not isinstance(ty, TensorType):
                return "None"
            tensor = tensor or self.library.value(prelude.Tensor, "Tensor")
            dims = "".join(f", {d if isinstance(d, int) else None}" for d in ty.shape)
            return f"{tensor}({literal(ty.dtype)}{dims})"

        def tuple_of(fields: list[str]) -> str:
            return f"({''.join(f'{field}, ' for field in fields)})"

        checks: dict[str, str] = {}
        for name, param in zip(self.parameters, function.params, strict=True):
            ty = param.type_annotation
            checks[name] = fold_tuple(ty, check_of, tuple_of) if isinstance(ty, (TensorType, TupleType)) else "None"
        wrapper = self.library.value(prelude.entry, "entry")
        inner = self.program.globals[self.entry]
        arguments = "".join(f",\n    {name}={check}" for name, check in checks.items())
        return f"{self.public} = {wrapper}(\n    {inner}{arguments},\n)"


def _section(title: str, text: str) -> str:
    return f"{_section_line(title)}\n{text.strip()}\n\n" if text.strip() else ""


def _section_line(title: str) -> str:
    return f"# {'-' * 30} {title}"


def _import_order(line: str) -> tuple[bool, str]:
    return ("numpy" in line or "ml_dtypes" in line, line)  # NumPy after the standard library
