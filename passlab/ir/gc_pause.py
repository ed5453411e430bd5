"""Sparing Python's collector of reference cycles the search through programs while they are being built.

The collector looks at all young objects whenever 700 more containers were made than freed, and at everything whenever
the heap has grown by a quarter. Parsers, inference and passes make nodes by the hundred thousand which stay, and which
form no cycles: a node knows its parts and never its users. So those searches find nothing, and take a fifth to a third
of the time that it takes to type or fuse 50,000 lets. While programs are built the collector therefore waits for
`YOUNG` containers. It is never switched off: cycles that someone's instrument leaves behind are found all the same,
and what they can add to the memory in use is bounded by that number.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 50_000  # containers, some five megabytes; beyond that number nothing is gained


@contextmanager
def building() -> Iterator[None]:
    """The context in which programs are built: of the whole process, as the collector is; nested and in threads alike.

    The call that raised the threshold restores it, unless it was changed meanwhile; a thread that still builds then
    goes on with the lower one. A threshold that is as high already, or zero (no collection at all), is left as it is.
    Nothing is counted, so an interrupt between the lines can at worst leave the threshold raised.
    """
    threshold, *rest = gc.get_threshold()
    if not 0 < threshold < YOUNG:
        yield
        return
    gc.set_threshold(YOUNG, *rest)
    try:
        yield
    finally:
        now, *rest = gc.get_threshold()
        if now == YOUNG:
            gc.set_threshold(threshold, *rest)
