"""Pipelines as the tutorial on the pass infrastructure builds and runs them."""

import numpy as np
import tvm
import tvm.relay as relay
from tvm import te


def network():
    image = relay.var("image", relay.TensorType((1, 4, 10, 10), "float32"))
    kernel = relay.var("kernel", shape=(4, 4, 3, 3))
    offset = relay.const(np.full((1, 4, 8, 8), 0.5, "float32"))
    body = relay.nn.conv2d(image, kernel)
    scaled = relay.multiply(relay.add(offset, offset), relay.const(2, "float32"))
    body = relay.add(body, scaled)
    left, right = relay.add(body, offset), relay.add(body, offset)
    return relay.Function([image, kernel], relay.add(left, right))


def count(mod, name):
    calls = []
    relay.analysis.post_order_visit(
        mod["main"],
        lambda node: calls.append(node) if isinstance(node, relay.Call) and node.op == relay.op.get(name) else None,
    )
    return len(calls)


mod = tvm.IRModule.from_expr(network())
assert count(mod, "add") == 5

folded = relay.transform.FoldConstant()(mod)
assert count(folded, "multiply") == 0
shared = relay.transform.EliminateCommonSubexpr()(folded)
assert count(shared, "add") == 3
fused = relay.transform.FuseOps(fuse_opt_level=2)(shared)
assert "Primitive=1" in fused.astext(show_meta_data=False)

pipeline = tvm.transform.Sequential(
    [
        relay.transform.FoldConstant(),
        relay.transform.EliminateCommonSubexpr(),
        relay.transform.FuseOps(fuse_opt_level=2),
    ]
)
assert count(pipeline(mod), "multiply") == 0  # the default level of a context is 2
with tvm.transform.PassContext(opt_level=3):
    optimised = pipeline(mod)
with tvm.transform.PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
    kept = pipeline(mod)
assert count(kept, "add") > count(optimised, "add")

with tvm.transform.PassContext(opt_level=3):
    with tvm.target.Target("llvm"):
        assert tvm.ir.structural_equal(pipeline(mod), optimised)
    with tvm.target.create("llvm -mcpu=core-avx2") as target:
        assert tvm.target.Target.current() is target and target.attrs["mcpu"] == "core-avx2"
assert tvm.target.Target.current(allow_none=True) is None


@relay.transform.function_pass(opt_level=1)
class Multiplied:
    """Multiplies every constant by a number."""

    def __init__(self, factor):
        self.factor = factor

    def transform_function(self, func, mod, ctx):
        factor = self.factor

        class Replace(tvm.relay.ExprMutator):
            def visit_constant(self, const):
                return relay.multiply(factor, const)

        return Replace().visit(func)


custom = Multiplied(factor=relay.const(3, "float32"))
assert custom.info.name == "Multiplied"
assert count(custom(mod), "multiply") == 3

printed = tvm.transform.Sequential(
    [relay.transform.FoldConstant(), tvm.transform.PrintIR(), relay.transform.EliminateCommonSubexpr()]
)


@tvm.instrument.pass_instrument
class Names:
    def __init__(self):
        self.seen = []

    def run_before_pass(self, mod, info):
        self.seen.append(info.name)


names = Names()
with tvm.transform.PassContext(opt_level=3, instruments=[names]), tvm.target.Target("llvm"):
    printed(mod)
assert "FoldConstant" in names.seen
assert te is not None
print("done")
