"""What a widget computes before its first picture is little, and its static twins say the same as the recording."""

from __future__ import annotations

from collections import Counter

import passlab
from passlab.display import recording_view
from passlab.display.html import with_shared_styles
from passlab.display.views.recording import DIFF_NODES
from passlab.instrument.statistics import count_module
from passlab.notebook.explorer import PipelineWidget
from passlab.testing import resnet

PASSES = "InferType, SimplifyInference, FoldConstant, FuseOps, DefuseOps, FuseOps"


def test_a_large_recording_is_shown_after_one_diff():
    rec = passlab.record(
        resnet.get_workload(num_layers=50)[0], f"{PASSES}, DefuseOps, {PASSES}, DefuseOps", opt_level=3
    )
    assert sum(count_module(event.after)[0] for event in rec.steps if event.changed) > DIFF_NODES
    widget = PipelineWidget(recording_view(rec))
    bundle = widget._repr_mimebundle_()[0]
    assert len(widget.view._diffs) == 1
    lines = bundle["text/plain"].split("\n")
    for event in rec.steps:
        at = next(n for n, line in enumerate(lines) if line.split()[:1] == [event.id])
        assert lines[at].endswith(event.name)
        if not event.changed or event is rec.events[widget.view.start]:
            continue
        (_, before), (_, after) = count_module(event.before), count_module(event.after)
        after.subtract(before)
        words = lines[at + 1].rpartition(": ")[2].rstrip(".").split()
        value = dict(zip(words[1::2], map(int, words[::2]), strict=True)) if words[:1] != ["the"] else {}
        assert Counter(value) == Counter({name: count for name, count in after.items() if count})
    assert all(event.name in bundle["text/html"] for event in rec.steps)


def test_a_small_recording_is_told_whole_in_its_twin():
    rec = passlab.record(resnet.get_workload(num_layers=18)[0], PASSES, opt_level=3)
    view = recording_view(rec)
    bundle = PipelineWidget(view)._repr_mimebundle_()[0]
    assert bundle["text/plain"] == view.text()
    assert bundle["text/html"] == with_shared_styles(view.html())
