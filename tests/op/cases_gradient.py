"""Uses of operators, in the notation of edge cases, whose gradients take other ways than those of the declared edges."""

from __future__ import annotations

MORE: tuple[str, ...] = ()
