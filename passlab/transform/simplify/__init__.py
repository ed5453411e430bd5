"""The rules of SimplifyExpr, by what they are about. `RULES` lists them in the order they are tried."""

from passlab.transform.simplify.arithmetic import ARITHMETIC
from passlab.transform.simplify.casts import CASTS
from passlab.transform.simplify.concrete import CONCRETE
from passlab.transform.simplify.movement import MOVEMENT
from passlab.transform.simplify.ordering import ORDERING

RULES = (*CONCRETE, *ARITHMETIC, *MOVEMENT, *CASTS, *ORDERING)

__all__ = ["RULES"]
