"""The answers of the kernel that an exported page of a recording stores: its rewrites and its comparisons.

A page has no kernel, so it stores as many answers as fit into a few hundred kilobytes: the rewrites pass by pass, and
the differences between pairs of steps. Pairs with the input or the last step come first, because users open them most.
The difference from a later step to an earlier one is the stored difference read backwards. The graphs come from
`RecordingView.graphs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from passlab.display.pages.page import compact_json
from passlab.display.protocol.recordings import PairDiff, RecordingData, ShownComparison, StoredRewrites
from passlab.display.protocol.widgets import Nothing
from passlab.display.views.comparisons import comparison_view
from passlab.display.views.recording import RecordingView
from passlab.display.views.rewrites import parts_data, step_data
from passlab.instrument.events import Event
from passlab.lab.recordings.comparison import compare
from passlab.lab.recordings.rewrites import rewrites_of

PAGE, REWRITES, PAIRS = 2_100_000, 270_000, 450_000  # characters: of all data of a page, and at most of its parts
OWN = "this recording"  # what an explorer calls its own recording where one is chosen


def page_answers(view: RecordingView) -> Callable[[RecordingData, int], dict[str, str]]:
    """Return a function from the data of a recording's view, and its length, to the answers that its page stores."""

    def answers(data: RecordingData, length: int) -> dict[str, str]:
        graphs = compact_json(view.graphs(data))
        room = max(0, PAGE - length - len(graphs))
        return {
            "graphs": graphs,
            "rewrites": compact_json(stored_rewrites(view.events, min(REWRITES, room // 3))),
            "comparison": compact_json(stored_comparison(view, min(PAIRS, room // 2))),
        }

    return answers


def stored_rewrites(events: list[Event], room: int = REWRITES) -> dict[str, StoredRewrites]:
    """Return the rewrites of passes by event: the steps, and what each did. Those beyond the room are left out."""
    stored: dict[str, StoredRewrites] = {}
    for event in events:
        if room <= 0:
            break
        steps = rewrites_of(event)
        rows, parts = [], []
        for step in steps:
            rows.append(step_data(step))
            parts.append(parts_data(step))
            room -= len(compact_json([rows[-1], parts[-1]]))
            if room <= 0:
                break
        if rows:
            stored[event.id] = {"steps": rows, "parts": parts, "left": len(steps) - len(rows)}
    return stored


def stored_comparison(shown: RecordingView, room: int = PAIRS) -> ShownComparison | Nothing:
    """Return the comparison of a recording with itself, with as many pairs of different steps as there is room for."""
    recording = shown.recording
    if len(recording.steps) < 2:
        return {}
    view = comparison_view(compare(recording, recording))
    view.lines = shown.lines  # printed already
    data = view.data(only_start=True)
    for a, b in _pairs(len(recording.steps) - 1):
        if room <= 0:
            break
        pair: PairDiff = {**view.pair(a, b), "back": view.sentence(b, a)}
        data["pairs"][f"{a}:{b}"] = pair
        room -= len(compact_json(pair))
    return {**data, "other": OWN}


def _pairs(last: int) -> Iterator[tuple[int, int]]:
    """Yield the pairs of an earlier and a later step, the input and each one against the last before all others."""
    first = [(0, last), *((step, last) for step in range(last - 1, 0, -1)), *((0, step) for step in range(1, last))]
    yield from dict.fromkeys(first)  # each pair once
    yield from ((a, b) for a in range(1, last) for b in range(a + 1, last))
