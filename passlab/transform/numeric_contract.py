"""Numeric contracts: how far a pass may change numerical results. Validation checks each pass against its contract.

`EXACT`: the results are the same, bit for bit. `Rounds(ulps)`: each result is within `ulps` units in the last place of
the result type. `FINITE`: the same where no overflow, NaN or negative zero is involved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class NumericContract:
    """At most `ulps` units in the last place off; with `finite_only`, only where every value is finite and not -0.

    Later operators may amplify an error: that of ordinary rounding, a few units for each operator, for a pass that
    rounds; errors of `ulps` for a pass that `approximates` operators.
    """

    ulps: float = 0.0
    finite_only: bool = False
    approximates: bool = False

    @property
    def exact(self) -> bool:
        """True for the contract of identical bits."""
        return self.ulps == 0 and not self.finite_only

    def then(self, other: NumericContract) -> NumericContract:
        """Return the contract of a pass with this contract followed by one with the other."""
        approximates = self.approximates or other.approximates
        return NumericContract(self.ulps + other.ulps, self.finite_only or other.finite_only, approximates)

    def __str__(self) -> str:
        if self.exact:
            return "EXACT"
        rounds = f"ROUNDS({self.ulps:g})" if self.ulps else ""
        return " ".join(part for part in (rounds, "FINITE" if self.finite_only else "") if part)

    __repr__ = __str__


Promise = NumericContract  # the name in earlier versions
EXACT = NumericContract()
FINITE = NumericContract(finite_only=True)


def Rounds(ulps: float) -> NumericContract:  # noqa: N802 - reads as a value beside EXACT and FINITE
    """Return the contract of results within `ulps` units in the last place."""
    return NumericContract(ulps=float(ulps))


def combine(promises: Iterable[NumericContract | None]) -> NumericContract | None:
    """Return the contract of passes run one after the other, or None if one of them has none."""
    total = EXACT
    for promise in promises:
        if promise is None:
            return None
        total = total.then(promise)
    return total
