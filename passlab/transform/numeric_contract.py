"""Numeric contracts: how far a pass may change numerical results. Validation checks each pass against its contract.

`EXACT`: the results are the same, bit for bit. `Rounds(ulps)`: each result is within `ulps` units in the last place of
the result type. `FINITE`: the same where no overflow, NaN or negative zero is involved. `Rounds(4) + FINITE` allows
both. A contract is printed as it is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassTypeError

if TYPE_CHECKING:
    from passlab.transform.base import Pass


@dataclass(frozen=True)
class NumericContract:
    """At most `ulps` units in the last place off; with `finite_only`, only where every value is finite and not -0.

    Later operators may amplify an error: ordinary rounding, a few units for each operator, for a pass that rounds;
    errors of `ulps` for a pass that `approximates` operators.

    >>> transform.NumericContract() == transform.EXACT, transform.NumericContract(ulps=4.0)
    (True, Rounds(4))
    """

    ulps: float = 0.0
    finite_only: bool = False
    approximates: bool = False

    @property
    def exact(self) -> bool:
        """True for the contract of identical bits."""
        return not (self.ulps or self.finite_only)

    def __add__(self, other: NumericContract) -> NumericContract:
        """Return the contract of a pass with this contract followed by one with the other."""
        approximates = self.approximates or other.approximates
        return NumericContract(self.ulps + other.ulps, self.finite_only or other.finite_only, approximates)

    def __str__(self) -> str:
        if self == EXACT:
            return "EXACT"
        ulps = repr(int(self.ulps) if float(self.ulps).is_integer() else self.ulps)
        rounds = f"Rounds({ulps}{', approximates=True' if self.approximates else ''})"
        parts = (rounds if self.ulps or self.approximates else "", "FINITE" if self.finite_only else "")
        return " + ".join(part for part in parts if part)

    __repr__ = __str__


EXACT = NumericContract()
FINITE = NumericContract(finite_only=True)


@checked
def Rounds(ulps: float, approximates: bool = False) -> NumericContract:  # noqa: N802 - a value, as EXACT and FINITE are
    """Return the contract of results within `ulps` units in the last place.

    A pass that `approximates` puts single operators that far off, and later ones may enlarge the difference.

    >>> transform.Rounds(4).ulps, transform.FastMath().contract
    (4.0, Rounds(65536, approximates=True))
    """
    return NumericContract(float(ulps), approximates=approximates)


def combine(contracts: Iterable[NumericContract | None]) -> NumericContract | None:
    """Return the contract of passes run one after the other, or None if one of them has none."""
    total = EXACT
    for contract in contracts:
        if contract is None:
            return None
        total += contract
    return total


DEFAULT_CONTRACT = Rounds(4) + FINITE  # the contract of a pass that declares none


def check_contract(contract: Any) -> None:
    """Raise `PassTypeError` for a `default_contract` other than a numeric contract or None."""
    if contract is not None and not isinstance(contract, NumericContract):
        hint = "transform.EXACT, transform.Rounds(ulps) or None"
        raise PassTypeError(Diagnostic("`default_contract` is a numeric contract", found=repr(contract), hint=hint))


def declared_contract(
    pass_: Pass | None, default_contract: NumericContract | None = DEFAULT_CONTRACT
) -> NumericContract | None:
    """Return the contract of a pass; `default_contract` for a pass of the user that declares none."""
    check_contract(default_contract)
    if pass_ is None:
        return default_contract
    return pass_.contract if pass_.contract is not None or pass_.trusted else default_contract
