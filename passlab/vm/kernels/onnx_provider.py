"""Programs on onnxruntime: a `Session` runs one function, a kernel of this provider one region of a program.

    program: a network with an operator that ONNX does not have, here `nn.dilate`
    regions: @main = nn.dilate(@region_0(%x)) ... @region_1(...)      made by `passlab.executor.onnx_executor.partition`
    kernels: @region_0 and @region_1 are sessions of onnxruntime, all other kernels are NumPy's

A session takes its model from `relay.to_onnx`, without a copy of large weights: onnxruntime reads the arrays of the
program. It runs on as many threads as BLAS may use here. Needs the packages onnx and onnxruntime.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import onnxruntime as ort

from passlab import limits
from passlab.errors import Diagnostic, ModelError, PasslabError, RunError, did_you_mean
from passlab.infer import infer_module
from passlab.ir.equal import structural_hash
from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import op_name
from passlab.ir.types import TensorType, fold_tuple, tensor_types
from passlab.ir.walk import post_order
from passlab.lazy import late
from passlab.op.dtypes import array_dtype
from passlab.rewriting.entry import with_entry
from passlab.threads import thread_count
from passlab.vm.kernels.primitive import Kernel, flat_values
from passlab.vm.kernels.providers import Provider

Array = np.ndarray[Any, Any]
COMPILER = "onnxruntime"  # the attribute `Compiler` of regions
CPU = ("CPUExecutionProvider",)
NUMPY_TYPES = frozenset((*range(1, 8), *range(9, 14)))  # numbers of ONNX: floats and integers of 8 to 64 bits, and bool
FATAL = 4  # the level of onnxruntime's log: it prints nothing, since errors are raised


def execution_providers(names: Any) -> tuple[str, ...]:
    """Return names of onnxruntime's execution providers, such as "CUDAExecutionProvider", the CPU's as the last.

    Raises `RunError` for one that this build of onnxruntime does not have.
    """
    wanted = (names,) if isinstance(names, str) else tuple(names or ())
    available = ort.get_available_providers()
    for name in wanted:
        if name not in available:
            hint = did_you_mean(str(name), available) or f"this one has {', '.join(available)}"
            raise RunError(Diagnostic(f"this onnxruntime has no execution provider `{name}`", hint=hint))
    return tuple(dict.fromkeys((*wanted, *CPU)))


class Session:
    """A function in onnxruntime. It may be called from several threads.

    Raises `ModelError` for a function that ONNX cannot express or onnxruntime has no kernels for, naming the operator.
    """

    def __init__(self, function: Function, mod: IRModule | None = None, providers: Sequence[str] = CPU) -> None:
        weights: dict[str, Array] = {}
        module = infer_module(with_entry(mod or IRModule(), function))
        _check_program(module)
        model, _ = late("passlab.frontend.onnx.export.exporting", "write_model")(module, apart=weights)
        _check_interface(model)
        options = ort.SessionOptions()
        options.log_severity_level = FATAL
        options.intra_op_num_threads = thread_count()
        # The values must live as long as the session, which reads their memory.
        self._weights = [ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array)) for array in weights.values()]
        options.add_external_initializers(list(weights), self._weights)
        try:
            self._session = ort.InferenceSession(model.SerializeToString(), options, providers=list(providers))
        except Exception as error:  # its errors have no common class
            raise ModelError(Diagnostic("onnxruntime cannot run the program", found=_message(error))) from error
        self._inputs = [value.name for value in self._session.get_inputs()]
        ret_type = module["main"].ret_type
        assert ret_type is not None  # the module is typed
        self._type = ret_type

    def __call__(self, inputs: Sequence[Any]) -> Any:
        """Return the result for a value of each parameter; raises what onnxruntime raises."""
        feed = dict(zip(self._inputs, flat_values(inputs), strict=True))
        results = iter(self._session.run(None, feed))
        return fold_tuple(self._type, lambda _: next(results), tuple)


def _message(error: Exception) -> str:
    """Return the message of an error of onnxruntime without its codes and its own source lines."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", str(error))
    return re.sub(r"\S*/onnxruntime/\S+ |onnxruntime::\S+ ", "", text).strip()


MOST_NODES = 20_000
DIVISIONS = frozenset(("divide", "trunc_divide", "floor_divide", "mod", "trunc_mod", "floor_mod"))
SUMS = frozenset(("sum", "prod", "mean", "collapse_sum_like", "collapse_sum_to", "power"))
PRODUCTS = frozenset(("nn.dense", "nn.matmul", "nn.batch_matmul", "nn.conv1d", "nn.conv2d", "nn.conv3d", "einsum"))


def _check_program(mod: IRModule) -> None:
    """Raise `ModelError` for a program that is too long, or has operators that onnxruntime computes in another way.

    Raises `LimitError` for a tensor above the limit: onnxruntime knows none, and computes constants at once.
    """
    problems = []
    for name, function in mod.items():
        order = post_order(function.body)
        if len(order) > MOST_NODES:
            problems.append(
                Diagnostic(f"@{name} has more than {MOST_NODES:,} nodes: onnxruntime would compile for minutes")
            )
        for node in order:
            for ty in tensor_types(node.checked_type_):
                if not ty.dynamic:
                    size = array_dtype(ty.dtype).itemsize * math.prod(ty.concrete_shape)
                    limits.check("tensor_bytes", size, "a tensor of the program")
            reason = _difference(node) if isinstance(node, Call) else None
            if reason is not None:
                problems.append(Diagnostic(f"`{op_name(node)}`: {reason}", node.span))
    if problems:
        raise ModelError(*problems)


