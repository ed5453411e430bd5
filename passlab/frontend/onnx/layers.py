"""Layers: nodes of a model that Relay says in several calls, as calls of composite functions.

    %1 = fn (%X: Tensor[(5, 1, 8), float32], %W: ..., %R: ..., Composite="onnx.LSTM", opset=17, hidden_size=4) { ... };
    %1(%x, meta[relay.Constant][0], meta[relay.Constant][1])

A function has the name of its node's operator, the node's attributes, and one parameter for each input. Its body is
what the operator means, so executors and `InlineComposites` need nothing else. `to_onnx` writes the node again where
the body still is the one that the importer made. Long lists and tensors among the attributes, such as the nodes of
trees, are kept as the bytes of a node in one constant, `node`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np

from passlab.frontend.building import CallBuilder, tensor_type
from passlab.frontend.modules import erase_symbols
from passlab.frontend.onnx.attributes import SubGraph
from passlab.frontend.onnx.contrib import DEFINITIONS, DOMAIN
from passlab.frontend.onnx.entries import schema_of
from passlab.frontend.onnx.node import Capture
from passlab.frontend.onnx.package import onnx
from passlab.frontend.onnx.sequences import is_sequence
from passlab.ir.expr import Call, Constant, Expr, Function, If, Let, Tuple, TupleGetItem, Var, set_checked_type
from passlab.ir.op import is_call_of
from passlab.ir.types import Dim, SizeVar, TensorType, TupleType
from passlab.ir.variables import bind, free_vars
from passlab.ir.walk import post_order

COMPOSITE, NODE = "Composite", "node"
RESERVED = (COMPOSITE, NODE, "opset", "inputs", "outputs", "sizes")  # attributes that no node has
PREFIX = "onnx."
Results = Sequence[Expr | None]
Translate = Callable[[CallBuilder, list[Expr | None], Capture], Results]
# Relay's own layers and structure: passes look for them, and `to_onnx` gives them back as they were.
PLAIN = frozenset({"If", "Conv", "ConvTranspose"})
# Two nodes of these operators give different results, and one gives another result each time. Relay draws the same
# numbers in each run: without a layer, they would be weights.
RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
_BODIES: WeakSet[Expr] = WeakSet()  # bodies that the importer made, which no pass has changed


def is_layer(inputs: Results, results: Results, made: Sequence[Expr], builder: CallBuilder) -> bool:
    """Whether a node was translated to several of the expressions `made`, and computes more than a shape."""
    values = [result for result in results if result is not None]
    if any(value in builder.entries or is_sequence(value) for value in values) or all(
        isinstance(value, Constant) for value in values
    ):
        return False
    if all(value is None or _is_size(value) for value in (*inputs, *values)):
        return False
    new = set(made)
    calls = [
        node
        for node in post_order(Tuple(values), enter=lambda node: type(node) in (Tuple, TupleGetItem) or node in new)
        if node in new and not is_call_of(node, "nn.bias_add")  # a part of the operator before it
    ]
    return len(calls) > 1 or any(isinstance(node, (Let, If)) for node in calls)


def _is_size(value: Expr) -> bool:
    ty = value.checked_type
    return isinstance(ty, TensorType) and ("int" in ty.dtype or ty.dtype == "bool") and len(ty.shape) <= 1


def layer_of(
    outer: CallBuilder,
    name: str,
    proto: Any,
    opset: int | None,
    attributes: Mapping[str, Any],
    inputs: Sequence[Expr | None],
    translate: Translate,
    expected: Results | None,
) -> list[Expr | None] | None:
    """Return the results of a node as the results of a call of one composite function; None where they cannot be.

    `translate(builder, inputs, capture)` translates the node for other inputs, in a program of its own: `capture`
    returns the parameter for a value around it. `expected` are the results of a translation into the program, None
    without one; the results of the function must have their types. `opset` is None for a function of the model.
    """
    inner = CallBuilder()
    inner.span, inner.config = outer.span, outer.config
    arguments: dict[Var, Expr] = {}

    def parameter(hint: str, value: Expr) -> Var:
        var = Var(hint, tensor_type(value))
        inner.add_input(var)
        arguments[var] = value
        constant = outer.value(value)
        if constant is not None:
            inner.weights[var] = constant
        if value in outer.entries:
            inner.entries[var] = outer.entries[value]
        return var

    captured: dict[Expr, Expr] = {}

    def capture(value: Expr) -> Expr:
        if isinstance(value, Constant) and not value.data.ndim:
            return value
        if value not in captured:
            captured[value] = parameter("outer", value)
        return captured[value]

    hints = _input_names(proto, opset)
    variables: list[Expr | None] = [
        None if value is None else parameter(hints(at), value) for at, value in enumerate(inputs)
    ]
    results = translate(inner, list(variables), capture)
    fields = {at: result for at, result in enumerate(results[: len(proto.output)]) if result and proto.output[at]}
    if not fields or any(value in inner.entries or is_sequence(value) for value in fields.values()):
        return None
    if expected is not None and any(value.checked_type != _type_at(expected, at) for at, value in fields.items()):
        return None
    is_kept = proto.op_type in RANDOM or is_layer(inputs, list(fields.values()), inner.made, inner)
    if expected is None and not is_kept:
        return None
    values = list(fields.values())
    body = values[0] if len(values) == 1 else inner.finish(Tuple(values))
    symbolic = body.checked_type
    changes = {var: Var(var.name_hint, erase_symbols(tensor_type(var))) for var in arguments}
    changes = {old: inner.finish(new) for old, new in changes.items()}  # type: ignore[misc]
    body = inner.finish(bind(body, changes))
    if not set(free_vars(body)) <= set(changes.values()):
        return None
    marks = _attributes(name, opset, attributes, proto)
    positions = [at for at, value in enumerate(inputs) if value is not None]
    if positions != list(range(len(positions))):
        marks["inputs"] = positions
    if list(fields) != list(range(len(fields))):
        marks["outputs"] = list(fields)
    if sizes := _sizes(arguments):
        marks["sizes"] = sizes
    _BODIES.add(body)
    call = Call(Function(list(changes.values()), body, attrs=marks), list(arguments.values()))
    output = outer.finish(call)
    return _results(outer, output, symbolic, fields)


def _results(outer: CallBuilder, output: Expr, symbolic: Any, fields: Mapping[int, Expr]) -> list[Expr | None]:
    """Return the fields of a call in the places of the node's outputs, with the symbols that its function forgot."""
    set_checked_type(output, symbolic)
    parts = [output] if len(fields) == 1 else [outer.field(output, at) for at in range(len(fields))]
    results: list[Expr | None] = [None] * (max(fields) + 1)
    for at, part in zip(fields, parts, strict=True):
        results[at] = part
    return results


