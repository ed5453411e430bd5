"""A program of somebody who installed passlab. Type checkers read it; each `reveal` line is one public name.

It is checked against the installed wheel: without a mistake in it, with a type other than Any for each name.
"""

from typing import TYPE_CHECKING

import numpy as np
import passlab
from passlab import IRModule, instrument, ir, lab, relay, transform, vm
from passlab.relay import qnn
from passlab.relay.op import nn

if TYPE_CHECKING:
    from typing_extensions import reveal_type as reveal
else:

    def reveal(value: object) -> object:
        """Do nothing where the program runs."""
        return value


# A program, built operator by operator.
x = relay.var("x", shape=(1, 8), dtype="float32")
w = relay.const(np.ones((4, 8), "float32"))
dense = relay.nn.dense(x, w, units=4)
shifted = relay.add(dense, relay.const(1.0))
parts = relay.split(shifted, 2, axis=1)
joined = relay.concatenate([parts[0], parts[1]], axis=1)
resized = relay.reshape(joined, (2, 2))
best = relay.topk(resized, k=1, ret_type="values")
both = relay.topk(resized, k=1)
small = qnn.op.quantize(resized, relay.const(0.5), relay.const(0), out_dtype="int8")
soft = nn.softmax(resized, axis=-1)
mod = transform.InferType()(IRModule.from_expr(relay.Function([x], soft)))

reveal(relay.var)  # 1
reveal(relay.const)  # 2
reveal(relay.nn.dense)  # 3
reveal(relay.add)  # 4
reveal(relay.split)  # 5
reveal(relay.topk)  # 6
reveal(relay.Function)  # 7
reveal(nn.softmax)  # 8
reveal(qnn.op.quantize)  # 9
reveal(best)  # 10
reveal(both[0])  # 11
reveal(mod["main"])  # 12
reveal(mod["main"].body.checked_type)  # 13
reveal(relay.TensorType)  # 14
reveal(relay.analysis.free_vars)  # 15
reveal(relay.dataflow_pattern.is_op)  # 16
reveal(relay.testing.resnet.get_workload)  # 17
reveal(relay.frontend.from_onnx)  # 18
reveal(relay.frontend.from_pytorch)  # 19
reveal(relay.to_onnx)  # 20


# A pass of one's own, and a pipeline.
@transform.function_pass(opt_level=1)
def nothing(func: relay.Function, mod: IRModule, ctx: transform.PassContext) -> relay.Function:
    """Return the function as it is."""
    return func


pipeline = transform.Sequential([transform.InferType(), transform.FoldConstant(fold_qnn=True), nothing])
with transform.PassContext(opt_level=3, instruments=[instrument.PassTimingInstrument()]):
    out = pipeline(mod)

reveal(nothing)  # 21
reveal(transform.Sequential)  # 22
reveal(transform.InferType())  # 23
reveal(transform.FuseOps)  # 24
reveal(transform.gradient)  # 25
reveal(transform.get_pass)  # 26
reveal(pipeline(mod))  # 27
reveal(relay.transform.FoldConstant)  # 28
reveal(instrument.Validate)  # 29
reveal(instrument.Recorder)  # 30

# What the lab makes of it.
recording = passlab.record(mod, ["FoldConstant", nothing], opt_level=3)

reveal(recording)  # 31
reveal(recording.output)  # 32
reveal(recording.blame())  # 33
reveal(recording[1].diff())  # 34
reveal(lab.culprit)  # 35
reveal(lab.bisect)  # 36
reveal(lab.reduce)  # 37
reveal(lab.simplify)  # 38
reveal(lab.fuzz)  # 39
reveal(lab.Trace)  # 40
reveal(passlab.diff)  # 41
reveal(passlab.parse)  # 42

# Running it.
executable = vm.compile(mod)
machine = vm.VirtualMachine(executable, passlab.cpu())

reveal(vm.compile)  # 43
reveal(vm.Debugger)  # 44
reveal(executable)  # 45
reveal(machine.run)  # 46
reveal(relay.create_executor)  # 47
reveal(relay.vm.VirtualMachine)  # 48
reveal(relay.build)  # 49
reveal(ir.structural_equal)  # 50
reveal(passlab.display.recording_view)  # 51
reveal(passlab.text.astext)  # 52
