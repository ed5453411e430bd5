"""The reference evaluator: the meaning of Relay, kept small. Constant folding and all comparisons use it."""

from passlab.evaluate.evaluator import Evaluator, evaluate_expr
from passlab.evaluate.operators import apply_operator
from passlab.evaluate.values import ADTValue, Closure, RefValue

__all__ = ["ADTValue", "Closure", "Evaluator", "RefValue", "apply_operator", "evaluate_expr"]
