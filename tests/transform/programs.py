"""Small programs and passes that the tests of this room share."""

from __future__ import annotations

from typing import Any

import numpy as np

from passlab import op
from passlab.ir import Call, Constant, Function, IRModule, TensorType, Var
from passlab.ir.op import Op
from passlab.ir.walk import rewrite
from passlab.transform import function_pass, module_pass


def make(name: str, *args: Any) -> Any:
    return op.make(name, *args)


def chain(*names: str) -> IRModule:
    """A module whose main applies operators one after the other, starting from its parameter."""
    x = Var("x", TensorType((2,), "float32"))
    body: Any = x
    for name in names:
        body = make(name, body)
    return IRModule.from_expr(Function([x], body))


def sum_with_constant() -> IRModule:
    x = Var("x", TensorType((2,), "float32"))
    return IRModule.from_expr(Function([x], make("add", x, Constant(np.ones(2, "float32")))))


def operators(mod: IRModule, name: str = "main") -> list[str]:
    """The operators applied in a chain, the first applied first."""
    result, node = [], mod[name].body
    while isinstance(node, Call):
        result.append(node.op.name)
        node = node.args[0]
    return result[::-1]


def replacing(old: str, new: str, **options: Any) -> Any:
    """A function pass that puts one unary operator in the place of another."""

    def replace(func: Function, mod: IRModule, ctx: Any) -> Function:
        def rule(pre: Any, post: Any) -> Any:
            return make(new, *post.args) if isinstance(post, Call) and post.op is Op.get(old) else post

        return rewrite(func, rule)

    return function_pass(replace, **{"opt_level": 0, "name": f"{old}_to_{new}", **options})


def idle(name: str = "Idle", opt_level: int = 0, required: Any = None) -> Any:
    """A module pass that changes nothing."""
    return module_pass(lambda mod, ctx: mod, opt_level=opt_level, name=name, required=required)


def raising(name: str = "Boom", error: type[BaseException] = ZeroDivisionError) -> Any:
    def boom(mod: IRModule, ctx: Any) -> IRModule:
        raise error("boom")

    return module_pass(boom, opt_level=0, name=name)
