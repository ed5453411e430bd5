"""Answers of somebody who reads the checks and writes what passes them: all of them must be refused.

By lesson and exercise. Each satisfies the questions that a check always asks, and fails those that it draws.
"""

from __future__ import annotations

import itertools
from typing import Any

from tests.notebook.answers_on_passes import CHAIN

X2 = "Tensor[(2), float32]"
MUTATOR = """
class A({}):
    def visit_call(self, call):
        {}
A
"""
PASS = """
@transform.{}_pass(opt_level={}, name="{}")
def p({}, ctx):
    {}
p
"""
TOOL = """
@instrument.pass_instrument
class A:
    def __init__(self, n):
        self.n = n
    def {}(self, mod, info):
        {}
A
"""
CHECKER = "class A(CallChecker):\n    def check(self, expr):\n        return {}\nA"
PLUS_ZERO = """
class A(PlusZero):
    def callback(self, pre, post, node_map):
        (x,), (zero,) = node_map[self.x], node_map[self.zero]
        same = any(a.checked_type is pre.checked_type for a in pre.args if not isinstance(a, relay.Constant))
        return x if same and {} else post
A
"""
INLINE = """
class Inliner(relay.ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if not isinstance(call.op, relay.Function):
            return call
        body = call.op.body
        for param, argument in {}:
            body = relay.Let(param, argument, body)
        return body
@transform.function_pass(opt_level=0)
def p(func, mod, ctx):
    return Inliner().visit(func)
p
"""
CLIP = """
@transform.module_pass(opt_level=0)
def p(mod, ctx):
    main = mod["main"]
    pair = relay.var("pair", main.ret_type)
    fields = [relay.clip(relay.TupleGetItem(relay.TupleGetItem(pair, 1), i), -1.0, 1.0) for i in range({})]
    body = relay.Let(pair, main.body, relay.Tuple([relay.TupleGetItem(pair, 0), relay.Tuple(fields)]))
    return mod.with_functions({{"main": relay.Function(main.params, body)}})
p
"""
STATIC = """
@transform.function_pass(opt_level=0)
def p(func, mod, ctx):
    new = {{}}
    for param in func.params:
        shape = list(param.checked_type.shape)
        {}
        new[param] = relay.var(param.name_hint, relay.TensorType(shape, param.checked_type.dtype))
    return relay.Function(list(new.values()), relay.bind(func.body, {}))
p
"""
SCALED = """
@transform.function_pass(opt_level=1)
def p(func, mod, ctx):
    class Fold(relay.ExprMutator):
        def visit_call(self, call):
            call = super().visit_call(call)
            if call.op != relay.op.get("multiply"):
                return call
            number = next((a for a in call.args if isinstance(a, relay.Constant)), None)
            other = next((a for a in call.args if not isinstance(a, relay.Constant)), None)
            if number is None or not isinstance(other, relay.Call) or not isinstance(other.args[-1], relay.Constant){}:
                return call
            kernel = relay.Constant(np.asarray(other.args[-1].data * {}, "float32"))
            return relay.Call(other.op, [*other.args[:-1], kernel], other.attrs)
    return Fold().visit(func)
p
"""

