"""Dispatch on the sizes of inputs: static versions for expected sizes, and a dynamic one for all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passlab.errors import Diagnostic, PassValueError
from passlab.infer import infer_module
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.supply import NameSupply
from passlab.ir.types import ANY, Any, TensorType, TupleType, Type
from passlab.op import make
from passlab.op.dtypes import array_dtype, integer_info, is_float_name
from passlab.rewriting.fresh_copy import fresh_copy
from passlab.rewriting.reshaping import resize, with_param_types
from passlab.transform.base import ModulePass
from passlab.transform.context import PassContext
from passlab.transform.declare import standard_pass


@standard_pass(opt_level=0, contract=None)
class FlexibleShapeDispatch(ModulePass):
    """Let some inputs of `main` have any length along `axis`: `main` selects a version of itself at run time.

    For each length in `buckets` there is a version with static shapes (`main_16`), and one with a dynamic shape
    (`main_any`) for all others. With `auto_pad`, inputs are padded with `pad_value` to the next bucket, and the results
    are cut to the original length. `input_indices` are the positions of these inputs, which must all have the same
    length along `axis`; `affects_output` says whether the results have that length along `axis` as well. The result is
    typed. Raises `PassValueError` for buckets that are not positive lengths, for inputs and results that are not
    tensors, and for a `pad_value` that the dtype of an input does not hold.
    """

    buckets: Sequence[int] = (1,)
    axis: int = 0
    auto_pad: bool = False
    pad_value: float = 0
    input_indices: Sequence[int] = (0,)
    affects_output: bool = True

    def __post_init__(self) -> None:
        if any(bucket < 1 for bucket in self.buckets):
            actual = str(list(self.buckets))
            raise PassValueError(Diagnostic("a bucket is a length of at least 1", found=actual))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        mod = infer_module(mod).snapshot()
        main: Function = mod["main"]
        if any(not 0 <= i < len(main.params) for i in self.input_indices) or not self.input_indices:
            what = f"main has {len(main.params)} parameters"
            raise PassValueError(Diagnostic(what, expected="their places", found=str(list(self.input_indices))))
        lengths = sorted(set(self.buckets))
        names = NameSupply()
        for var in mod.get_global_vars():
            names.reserve_name(var.name_hint)
        versions = {n: self._version(mod, main, n, names.fresh_name(f"main_{n}")) for n in lengths}
        fallback = self._version(mod, main, ANY, names.fresh_name("main_any"))
        params = [Var(p.name_hint, fallback[1][i], p.span) for i, p in enumerate(main.params)]
        first = fallback[1][self.input_indices[0]]
        assert isinstance(first, TensorType)
        shape = make("shape_of", params[self.input_indices[0]], dtype="int32")
        length = make("take", shape, _number(self.axis % len(first.shape)))
        body: Expr = Call(fallback[0], params)
        for bucket in reversed(lengths):
            test = make("less_equal" if self.auto_pad else "equal", length, _number(bucket))
            body = If(test, self._call(versions[bucket], params, length, bucket, main), body)
        mod["main"] = Function(params, body, None, main.type_params, main.attrs, main.span)
        return infer_module(mod)

    def _version(self, mod: IRModule, main: Function, length: int | Any, name: str) -> tuple[GlobalVar, list[Type]]:
        """Add a version of `main` for one length to the module; return its name and the types of its parameters."""
        types: dict[Var, Type] = {}
        for i in self.input_indices:
            param = main.params[i]
            types[param] = resize(param.checked_type, self.axis, length, f"%{param.name_hint}")
        result = fresh_copy(with_param_types(main, types))
        assert isinstance(result, Function)
        mod[name] = result
        return mod.get_global_var(name), [types.get(p, p.checked_type) for p in main.params]

    def _call(
        self, version: tuple[GlobalVar, list[Type]], params: list[Var], length: Expr, bucket: int, main: Function
    ) -> Expr:
        """Return the call of a version on inputs that have its length, or are padded to it."""
        name, types = version
        args: list[Expr] = [*params]
        for i in self.input_indices:
            ty = types[i]
            assert isinstance(ty, TensorType)
            value = self._pad(params[i], ty, length, bucket) if self.auto_pad else params[i]
            args[i] = make("reshape", value, newshape=[d if isinstance(d, int) else 0 for d in ty.shape])
        call = Call(name, args)
        return self._cut(call, main.ret_type, length) if self.auto_pad and self.affects_output else call

    def _pad(self, value: Expr, ty: TensorType, length: Expr, bucket: int) -> Expr:
        """Return a value padded at the end of `axis` to the length `bucket`."""
        after = np.zeros((len(ty.shape), 2), "int32")
        after[self.axis, 1] = 1
        widths = make("multiply", Constant(after), make("subtract", _number(bucket), length))
        return make("dyn.nn.pad", value, widths, self._padding(ty.dtype), pad_width=[])

    def _padding(self, dtype: str) -> Constant:
        """Return the padding value. Raises `PassValueError` if it is not a number of the dtype."""
        value, kind = float(self.pad_value), array_dtype(dtype)
        if not is_float_name(dtype):
            low, high = (0, 1) if dtype == "bool" else (integer_info(kind).min, integer_info(kind).max)
            if not value.is_integer() or not low <= value <= high:
                what = f"the padding value is not a number of {dtype}"
                raise PassValueError(
                    Diagnostic(what, expected=f"a whole number from {low} to {high}", found=f"{self.pad_value:g}")
                )
        return Constant(np.asarray(self.pad_value, kind))

    def _cut(self, result: Expr, ty: Type | None, length: Expr) -> Expr:
        """Return a result, or each field of a tuple, cut to `length` along `axis`."""
        rows = make("arange", _number(0), length, _number(1), dtype="int32")
        parts = ty.fields if isinstance(ty, TupleType) else (ty,)
        for part in parts:
            resize(part, self.axis, ANY, "a result of main")
        if not isinstance(ty, TupleType):
            return make("take", result, rows, axis=self.axis)
        return Tuple([make("take", TupleGetItem(result, i), rows, axis=self.axis) for i in range(len(parts))])


def _number(value: int) -> Constant:
    return Constant(np.int32(value))
