"""A program as one Python file for a machine without passlab, and its types for editors and type checkers.

Arrays stand in the file itself, as comments behind the program, so that the text stays readable from its top. The types
are a stub beside it: `net.pyi` for `net.py`.
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

LONGEST_TUPLE = 1000  # tensors whose types are written down
WIDTH = 118  # characters of a line of an array
MARK = "# ------------------------------ arrays, in base64"
_LOAD = 'with np.load(Path(__file__).with_suffix(".npz")) as file:'
_HERE = f"""_data = Path(__file__).read_text(encoding="utf-8").rpartition("{MARK}\\n")[2]
with np.load(BytesIO(b64decode(_data.replace("# ", "")))) as file:"""


def single_text(text: str, constants: dict[str, Array]) -> str:
    """Return the text of a module with its arrays in it. The same program gives the same text."""
    if not constants:
        return text
    text = text.replace(_LOAD, _HERE, 1)
    text = text.replace(", and the constants in the .npz file beside it", "", 1)
    text = re.sub(
        r"^from functools ", "from base64 import b64decode\nfrom functools ", text, count=1, flags=re.MULTILINE
    )
    text = re.sub(r"^from pathlib ", "from io import BytesIO\nfrom pathlib ", text, count=1, flags=re.MULTILINE)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as arrays:  # what NumPy calls .npz, without times in it
        for name, array in constants.items():
            line = io.BytesIO()
            np.save(line, array, allow_pickle=False)
            arrays.writestr(zipfile.ZipInfo(f"{name}.npy"), line.getvalue(), zipfile.ZIP_DEFLATED)
    encoded = base64.b64encode(file.getvalue()).decode("ascii")
    # `textwrap.wrap` copies what is left of a long word for each line.
    lines = [encoded[at : at + WIDTH] for at in range(0, len(encoded), WIDTH)]
    return f"{text.rstrip()}\n\n\n{MARK}\n" + "".join(f"# {line}\n" for line in lines)


def stub_text(name: str, parameters: Sequence[str], types: Sequence[Type], result: Type) -> str:
    """Return the stub of a module: its entry, with the type in Relay behind each parameter."""
    lines = [f"    {p}: {_spell(ty)},  # {_brief(ty)}" for p, ty in zip(parameters, types, strict=True)]
    entry = [
        f"def {name}(",
        *lines,
        *(["    /,"] if lines else []),
        f") -> {_spell(result)}: ...  # {_brief(result)}",
    ]
    return "\n".join(
        ["from typing import Any", "", "import numpy as np", "from numpy.typing import NDArray", "", *entry, ""]
    )


def _spell(ty: Type) -> str:
    """Return a type as Python says it: arrays, and tuples of them; a tuple of very many without what is in it.

    A short program can share one tuple many times, and then the type in full is longer than anything.
    """
    with limits.override(tuple_fields=LONGEST_TUPLE):
        try:
            spelled: str = fold_tuple(ty, _leaf, lambda fields: f"tuple[{', '.join(fields) or '()'}]")
        except LimitError:
            return "tuple[Any, ...]"
    return spelled


def _brief(ty: Type) -> str:
    """Return a type in Relay, cut short where it is longer than a stub needs."""
    return brief_type_text(ty, LONGEST_TUPLE)


def _leaf(ty: Type) -> str:
    if not isinstance(ty, TensorType):
        return "Any"
    name = "bool_" if ty.dtype == "bool" else ty.dtype
    return f"NDArray[np.{name}]" if hasattr(np, name) else "NDArray[Any]"
