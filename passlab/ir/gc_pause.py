"""Reducing the work of Python's garbage collector while programs are built.

The collector examines all young objects whenever 700 more containers were created than freed, and everything whenever
the heap has grown by a quarter. Parsers, inference and passes create hundreds of thousands of nodes that stay, and that
form no cycles: a node refers to its children and never to its users. So those searches find nothing, and take a fifth
to a third of the time of typing or fusing 50,000 lets. While programs are built the collector therefore waits for
`YOUNG` containers. It is never switched off: cycles from user code, such as instruments, are still found, and that
number bounds what they add to the memory in use.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 50_000  # containers, about five megabytes; larger numbers gain nothing


@contextmanager
def building() -> Iterator[None]:
    """Raise the collector's threshold while programs are built, for the whole process. Blocks may nest.

    The block that raised the threshold restores it, unless it was changed meanwhile; a thread that is still building
    then continues with the lower one. A threshold that is already as high, or zero (no collection at all), is not
    changed. There is no counter, so an interrupt between two steps can at worst leave the threshold raised.
    """
    threshold, *rest = gc.get_threshold()
    if not 0 < threshold < YOUNG:
        yield
        return
    gc.set_threshold(YOUNG, *rest)
    try:
        yield
    finally:
        current, *rest = gc.get_threshold()
        if current == YOUNG:
            gc.set_threshold(threshold, *rest)