def _sizes(parameters: Iterable[Var]) -> list[str]:
    """Return names of the unknown sizes of parameters, in order, equal ones for equal sizes; [] where none is named."""
    names: dict[SizeVar, str] = {}
    result = []
    for dim in (dim for var in parameters for dim in tensor_type(var).shape if not isinstance(dim, int)):
        if isinstance(dim, SizeVar) and dim not in names:
            names[dim] = dim.name if dim.name not in names.values() else f"{dim.name}_{len(names)}"
        result.append(names[dim] if isinstance(dim, SizeVar) else "")
    return result if names else []


def symbolic_types(function: Function) -> list[TensorType]:
    """Return the types of the parameters of a composite function, with a symbol for each named size."""
    names = iter(function.attrs.get("sizes", ()))
    symbols: dict[str, SizeVar] = {}
    types = []
    for param in function.params:
        dims: list[Dim] = []
        for dim in tensor_type(param).shape:
            name = "" if isinstance(dim, int) else next(names, "")
            dims.append(symbols.setdefault(name, SizeVar(name)) if name else dim)
        types.append(TensorType(dims, tensor_type(param).dtype))
    return types


def _type_at(results: Results, at: int) -> Any:
    value = results[at] if at < len(results) else None
    return None if value is None else value.checked_type


def _input_names(proto: Any, opset: int | None) -> Callable[[int], str]:
    """Return the name of the parameter for an input: the name in the operator's definition, as an identifier."""
    schema = schema_of(proto.op_type, "", opset) if not proto.domain and opset else None
    names = [] if schema is None else [formal.name for formal in schema.inputs]

    def name(at: int) -> str:
        if not names:
            return f"x{at}"
        return (
            names[at] if at < len(names) and not (at == len(names) - 1 and len(proto.input) > len(names)) else f"x{at}"
        )

    return name


LISTED = 16  # elements of a list that is an attribute of a function


