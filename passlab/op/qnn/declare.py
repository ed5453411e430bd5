"""The declaration of quantized operators, with what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from passlab.op.declare import Op, operator
from passlab.op.no_gradient import QUANTIZED

_COMMON = {
    "level": 11,
    "non_computational": True,
    "source": "Jacob et al., Quantization and training of neural networks (2018)",
}


def quantized_operator(name: str, inputs: Sequence[str], **facts: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declare an operator on quantized tensors as `operator` does; only one with a `gradient` has a gradient."""
    reason = {} if "gradient" in facts else {"no_gradient": QUANTIZED}
    return operator(name, inputs, **{**_COMMON, **reason, **facts})
