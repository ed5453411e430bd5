"""Writing of the metadata section: the objects of `meta[key][index]`, in TVM's JSON of an object graph."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any

import numpy as np

from passlab.devices import Target, VirtualDevice
from passlab.errors import NodeTypeError, type_in_words
from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.expr import Constant, Expr, Var
from passlab.ir.types import ANY, SizeExpr, SizeQuotient, SizeVar, TensorType, Type, is_computed
from passlab.text.meta_objects import EXACT, NUMBERS, TYPES, declared_fields
from passlab.text.records import MetaObject
from passlab.text.tensor_bytes import encode_tensor
from passlab.text.tokens import Parse, run_nested

OMITTED = """\
/* The metadata section is not shown: constants that are not scalars,
 * and other objects without a form in text, are written there.
 * `astext(show_meta_data=True)` shows it; without it this text
 * can be read again only with `init_meta_table`. */
"""
UNCONSTRAINED = MetaObject(
    "VirtualDevice", {"device_type_int": -1, "memory_scope": "", "target": None, "virtual_device_id": -1}
)
# The key of a module's own attributes. Nothing in the text refers to them, so TVM reads the section and drops them.
MODULE_ATTRS = "IRModule.attrs"
_INVALID_KEY = re.compile(r"[^\w.:-]", re.ASCII)

_TYPE_KEYS: dict[type[Type], str] = {kind.cls: key for key, kind in TYPES.items()}
Encode = Callable[[np.ndarray[Any, Any]], Any]


class MetaWriter:
    """Collects objects and writes the section. Each object has one index, however often it is referenced.

    `encode` converts an array to JSON: by default text with all its data, unless arrays are stored elsewhere.
    """

    def __init__(self, encode: Encode = encode_tensor) -> None:
        self.encode = encode
        self.objects: dict[str, list[Any]] = {}
        self._texts: dict[Any, str] = {}

    def reference(self, key: str, value: Any) -> str:
        """Return `meta[key][index]` for an object. Expressions and unknowns are compared by identity, records by
        value.
        """
        cached = self._texts.get(value)
        if cached is None:
            key = _INVALID_KEY.sub("_", key)
            objects = self.objects.setdefault(key, [])
            cached = self._texts[value] = f"meta[{key}][{len(objects)}]"
            objects.append(value)
        return cached

    @staticmethod
    def type_key(value: Any) -> str:
        """Return the key under which an object is listed."""
        if isinstance(value, (MetaObject, Attrs)):
            return value.type_key
        if isinstance(value, (VirtualDevice, Target)):
            return type(value).__name__
        if isinstance(value, (Expr, TensorType)):
            return f"relay.{type(value).__name__}"
        name = type(value).__name__
        return _TYPE_KEYS.get(type(value), name) if isinstance(value, Type) else f"python.{name}"

    def section(self) -> str:
        """Return the section with its mark, or "" if no object is referenced."""
        return f"#[metadata]\n{ObjectGraph(self.objects, self.encode).json()}" if self.objects else ""


class ObjectGraph:
    """The object graph while it is written. Generators under `run_nested` write nested objects."""

    def __init__(self, objects: dict[str, list[Any]], encode: Encode = encode_tensor) -> None:
        self.encode = encode
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}, {}]
        self.tensors: list[Any] = []
        self.root = 1
        self.has_undeclared = False  # whether a record has a type that only its writer knows
        self._shared: dict[Any, int] = {}
        lists = [run_nested(self._array(values)) for values in objects.values()]
        self.nodes[1] = {"type_key": "Map", "keys": list(objects), "data": lists}

    def json(self) -> str:
        """Return the graph as JSON, a node to a line."""
        nodes = ", \n".join(f"    {json.dumps(n)}" for n in self.nodes)
        tensors = ", \n".join(f"    {json.dumps(t)}" for t in self.tensors)
        listed = f"[\n{tensors}\n  ]" if tensors else "[]"
        version = json.dumps({"tvm_version": "0.14.0", **(EXACT if self.has_undeclared else {})})
        body = (
            f'  "root": {self.root}, \n  "nodes": [\n{nodes}\n  ], \n  "b64ndarrays": {listed}, \n  "attrs": {version}'
        )
        return f"{{\n{body}\n}}\n"

    def _add(self, type_key: str, attrs: dict[str, Any] | None = None, **more: Any) -> int:
        node: dict[str, Any] = {"type_key": type_key, **more}
        if attrs:
            node["attrs"] = {k: str(v) for k, v in attrs.items()}
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _values(self, values: Iterable[Any]) -> Parse:
        result = []
        for value in values:
            result.append((yield self._value(value)))
        return result

    def _array(self, values: Iterable[Any]) -> Parse:
        return self._add("Array", data=(yield self._values(values)))

    def _value(self, value: Any) -> Parse:
        """Write one object; return its node."""
        if value is None:
            return 0
        if isinstance(value, (bool, int)):
            dtype = "bool" if isinstance(value, bool) else "int32" if -(2**31) <= value < 2**31 else "int64"
            dtype = getattr(value, "dtype", dtype)  # literals of `passlab.compat` have one
            return self._add("IntImm", {"dtype": dtype, "span": 0, "value": int(value)})
        if isinstance(value, float):
            dtype = getattr(value, "dtype", "float64")
            return self._add("FloatImm", {"dtype": dtype, "span": 0, "value": repr(float(value))})
        if isinstance(value, str):
            if type(value) is not str and getattr(value, "dtype", "") == "handle":
                return self._add(
                    "tir.StringImm", {"dtype": "handle", "span": 0, "value": (yield self._value(str(value)))}
                )
            key = getattr(value, "type_key", "runtime.String")  # names of functions of `passlab.compat` have one
            return self._add(key, repr_str=value) if value else self._add(key)
        if isinstance(value, np.ndarray):
            return self._add("runtime.NDArray", repr_b64=encode_tensor(value))
        if isinstance(value, (tuple, list)):
            return (yield self._array(value))
        if isinstance(value, dict):
            if all(isinstance(key, str) for key in value):
                return self._add("Map", keys=list(value), data=(yield self._values(value.values())))
            return self._add("Map", data=(yield self._values(part for pair in value.items() for part in pair)))
        if type(value).__hash__ is None:  # a set, say
            raise NodeTypeError(f"{type_in_words(value)} cannot be saved as JSON")
        if value not in self._shared:
            self._shared[value] = yield (self._program_object(value) or self._record(value))
        return self._shared[value]

    def _program_object(self, value: Any) -> Parse | None:
        """Return the writer of an expression, type or dimension; None for any other value."""
        if isinstance(value, Constant):
            return self._constant(value)
        if isinstance(value, Var):
            return self._var(value)
        if isinstance(value, TensorType):
            return self._tensor_type(value)
        if isinstance(value, SizeVar):
            return self._size_expr(value) if is_computed(value) else self._size_var(value)
        return self._type(value) if isinstance(value, Type) and type(value) in _TYPE_KEYS else None

    def _constant(self, value: Constant) -> Parse:
        ty = yield self._value(value._checked_type if isinstance(value._checked_type, TensorType) else None)
        device = yield self._value(UNCONSTRAINED)
        self.tensors.append(self.encode(value.data))
        attrs = {"_checked_type_": ty, "data": len(self.tensors) - 1, "span": 0, "virtual_device_": device}
        return self._add("relay.Constant", attrs)

    def _var(self, value: Var) -> Parse:
        vid = self._add("relay.Id", {"name_hint": (yield self._value(value.name_hint))})
        attrs = {"_checked_type_": 0, "span": 0, "type_annotation": (yield self._value(value.type_annotation))}
        device = yield self._value(UNCONSTRAINED if value.virtual_device is None else value.virtual_device)
        return self._add("relay.Var", {**attrs, "vid": vid, "virtual_device_": device})

    def _tensor_type(self, value: TensorType) -> Parse:
        shape = yield self._array(value.shape)
        return self._add("relay.TensorType", {"dtype": value.dtype, "shape": shape, "span": 0})

    def _type(self, value: Type) -> Parse:
        key = _TYPE_KEYS[type(value)]
        attrs: dict[str, Any] = {"span": 0}
        for name in TYPES[key].nodes:
            attrs[name] = yield self._value(getattr(value, name))
        return self._add(key, attrs | {name: int(getattr(value, name)) for name in TYPES[key].numbers})

    def _size_var(self, value: SizeVar) -> Parse:
        name = yield self._value(value.name)
        return self._add("tir.SizeVar", {"dtype": value.dtype, "name": name, "span": 0, "type_annotation": 0})

    def _size_expr(self, value: SizeVar) -> Parse:
        """Write arithmetic on symbolic sizes as sums, products and quotients of two."""
        if isinstance(value, SizeQuotient):
            return self._compute(
                "tir.FloorDiv", (yield self._value(value.dividend)), (yield self._value(value.divisor))
            )
        assert isinstance(value, SizeExpr)
        parts: list[int] = []
        for atoms, factor in value.terms:
            indices = []
            for part in (*atoms, *([factor] if factor != 1 or not atoms else [])):
                indices.append((yield self._value(part)))
            parts.append(reduce(partial(self._compute, "tir.Mul"), indices))
        return reduce(partial(self._compute, "tir.Add"), parts)

    def _compute(self, key: str, a: int, b: int) -> int:
        return self._add(key, {"a": a, "b": b, "dtype": "int64", "span": 0})

    def _record(self, value: Any) -> Parse:
        """Write an object that is a leaf or a record of fields."""
        if value is ANY:
            return self._add("tir.Any", {"dtype": "int32", "span": 0})
        if isinstance(value, DictAttrs):
            return self._add("DictAttrs", {"__dict__": (yield self._value(dict(value.items())))})
        record = _as_record(value)
        if record is None:
            return self._add("passlab.Opaque")
        attrs = {}
        self.has_undeclared |= not {name for name, _ in record.items()} <= declared_fields(record.type_key)
        for name, field in record.items():
            attrs[name] = field if name in NUMBERS.get(record.type_key, ()) else (yield self._value(field))
        return self._add(record.type_key, attrs)


def _as_record(value: Any) -> MetaObject | None:
    """Return an object as type key and fields, or None for one without a text form."""
    if isinstance(value, MetaObject):
        return value
    if isinstance(value, VirtualDevice):
        location = {"device_type_int": value.device.device_type, "memory_scope": value.memory_scope}
        return MetaObject(
            "VirtualDevice", {**location, "target": value.target, "virtual_device_id": value.device.device_id}
        )
    if isinstance(value, Target):
        kind = MetaObject("TargetKind", {"default_device_type": 1, "default_keys": ("cpu",), "name": value.kind})
        fields = {"attrs": value.attrs, "features": {}, "host": value.host, "keys": ("cpu",), "kind": kind, "tag": ""}
        return MetaObject("Target", fields)
    return None
