"""A program as one Python file for a machine without passlab, and a stub of its types for editors and type checkers.

The arrays are comments at the end of the file, after the readable program. The stub of `net.py` is `net.pyi`.
"""

from __future__ import annotations

import base64
import io
import re
import zipfile
from collections.abc import Sequence

import numpy as np

from passlab import limits
from passlab.errors import LimitError
from passlab.ir.type_text import brief_type_text
from passlab.ir.types import TensorType, Type, fold_tuple
from passlab.op.dtypes import Array

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
    text = text.replace(", and the constants in the .npz file beside it", "", 1)
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
