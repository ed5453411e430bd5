"""What an instruction of HLO calls: the operations inside a fusion, a loop or a reduction.

    %fusion.33 = f32[16] fusion(%y), calls=%fused_reduce        fused_reduce  multiply  %multiply.2  jit(step)/mul
    %fused_reduce (param_0: f32[16,10]) -> f32[16] { ... }      fused_reduce  reduce    %reduce.7    jit(step)/sum

Profilers and the names of kernels write fusion_33 for %fusion.33, so signs between words are equal here.
"""

from __future__ import annotations

import re
from collections import deque

from passlab.errors import Diagnostic, DumpError, did_you_mean
from passlab.table import Table

_COMPUTATION = re.compile(r"(?:ENTRY )?%?([\w.-]+) .*\{\s*\Z")
_INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?([\w.-]+) = .*?[\])}] ?([a-z][-a-z0-9]*)\(")
_CALLED = re.compile(r"\b(?:calls|to_apply|body|condition|\w+_computations?)=(?:\{([^{}]*)\}|(%?[\w.-]+))")
_SOURCE = re.compile(r'\bop_name="([^"]*)"')


def operations_inside(program: str, name: str) -> Table:
    """Return the operations of the computations that an instruction calls, or of a computation, callers first.

    Raises `DumpError` for a name that the program does not have.
    """
    computations: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in program.split("\n"):
        if match := _COMPUTATION.match(line):
            lines = computations.setdefault(match[1], [])
        elif _INSTRUCTION.match(line):
            lines.append(line)
    names = {_plain(one): [one] for one in computations}
    for line in [line for lines in computations.values() for line in lines]:
        if match := _INSTRUCTION.match(line):
            names[_plain(match[1])] = _called(line)
    if _plain(name) not in names:
        hint = did_you_mean(name, names) or "`rec.find(r'fusion\\(')` lists the fusions"
        raise DumpError(Diagnostic(f"no instruction `{name}` is in the program", hint=hint))
    waiting = deque(names[_plain(name)])
    rows: list[tuple[str, str, str, str]] = []
    seen: set[str] = set()
    while waiting:
        inside = waiting.popleft()
        if inside in seen:
            continue
        seen.add(inside)
        for line in computations.get(inside, ()):
            match = _INSTRUCTION.match(line)
            if match is None or match[2] == "parameter":
                continue
            source = _SOURCE.search(line)
            rows.append((inside, match[2], match[1], source[1] if source else ""))
            waiting += _called(line)
    return Table(("unit", "operator", "name", "source"), rows)


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name.removeprefix("%"))


def _called(line: str) -> list[str]:
    """Return the names of the computations that a line calls."""
    found = [one for groups in _CALLED.findall(line) for one in "".join(groups).split(",")]
    return [one.strip().removeprefix("%") for one in found]
