"""`quantize`: find the layers, find their scales, write them with integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, RunError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.ir.expr import Call, Constant, Expr, Function
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.ir.walk import post_order, rewrite
from passlab.op import make
from passlab.relay.quantize.calibration import (
    find_scale_by_kl,
    find_scale_by_percentile,
    max_scale,
    power_of_two_scale,
)
from passlab.relay.quantize.config import QConfig, current_qconfig
from passlab.rewriting.parameters import bind_params
from passlab.transform import PassContext, get_pass
from passlab.transform.sequential import Sequential

PREPARATION = ("SimplifyInference", "FoldConstant", "FoldScaleAxis", "CanonicalizeOps", "FoldConstant")
Array = np.ndarray[Any, Any]


def prerequisite_optimize(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """Bind parameters, and fold batch norms into the layers before them."""
    with PassContext(opt_level=3):
        return Sequential([get_pass(name) for name in PREPARATION])(infer_module(bind_params(mod, params)))


def quantize(
    mod: IRModule, params: Mapping[str, Any] | None = None, dataset: Iterable[Mapping[str, Any]] | None = None
) -> IRModule:
    """Return a module whose convolutions and dense layers multiply integers, under the options of `qconfig`.

    `dataset` are inputs of `main` by name, for the modes that look at data (`kl_divergence`, `percentile`). A layer
    takes part where its weight is a constant: `round(x / s)` clipped to the integers there are, times the weight's
    integers, added up in `dtype_activation`, times both scales. Raises `RunError` where data is needed and not given.
    """
    config = current_qconfig()
    mod = prerequisite_optimize(mod, params)
    layers = _layers(mod["main"], config)
    scales = _scales(mod, [layer.args[0] for layer in layers], config, dataset)
    write = _simulate if config.do_simulation else _integer

    def replace(pre: Expr, post: Expr) -> Expr:
        if not isinstance(pre, Call) or pre not in chosen:
            return post
        assert isinstance(post, Call)
        return write(post, scales[pre.args[0]], config)

    chosen = set(layers)
    main = rewrite(mod["main"], replace, only=(Call,), name="quantization")
    with PassContext(opt_level=3):
        return Sequential([get_pass("InferType"), get_pass("FoldConstant")])(mod.with_functions({"main": main}))


def _layers(function: Function, config: QConfig) -> list[Call]:
    """Return the layers that are quantized, in the order of the program."""
    layers, convolutions = [], 0
    for node in post_order(function):
        if not isinstance(node, Call) or not isinstance(node.op, Op):
            continue
        if node.op.name == "nn.conv2d":
            skipped = convolutions in (config.skip_conv_layers or ())
            convolutions += 1
        elif node.op.name == "nn.dense":
            skipped = config.skip_dense_layer
        else:
            continue
        ty = node.args[0].checked_type
        is_float = isinstance(ty, TensorType) and ty.dtype.startswith("float")
        if not skipped and is_float and isinstance(node.args[1], Constant):
            layers.append(node)
    return layers


def _scales(
    mod: IRModule, inputs: list[Expr], config: QConfig, dataset: Iterable[Mapping[str, Any]] | None
) -> dict[Expr, float]:
    """Return for each input of a layer the largest number that is kept of it."""
    if config.calibrate_mode == "global_scale":
        return dict.fromkeys(inputs, float(config.global_scale))
    if dataset is None:
        hint = "quantize(mod, params, dataset=[{name: array}, ...]); or calibrate_mode='global_scale'"
        raise RunError(Diagnostic(f"calibration by {config.calibrate_mode} needs data", hint=hint))
    seen: dict[Expr, list[Array]] = {node: [] for node in inputs}
    names = [param.name_hint for param in mod["main"].params]
    for sample in dataset:
        absent = [name for name in names if name not in sample]
        if absent:
            raise RunError(
                Diagnostic(f"a sample of the data has no %{absent[0]}", found=", ".join(sample) or "nothing")
            )
        arguments = [np.asarray(sample[name]) for name in names]
        values = Evaluator(mod).values("main", arguments)
        values.update(zip(mod["main"].params, arguments, strict=True))
        for node in seen:
            seen[node].append(np.asarray(values[node]).reshape(-1))
    find = find_scale_by_kl if config.calibrate_mode == "kl_divergence" else find_scale_by_percentile
    return {node: find(np.concatenate(arrays)) if arrays else 1.0 for node, arrays in seen.items()}


def _steps(weight: Array, data_scale: float, config: QConfig) -> tuple[float, float, int, int]:
    """Return the size of a step of the data and of the weight, and the largest integer of both."""
    find = power_of_two_scale if config.weight_scale == "power2" else max_scale
    ranges = [2 ** (bits - 1) for bits in (config.nbit_input, config.nbit_weight)]
    return data_scale / ranges[0], find(weight) / ranges[1], ranges[0] - 1, ranges[1] - 1


def _scalar(value: float, dtype: str) -> Constant:
    return Constant(np.asarray(value, dtype))


def _simulate(layer: Call, data_scale: float, config: QConfig) -> Expr:
    """Return a layer of floats that take the values integers would have."""
    data, weight = layer.args
    assert isinstance(weight, Constant)
    dtype = weight.data.dtype.name
    steps = _steps(weight.data, data_scale, config)
    parts = []
    for part, step, most, kind in ((data, steps[0], steps[2], 1), (weight, steps[1], steps[3], 2)):
        bounds = (_scalar(step, dtype), _scalar(-most, dtype), _scalar(most, dtype))
        parts.append(make("relay.op.annotation.simulated_quantize", part, *bounds, kind=kind))
    return Call(layer.op, parts, layer.attrs)


def _integer(layer: Call, data_scale: float, config: QConfig) -> Expr:
    """Return a layer that multiplies integers."""
    data, weight = layer.args
    assert isinstance(weight, Constant)
    assert isinstance(layer.op, Op)
    dtype = weight.data.dtype.name
    data_step, weight_step, most, weight_most = _steps(weight.data, data_scale, config)
    counted = make("round", make("multiply", data, _scalar(1 / data_step, dtype)))
    small = make("cast", make("clip", counted, a_min=float(-most), a_max=float(most)), dtype=config.dtype_input)
    codes = np.clip(_half_away(weight.data / weight_step), -weight_most, weight_most).astype(config.dtype_weight)
    attrs: dict[str, Any] = dict(layer.attrs.items()) if layer.attrs is not None else {}
    sums = make(layer.op.name, small, Constant(codes), **{**attrs, "out_dtype": config.dtype_activation})
    return make("multiply", make("cast", sums, dtype=dtype), _scalar(data_step * weight_step, dtype))


def _half_away(x: Array) -> Array:
    rounded: Array = np.trunc(x + np.copysign(0.5, x))
    return rounded