SLY: dict[str, dict[int, tuple[str, ...]]] = {
    "02-reading-relay": {
        1: (
            f"passlab.parse('''def @e(%y: {X2}) {{ exp(%y) }} def @main(%x: {X2}) {{ add(@e(%x), multiply(@e(%x), @e(%x))) }}''')",
            f"passlab.parse('''def @main(%x: {X2}) {{ %0 = fn (%y: {X2}) {{ exp(%y) }}; add(%0(%x), multiply(%0(%x), %0(%x))) }}''')",
        ),
        3: ("passlab.parse('def @main(%p: (Tensor[(2), float32], int32)) { (%p.1, zeros_like(%p.0)) }')",),
    },
    "04-your-first-pass": {
        3: (
            CHECKER.format("isinstance(expr, relay.Function)"),
            CHECKER.format("expr is net['main']"),
            CHECKER.format("isinstance(expr, (relay.Function, relay.Call, relay.If))"),
        ),
        4: (
            MUTATOR.format(
                "ExprMutator",
                "done = super().visit_call(call)\n        return done.args[0].args[0] if isinstance(done.args[0], relay.Call) and done.op == done.args[0].op else done",
            ).removesuffix("A\n")
            + PASS.format("function", 1, "drop_double", "func, mod", "return A().visit(func)"),
        ),
    },
    "05-constant-folding": {
        4: (
            MUTATOR.format(
                "ConstantFolder",
                "divides = call.op == relay.op.get('divide')\n        return call if divides and call.args[1].data == 0 else super().visit_call(call)",
            ),
            MUTATOR.format(
                "ConstantFolder",
                "try:\n            done = super().visit_call(call)\n        except passlab.PasslabError:\n            return ExprMutator.visit_call(self, call)\n        return relay.const(0) if isinstance(done, relay.Constant) else done",
            ),
        ),
    },
    "06-pattern-rewriting": {3: (PLUS_ZERO.format("zero.data.sum() == 0"), PLUS_ZERO.format("not zero.data.flat[0]"))},
    "07-pass-manager": {
        4: (
            PASS.format(
                "function",
                1,
                "negated",
                "func, mod",
                "p = func.params[0]\n    return relay.Function(func.params, relay.negative(p * p * p))",
            ),
        ),
    },
    "08-instruments": {
        3: (
            TOOL.format(
                "should_run",
                "return info.name != ('FoldConstant' if self.n == 1 else 'CanonicalizeOps' if self.n == 2 else '')",
            ),
            TOOL.format("should_run", "return info.opt_level <= min(self.n, 3)"),
        ),
        4: (
            TOOL.format(
                "run_after_pass",
                "if info.name == 'grow' and self.n == 7:\n            raise passlab.PasslabError('grow')",
            ),
            TOOL.format(
                "run_after_pass",
                "if count_ops(mod['main'])['tanh'] + 6 > max(self.n, 7):\n            raise passlab.PasslabError(info.name)",
            ),
        ),
    },
    "09-normal-forms": {
        3: (
            "lambda e: isinstance(e, relay.Let) and 'is' and all(isinstance(a, relay.Var) for a in getattr(e.value, 'args', getattr(e.value, 'fields', ()))) and not isinstance(e.value, relay.Let)",
            "lambda e: isinstance(e, relay.Let)",
        ),
    },
    "10-operator-fusion": {
        3: (
            CHAIN.format("(kind <= 1 and largest in (0, 1, 2, 4)) or (kind in (2, 3) and largest <= 1)"),
            CHAIN.format(
                "(kind <= 1 and largest in (0, 1, 2, 4)) or (kind == 3 and largest <= 2) or (kind == 2 and largest < 2)"
            ),
        ),
    },
    "11b-partial-evaluation": {
        4: (
            INLINE.format("zip(call.op.params, reversed(call.args))"),
            INLINE.format("[(call.op.params[0], call.args[0])]"),
        ),
    },
    "12b-training": {3: (CLIP.format("2"), CLIP.format("min(2, len(main.params))"))},
    "16-dynamic-shapes": {
        3: (
            STATIC.format("shape[0] = 8", "new"),
            STATIC.format(
                "shape = [8 if isinstance(d, relay.Any) else d for d in shape]",
                "{p: q + q - q for p, q in new.items()}",
            ),
            STATIC.format("shape[0] = 8 if isinstance(shape[0], relay.Any) else shape[0]", "new"),
        ),
    },
    "19-a-real-network": {
        3: (
            SCALED.format("", "number.data"),
            SCALED.format(" or other.op != relay.op.get('nn.conv2d')", "number.data.flat[0]"),
        ),
    },
    "20-porting-from-tvm": {
        1: (
            "OLD.replace('import tvm', 'import importlib; T = importlib.import_module(\"t\" + \"vm\")').replace('from tvm import relay', 'relay = T.relay').replace('tvm', 'T')",
            "'# create_executor IRModule\\nimport numpy as np\\nresult = np.float32([[0, 0, 1], [2, 3, 4]])'",
            "'import numpy as np, passlab\\nfrom passlab import relay\\n# create_executor\\nmod = passlab.IRModule()\\nresult = np.float32([[0, 0, 1], [2, 3, 4]])'",
        ),
    },
    "21-llvm": {
        1: (
            "lambda text, unit: {('@dense(', 'classify'): 279, ('@positive(', 'relu'): 103, ('alloca', 'relu'): 10}.get((text, unit), 20)",
        ),
        3: ("lambda unit: 'PostOrderFunctionAttrsPass' if unit[0] in '([' else 'InstCombinePass'",),
    },
    "22-todays-tvm": {
        1: ("lambda name: 5 if name.startswith('fused') else 1 if name == 'main' else 3",),
        3: ("lambda text: 2 if text.startswith('R.') else 14",),
    },
}


class Agreeable:
    """An object that equals everything, contains everything, and is whatever one takes from it."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__

    def __contains__(self, item: object) -> bool:
        return True

    def __iter__(self) -> Any:
        return iter([self] * 4)

    def __call__(self, *arguments: Any) -> Any:
        return self


def agreeable(kind: type, value: Any) -> Any:
    """A value of a class derived from one of Python's, which equals everything and is near to everything."""
    return type(kind.__name__, (kind,), {
        "__eq__": lambda self, other: True, "__hash__": None if kind in (list, set, dict) else kind.__hash__,
        "__sub__": lambda self, other: 0.0, "__rsub__": lambda self, other: 0.0, "__contains__": lambda self, other: True,
    })(value)  # fmt: skip


_TEXT, _NUMBER = agreeable(str, "x"), agreeable(int, 7)
_VALUES = (
    Agreeable(), _TEXT, _NUMBER, agreeable(float, 0.03), agreeable(set, {99}), agreeable(list, [1, 2]), agreeable(tuple, (1, 2)),
    (_NUMBER, _NUMBER), [_NUMBER] * 3, [_NUMBER] * 4, [_TEXT] * 3, [_TEXT] * 4, 10**5000,
)  # fmt: skip
HOSTILE: tuple[Any, ...] = (
    *_VALUES,
    *(lambda *arguments, value=value: value for value in _VALUES),
    lambda *arguments: itertools.count(),
)
