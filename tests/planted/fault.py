"""A fault as data: which mutation of passlab, and the program that shows it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutants.mutation import Mutation
from tests.planted.programs import GRAD, PLAIN, dataflow


@dataclass(frozen=True)
class Fault:
    """One fault.

    `kind` says what is wrong with passlab then; `pipeline` is what the user ran on `program`; `culprit` the pass or
    executor that has to be named, `by` the rewrite, operator, stage, kernel or instruction (a part of its name).
    """

    name: str
    kind: str
    mutation: Mutation
    program: str
    pipeline: str
    culprit: str
    by: str
    config: tuple[tuple[str, object], ...] = ()


def kernel(name: str, kind: str, mutation: Mutation, body: str, params: str, by: str, culprit: str = "kernel") -> Fault:
    """A fault of an operator, shown by a program of one function."""
    return Fault(name, kind, mutation, dataflow(body, params), PLAIN, culprit, by)


def gradient(name: str, mutation: Mutation, body: str, params: str, by: str) -> Fault:
    """A fault of the gradient of an operator."""
    return Fault(name, "gradient", mutation, dataflow(body, params), GRAD, "FirstOrderGradient", by)
