"""Memory planning by offset: byte offsets in one arena such that results with overlapping live ranges do not overlap.

Relay's JSON can only say which results share a storage (`storage_id`), and the storages of ResNet-50 together take a
tenth more bytes than are alive at once. So the JSON keeps its documented form, and the executor assigns offsets when it
loads a graph. The offsets follow from the nodes alone, so no file can make results overlap. This module takes live
ranges and sizes, not graphs.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import accumulate

ALIGNMENT = 64  # bytes; a power of two
MOST_COMPARED = 2_000  # results; larger graphs only get the plan by time, which does not compare all pairs
TRIES = 50

Life = tuple[int, int]  # a live range: the first and the last node that uses a result, both included


def position(lives: Sequence[Life], sizes: Sequence[int]) -> tuple[list[int], int]:
    """Return the byte offset of each result, and the size of the arena in bytes.

    Results are placed largest first. While some end above the lower bound (the most bytes alive at once), the plan is
    repeated with these first. O(n²) for each of a few tries with up to `MOST_COMPARED` results, else one plan by time:
    O(n log n) apart from the results alive at once.
    """
    rounded = [-(-size // ALIGNMENT) * ALIGNMENT for size in sizes]  # rounded up
    best = _by_time(lives, rounded)
    least = _extent(best, sizes)
    if len(lives) > MOST_COMPARED:
        return best, least
    bound = _most_alive(lives, rounded)
    order = sorted(range(len(sizes)), key=lambda n: (-rounded[n], lives[n]))
    # Each try is quadratic, so larger graphs get fewer: all tries compare a bounded number of pairs.
    for _ in range(min(TRIES, 1 + (MOST_COMPARED // max(1, len(lives))) ** 2)):
        if least <= bound:
            break
        plan = _in_order(order, lives, rounded)
        if _extent(plan, sizes) < least:
            best, least = plan, _extent(plan, sizes)
        beyond = [n for n in order if plan[n] + rounded[n] > bound]
        order = list(dict.fromkeys(beyond + order))  # `dict.fromkeys` drops repetitions and keeps the order
    return best, least


def _most_alive(lives: Sequence[Life], sizes: Sequence[int]) -> int:
    """Return the most bytes that are alive at one node: a lower bound for every plan."""
    change = [0] * (max((death for _, death in lives), default=0) + 2)
    for (birth, death), size in zip(lives, sizes, strict=True):
        change[birth] += size
        change[death + 1] -= size  # a live range includes its last node
    return max(accumulate(change))


def _extent(offsets: Sequence[int], sizes: Sequence[int]) -> int:
    return max((offset + size for offset, size in zip(offsets, sizes, strict=True)), default=0)


def _in_order(order: Sequence[int], lives: Sequence[Life], sizes: Sequence[int]) -> list[int]:
    """Place results in an order, each into the smallest gap that it fits between placed results with overlapping lives.

    (With the largest first: Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020,
    section 5.)
    """
    offsets = [0] * len(sizes)
    placements: list[tuple[int, int]] = []  # offset and number of each placed result, by offset
    for number in order:
        birth, death = lives[number]
        occupied = [(at, at + sizes[k]) for at, k in placements if lives[k][0] <= death and birth <= lives[k][1]]
        offsets[number] = _gap(occupied, sizes[number])
        insort(placements, (offsets[number], number))
    return offsets


def _by_time(lives: Sequence[Life], sizes: Sequence[int]) -> list[int]:
    """Place results in the order of their births, each into the smallest gap that it fits between those alive then."""
    offsets = [0] * len(sizes)
    alive: list[tuple[int, int]] = []  # first byte and end of each, by offset
    ends: list[tuple[int, int]] = []  # last node and number of each
    for number in sorted(range(len(sizes)), key=lambda n: (lives[n][0], -sizes[n])):
        while ends and ends[0][0] < lives[number][0]:
            _, dead = ends.pop(0)
            del alive[bisect_left(alive, (offsets[dead], offsets[dead] + sizes[dead]))]
        offsets[number] = _gap(alive, sizes[number])
        insort(alive, (offsets[number], offsets[number] + sizes[number]))
        insort(ends, (lives[number][1], number))
    return offsets


def _gap(occupied: Sequence[tuple[int, int]], size: int) -> int:
    """Return the offset of the smallest gap of at least `size` bytes; without one, the end of the last interval."""
    end = 0
    best, least_waste = -1, 0
    for first, last in occupied:
        waste = first - end - size
        if waste >= 0 and (best < 0 or waste < least_waste):
            best, least_waste = end, waste
        end = max(end, last)  # intervals may overlap: two lives that overlap a third one need not meet
    return best if best >= 0 else end
