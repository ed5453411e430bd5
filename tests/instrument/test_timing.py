"""PassTimingInstrument: the tree and its exact text, also after errors (pass-infra-semantics, section 6)."""

from __future__ import annotations

import contextvars
import re
import sys

import pytest

from passlab.errors import PassError
from passlab.instrument import PassTimingInstrument, pass_instrument, timing
from passlab.ir import IRModule
from passlab.transform import PassContext, Sequential, context, module_pass
from tests.transform.programs import idle, raising


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only when told, in microseconds."""

    class Clock:
        now = 0

        def tick(self, microseconds):
            self.now += 1000 * microseconds

    result = Clock()
    for module in (timing, context):
        monkeypatch.setattr(module, "perf_counter_ns", lambda: result.now)
    return result


def test_an_interrupt_at_any_line_of_the_manager_leaves_no_hook_running():
    """A deadline or Ctrl+C may come at any line: from the first to the last one of a run, each in a run of its own."""

    def interrupted_at(wanted):
        lines = 0

        def trace(frame, event, _):
            nonlocal lines
            if frame.f_code.co_filename != context.__file__ and "contextlib" not in frame.f_code.co_filename:
                return None
            if event == "line":
                lines += 1
                if lines == wanted:
                    raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            contextvars.copy_context().run(measure, idle("A"))  # the context that it leaves behind is no other test's
        except KeyboardInterrupt as error:
            kept.append(error)  # what keeps the error keeps its frames
            return True
        finally:
            sys.settrace(before)
        return False

    kept, at = [], 1
    while interrupted_at(at):
        assert context._hook_time.depth == 0, at
        at += 1
    assert at > 60


def lasting(clock, name, microseconds, *inner):
    """A pass that takes so long, besides the passes it runs itself."""

    def work(mod, ctx):
        clock.tick(microseconds)
        for pass_ in inner:
            mod = pass_(mod)
        return mod

    return module_pass(work, opt_level=0, name=name)


def measure(pass_, instrument=None):
    instrument = instrument or PassTimingInstrument()
    with PassContext(instruments=[instrument]):
        pass_(IRModule())
    return instrument


def test_the_example_of_the_specification_to_the_letter(clock):
    infer = lasting(clock, "InferType", 300)
    fold = lasting(clock, "FoldConstant", 500, lasting(clock, "InferType", 370))
    pipeline = lasting(clock, "sequential", 30, infer, fold)
    assert measure(pipeline).render() == (
        "sequential: 1200us [30us] (100.00%; 100.00%)\n"
        "\tInferType: 300us [300us] (25.00%; 25.00%)\n"
        "\tFoldConstant: 870us [500us] (72.50%; 72.50%)\n"
        "\t\tInferType: 370us [370us] (30.83%; 42.53%)\n"
    )


def test_the_shape_of_every_line():
    line = re.compile(r"\t*[^\t:]+: \d+us \[-?\d+us\] \(\d+\.\d\d%; \d+\.\d\d%\)\n")
    text = measure(Sequential([idle("A"), Sequential([idle("B")], name="inner")])).render()
    assert line.sub("", text) == ""
    assert [part.count("\t") for part in text.splitlines()] == [0, 1, 1, 2]


def test_two_passes_at_the_top_share_all_of_the_time(clock):
    instrument = PassTimingInstrument()
    with PassContext(instruments=[instrument]):
        lasting(clock, "A", 100)(IRModule())
        lasting(clock, "B", 300)(IRModule())
    assert instrument.render() == "A: 100us [100us] (25.00%; 25.00%)\nB: 300us [300us] (75.00%; 75.00%)\n"


def test_render_works_before_and_after_leaving_the_context():
    instrument = PassTimingInstrument()
    with PassContext(instruments=[instrument]):
        idle("A")(IRModule())
        inside = instrument.render()
    assert instrument.render() == inside != ""


def test_render_works_on_the_class_as_in_tvm():
    with PassContext(instruments=[PassTimingInstrument()]):
        idle("A")(IRModule())
        assert PassTimingInstrument.render().startswith("A: ")


def test_nothing_recorded_is_a_warning_and_an_empty_text(caplog):
    assert PassTimingInstrument().render() == ""
    assert "no passes have been profiled, did you enable pass profiling?" in caplog.text


def test_render_inside_a_pass_is_an_error():
    instrument = PassTimingInstrument()
    ask = module_pass(lambda mod, ctx: instrument.render(), opt_level=0, name="ask")
    with PassContext(instruments=[instrument]), pytest.raises(PassError, match="while still in a pass"):
        ask(IRModule())


def test_a_raising_pass_does_not_wreck_the_tree():
    instrument = PassTimingInstrument()
    with PassContext(instruments=[instrument]):
        with pytest.raises(ZeroDivisionError):
            Sequential([idle("A"), Sequential([raising("Boom")], name="inner")])(IRModule())
        idle("B")(IRModule())
    assert instrument.text() == "sequential (failed)\n  A\n  inner (failed)\n    Boom (failed)\nB"
    assert instrument.render().count("\n") == 5


def test_two_instruments_in_one_context_do_not_disturb_each_other():
    first, second = PassTimingInstrument(), PassTimingInstrument()
    with PassContext(instruments=[first, second]):
        Sequential([idle("A")])(IRModule())
    assert first.text() == second.text() == "sequential\n  A"


def test_entering_again_starts_anew():
    instrument = measure(idle("A"))
    assert measure(idle("B"), instrument).text() == "B"


def test_the_same_as_a_data_frame(clock):
    frame = measure(lasting(clock, "A", 100, lasting(clock, "B", 300))).frame()
    assert list(frame["pass"]) == ["A", "B"]
    assert list(frame["depth"]) == [0, 1]
    assert list(frame["seconds"] * 1e6) == pytest.approx([400, 300])
    assert list(frame["own_seconds"] * 1e6) == pytest.approx([100, 300])
    assert list(frame["percent_of_parent"]) == [100.0, 75.0]
    assert list(frame["failed"]) == [False, False]


def test_a_clock_that_stands_still_divides_nothing_by_zero(clock):
    assert measure(idle("A")).render() == "A: 0us [0us] (0.00%; 0.00%)\n"


@pytest.mark.parametrize("first", [True, False])
def test_the_work_of_other_instruments_is_no_time_of_a_pass(clock, first):
    @pass_instrument
    class Slow:
        def should_run(self, mod, info):
            clock.tick(1000)
            return True

        def run_before_pass(self, mod, info):
            clock.tick(7000)

        def run_after_pass(self, mod, info):
            clock.tick(9000)

    times = PassTimingInstrument()
    others = [Slow(), times] if first else [times, Slow()]
    with PassContext(instruments=others):
        lasting(clock, "outer", 300, lasting(clock, "inner", 20))(IRModule())
    told = {node.name: (node.total, node.own) for _, node, _ in times.walk()}
    assert told["outer"] == (320, 300)
    assert told["inner"] == (20, 20)
