"""`tvm.relay.op.op_attrs`: the classes of operators' attributes by name; operators may share one, as in TVM."""

from __future__ import annotations

from passlab.ir.attrs import Attrs
from passlab.text.records import record_class


class _RecordClass(type):
    """The metaclass of classes of attributes: all records of one type key are instances."""

    type_key: str

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Attrs) and instance.type_key == cls.type_key


def __getattr__(name: str) -> type:
    key = f"relay.attrs.{name}"
    if not name.endswith("Attrs") or record_class(key) is None:
        raise AttributeError(f"no operator has attributes called {name}")
    return _RecordClass(name, (), {"type_key": key})