def _attributes(name: str, opset: int | None, attributes: Mapping[str, Any], proto: Any) -> dict[str, Any]:
    """Return the attributes of the function of a node: the node's numbers, texts and short lists, the others as bytes.

    Only a function that has all of them says its opset, without which there is no way back to the node.
    """
    marks: dict[str, Any] = {COMPOSITE: name, "opset": opset}
    own = {attribute.name: attribute for attribute in proto.attribute if not attribute.ref_attr_name}
    rest = []
    for key, value in attributes.items():
        items = value if isinstance(value, tuple) else (value,)
        is_short = 0 < len(items) <= LISTED and all(isinstance(item, (int, float, str)) for item in items)
        if is_short and key not in RESERVED:
            marks[key] = list(value) if isinstance(value, tuple) else value
        elif key in own and not any(isinstance(item, SubGraph) for item in items) and not _is_outside(own[key]):
            rest.append(own[key])
        else:
            marks.pop("opset", None)
    if marks.get("opset") is None:
        marks.pop("opset", None)
    elif rest:
        data = onnx().NodeProto(attribute=rest).SerializeToString(deterministic=True)
        marks[NODE] = Constant(np.frombuffer(data, "uint8"))
    return marks


def _is_outside(attribute: Any) -> bool:
    """Whether the elements of a tensor are in another file."""
    return any(tensor.data_location == tensor.EXTERNAL for tensor in (attribute.t, *attribute.tensors))


# ---------------------------------------------------------------- the way back
def node_of(function: Function, names: Sequence[str], opset: int) -> tuple[Any, int] | None:
    """Return the node that a composite function stands for, and the opset of its domain; None if it has no such node.

    `opset` is the version of ONNX's own operators to write; an operator of another domain keeps its version. The inputs
    are named by `names`, in the order of the parameters, and the outputs y0, y1, ... ("" for one that is not used).
    """
    marks = dict(function.attrs.items())
    kind, first = str(marks.pop(COMPOSITE, "")), marks.pop("opset", None)
    marks.pop("sizes", None)
    domain, _, op_type = kind.rpartition(".")
    domain = "" if domain + "." == PREFIX else domain
    if not isinstance(first, int) or (not domain and not kind.startswith(PREFIX)):
        return None
    version = first if domain else opset
    schema = schema_of(op_type, domain, version)
    if domain == DOMAIN:
        if op_type not in DEFINITIONS:
            return None
    elif schema is None or schema.deprecated or schema_of(op_type, domain, first) is None:
        return None
    rest = _attributes_of(marks.pop(NODE, None))
    inputs = marks.pop("inputs", range(len(names)))
    fields = function.body.checked_type
    count = len(fields.fields) if isinstance(fields, TupleType) else 1
    outputs = list(marks.pop("outputs", range(count)))
    if rest is None or len(outputs) != count or len(inputs) != len(names):
        return None
    if schema is not None and not {*marks, *(attribute.name for attribute in rest)} <= set(schema.attributes):
        return None
    named = dict(zip(inputs, names, strict=True))
    node = onnx().helper.make_node(
        op_type,
        [named.get(at, "") for at in range(max(named, default=-1) + 1)],
        [f"y{at}" if at in outputs else "" for at in range(max(outputs) + 1)],
        domain=domain or None,
    )
    types = {} if schema is None else {key: int(a.type.value) for key, a in schema.attributes.items()}
    node.attribute.extend(
        onnx().helper.make_attribute(key, value, attr_type=types.get(key)) for key, value in marks.items()
    )
    node.attribute.extend(rest)
    return node, version


def _attributes_of(data: Any) -> Sequence[Any] | None:
    """Return the attributes in the bytes of a node, None where the bytes are damaged."""
    from google.protobuf.message import DecodeError

    if data is None:
        return ()
    try:
        return onnx().NodeProto.FromString(bytes(data.data)).attribute  # type: ignore[no-any-return]
    except (AttributeError, DecodeError, TypeError, UnicodeDecodeError):
        return None


def is_unchanged(function: Function, node: Any, opset: int) -> bool:
    """Whether the importer made the body of a composite function, for the definition that an opset has of its node."""
    if function.body not in _BODIES:
        return False
    versions = [schema_of(node.op_type, node.domain, version) for version in (function.attrs["opset"], opset)]
    return versions[0] is versions[1] or bool(versions[0].since_version == versions[1].since_version)
