"""Reducing the work of Python's garbage collector while programs are built.

The collector examines all young objects whenever 700 more containers were created than freed, those that survived ten
such searches together, and everything whenever the heap has grown by a quarter. Parsers, inference and passes create
hundreds of thousands of nodes that stay, and that form no cycles: a node refers to its children and never to its users.
So those searches find nothing, and take a fifth to a third of the time of typing or fusing 50,000 lets. While programs
are built the collector therefore waits for `YOUNG` containers, and for `SEARCHES` searches before it examines survivors
again: most of these are programs between two passes, which are freed before. It is never switched off: cycles from user
code, such as instruments, are still found, and those numbers bound what they add to the memory in use.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 50_000  # containers, about five megabytes; larger numbers gain nothing
SEARCHES = 400  # of young objects: twenty million containers, as the compiler creates for 150,000 branches


@contextmanager
def building() -> Iterator[None]:
    """Raise the collector's thresholds while programs are built, for the whole process. Blocks may nest.

    The block that raised the thresholds restores them, unless they were changed meanwhile; a thread that is still
    building then continues with the lower ones. A threshold that is already as high, or zero (no collection at all), is
    not changed. There is no counter, so an interrupt between two steps can at worst leave the thresholds raised.
    """
    young, searches, rest = gc.get_threshold()
    if not 0 < young < YOUNG:
        yield
        return
    raised = (YOUNG, max(searches, SEARCHES))
    gc.set_threshold(*raised, rest)
    try:
        yield
    finally:
        *current, rest = gc.get_threshold()
        if tuple(current) == raised:
            gc.set_threshold(young, searches, rest)
