"""A network for targets with libraries, as the tutorial on them writes it."""

import logging

import numpy as np
import tvm
import tvm.testing
from tvm import relay, te
from tvm.contrib import graph_executor as runtime
from tvm.relay import testing

out_channels, batch_size = 4, 1
data = relay.var("data", relay.TensorType((batch_size, 3, 12, 12), "float32"))
weight = relay.var("weight")
bn_gamma, bn_beta = relay.var("bn_gamma"), relay.var("bn_beta")
bn_mmean, bn_mvar = relay.var("bn_mean"), relay.var("bn_var")
net = relay.nn.conv2d(data=data, weight=weight, kernel_size=(3, 3), channels=out_channels, padding=(1, 1))
net = relay.nn.batch_norm(net, bn_gamma, bn_beta, bn_mmean, bn_mvar)[0]
net = relay.nn.relu(net)
net = relay.Function(relay.analysis.free_vars(net), net)
data_shape = (batch_size, 3, 12, 12)
logging.getLogger("te").setLevel(logging.DEBUG)

outputs = []
for target in ("cuda", "cuda -libs=cudnn", "llvm"):
    mod, params = testing.create_workload(net)  # seeds NumPy, so that the data are the same each time
    lib = relay.build_module.build(mod, target, params=params)
    dev = tvm.device(target.split()[0], 0)
    data = np.random.uniform(-1, 1, size=data_shape).astype("float32")
    module = runtime.GraphModule(lib["default"](dev))
    module.set_input("data", data)
    module.run()
    out_shape = (batch_size, out_channels, 12, 12)
    out = module.get_output(0, tvm.nd.empty(out_shape))
    outputs.append(out.numpy())
tvm.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-5)
tvm.testing.assert_allclose(outputs[0], outputs[2], rtol=1e-5)
try:
    from tvm.contrib.cutlass import has_cutlass
except ImportError as error:
    assert "register_pattern_table" in str(error)
assert te is not None
print("done")
