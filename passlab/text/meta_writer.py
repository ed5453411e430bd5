"""The metadata section written: objects that text refers to as `meta[key][index]`, in TVM's JSON of an object graph."""

from __future__ import annotations

import json
import re
from typing import Any

from passlab.devices import Target, VirtualDevice
from passlab.ir.attrs import Attrs, DictAttrs
from passlab.ir.expr import Constant, Expr, Var
from passlab.ir.types import ANY, IncompleteType, SizeVar, TensorType, Type
from passlab.text.records import MetaObject
from passlab.text.tensor_bytes import encode_tensor

OMITTED = """\
/* The metadata section is not shown: constants that are not scalars,
 * and other objects without a form in text, are written there.
 * `astext(show_meta_data=True)` shows it; without it this text
 * can be read again only with `init_meta_table`. */
"""
_UNCONSTRAINED = MetaObject(
    "VirtualDevice", {"device_type_int": -1, "memory_scope": "", "target": None, "virtual_device_id": -1}
)
_ODD = re.compile(r"[^\w.:-]", re.ASCII)
_NUMBERS = {"VirtualDevice": ("device_type_int", "virtual_device_id"), "TargetKind": ("default_device_type",)}


class MetaWriter:
    """Collects objects and writes the section. Each object has one index, however often it is mentioned."""

    def __init__(self) -> None:
        self.objects: dict[str, list[Any]] = {}
        self._texts: dict[Any, str] = {}

    def reference(self, key: str, value: Any) -> str:
        """Return `meta[key][index]` for an object. Expressions and unknowns count by identity, records by value."""
        known = self._texts.get(value)
        if known is None:
            key = _ODD.sub("_", key)
            held = self.objects.setdefault(key, [])
            known = self._texts[value] = f"meta[{key}][{len(held)}]"
            held.append(value)
        return known

    @staticmethod
    def type_key(value: Any) -> str:
        """The key under which an object is listed."""
        if isinstance(value, (MetaObject, Attrs)):
            return value.type_key
        if isinstance(value, (VirtualDevice, Target)):
            return type(value).__name__
        if isinstance(value, (Expr, TensorType)):
            return f"relay.{type(value).__name__}"
        return type(value).__name__ if isinstance(value, Type) else f"python.{type(value).__name__}"

    def section(self) -> str:
        """Return the section with its mark, or nothing when no object was mentioned."""
        return f"#[metadata]\n{_Graph(self.objects).json()}" if self.objects else ""


class _Graph:
    """The object graph while it is written."""

    def __init__(self, objects: dict[str, list[Any]]) -> None:
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}, {}]
        self.tensors: list[str] = []
        self._shared: dict[Any, int] = {}
        lists = [self._array(values) for values in objects.values()]
        self.nodes[1] = {"type_key": "Map", "keys": list(objects), "data": lists}

    def json(self) -> str:
        """Return the graph as JSON, a node to a line."""
        nodes = ", \n".join(f"    {json.dumps(n)}" for n in self.nodes)
        tensors = ", \n".join(f"    {json.dumps(t)}" for t in self.tensors)
        listed = f"[\n{tensors}\n  ]" if tensors else "[]"
        version = '{"tvm_version": "0.14.0"}'
        return (
            f'{{\n  "root": 1, \n  "nodes": [\n{nodes}\n  ], \n  "b64ndarrays": {listed}, \n  "attrs": {version}\n}}\n'
        )

    def _add(self, type_key: str, attrs: dict[str, Any] | None = None, **more: Any) -> int:
        node: dict[str, Any] = {"type_key": type_key, **more}
        if attrs:
            node["attrs"] = {k: str(v) for k, v in attrs.items()}
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _array(self, values: Any) -> int:
        return self._add("Array", data=[self._value(v) for v in values])

    def _value(self, value: Any) -> int:
        """Write one object and return its node. Objects nest only a few levels."""
        if value is None:
            return 0
        if isinstance(value, (bool, int)):
            dtype = "bool" if isinstance(value, bool) else "int32" if -(2**31) <= value < 2**31 else "int64"
            return self._add("IntImm", {"dtype": dtype, "span": 0, "value": int(value)})
        if isinstance(value, float):
            return self._add("FloatImm", {"dtype": "float64", "span": 0, "value": repr(value)})
        if isinstance(value, str):
            return self._add("runtime.String", repr_str=value) if value else self._add("runtime.String")
        if isinstance(value, (tuple, list)):
            return self._array(value)
        if isinstance(value, dict):
            return self._add("Map", keys=list(value), data=[self._value(v) for v in value.values()])
        return self._object(value)

    def _object(self, value: Any) -> int:
        known = self._shared.get(value)
        if known is None:
            known = self._shared[value] = self._new_object(value)
        return known

    def _new_object(self, value: Any) -> int:
        if isinstance(value, Constant):
            ty = self._object(value._checked_type) if isinstance(value._checked_type, TensorType) else 0
            self.tensors.append(encode_tensor(value.data))
            attrs = {
                "_checked_type_": ty,
                "data": len(self.tensors) - 1,
                "span": 0,
                "virtual_device_": self._object(_UNCONSTRAINED),
            }
            return self._add("relay.Constant", attrs)
        if isinstance(value, Var):
            vid = self._add("relay.Id", {"name_hint": self._value(value.name_hint)})
            ty = self._object(value.type_annotation) if value.type_annotation is not None else 0
            return self._add(
                "relay.Var", {"_checked_type_": 0, "span": 0, "type_annotation": ty, "vid": vid, "virtual_device_": 0}
            )
        if isinstance(value, TensorType):
            return self._add("relay.TensorType", {"dtype": value.dtype, "shape": self._array(value.shape), "span": 0})
        if value is ANY:
            return self._add("tir.Any", {"dtype": "int32", "span": 0})
        if isinstance(value, SizeVar):
            return self._add(
                "tir.SizeVar", {"dtype": value.dtype, "name": self._value(value.name), "span": 0, "type_annotation": 0}
            )
        if isinstance(value, IncompleteType):
            return self._add("IncompleteType", {"kind": int(value.kind), "span": 0})
        return self._record(value)

    def _record(self, value: Any) -> int:
        if isinstance(value, VirtualDevice):
            return self._record(MetaObject("VirtualDevice", {
                "device_type_int": value.device.device_type, "memory_scope": value.memory_scope, "target": value.target,
                "virtual_device_id": value.device.device_id,
            }))  # fmt: skip
        if isinstance(value, Target):
            kind = MetaObject("TargetKind", {"default_device_type": 1, "default_keys": ("cpu",), "name": value.kind})
            return self._record(MetaObject("Target", {
                "attrs": value.attrs, "features": {}, "host": value.host, "keys": ("cpu",), "kind": kind, "tag": "",
            }))  # fmt: skip
        if isinstance(value, DictAttrs):
            return self._add("DictAttrs", {"__dict__": self._value(dict(value.items()))})
        if isinstance(value, MetaObject):
            numbers = _NUMBERS.get(value.type_key, ())
            return self._add(value.type_key, {k: v if k in numbers else self._value(v) for k, v in value.items()})
        return self._add("passlab.Opaque")
