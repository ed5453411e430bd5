"""An ONNX model is imported and run as the tutorial on importing does; the model is written here."""

import os
import tempfile

import numpy as np
import onnx
import onnx.helper as make
import tvm
import tvm.relay as relay
from onnx import TensorProto, numpy_helper
from tvm.contrib.download import download_testdata

folder = tempfile.mkdtemp()
os.environ["TEST_DATA_ROOT_PATH"] = folder
os.makedirs(os.path.join(folder, "onnx"))
rng = np.random.default_rng(0)
weight = rng.standard_normal((9, 1, 3, 3)).astype("float32")
graph = make.make_graph(
    [
        make.make_node("Conv", ["1", "w"], ["c"], pads=[1, 1, 1, 1]),
        make.make_node("Relu", ["c"], ["r"]),
        make.make_node("Reshape", ["r", "s"], ["q"]),
        make.make_node("Transpose", ["q"], ["t"], perm=[0, 1, 4, 2, 5, 3]),
        make.make_node("Reshape", ["t", "o"], ["y"]),
    ],
    "upscale",
    [make.make_tensor_value_info("1", TensorProto.FLOAT, [1, 1, 12, 12])],
    [make.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 36, 36])],
    [
        numpy_helper.from_array(weight, "w"),
        numpy_helper.from_array(np.array([1, 1, 3, 3, 12, 12]), "s"),
        numpy_helper.from_array(np.array([1, 1, 36, 36]), "o"),
    ],
)
onnx.save(
    make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8),
    os.path.join(folder, "onnx", "net.onnx"),
)

model_path = download_testdata("https://example.invalid/net.onnx", "net.onnx", module="onnx")
onnx_model = onnx.load(model_path)
x = rng.random((1, 1, 12, 12))
target = "llvm"
input_name = "1"
shape_dict = {input_name: x.shape}
mod, params = relay.frontend.from_onnx(onnx_model, shape_dict)
with tvm.transform.PassContext(opt_level=1):
    executor = relay.build_module.create_executor("graph", mod, tvm.cpu(0), target, params).evaluate()
dtype = "float32"
tvm_output = executor(tvm.nd.array(x.astype(dtype))).numpy()
assert tvm_output.shape == (1, 1, 36, 36)
padded = np.pad(x[0, 0], 1)
first = sum(padded[i : i + 12, j : j + 12] * weight[0, 0, i, j] for i in range(3) for j in range(3))
np.testing.assert_allclose(tvm_output[0, 0, ::3, ::3], np.maximum(first, 0), rtol=1e-4, atol=1e-5)
print("done")
