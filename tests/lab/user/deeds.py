"""What is done with a pass: each deed takes a program, a pass and the name of its rule, and asserts what must hold."""

from __future__ import annotations

import tempfile

import passlab
from passlab import lab, transform
from passlab.infer import infer_module
from passlab.instrument import VerifyInstrument
from passlab.ir import structural_equal
from passlab.notebook.live import LiveOptions, LiveWidget
from passlab.oracle.drawn_inputs import draws
from passlab.relay import create_executor


def _values(mod):
    draw = next(iter(draws(mod)))
    value = create_executor("debug", mod).evaluate()(*draw.arguments)
    return [leaf.tobytes() for leaf in _leaves(value)]


def _leaves(value):
    if isinstance(value, tuple):
        return [leaf for field in value for leaf in _leaves(field)]
    return [value] if hasattr(value, "tobytes") else []


def pipeline(mod, pass_, rule):
    with transform.PassContext(opt_level=4, instruments=[VerifyInstrument()]):
        after = transform.Sequential([transform.InferType(), pass_])(mod)
    same = _values(after) == _values(infer_module(mod))
    assert same is (rule != "wrong")


def record(mod, pass_, rule):
    rec = passlab.record(mod, ["InferType", pass_, "FoldConstant"], opt_level=4)
    assert rec.error is None, rec.error
    assert rec.summary()
    assert rec.text()
    assert rec.diff().text()


def blame(mod, pass_, rule):
    rec = passlab.record(mod, ["InferType", pass_, "FuseOps"])
    assert rec.error is None, rec.error
    assert len(rec.blame())
    assert str(rec.biography(rec.output["main"].body))


def bisect(mod, pass_, rule):
    bisection = lab.bisect(mod, ["InferType", pass_])
    assert bisection.found == (rule == "wrong"), bisection
    assert bisection.error is None, bisection.error


def culprit(mod, pass_, rule):
    result = lab.culprit(mod, ["InferType", pass_], executors=["vm"], seconds=20)
    assert result.found == (rule == "wrong"), result
    assert result.event is None or result.event.error is None, result


def reproduce(mod, pass_, rule):
    if rule == "wrong":
        script = lab.culprit(mod, ["InferType", pass_], executors=[], seconds=20).script()
        exec(compile(script, "reproducer", "exec"), {"__name__": "reproducer"})


def fuzz(mod, pass_, rule):
    campaign = lab.fuzz([pass_], programs=2, seconds=5)
    if rule != "wrong":
        assert not campaign.found, campaign


def live(mod, pass_, rule):
    net = infer_module(mod).astext()
    widget = LiveWidget(net, "InferType, mine", LiveOptions("net"), {"mine": pass_})
    try:
        assert not widget.problems
        assert widget.recording.error is None, widget.recording.error
        widget.pipeline = "mine, FoldConstant, mine"
        assert not widget.problems
        assert widget.recording.error is None, widget.recording.error
    finally:
        widget.close()


def what_if(mod, pass_, rule):
    rec = passlab.record(mod, ["InferType", pass_, "FoldConstant"])
    for variant in (rec.what_if.without(2), rec.what_if.repeat(2), rec.what_if.move(2, to=1)):
        assert variant.recording.error is None, variant.recording.error


def save(mod, pass_, rule):
    rec = passlab.record(mod, ["InferType", pass_, "ToANormalForm"])
    with tempfile.TemporaryDirectory() as folder:
        rec.save(folder)
        again = lab.Recording.load(folder)
    assert [event.name for event in again] == [event.name for event in rec]
    for mine, loaded in zip(rec.events, again.events, strict=True):
        assert structural_equal(mine.before, loaded.before)
        assert structural_equal(mine.after, loaded.after)


DEEDS = {
    deed.__name__: deed for deed in (pipeline, record, blame, bisect, culprit, reproduce, fuzz, live, what_if, save)
}
