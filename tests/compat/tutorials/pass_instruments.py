"""Instruments as the tutorial on them writes, combines and breaks them."""

from collections import Counter
from functools import wraps

import numpy as np
import tvm
import tvm.relay as relay
from tvm.contrib.download import download_testdata
from tvm.ir.instrument import PassTimingInstrument, pass_instrument
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.testing import resnet

batch_size, image_shape = 1, (3, 28, 28)
mod, params = resnet.get_workload(batch_size, num_classes=10, num_layers=8, image_shape=image_shape)
mod["main"] = bind_params_by_name(mod["main"], params)
assert callable(download_testdata)

timing_inst = PassTimingInstrument()
with tvm.transform.PassContext(instruments=[timing_inst]):
    mod = relay.transform.InferType()(mod)
    mod = relay.transform.FoldScaleAxis()(mod)
    profiles = timing_inst.render()
assert "InferType" in profiles

timing_inst = PassTimingInstrument()
with tvm.transform.PassContext(instruments=[timing_inst]) as context:
    mod = relay.transform.InferType()(mod)
    profiles = timing_inst.render()
    context.override_instruments([timing_inst])
    mod = relay.transform.FoldScaleAxis()(mod)
cur_pass_ctx = tvm.transform.PassContext.current()
cur_pass_ctx.override_instruments([timing_inst])
mod = relay.transform.FoldScaleAxis()(mod)
assert "FoldScaleAxis" in timing_inst.render()
cur_pass_ctx.override_instruments([])


@pass_instrument
class CallCounts:
    """Counts calls by operator before and after each pass, where they differ."""

    def __init__(self):
        self.differences = []
        self._before = []

    def enter_pass_ctx(self):
        self.differences = []

    def exit_pass_ctx(self):
        assert len(self._before) == 0, "the stack of counts is not empty"

    def run_before_pass(self, mod, info):
        self._before.append((info.name, self._count(mod)))

    def run_after_pass(self, mod, info):
        name, before = self._before.pop()
        after = self._count(mod)
        assert name == info.name
        more, fewer = after - before, before - after
        if more or fewer:
            self.differences.append((info.name, dict(more), dict(fewer)))

    def _count(self, mod):
        counts = Counter()

        def visit(node):
            if isinstance(node, relay.Call):
                counts[node.op.name if hasattr(node.op, "name") else "function"] += 1

        relay.analysis.post_order_visit(mod["main"], visit)
        return counts


differences = CallCounts()
desired_layouts = {"nn.conv2d": ["NHWC", "HWIO"]}
pass_seq = tvm.transform.Sequential(
    [
        relay.transform.FoldConstant(),
        relay.transform.ConvertLayout(desired_layouts),
        relay.transform.FoldConstant(),
    ]
)
mod["main"] = bind_params_by_name(mod["main"], params)
with tvm.transform.PassContext(opt_level=3, instruments=[differences, timing_inst]):
    mod = pass_seq(mod)
    profiles = timing_inst.render()
assert any(name == "ConvertLayout" for name, _, _ in differences.differences)


class ErrorInHook(Exception):
    """What the broken instruments raise."""


@pass_instrument
class Broken:
    def __init__(self, name, hook):
        self.label, self.hook = name, hook

    def enter_pass_ctx(self):
        self._maybe("enter_pass_ctx")

    def exit_pass_ctx(self):
        self._maybe("exit_pass_ctx")

    def should_run(self, mod, info):
        self._maybe("should_run")
        return True

    def run_before_pass(self, mod, info):
        self._maybe("run_before_pass")

    def run_after_pass(self, mod, info):
        self._maybe("run_after_pass")

    def _maybe(self, hook):
        log.append((self.label, hook))
        if hook == self.hook:
            raise ErrorInHook(hook)


log = []
for hook in ("enter_pass_ctx", "run_before_pass", "run_after_pass", "should_run", "exit_pass_ctx"):
    log.clear()
    try:
        with tvm.transform.PassContext(instruments=[Broken("first", ""), Broken("second", hook)]):
            relay.transform.InferType()(mod)
    except (ErrorInHook, tvm.error.TVMError) as ex:
        print("Catching", str(ex).split("\n")[-1])
    else:
        raise AssertionError(hook)
    assert ("second", hook) in log, (hook, log)
    tvm.transform.PassContext.current().override_instruments([])
assert wraps is not None and np is not None
print("done")
