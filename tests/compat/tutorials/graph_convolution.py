"""A graph convolutional network of two layers as the tutorial on it builds one, on a graph made here."""

from collections import namedtuple

import numpy as np
import tvm
import tvm.testing
from scipy.sparse import csr_matrix
from tvm import relay, te
from tvm.contrib import graph_executor


def convolution(layer_name, input_dim, output_dim, adj, input, norm=None, bias=True, activation=None):
    if norm is not None:
        input = relay.multiply(input, norm)
    weight = relay.var(layer_name + ".weight", shape=(input_dim, output_dim))
    dense = relay.nn.dense(relay.transpose(weight), input)
    output = relay.transpose(relay.nn.sparse_dense(dense, adj))
    if norm is not None:
        output = relay.multiply(output, norm)
    if bias is True:
        output = relay.nn.bias_add(output, relay.var(layer_name + ".bias", shape=(output_dim, 1)), axis=-1)
    return output if activation is None else activation(output)


rng = np.random.default_rng(0)
nodes, features, hidden, classes = 12, 6, 5, 3
dense_adjacency = ((rng.random((nodes, nodes)) < 0.3) | np.eye(nodes, dtype=bool)).astype("float32")
adjacency = csr_matrix(dense_adjacency)
params = {
    "infeats": rng.standard_normal((nodes, features)).astype("float32"),
    "g_data": adjacency.data.astype("float32"),
    "indices": adjacency.indices.astype("int32"),
    "indptr": adjacency.indptr.astype("int32"),
    "norm": np.power(dense_adjacency.sum(1), -0.5).astype("float32").reshape(nodes, 1),
}
infeats = relay.var("infeats", shape=params["infeats"].shape)
norm = relay.Constant(tvm.nd.array(params["norm"]))
g_data = relay.Constant(tvm.nd.array(params["g_data"]))
indices = relay.Constant(tvm.nd.array(params["indices"]))
indptr = relay.Constant(tvm.nd.array(params["indptr"]))
Adjacency = namedtuple("Adjacency", ["data", "indices", "indptr"])
adj = Adjacency(g_data, indices, indptr)
layers = [convolution("layers.0", features, hidden, adj, infeats, norm, activation=relay.nn.relu)]
layers.append(convolution("layers.1", hidden, classes, adj, layers[-1], norm, activation=None))
output = layers[-1]
for name, shape in {"layers.0": (features, hidden), "layers.1": (hidden, classes)}.items():
    params[f"{name}.weight"] = rng.standard_normal(shape).astype("float32")
    params[f"{name}.bias"] = rng.standard_normal(shape[1]).astype("float32")

func = relay.Function(relay.analysis.free_vars(output), output)
func = relay.build_module.bind_params_by_name(func, params)
mod = tvm.IRModule()
mod["main"] = func
with tvm.transform.PassContext(opt_level=0):
    lib = relay.build(mod, "llvm", params=params)
dev = tvm.device("llvm", 0)
m = graph_executor.GraphModule(lib["default"](dev))
m.run()
logits = m.get_output(0).numpy()


def layer(values, name):
    summed = dense_adjacency @ ((values * params["norm"]) @ params[f"{name}.weight"])
    return summed * params["norm"] + params[f"{name}.bias"]


expected = layer(np.maximum(layer(params["infeats"], "layers.0"), 0), "layers.1")
tvm.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)
assert te is not None
print("done")
