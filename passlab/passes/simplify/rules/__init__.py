"""The rules of SimplifyExpr, grouped by topic. `RULES` lists them in the order they are tried."""

from passlab.passes.simplify.rules.arithmetic import ARITHMETIC
from passlab.passes.simplify.rules.casts import CASTS
from passlab.passes.simplify.rules.concrete import CONCRETE
from passlab.passes.simplify.rules.movement import MOVEMENT
from passlab.passes.simplify.rules.ordering import ORDERING

RULES = (*CONCRETE, *ARITHMETIC, *MOVEMENT, *CASTS, *ORDERING)

__all__ = ["RULES"]
