"""`quantize`: selects operators, finds scales, creates integer arithmetic; each step is a separate pass.

The file begins with the partition: it inserts a cast hint where wide integers leave a layer and its followers, to
narrow them again. It ends with realization: simulated integers become integers, changes of scale shifts or products.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op, OpCall, is_call_of
from passlab.ir.types import TensorType
from passlab.ir.walk import rewrite, substitute
from passlab.op import make
from passlab.op.autodiff import dtype_of
from passlab.op.fixed_point import FRACTION_BITS
from passlab.op.qnn.scales import fixed_point
from passlab.relay.quantize.annotating import SIMULATED, Annotator, QAnnotateKind, kind2str, simulated_calls
from passlab.relay.quantize.calibration import find_scale_by_kl, find_scale_by_percentile, max_scale, power_of_two_scale
from passlab.relay.quantize.config import QConfig, current_qconfig
from passlab.relay.quantize.conversions import partition_conversions
from passlab.relay.quantize.forward import RECTIFIERS, PendingResult, Rule, rewrite_forward, write
from passlab.rewriting.parameters import bind_params
from passlab.transform import PassContext, function_pass, get_pass, module_pass
from passlab.transform.base import Pass
from passlab.transform.sequential import Sequential


class Wide(PendingResult):
    """The wide results of a layer."""

    def _create(self) -> Expr:
        hint = make("annotation.cast_hint", self.expr, dtype=current_qconfig().dtype_input)
        return make("annotation.stop_fusion", hint)


def _layer(call: Call, args: list[Any]) -> Wide:
    return Wide(Call(call.op, [write(arg) for arg in args], call.attrs))


def _follow(call: Call, args: list[Any]) -> Wide | None:
    return Wide(Call(call.op, [args[0].expr], call.attrs)) if isinstance(args[0], Wide) else None


def _clip(call: Call, args: list[Any]) -> Wide | None:
    return _layer(call, args) if isinstance(args[0], Wide) else None


def _add(call: Call, args: list[Any]) -> Expr | Wide | None:
    left, right = (isinstance(arg, Wide) for arg in args)
    if left and isinstance(args[1], Constant):
        value = args[0]
        return Wide(Call(call.op, [value.expr if isinstance(value, Wide) else write(value), args[1]], call.attrs))
    if left and right:
        return _layer(call, args)
    return Call(call.op, [write(arg) for arg in args], call.attrs) if left or right else None


def _multiply(call: Call, args: list[Any]) -> Wide | None:
    return _layer(call, args) if any(isinstance(arg, Wide) for arg in args) else None


def _global_pool(call: Call, args: list[Any]) -> Expr:
    value = args[0] if isinstance(args[0], Wide) else Wide(write(args[0]))
    return Call(call.op, [value.write()], call.attrs)


PARTITION_RULES: dict[str, Rule] = {
    "nn.conv2d": _layer,
    **dict.fromkeys((*RECTIFIERS, "nn.max_pool2d"), _follow),
    "clip": _clip,
    "add": _add,
    "multiply": _multiply,
    "nn.global_avg_pool2d": _global_pool,
}


PREPARATION = ("SimplifyInference", "FoldConstant", "FoldScaleAxis", "CanonicalizeOps", "FoldConstant")
Array = np.ndarray[Any, Any]
Dataset = Iterable[Mapping[str, Any]]


def prerequisite_optimize(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """Bind parameters and simplify in the current context: at level 3, batch norms are folded into earlier layers."""
    return Sequential([get_pass(name) for name in PREPARATION])(infer_module(bind_params(mod, params)))


def partition() -> Pass:
    """Return the pass that inserts hints where the results of a layer are narrowed."""
    return _forward_pass("QuantizePartition", PARTITION_RULES)


def _forward_pass(name: str, rules: Mapping[str, Rule]) -> Pass:
    def transform(func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite_forward(func, rules)

    result: Pass = function_pass(transform, opt_level=1, name=name)
    return result


def annotate() -> Pass:
    """Return the pass that inserts `simulated_quantize` around the operators to run on integers."""

    def transform(func: Function, mod: IRModule, ctx: PassContext) -> Function:
        result = rewrite_forward(func, Annotator().rules)
        bounds = [arg for call in simulated_calls(result) for arg in call.args[1:] if isinstance(arg, Var)]
        return result.with_fields(params=[*result.params, *bounds])

    result: Pass = function_pass(transform, opt_level=1, name="QuantizeAnnotate")
    return result


def realize() -> Pass:
    """Return the pass that replaces `simulated_quantize` by integer arithmetic."""
    return _forward_pass("QuantizeRealize", REALIZE_RULES)


def calibrate(dataset: Dataset | None = None) -> Callable[[IRModule, PassContext], IRModule]:
    """Return the function of a module pass that finds all scales, under the options of `qconfig`.

    It raises `RunError` if a mode needs data and has none, or lacks an input.
    """

    def transform(mod: IRModule, ctx: PassContext) -> IRModule:
        main, config = mod["main"], current_qconfig()
        calls = simulated_calls(main)
        largest = _largest_numbers(main, calls, config, dataset)
        bounds: dict[Expr, Expr] = {}
        for call in calls:
            bits = getattr(config, f"nbit_{kind2str(call.attrs.kind)}")
            steps = 2 ** (bits - bool(call.attrs.sign))
            values = (largest[call] / steps, -(steps - 1), steps - 1)
            bounds.update(zip(call.args[1:], map(scalar, values), strict=True))
        params = [param for param in main.params if param not in bounds]
        return mod.with_functions({"main": main.with_fields(params=params, body=substitute(main.body, bounds))})

    return transform


def _largest_numbers(
    main: Function, calls: list[OpCall], config: QConfig, dataset: Dataset | None
) -> dict[OpCall, float]:
    """Return the largest absolute value of each simulated quantization."""
    find_weight = power_of_two_scale if config.weight_scale == "power2" else max_scale
    weights = {call: call.args[0] for call in calls if call.attrs.kind == QAnnotateKind.WEIGHT}
    largest = {call: find_weight(weight.data) for call, weight in weights.items() if isinstance(weight, Constant)}
    others = [call for call in calls if call not in largest]
    if config.calibrate_mode == "global_scale":
        return {**largest, **dict.fromkeys(others, float(config.global_scale))}
    find = find_scale_by_kl if config.calibrate_mode == "kl_divergence" else find_scale_by_percentile
    samples = _collect_values(main, others, config, dataset)
    return {**largest, **{call: find(np.concatenate(samples[i])) for i, call in enumerate(others)}}


def _collect_values(main: Function, calls: list[OpCall], config: QConfig, dataset: Dataset | None) -> list[list[Array]]:
    """Return the operands of each simulated quantization in the network of floats, one array per sample."""
    if dataset is None:
        hint = "quantize(mod, params, dataset=[{name: array}, ...]); or calibrate_mode='global_scale'"
        raise RunError(Diagnostic(f"calibration by {config.calibrate_mode} needs data", hint=hint))
    operands: dict[Expr, Expr] = {}
    rewrite(main.body, lambda pre, post: post.args[0] if is_call_of(post, SIMULATED) else post, replace=operands)
    results = Tuple([operands[call] for call in calls])
    bounds = {arg for call in simulated_calls(main) for arg in call.args[1:]}
    params = [param for param in main.params if param not in bounds]
    evaluator = Evaluator(infer_module(IRModule.from_expr(Function(params, results))))
    collected: list[list[Array]] = [[] for _ in calls]
    for sample in dataset:
        absent = [param.name_hint for param in params if param.name_hint not in sample]
        if absent:
            names = ", ".join(sample) or "nothing"
            raise RunError(Diagnostic(f"a sample of the data has no %{absent[0]}", found=names))
        arguments = [np.asarray(sample[param.name_hint], _dtype(param)) for param in params]
        for arrays, value in zip(collected, evaluator.run("main", arguments), strict=True):
            arrays.append(np.asarray(value).reshape(-1))
    return collected


def _dtype(param: Var) -> str:
    ty = param.type_annotation
    return ty.dtype if isinstance(ty, TensorType) else "float32"


def quantize(mod: IRModule, params: Mapping[str, Any] | None = None, dataset: Dataset | None = None) -> IRModule:
    """Return a module whose layers compute on integers, by the options of `qconfig`.

    `annotating` selects the layers; their weights must be constants. `dataset` has inputs of `main` by name, for the
    modes that need data (`kl_divergence`, `percentile`). Raises `RunError` if such a mode has no data, and
    `NotIntegralError` if `partition_conversions="fully_integral"` and the result computes on floats.
    """
    config = current_qconfig()
    passes = [partition(), annotate(), module_pass(calibrate(dataset), opt_level=1, name="QuantizeCalibrate")]
    passes.append(get_pass("InferType"))
    if not config.do_simulation:
        passes += [realize()]
    passes.append(get_pass("FoldConstant"))
    prepared = prerequisite_optimize(mod, params)
    with PassContext(opt_level=3):
        quantized = infer_module(Sequential(passes)(prepared))
    if config.partition_conversions == "disabled":
        return quantized
    dtypes = {config.dtype_input, config.dtype_weight, config.dtype_activation}
    return partition_conversions(quantized, dtypes, config.partition_conversions == "fully_integral")


# ---------------------------------------------------------------- realize
def scalar(value: Any, dtype: str = "float32") -> Constant:
    """Return a constant of one number."""
    return Constant(np.asarray(value, dtype))


class Integers(PendingResult):
    """Integers of a dtype, and the float that one represents (`scale`). They may still be stored as floats."""

    float_dtype = "float32"  # of the numbers they represent

    def __init__(self, expr: Expr, scale: float, dtype: str) -> None:
        super().__init__(expr)
        self.scale, self.dtype = scale, dtype

    def _create(self) -> Expr:
        return make("multiply", make("cast", self.expr, dtype=self.float_dtype), scalar(self.scale, self.float_dtype))

    def cast(self, dtype: str) -> Expr:
        """Return the integers in a dtype."""
        return self.expr if self.dtype == dtype else make("cast", self.expr, dtype=dtype)


def _product(a: float, b: float) -> float:
    return float(np.float32(a) * np.float32(b))


def _power_of_two(factor: float) -> int | None:
    """Return the exponent of a power of two, None for another number."""
    part, exponent = math.frexp(factor)
    return exponent - 1 if part == 0.5 else None


def _fixed_point_product(data: Expr, factor: float) -> Expr:
    """Return 64-bit integers multiplied by a factor, rounded as the options say."""
    multiplier, shift = fixed_point(factor)
    if shift < -FRACTION_BITS:  # the product of an activation is far below one half
        multiplier, shift = multiplier >> (-FRACTION_BITS - shift), -FRACTION_BITS
    if current_qconfig().rounding == "UPWARD":
        return make("fixed_point_multiply", data, multiplier=multiplier, shift=shift)
    total = FRACTION_BITS - shift
    half = 1 << (total - 1)
    is_negative = make("less", data, scalar(0, "int64"))
    rounding = make("where", is_negative, scalar(half - 1, "int64"), scalar(half, "int64"))
    wide = make("add", make("multiply", data, scalar(multiplier, "int64")), rounding)
    return make("right_shift", wide, scalar(total, "int64"))


def _enlarge(data: Expr, scale: float, smaller: float, dtype: str) -> Expr:
    """Return integers converted to a smaller scale."""
    if scale == smaller:
        return data
    factor = float(np.float32(scale) / np.float32(smaller))
    shift = _power_of_two(factor)
    if shift is not None:
        return make("left_shift", data, scalar(shift, dtype))
    if factor == int(factor):
        return make("multiply", data, scalar(int(factor), dtype))
    return make("cast", _fixed_point_product(make("cast", data, dtype="int64"), factor), dtype=dtype)


def _attrs(call: Call) -> dict[str, Any]:
    return {} if call.attrs is None else dict(call.attrs.items())


def _quantize(call: Call, args: list[Any]) -> Integers:
    scale, low, high = (float(arg.data) for arg in args[1:])
    data = args[0]
    if not isinstance(data, Integers):
        steps = make("round", make("multiply", data, scalar(1 / scale, dtype_of(call))))
        return Integers(make("clip", steps, a_min=low, a_max=high), scale, dtype_of(call))
    expr = data.expr
    if data.scale != scale:
        expr = _rescale(data, scale)
    clipped = make("clip", expr, a_min=low, a_max=high)
    return Integers(clipped if expr is data.expr else make("cast", clipped, dtype=data.dtype), scale, data.dtype)


def _rescale(data: Integers, scale: float) -> Expr:
    """Return integers at another scale, as wide as activations or wider."""
    config = current_qconfig()
    dtype = config.dtype_activation
    shift = _power_of_two(float(np.float32(scale) / np.float32(data.scale)))
    if shift is None:
        return _fixed_point_product(data.cast("int64"), data.scale / scale)
    wide = data.cast(dtype)
    if shift < 0:
        return make("left_shift", wide, scalar(-shift, dtype))
    if config.round_for_shift:
        wide = make("add", wide, scalar(1 << (shift - 1), dtype))
    return make("right_shift", wide, scalar(shift, dtype))


def _realize_layer(call: Call, args: list[Any]) -> Integers | None:
    if not all(isinstance(arg, Integers) for arg in args):
        return None
    config = current_qconfig()
    assert isinstance(call.op, Op)
    operands = (args[0].cast(config.dtype_input), args[1].cast(config.dtype_weight))
    sums = make(call.op.name, *operands, **{**_attrs(call), "out_dtype": config.dtype_activation})
    return Integers(sums, _product(args[0].scale, args[1].scale), config.dtype_activation)


def _realize_multiply(call: Call, args: list[Any]) -> Integers | None:
    if not all(isinstance(arg, Integers) for arg in args):
        return None
    dtype = current_qconfig().dtype_activation
    product = Call(call.op, [arg.cast(dtype) for arg in args], call.attrs)
    return Integers(product, _product(args[0].scale, args[1].scale), dtype)


def _to_common_scale(args: list[Integers]) -> tuple[list[Expr], float, str]:
    """Return integers as activations of the smallest of their scales."""
    dtype, scale = current_qconfig().dtype_activation, min(arg.scale for arg in args)
    return [_enlarge(arg.cast(dtype), arg.scale, scale, dtype) for arg in args], scale, dtype


def _have_common_scale(args: list[Any]) -> bool:
    """Whether all are integers, and the largest scale divided by the smallest fits in the dtype of activations."""
    if not all(isinstance(arg, Integers) for arg in args):
        return False
    scales: list[float] = [arg.scale for arg in args]
    largest: int = np.iinfo(current_qconfig().dtype_activation).max
    return max(scales) <= largest * min(scales)


def _realize_add(call: Call, args: list[Any]) -> Integers | None:
    if not _have_common_scale(args):
        return None
    operands, scale, dtype = _to_common_scale(args)
    # The conversion from floats to integers stays a separate kernel: its users read integers.
    for i, arg in enumerate(args):
        if arg.dtype.startswith("float"):
            operands[i] = make("annotation.stop_fusion", operands[i])
    return Integers(Call(call.op, operands, call.attrs), scale, dtype)


def _concatenate(call: Call, args: list[Any]) -> Integers | None:
    if not isinstance(args[0], list) or not _have_common_scale(args[0]):
        return None
    fields, scale, dtype = _to_common_scale(args[0])
    return Integers(Call(call.op, [Tuple(fields)], call.attrs), scale, dtype)


def _realize_clip(call: Call, args: list[Any]) -> Integers | None:
    if not isinstance(args[0], Integers):
        return None
    data, attrs = args[0], _attrs(call)
    bounds = {"a_min": attrs["a_min"] / data.scale, "a_max": attrs["a_max"] / data.scale}
    return Integers(make("clip", data.expr, **bounds), data.scale, data.dtype)


def _realize_follow(call: Call, args: list[Any]) -> Integers | None:
    data = args[0]
    if not isinstance(data, Integers):
        return None
    return Integers(Call(call.op, [data.expr, *args[1:]], call.attrs), data.scale, data.dtype)


def _follow_as_input(call: Call, args: list[Any]) -> Integers | None:
    return _follow_as(current_qconfig().dtype_input, call, args)


def _follow_as_activation(call: Call, args: list[Any]) -> Integers | None:
    return _follow_as(current_qconfig().dtype_activation, call, args)


def _follow_as(dtype: str, call: Call, args: list[Any]) -> Integers | None:
    if not isinstance(args[0], Integers):
        return None
    return Integers(Call(call.op, [args[0].cast(dtype)], call.attrs), args[0].scale, dtype)


def _hint(call: Call, args: list[Any]) -> Integers | None:
    if not isinstance(args[0], Integers):
        return None
    dtype = str(_attrs(call)["dtype"])
    return Integers(args[0].cast(dtype), args[0].scale, dtype)


def _with_floatdtype_of(rule: Rule) -> Rule:
    """Return a rule that stores in its integers the dtype of the floats they represent."""

    @functools.wraps(rule)
    def realize(call: Call, args: list[Any]) -> object:
        result = rule(call, args)
        if isinstance(result, Integers):
            result.float_dtype = dtype_of(call)
        return result

    return realize


_RULES: dict[str, Rule] = {
    SIMULATED: _quantize,
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.conv2d_transpose", "nn.dense", "nn.batch_matmul"), _realize_layer),
    "multiply": _realize_multiply,
    "add": _realize_add,
    "concatenate": _concatenate,
    "clip": _realize_clip,
    **dict.fromkeys((*RECTIFIERS, "reshape", "strided_slice", "transpose", "annotation.stop_fusion"), _realize_follow),
    **dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d", "nn.batch_flatten"), _follow_as_input),
    **dict.fromkeys(("nn.avg_pool2d", "nn.global_avg_pool2d"), _follow_as_activation),
    "annotation.cast_hint": _hint,
}
REALIZE_RULES = {name: _with_floatdtype_of(rule) for name, rule in _RULES.items()}
