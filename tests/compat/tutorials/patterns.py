"""Patterns matched, rewritten and partitioned as the page on the pattern language does."""

import numpy as np
import tvm
from tvm import relay
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.dataflow_pattern import (
    DFPatternCallback,
    FunctionPattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    rewrite,
    wildcard,
)

x, y = relay.var("x", shape=(4, 4)), relay.var("y", shape=(4, 4))
assert (is_op("add")(wildcard(), wildcard()) | is_op("subtract")(wildcard(), wildcard())).match(x + y)
assert (
    is_op("nn.conv2d")(wildcard(), wildcard())
    .has_attr({"kernel_size": [3, 3]})
    .match(relay.nn.conv2d(relay.var("d"), relay.var("w"), kernel_size=(3, 3), channels=8))
)
assert is_var("x").match(x) and not is_var("x").match(y)
assert is_constant().match(relay.const(1)) and is_expr(x).match(x)
assert is_tuple((wildcard(), wildcard())).match(relay.Tuple([x, y]))
assert is_tuple_get_item(wildcard(), 0).match(relay.TupleGetItem(relay.Tuple([x, y]), 0))
typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, y], x + y)))["main"].body
assert has_shape((4, 4)).match(typed) and has_dtype("float32").match(typed)
assert has_type(relay.TensorType((4, 4), "float32")).match(typed)
assert FunctionPattern([wildcard(), wildcard()], wildcard()).match(relay.Function([x, y], x + y))
assert is_let(wildcard(), wildcard(), wildcard()).match(relay.Let(relay.Var("z"), x, y))
assert is_if(is_var("c"), wildcard(), wildcard()).match(relay.If(relay.var("c", "bool"), x, y))
diamond = relay.nn.relu(relay.nn.conv2d(x, y))
pattern = dominates(
    is_op("nn.conv2d")(wildcard(), wildcard()), is_op("nn.relu")(wildcard()), is_op("add")(wildcard(), wildcard())
)
assert pattern.match(relay.nn.relu(diamond) + relay.nn.relu(diamond))


class Halved(DFPatternCallback):
    """Replaces x + x by x * 2."""

    def __init__(self, require_type=False):
        super().__init__(require_type)
        self.x = wildcard()
        self.pattern = is_op("add")(self.x, self.x)

    def callback(self, pre, post, node_map):
        return relay.multiply(node_map[self.x][0], relay.const(2.0))


assert rewrite(Halved(), x + x).op == relay.op.get("multiply")
bias = wildcard()
matmul = is_op("nn.bias_add")(is_op("nn.dense")(wildcard(), wildcard()), bias)
net = relay.nn.bias_add(relay.nn.dense(x, y), relay.var("b", shape=(4,)))
partitioned = matmul.partition(net, {"Composite": "dense_bias"})
assert partitioned.op.attrs["Composite"] == "dense_bias"
assert has_attr({"TOpPattern": 0}).match(relay.op.get("nn.relu"))
assert bind_params_by_name is not None and np is not None
print("done")