def _difference(call: Call) -> str | None:
    """Return how onnxruntime differs from Relay in an operator, None where it does not."""
    name = op_name(call)
    if name == "nn.deformable_conv2d":
        return "ONNX also interpolates at positions up to a pixel outside of the image, where Relay has zeros"
    if name in ("qnn.log", "qnn.sqrt", "qnn.rsqrt"):
        return "NaN, the logarithm or root of a negative number, becomes another integer"
    first = call.args[0].checked_type_ if call.args else None
    if not isinstance(first, TensorType) or array_dtype(first.dtype).kind not in "iu":
        return None
    if name in DIVISIONS and not _is_safe_divisor(call.args[1]):
        return "onnxruntime crashes when it divides the smallest integer by -1"
    if name in SUMS:
        return "onnxruntime computes it in floats, where large integers are rounded and do not wrap around"
    result = call.checked_type_
    if name in PRODUCTS and not (_bits(first) <= 16 and isinstance(result, TensorType) and _bits(result) >= 32):
        return "a model computes it in floats, where large integers are rounded and do not wrap around"
    return None


def _is_safe_divisor(divisor: Expr) -> bool:
    return isinstance(divisor, Constant) and not np.isin(divisor.data, (0, -1)).any()


def _bits(ty: TensorType) -> int:
    return 8 * array_dtype(ty.dtype).itemsize


def _check_interface(model: Any) -> None:
    """Raise `ModelError` for a model without results, or with inputs or results of a dtype that NumPy does not have."""
    if not model.graph.output:
        raise ModelError("a model needs a result")
    for value in (*model.graph.input, *model.graph.output):
        if value.type.tensor_type.elem_type not in NUMPY_TYPES:
            raise ModelError(f"onnxruntime takes and returns NumPy's own dtypes only, not the dtype of `{value.name}`")


# ---------------------------------------------------------------- regions as kernels
class OnnxProvider(Provider):
    """Regions of programs on onnxruntime, all other kernels on NumPy."""

    name = "onnxruntime"

    def kernel(self, function: Function) -> Kernel:
        """Return the kernel of a primitive function: a session for a region, else NumPy's."""
        if function.attrs.get("Compiler") == COMPILER:
            return OnnxKernel(function)
        kernel = super().kernel(function)
        kernel.reason = "it is not in a region for onnxruntime"
        return kernel


class OnnxKernel(Kernel):
    """A region as a session. Where onnxruntime fails, the operators run one by one on NumPy."""

    @property
    def placement(self) -> tuple[str, str]:
        return COMPILER, ""

    @cached_property
    def session(self) -> Session:
        """The session, made on first use."""
        f = self.function
        return Session(Function(f.params, f.body, f.ret_type, f.type_params, span=f.span))

    @cached_property
    def value(self) -> Callable[..., Any]:
        return lambda *inputs: self._compute(inputs)

    @cached_property
    def on_numpy(self) -> Callable[..., Any]:
        """The region as calls of NumPy, which name the operator that fails."""
        compute = Kernel(self.function).value
        assert compute is not None
        return compute

    def _compute(self, inputs: Sequence[Any]) -> Any:
        try:
            return self.session(inputs)
        except PasslabError:
            raise
        except Exception:  # noqa: BLE001 - onnxruntime's errors have no common class
            return self.on_numpy(*inputs)

    @cached_property
    def into(self) -> Callable[[Sequence[Array], Sequence[Array]], None]:
        params = self.function.params

        def run(inputs: Sequence[Array], results: Sequence[Array]) -> None:
            flat = iter(inputs)
            value = self._compute([fold_tuple(p.checked_type, lambda _: next(flat), tuple) for p in params])
            for array, result in zip(flat_values([value]), results, strict=True):
                np.copyto(result, array, casting="no")

        return run

    @cached_property
    def scalar(self) -> None:
        return None


# ---------------------------------------------------------------- which operators make regions
SMALL = 64  # elements of a constant that is part of the question: shapes and axes
_answers: dict[int, bool] = {}  # by the structural hash of a function of one call


def runs(call: Call) -> bool:
    """Whether onnxruntime makes a session of one call of an operator: a model is not enough, kernels may be missing."""
    types = [ty for node in (call, *call.args) for ty in tensor_types(node.checked_type_)]
    if any(ty.dynamic for ty in types):
        return False  # the machine needs the shape function of a region, which these operators may not have together
    args = [
        arg if isinstance(arg, Constant) and arg.data.size <= SMALL else Var("x", arg.checked_type) for arg in call.args
    ]
    params = [arg for arg in args if isinstance(arg, Var)]
    function = Function(params, Call(call.op, args, call.attrs))
    key = structural_hash(function)
    if key not in _answers:
        try:
            Session(function)
        except PasslabError:
            _answers[key] = False
        else:
            _answers[key] = True
    return _answers[key]
