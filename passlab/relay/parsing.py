"""From Relay text to programs: `passlab.parse` and `relay.parse`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from passlab.arguments import checked
from passlab.infer import infer_module
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.text import parser


@checked
def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: dict[str, Sequence[Any]] | None = None,
) -> IRModule:
    """Read a module from Relay text and infer its types.

    Raises `ParseError` for malformed text and `TypeInferenceError` for ill-typed programs; both show the location.

    >>> mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }")
    >>> print(mod["main"].ret_type)
    Tensor[(2), float32]
    """
    return infer_module(parser.parse(source, source_name, init_module, init_meta_table))


fromtext = parse


@checked
def parse_expr(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: dict[str, Sequence[Any]] | None = None,
) -> Expr:
    """Read one expression from Relay text, without inferring its type. Raises `ParseError`.

    >>> print(passlab.parse_expr("fn (%x: float32) { exp(%x) }"))
    fn (%x: float32) {
      exp(%x)
    }
    """
    result: Expr = parser.parse_expr(
        source, source_name=source_name, init_module=init_module, init_meta_table=init_meta_table
    )
    return result
