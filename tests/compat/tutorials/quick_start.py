"""A network is built, run, saved and loaded as the quick start does."""

import numpy as np
import tvm
import tvm.testing
from tvm import relay, te
from tvm.contrib import graph_executor, utils
from tvm.relay import testing

batch_size, num_class = 1, 10
image_shape = (3, 28, 28)
data_shape = (batch_size,) + image_shape
out_shape = (batch_size, num_class)
mod, params = relay.testing.resnet.get_workload(
    num_layers=8, num_classes=num_class, batch_size=batch_size, image_shape=image_shape
)
print(mod.astext(show_meta_data=False)[:60])

opt_level = 3
target = tvm.target.cuda()
with tvm.transform.PassContext(opt_level=opt_level):
    lib = relay.build(mod, target, params=params)

dev = tvm.cuda()
data = np.random.uniform(-1, 1, size=data_shape).astype("float32")
module = graph_executor.GraphModule(lib["default"](dev))
module.set_input("data", data)
module.run()
out = module.get_output(0, tvm.nd.empty(out_shape)).numpy()
assert out.shape == out_shape and abs(out.sum() - 1) < 1e-5

temp = utils.tempdir()
path_lib = temp.relpath("deploy_lib.tar")
lib.export_library(path_lib)
assert temp.listdir() == ["deploy_lib.tar"]
loaded_lib = tvm.runtime.load_module(path_lib)
input_data = tvm.nd.array(data)
module = graph_executor.GraphModule(loaded_lib["default"](dev))
module.run(data=input_data)
out_deploy = module.get_output(0).numpy()
tvm.testing.assert_allclose(out_deploy, out, atol=1e-5)
assert testing is relay.testing and te is not None
print("done")
