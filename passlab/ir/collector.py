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
import threading

YOUNG = 50_000  # containers, some five megabytes; beyond that number nothing is gained


class _Building:
    """The context in which programs are built: of the whole process, as the collector is; nested and in threads alike.

    The last one to leave restores the threshold that the first one found, unless it was changed meanwhile. A threshold
    that is as high already, or zero (no collection at all), is left as it is. An interrupt between the lines can at
    worst leave the higher threshold in force, which is no more than a collector with more patience.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # an interrupt may come while it is held, and what handles it may build too
        self._depth = 0
        self._found = 0

    def __enter__(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._found, *rest = gc.get_threshold()
                if 0 < self._found < YOUNG:
                    gc.set_threshold(YOUNG, *rest)

    def __exit__(self, *exc_info: object) -> None:
        with self._lock:
            self._depth -= 1
            now, *rest = gc.get_threshold()
            if self._depth == 0 and 0 < self._found < YOUNG == now:
                gc.set_threshold(self._found, *rest)


building = _Building()
