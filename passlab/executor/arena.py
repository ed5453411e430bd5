"""Where results lie in one piece of memory: byte offsets such that what is alive at the same time does not overlap.

Relay's JSON can only say which results share a storage (`storage_id`), and the storages of ResNet-50 together take a
tenth more than any plan must. So the JSON keeps its documented form, for those who read it, and the executor places
results by offset when it loads a graph: it depends on nothing in the file but the nodes, so that no file can make
results overlap. This module knows lives and sizes, not graphs.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import accumulate

ALIGNMENT = 64  # bytes; a power of two
MOST_COMPARED = 2_000  # results that are compared with each other; the plan by time alone is linear in their number
TRIES = 50

Life = tuple[int, int]  # first and last moment of use, both included


def position(lives: Sequence[Life], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Return the offset of each result and the bytes that all take together.

    Results are placed largest first; while some lie beyond what is alive at once, the plan is made again with these
    first. O(n²) for each of a few tries with up to `MOST_COMPARED` results, else one plan by time: O(n log n) but for
    those alive at once.
    """
    rounded = [-(-size // ALIGNMENT) * ALIGNMENT for size in sizes]
    best = _by_time(lives, rounded)
    least = _extent(best, sizes)
    if len(lives) > MOST_COMPARED:
        return best, least
    bound = _most_alive(lives, rounded)
    order = sorted(range(len(sizes)), key=lambda n: (-rounded[n], lives[n]))
    for _ in range(min(TRIES, 1 + (MOST_COMPARED // max(1, len(lives))) ** 2)):
        if least <= bound:
            break
        plan = _in_order(order, lives, rounded)
        if _extent(plan, sizes) < least:
            best, least = plan, _extent(plan, sizes)
        beyond = [n for n in order if plan[n] + rounded[n] > bound]
        order = list(dict.fromkeys(beyond + order))
    return best, least


def _most_alive(lives: Sequence[Life], sizes: Sequence[int]) -> int:
    """Return the most bytes that are alive at one moment."""
    change = [0] * (max((death for _, death in lives), default=0) + 2)
    for (birth, death), size in zip(lives, sizes, strict=True):
        change[birth] += size
        change[death + 1] -= size
    return max(accumulate(change))


def _extent(offsets: Sequence[int], sizes: Sequence[int]) -> int:
    return max((offset + size for offset, size in zip(offsets, sizes, strict=True)), default=0)


def _in_order(order: Sequence[int], lives: Sequence[Life], sizes: Sequence[int]) -> list[int]:
    """Place results in an order, each into the smallest gap it fits among those alive with it.

    (With the largest first: Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020,
    section 5.)
    """
    offsets = [0] * len(sizes)
    done: list[tuple[int, int]] = []  # offset and number of those that are placed, by offset
    for number in order:
        birth, death = lives[number]
        beside = [(at, at + sizes[k]) for at, k in done if lives[k][0] <= death and birth <= lives[k][1]]
        offsets[number] = _gap(beside, sizes[number])
        insort(done, (offsets[number], number))
    return offsets


def _by_time(lives: Sequence[Life], sizes: Sequence[int]) -> list[int]:
    """Place results in the order of their births, each into the smallest gap it fits among those alive then."""
    offsets = [0] * len(sizes)
    alive: list[tuple[int, int]] = []  # first byte and end of each, by offset
    ends: list[tuple[int, int]] = []  # last moment and number of each
    for number in sorted(range(len(sizes)), key=lambda n: (lives[n][0], -sizes[n])):
        while ends and ends[0][0] < lives[number][0]:
            _, gone = ends.pop(0)
            del alive[bisect_left(alive, (offsets[gone], offsets[gone] + sizes[gone]))]
        offsets[number] = _gap(alive, sizes[number])
        insort(alive, (offsets[number], offsets[number] + sizes[number]))
        insort(ends, (lives[number][1], number))
    return offsets


def _gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Return where the smallest gap begins that holds `size` bytes; the end of all when none does."""
    end = 0
    best_gap, spare = -1, 0
    for first, last in taken:
        gap = first - end - size
        if gap >= 0 and (best_gap < 0 or gap < spare):
            best_gap, spare = end, gap
        end = max(end, last)
    return best_gap if best_gap >= 0 else end
