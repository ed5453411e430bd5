"""The end of the course: a compiler of one's own compared with passlab's, and a page that says what it does.

proof = validate(compiled, images)
page = certificate(mine, compiled, proof, fuzz(mine))
page.save(Path("certificate.html"))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from passlab.atomic_file import write_text
from passlab.course.own import PARTS, Compiled, Fuzzed, OwnCompiler, evaluate
from passlab.display.html import escape


@dataclass(frozen=True)
class Proof:
    """A comparison with passlab on some inputs: how many, on how many the largest number is at the same place, and the
    largest difference.
    """

    inputs: int
    same: int
    difference: float

    def __repr__(self) -> str:
        return f"{self.same} of {self.inputs} inputs give the same answer; no number differs by more than {self.bound}"

    @property
    def bound(self) -> str:
        """The largest difference, rounded up to a power of ten."""
        if not self.difference:
            return "0"
        return f"1e{math.ceil(math.log10(self.difference))}" if math.isfinite(self.difference) else "any bound"


def validate(compiled: Compiled, inputs: Sequence[Any], text: str, mine: OwnCompiler) -> Proof:
    """Run the program on each input, and compare with passlab's evaluator on the steps as they were read."""
    program = compiled.program._replace(steps=list(mine.read(text)))
    same, worst = 0, 0.0
    for array in inputs:
        batch = np.asarray(array, "float32")
        given, expected = compiled.run(batch), evaluate(program, {program.inputs[0]: batch})
        same += int(np.argmax(given) == np.argmax(expected))
        difference = np.abs(np.subtract(given, expected, dtype="float64")).max()
        worst = max(worst, float(difference) if np.isfinite(difference) else math.inf)
    return Proof(len(inputs), same, worst)


@dataclass(frozen=True)
class Certificate:
    """What a compiler of one's own does: its parts, what it made of a program, and how it was tested."""

    parts: tuple[tuple[str, bool], ...]
    kernels: tuple[tuple[str, ...], ...]
    bytes_of_buffers: int
    proof: Proof
    fuzzed: Fuzzed
    source: str

    @property
    def own(self) -> int:
        """How many parts the learner wrote."""
        return sum(is_own for _, is_own in self.parts)

    @property
    def is_right(self) -> bool:
        """Whether no test found a fault."""
        return self.fuzzed.failure is None and self.proof.same == self.proof.inputs and self.proof.difference < 1e-3

    @property
    def verdict(self) -> str:
        """The result of all tests in a sentence."""
        return "It passed every test." if self.is_right else "It did not pass every test."

    def __repr__(self) -> str:
        lines = [
            f"A compiler of one's own: {self.own} of {len(self.parts)} parts are yours.",
            f"digits: {len(self.kernels)} kernels, {self.bytes_of_buffers:,} bytes of buffers",
            f"compared with passlab: {self.proof}",
            f"fuzzed: {self.fuzzed}",
            self.verdict,
        ]
        return "\n".join(lines)

    def save(self, path: Path) -> Path:
        """Write the certificate as a page, which needs no network; return its path. Raises `FileAccessError`."""
        rows = [
            f"<tr><td>{escape(PARTS[name])}<td>{'yours' if own else 'of the solution'}</tr>" for name, own in self.parts
        ]
        kernels = [f"<li>{escape(' + '.join(ops))}</li>" for ops in self.kernels]
        page = [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            "<title>A compiler of one\u2019s own</title><style>",
            ":root{color-scheme:light dark}",
            "body{font:16px/1.5 system-ui;max-width:50rem;margin:2rem auto;padding:0 1rem}",
            "td{padding:.2rem 1rem .2rem 0}pre{overflow:auto;font-size:12px}</style></head><body>",
            "<h1>A compiler of one\u2019s own</h1>",
            f"<p>{self.own} of {len(self.parts)} parts are the learner\u2019s. {self.verdict}</p>",
            f"<h2>Its parts</h2><table>{''.join(rows)}</table><h2>What it made of digits</h2>",
            f"<p>{len(self.kernels)} kernels, {self.bytes_of_buffers:,} bytes of buffers:</p>",
            f"<ol>{''.join(kernels)}</ol>",
            f"<h2>How it was tested</h2><p>Next to passlab: {escape(repr(self.proof))}.</p>",
            f"<p>With random programs: {escape(repr(self.fuzzed))}.</p>",
            f"<h2>The program in Python</h2><pre>{escape(self.source)}</pre></body></html>",
        ]
        write_text(path, "\n".join(page) + "\n")
        return path


def certificate(mine: OwnCompiler, compiled: Compiled, proof: Proof, fuzzed: Fuzzed) -> Certificate:
    """Return the certificate of a compiler, for one program that it has compiled."""
    return Certificate(
        tuple((part.name, part.is_own) for part in mine.parts.values()),
        tuple(tuple(step.op for step in group) for group in compiled.groups),
        compiled.bytes_of_buffers,
        proof,
        fuzzed,
        compiled.source,
    )
