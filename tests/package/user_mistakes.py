"""Mistakes of somebody who installed passlab, each on a line marked `# wrong`: type checkers find them all."""

import numpy as np
import passlab
from passlab import IRModule, instrument, lab, relay, transform, vm

x = relay.var("x", shape=(1, 8), dtype="float32")
w = relay.const(np.ones((4, 8), "float32"))
mod = IRModule.from_expr(relay.Function([x], relay.nn.dense(x, w)))

relay.nn.conv2d(x, w, stride=(1, 1))  # wrong: the parameter is `strides`
relay.add(x, "1")  # wrong: a string is no operand
relay.nn.softmax(x, axis="last")  # wrong: an axis is a number
relay.image.resize2d(x, (2, 2), method="bilinear")  # wrong: the method is "linear"
relay.nn.relux(x)  # wrong: there is no such operator
relay.topk(x, ret_type="values")[0]  # wrong: one result is no tuple
transform.FoldConstants()  # wrong: there is no such pass
transform.FuseOps(fuse_opt_level="3")  # wrong: a level is a number
transform.Sequential(transform.InferType())  # wrong: a list of passes is needed
passlab.record(mod, ["FoldConstant"], opt_levels=3)  # wrong: the parameter is `opt_level`
passlab.record(mod, ["FoldConstant"]).blame(1)  # wrong: it takes no such argument
lab.culprits(mod)  # wrong: the function is `culprit`
lab.reduce(mod, True)  # wrong: a predicate is a function
vm.compile("main")  # wrong: a module is needed
vm.Debuger(mod)  # wrong: the class is `Debugger`
mod["main"].parms  # wrong: the parameters are `params`
relay.frontend.from_onnx("net.onnx", shapes={"x": (1, 8)})  # wrong: the parameter is `shape`
instrument.Timing()  # wrong: there is no such instrument
passlab.parse(7)  # wrong: a program is text
relay.Function(x, x)  # wrong: the parameters are a list


@transform.function_pass(opt_level=1)  # wrong: a function pass takes three arguments
def two(func: relay.Function, mod: IRModule) -> relay.Function:
    """Lack the context."""
    return func
