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
    """The context in which programs are built: it affects the whole process, as the collector does; nesting is allowed.

    The call that raised the threshold restores it, unless it was changed meanwhile; a thread that is still building
    then continues with the lower one. A threshold that is as high already, or zero (no collection at all), is not
    changed. There is no counter, so an interrupt at a bad moment can at worst leave the threshold raised.
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
