"""Operators that compute nothing: annotations that passes insert and read, and copies between devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from passlab.devices import Device, VirtualDevice, device
from passlab.errors import Diagnostic, RunError
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Expr
from passlab.ir.op import Op, OpCall, OpPattern, Reporter
from passlab.ir.types import IncompleteType, Type
from passlab.op import layout_rules
from passlab.op.attr_fields import anything, attrs, boolean, dtype, integer, text
from passlab.op.declare import Python, operator
from passlab.op.dtypes import Array, round_half_away
from passlab.op.edge_cases import on_one
from passlab.op.no_gradient import QUANTIZED
from passlab.op.relations import identity, refuse, tensor


def same_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    """The result has the type of the input, which may be a tensor, a tuple or a function."""
    return None if isinstance(types[0], IncompleteType) else types[0]


def _identity_gradient(orig: OpCall, grad: Expr) -> list[Expr]:
    return [grad]


def _identity_kernel(attrs: Attrs, data: Array) -> Array:
    return data


def _mark(name: str, doc: str, record: type[Attrs] | None = None, **facts: Any) -> Op:
    facts.setdefault("edge_cases", on_one(name))
    facts.setdefault("shapes", "any value -> the same")
    facts.setdefault("source", "Relay")
    facts.setdefault("inputs", ("data",))
    return operator(
        name,
        facts.pop("inputs"),
        attrs=record,
        relation=same_type,
        gradient=_identity_gradient,
        doc=doc,
        **facts,
    )(_identity_kernel)


COMPILER = attrs("CompilerAttrs", text("compiler", doc="the name of the compiler for the region"))

compiler_begin = _mark(
    "annotation.compiler_begin",
    "Mark a value that enters a region for another compiler.",
    COMPILER,
    edge_cases=on_one("annotation.compiler_begin", 'compiler="c"'),
)
compiler_end = _mark(
    "annotation.compiler_end",
    "Mark a value that leaves a region for another compiler.",
    COMPILER,
    edge_cases=on_one("annotation.compiler_end", 'compiler="c"'),
)
stop_fusion = _mark(
    "annotation.stop_fusion",
    "Separate the operators before and after it: they are not fused together.",
    layout=layout_rules.elementwise,
)
checkpoint = _mark(
    "annotation.checkpoint",
    "Mark a value to be recomputed in the backward pass instead of being kept.",
    layout=layout_rules.elementwise,
)
bitpack_start = _mark("annotation.bitpack_start", "Mark the start of a region whose tensors are packed into bits.")
bitpack_end = _mark("annotation.bitpack_end", "Mark the end of a region whose tensors are packed into bits.")
with_funcid = _mark(
    "annotation.with_funcid",
    "Attach an identity to a function, for custom planning.",
    inputs=("func",),
    shapes="a function -> the same",
    edge_cases=(),  # the input is a function, not a tensor
    example="annotation.with_funcid(%f)",
)
cast_hint = _mark(
    "annotation.cast_hint",
    "Hint that a tensor may be kept in a smaller dtype; its values do not change.",
    attrs("CastHintAttrs", dtype("dtype", doc="the sufficient dtype")),
    shapes="S -> S",
    edge_cases=on_one("annotation.cast_hint", 'dtype="int8"'),
    layout=layout_rules.elementwise,
)


# ---------------------------------------------------------------- debug
LISTENERS: dict[str, Callable[[Any], object]] = {}


def listen(function: Callable[[Any], object]) -> str:
    """Register a Python function for `debug` operators and return the name that they call it by."""
    name = f"debugger_func{len(LISTENERS)}"
    LISTENERS[name] = function
    return name


@operator(
    "debug",
    ("program",),
    attrs=attrs("DebugAttrs", text("debug_func", "", doc="the name of the function that receives the value")),
    relation=same_type,
    level=1,
    python=Python(
        "expr, debug_func=None",
        names={"expr": "program"},
        debug_func=lambda function: "" if function is None else listen(function),
    ),
    gradient=_identity_gradient,
    shapes="any value -> the same",
    source="Relay",
    example="debug(%x)",
)
def debug(attrs: Attrs, program: Array) -> Array:
    """Pass a value to a Python function, and return it. A name without a function in this process is ignored."""
    if attrs.debug_func in LISTENERS:
        LISTENERS[attrs.debug_func](program)
    return program


def _refuse_reference(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    refuse(
        f"meta[{attrs.node_type_key}][{attrs.node_index}] is a placeholder for an expression",
        hint="parse the program with its metadata section, which contains the expression",
    )


@operator(
    "parser.MetaRef",
    (),
    attrs=attrs(
        "MetaRefAttrs",
        text("node_type_key", doc="the kind of the node, for example relay.Constant"),
        integer("node_index", doc="its number in the metadata section"),
    ),
    relation=_refuse_reference,
    non_computational=True,
    shapes="-> whatever it stands for",
    source="Relay's parser",
    example='parser.MetaRef(node_type_key="relay.Constant", node_index=0)',
    no_gradient="it is a placeholder for another expression until the metadata is read",
)
def meta_reference(attrs: Attrs) -> Array:
    """A placeholder for a node of the metadata section, which the parser replaces; programs contain none."""
    raise RunError(Diagnostic("a reference into the metadata section has no value"))


# ---------------------------------------------------------------- devices
def as_virtual_device(device_or_name: Any) -> object:
    """Return the virtual device that attributes store: of a device or name, one without target or memory scope."""
    device_or_name = device(device_or_name) if isinstance(device_or_name, str) else device_or_name
    return VirtualDevice(device_or_name) if isinstance(device_or_name, Device) else device_or_name


def _without_device(values: dict[str, Any]) -> None:
    """Drop the device if neither the body nor its result is constrained, as Relay does."""
    if not values["constrain_result"] and not values["constrain_body"]:
        values["device"] = None


on_device = _mark(
    "on_device",
    "Constrain the device on which the body is computed, or on which its result is stored.",
    attrs(
        "OnDeviceAttrs",
        anything("virtual_device", None, doc="the device, None for no constraint"),
        boolean("constrain_result", False, doc="whether the result is stored there"),
        boolean("constrain_body", True, doc="whether the body is computed there"),
    ),
    inputs=("body",),
    python=Python(
        "body, device, constrain_result=False, constrain_body=True",
        names={"device": "virtual_device"},
        prepare=_without_device,
        device=as_virtual_device,
    ),
    non_computational=True,
    edge_cases=("on_device(%x: (2, 3))", "on_device(%x: (0, 3), constrain_result=True)"),
    layout=layout_rules.elementwise,
)


@operator(
    "device_copy",
    ("data",),
    attrs=attrs(
        "DeviceCopyAttrs",
        anything("src_virtual_device", doc="the device of the tensor", optional=True),
        anything("dst_virtual_device", doc="the device of the copy", optional=True),
    ),
    relation=identity,
    gradient=_identity_gradient,
    non_computational=True,
    python=Python(
        "data, src_device, dst_device",
        names={"src_device": "src_virtual_device", "dst_device": "dst_virtual_device"},
        src_device=as_virtual_device,
        dst_device=as_virtual_device,
    ),
    source="Relay",
    edge_cases=on_one("device_copy", "src_virtual_device=None, dst_virtual_device=None"),
    layout=layout_rules.elementwise,
)
def device_copy(attrs: Attrs, data: Array) -> Array:
    """Copy a tensor from one device to another."""
    return data.copy()


# ---------------------------------------------------------------- quantization
SIMULATED_QUANTIZE = attrs(
    "SimulatedQuantizeAttrs",
    integer(
        "kind", doc="the simulated kind of tensor: 1 an input, 2 a weight, 3 an activation; 0 leaves the data as it is"
    ),
    boolean("sign", True, doc="whether the simulated integers are signed"),
    text("rounding", "round", doc="how values are rounded", choices=("round", "floor", "ceil", "stochastic_round")),
)


def _simulated_type(types: Sequence[Type], attrs: Attrs, reporter: Reporter) -> Type | None:
    data = tensor(types, 0, "data")
    for index, name in enumerate(("dom_scale", "clip_min", "clip_max"), start=1):
        bound = tensor(types, index, name)
        if bound is not None and bound.shape:
            refuse(f"{name} must be a scalar", index, found=bound)
    return data


@operator(
    "relay.op.annotation.simulated_quantize",
    ("data", "dom_scale", "clip_min", "clip_max"),
    attrs=SIMULATED_QUANTIZE,
    relation=_simulated_type,
    layout=layout_rules.elementwise,
    pattern=OpPattern.ELEMWISE,
    level=11,
    silenced=True,
    shapes="data S, dom_scale, clip_min, clip_max () -> S",
    source="Relay's quantization: round, clip, scale",
    edge_cases=(
        "relay.op.annotation.simulated_quantize(%x: (2, 3), 0.5f, -4f, 3f, kind=1)",
        "relay.op.annotation.simulated_quantize(%x: (), 0.5f, -4f, 3f, kind=2)",
        "relay.op.annotation.simulated_quantize(%x: (0, 3), 0.5f, -4f, 3f, kind=1)",
    ),
    no_gradient=QUANTIZED,
)
def simulated_quantize(attrs: Attrs, data: Array, dom_scale: Array, clip_min: Array, clip_max: Array) -> Array:
    """Simulate quantization: divide the data by `dom_scale`, round, clip, and multiply by the scale again."""
    if attrs.kind == 0:
        return data
    rounding = {"floor": np.floor, "ceil": np.ceil}.get(attrs.rounding, round_half_away)
    steps = np.clip(rounding(data / dom_scale), clip_min, clip_max)
    return np.asarray(steps * dom_scale).astype(data.dtype, copy=False)
