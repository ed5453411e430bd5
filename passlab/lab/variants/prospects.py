"""`prospects`: which passes would change a program now, and what each would do.

    prospects(mod)                          # every pass that needs no options
    prospects(mod, "FoldConstant, FuseOps(fuse_opt_level=1)")

Each pass runs alone on the same program, which no pass changes. The answers hold for that program only: after one of
the passes has run, the others may do something else (`orders` follows sequences of passes).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from passlab.arguments import checked
from passlab.diffing.diff import diff
from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.expr import Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.table import Table
from passlab.transform.base import Pass
from passlab.transform.context import PassContext
from passlab.transform.pipeline_text import as_pass
from passlab.transform.registry import get_pass, pass_names
from passlab.transform.sequential import Sequential

HIGHEST = 4  # the level at which every pass inside another one runs
_log = logging.getLogger("passlab")
# They print the program or parse what was printed, and take longer than all other passes together.
_PRINTERS = frozenset(("AnnotateSpans", "PrintIR"))


@checked
def prospects(mod: IRModule, passes: str | Iterable[Pass] | None = None) -> Table:
    """Return a row for each pass that would change a module, then for each that fails on it: name, level, effect.

    Without `passes`, every registered pass that needs no options is tried. Raises `PasslabError` for a module that
    has no types, or passes that do not exist.

    >>> mod = passlab.parse("def @main(%x: float32) { %x * (1f + 1f) }")
    >>> print(lab.prospects(mod, [transform.FoldConstant(), transform.ToCPS()]))
    pass          opt level  what it would do
    ------------  ---------  ---------------------------------------------------------------------------------
    FoldConstant          2  removed 2 constants and 1 add; added 1 constant; changed an operand of 1 multiply
    ToCPS                 1  added 1 call; moved 2 nodes
    """
    typed = infer_module(mod)
    rows, failures = [], []
    for name, tried in _candidates(passes):
        try:
            with PassContext(opt_level=HIGHEST), _quiet():
                after = tried(typed)
        except PasslabError as error:
            failures.append((name, tried.info.opt_level, f"fails: {error.diagnostics[0].message}"))
            continue
        # A pass that changes nothing returns the very module that it got.
        if after is not typed and (difference := diff(typed, after)):
            rows.append((name, tried.info.opt_level, difference.summary))
    return Table(("pass", "opt_level", "what_it_would_do"), [*rows, *failures])


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence warnings: a pass that is only tried should not warn."""
    level = _log.level
    _log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        _log.setLevel(level)


def _candidates(passes: str | Iterable[Pass] | None) -> Iterator[tuple[str, Pass]]:
    """Yield the passes to try, each with its name in a pipeline."""
    if passes is None:
        for name in pass_names():
            candidate = None if name in _PRINTERS else _pass_without_options(name)
            if candidate is not None:
                yield name, candidate
        return
    chosen = as_pass(passes)
    for one in chosen.passes if isinstance(chosen, Sequential) else [chosen]:
        yield one.info.name, one


def _pass_without_options(name: str) -> Pass | None:
    """Return a registered pass without options; None where it needs some, since it then fails on every program."""
    try:
        candidate, param = get_pass(name), Var("x", TensorType((1,)))
        candidate(infer_module(IRModule.from_expr(Function([param], param))))
    except PasslabError:
        return None
    return candidate
