"""`Tries`: the different wrong answers of a learner, by exercise and requirement; hints grow with their number.

Answers are remembered by a digest of what they say, so that running the same cell again is not another try.
"""

from __future__ import annotations

import hashlib
import re
from types import CodeType
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@checked
class Tries:
    """Counts the different wrong answers to each requirement of each exercise, in memory."""

    def __init__(self) -> None:
        self.wrong: dict[tuple[str, str], list[str]] = {}

    def count(self, exercise: str, requirement: str, answer: Any) -> int:
        """Return how many different answers have failed this requirement, this one among them."""
        answers = self.wrong.setdefault((exercise, requirement), [])
        digest = digest_of(answer)
        if digest not in answers:
            answers.append(digest)
            self.added(exercise, requirement, digest)
        return len(answers)

    def added(self, exercise: str, requirement: str, digest: str) -> None:
        """Called for each new wrong answer; a kind of tries that is kept in a file writes it."""


KERNEL = Tries()  # for exercises without a lesson: counted for as long as the process runs


def digest_of(answer: Any) -> str:
    """Return a short text that is the same for answers that say the same, in this process and in later ones."""
    return hashlib.sha256(_described(answer).encode("utf-8", "backslashreplace")).hexdigest()[:16]


# recurses: answers that a person wrote, a few levels deep
def _described(answer: Any, depth: int = 8) -> str:
    if depth == 0:
        return "..."
    if isinstance(answer, (IRModule, Expr)):
        return str(answer)
    if isinstance(answer, CodeType):
        constants = [_described(constant, depth - 1) for constant in answer.co_consts]
        return f"{answer.co_code.hex()} {answer.co_names} {answer.co_varnames} {constants}"
    if isinstance(answer, type):
        members = sorted((name, value) for name, value in vars(answer).items() if not name.startswith("__module"))
        return f"class {[(name, _described(value, depth - 1)) for name, value in members]}"
    if isinstance(answer, np.ndarray):
        return (
            f"{answer.dtype} {answer.shape} {answer.tobytes().hex() if answer.dtype != object else answer.tolist()!r}"
        )
    code = getattr(answer, "__code__", None)
    if isinstance(code, CodeType):
        cells = [cell.cell_contents for cell in getattr(answer, "__closure__", None) or () if _is_filled(cell)]
        return f"def {_described(code, depth - 1)} {[_described(cell, depth - 1) for cell in cells]}"
    if isinstance(answer, (list, tuple)):
        return f"({', '.join(_described(part, depth - 1) for part in answer)})"
    if isinstance(answer, dict):
        return f"{{{', '.join(_described(part, depth - 1) for part in answer.items())}}}"
    try:
        own = getattr(answer, "__dict__", None) if "__repr__" not in vars(type(answer)) else None
        return f"{type(answer)} {_described(own, depth - 1) if own else _ADDRESS.sub('', repr(answer))}"
    except Exception:  # noqa: BLE001 - an answer is code of a learner: its `repr` may raise anything
        return type(answer).__name__


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:  # a variable that has no value yet
        return False
