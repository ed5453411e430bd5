"""Change the batch size of a program's inputs.

before: data={"x": 0}, batch_size=4
    def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(3, 8), float32]) -> Tensor[(1, 3), float32] {
      let %y: Tensor[(1, 3), float32] = nn.dense(%x, %w);
      nn.relu(%y)
    }
after:
    def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(3, 8), float32]) -> Tensor[(4, 3), float32] {
      let %y: Tensor[(4, 3), float32] = nn.dense(%x, %w);
      nn.relu(%y)
    }

before: data={"x": 1, "y": -1}, batch_size=2
    def @main(%x: Tensor[(3, 1), int8], %y: Tensor[(3, 1), int8]) { add(%x, %y) }
after:
    def @main(%x: Tensor[(3, 2), int8], %y: Tensor[(3, 2), int8]) { add(%x, %y) }

keep: data={"x": 0}, batch_size=16
    def @main(%x: Tensor[(16, 2), float32]) { nn.relu(%x) }

keep:
    def @main(%x: Tensor[(1, 2), float32]) { nn.relu(%x) }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from passlab.errors import Diagnostic, PassValueError
from passlab.ir.expr import Function, Var
from passlab.ir.module import IRModule
from passlab.rewriting.reshaping import resize, with_param_types
from passlab.transform.base import FunctionPass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=1, contract=None)
class ChangeBatch(FunctionPass):
    """Change the length of one axis of some parameters to `batch_size`, and infer all other types again.

    `data` maps each parameter to the axis that counts the batch; parameters are variables or, unlike in Relay, names.
    Result types and annotations of variables bound by a `let` are dropped and inferred. Numbers in attributes, such as
    the new shape of a `reshape`, and the parameters of inner functions stay, so inference fails if they depend on the
    batch size. Raises `PassValueError` for parameters that are not tensors or lack the axis.
    """

    data: Mapping[Var | str, int] = field(default_factory=dict)
    batch_size: int = 16

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise PassValueError(Diagnostic("a batch has at least one element", found=str(self.batch_size)))

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        types = {}
        for param in func.params:
            axis = self.data.get(param, self.data.get(param.name_hint))
            if axis is not None:
                types[param] = resize(param.type_annotation, axis, self.batch_size, f"%{param.name_hint}")
        return with_param_types(func, types)
