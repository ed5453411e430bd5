"""Reducing the work of Python's garbage collector while programs are built.

The collector examines all young objects whenever 700 more containers were created than freed, those that survived ten
such searches together, and everything whenever the heap has grown by a quarter. Parsers, inference and passes create
hundreds of thousands of nodes that stay, and that form no cycles: a node refers to its children and never to its users.
So those searches find nothing, and take a fifth to a third of the time of typing or fusing 50,000 lets. While programs
are built the collector therefore waits for `YOUNG` containers, and for `SEARCHES` searches before it examines survivors
again: most of these are programs between two passes, which are freed before. A large program that is done goes to the
oldest generation without a last search, which would take a tenth of the time of compiling it. The collector is never
switched off: cycles from user code, such as instruments, are still found, and those numbers bound what they add to the
memory in use.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 50_000  # containers, about five megabytes; larger numbers gain nothing
SEARCHES = 400  # of young objects: twenty million containers, as the compiler creates for 150,000 branches
FEW_SEARCHES = 10  # a search of the survivors of so few takes less than a tenth of a second


class _Unexamined:
    """The searches of young objects whose survivors were not examined again since the last full collection."""

    searches = 0
    collections = 0  # full collections up to then


@contextmanager
def building() -> Iterator[None]:
    """Raise the collector's thresholds while programs are built, for the whole process. Blocks may nest.

    The block that raised the thresholds restores them, unless they were changed meanwhile; a thread that is still
    building then continues with the lower ones. A threshold that is already as high, or zero (no collection at all), is
    not changed. No blocks are counted, so an interrupt between two steps can at worst leave the thresholds raised.
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
        _keep_survivors()
        *current, rest = gc.get_threshold()
        if tuple(current) == raised:
            gc.set_threshold(young, searches, rest)


def _keep_survivors() -> None:
    """Move what was built to the oldest generation without a search for cycles in it.

    `freeze` and `unfreeze` together do just that. At most `SEARCHES` searches go without examination until Python
    collects everything, which frees also the cycles among what was moved. Objects that a program has frozen itself stay
    frozen: then nothing is moved.
    """
    searches = gc.get_count()[1]
    if searches < FEW_SEARCHES or gc.get_freeze_count():
        return
    collections = gc.get_stats()[2]["collections"]
    if collections != _Unexamined.collections:
        _Unexamined.searches, _Unexamined.collections = 0, collections
    if _Unexamined.searches + searches <= SEARCHES:
        _Unexamined.searches += searches
        gc.freeze()
        gc.unfreeze()
