"""Initializers of parameters, by the suffix of their names, and `create_workload`, which returns a network to run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.errors import Diagnostic, PasslabError, PassValueError
from passlab.infer import infer_module
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType
from passlab.op.dtypes import array_dtype

Array = np.ndarray[Any, Any]


class Initializer:
    """Fills arrays by the suffix of the parameter's name: weight, bias, gamma, beta, mean, var.

    Subclasses define `weight`. `reseed` restarts the random numbers.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.reseed(0)

    def reseed(self, seed: int) -> None:
        """Restart the random numbers, by the old generator of NumPy: it gives the values of published networks."""
        self.random = np.random.RandomState(seed)

    def __call__(self, name: str, array: Array) -> None:
        """Fill `array`, the parameter called `name`. Raises `PasslabError` for a name with no known suffix."""
        fills = {"bias": 0.0, "gamma": 1.0, "beta": 0.0, "mean": 0.0, "var": 1.0}
        if name.endswith("weight"):
            self.weight(name, array)
            return
        for ending, value in fills.items():
            if name.endswith(ending):
                array[...] = value
                return
        raise PasslabError(
            Diagnostic(
                f"there is no first value for the parameter `{name}`",
                expected="a name ending in weight, bias, gamma, beta, mean or var",
                hint="give an initializer of your own",
            )
        )

    def weight(self, name: str, array: Array) -> None:
        """Fill a weight."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to fill weights")


class Xavier(Initializer):
    """Uniform weights scaled by fan-in and fan-out (Glorot and Bengio, 2010).

    `factor_type` is "avg", "in" or "out"; `magnitude` scales the variance.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian") or factor_type not in ("avg", "in", "out"):
            raise PasslabError(
                Diagnostic(
                    "Xavier does not know this kind of randomness",
                    expected="rnd_type uniform or gaussian, factor_type avg, in or out",
                    found=f"{rnd_type}, {factor_type}",
                )
            )
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def weight(self, name: str, array: Array) -> None:
        """Fill a weight of at least two dimensions. Raises `PasslabError` for a vector."""
        if array.ndim < 2:
            raise PasslabError(Diagnostic(f"Xavier cannot fill the vector `{name}`", expected="two dimensions or more"))
        window = math.prod(array.shape[2:])
        fan_in, fan_out = array.shape[1] * window, array.shape[0] * window
        factor = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}[self.factor_type]
        if "depthwise" in name:  # each output reads one channel only
            factor = window
        scale = math.sqrt(self.magnitude / factor)
        if self.rnd_type == "uniform":
            array[...] = self.random.uniform(-scale, scale, size=array.shape)
        else:
            array[...] = self.random.normal(0, scale, size=array.shape)


class Constant(Initializer):
    """Every weight element is `value`."""

    def __init__(self, value: float = 0.0) -> None:
        super().__init__(value=value)
        self.value = value

    def weight(self, name: str, array: Array) -> None:
        """Fill a weight."""
        array[...] = self.value


class QuantizeInitializer(Initializer):
    """Random whole numbers over the range of an integer weight; uniform numbers for a floating-point one."""

    def weight(self, name: str, array: Array) -> None:
        """Fill a weight."""
        if array.dtype.kind in "iu":
            info = np.iinfo(array.dtype)
            array[...] = self.random.randint(info.min, int(info.max) + 1, size=array.shape, dtype=array.dtype)
        else:
            array[...] = self.random.uniform(-1, 1, size=array.shape)


@checked
def create_workload(
    net: Function, initializer: Callable[[str, Array], None] | None = None, seed: int = 0
) -> tuple[IRModule, dict[str, Array]]:
    """Return the module of a network with inferred types, and its parameters by name.

    `initializer` (by default `Xavier()`, with `seed`) fills every parameter of `main` except those called "data" and
    parameters of dynamic shape. Raises `PassValueError` for a seed that NumPy's generator of TVM's time cannot take.

    >>> from passlab import testing
    >>> data = relay.var("data", shape=(1, 4))
    >>> dense = testing.layers.dense_add_bias(data, units=2, name="fc")
    >>> mod, params = testing.create_workload(relay.Function(relay.analysis.free_vars(dense), dense))
    >>> {name: value.shape for name, value in params.items()}
    {'fc_weight': (2, 4), 'fc_bias': (2,)}
    """
    if not 0 <= seed < 2**32:
        raise PassValueError(Diagnostic("a seed is a whole number from 0 to 2**32 - 1", found=str(seed)))
    mod = infer_module(IRModule.from_expr(net))
    fill = Xavier() if initializer is None else initializer
    if isinstance(fill, Initializer):
        fill.reseed(seed)
    params: dict[str, Array] = {}
    # Two parameters may share a name, as the inputs of an unrolled network do: the last one counts.
    for name, ty in {p.name_hint: p.checked_type for p in mod["main"].params}.items():
        if name == "data" or not isinstance(ty, TensorType) or ty.dynamic:
            continue
        params[name] = np.zeros(ty.concrete_shape, array_dtype(ty.dtype))
        fill(name, params[name])
    return mod, params
