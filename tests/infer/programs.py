"""Reading and typing programs, for the tests of this room."""

from __future__ import annotations

from passlab.errors import Diagnostic, TypeInferenceError
from passlab.infer import infer_module
from passlab.ir import Expr, IRModule
from passlab.ir.equal import assert_structural_equal
from passlab.ir.walk import post_order
from passlab.text.parser import parse

VERSION = '#[version = "0.0.5"]\n'
LIST = "type List[A] { Cons(A, List[A]), Nil, }\n"


def untyped(text: str) -> IRModule:
    return parse(VERSION + text)


def typed(text: str) -> IRModule:
    return infer_module(untyped(text))


def signature(text: str, name: str = "main") -> str:
    """The type of a function of the program, as text."""
    return str(typed(text)[name].checked_type)


def result(text: str) -> str:
    """The result type of `main`, as text."""
    return str(typed(text)["main"].ret_type)


def findings(text: str) -> tuple[Diagnostic, ...]:
    """What inference has to say against a program, which it must refuse."""
    try:
        typed(text)
    except TypeInferenceError as error:
        return error.diagnostics
    raise AssertionError("the program was accepted")


def marked(finding: Diagnostic) -> str | None:
    """The stretch of text that a finding points at."""
    return None if finding.place is None else finding.place.text


def same_program(got: IRModule, want: IRModule) -> None:
    assert_structural_equal(got, want)


def untyped_nodes(mod: IRModule) -> list[Expr]:
    return [node for _, fn in mod.items() for node in post_order(fn) if node._checked_type is None]
