"""Type inference: every expression gets a `checked_type`, or its errors are reported at their source locations.

    infer_module(mod)          the module, typed
    infer_expr(expr, mod)      an expression, typed
    check_kind(ty, mod)        the kind of a type
    unmatched_cases(match)     the patterns that no clause of a match covers

A relation-based algorithm: unknowns are solved by unification, and operators are relations that run once the types of
enough inputs are known. The package uses no passes, and of operators only their relations.
"""

from passlab.infer.exhaustive import pattern_text, unmatched_cases
from passlab.infer.inference import infer_expr, infer_module
from passlab.infer.kinds import check_kind

__all__ = ["check_kind", "infer_expr", "infer_module", "pattern_text", "unmatched_cases"]
