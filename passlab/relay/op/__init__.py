"""All operators: `relay.op.list()` is a table, `relay.op.get(name)` an operator, `relay.op.nn.dense(...)` a call."""

from passlab.ir.op import Op, OpPattern
from passlab.lazy import lazy_module
from passlab.relay.operators import OperatorNamespace, get
from passlab.relay.operators import operator_table as list
from passlab.transform.registering import REGISTERS

_namespace = OperatorNamespace("", __name__)
_NAMES = {
    **{module: f"passlab.relay.{module}" for module in ("nn", "image", "vision", "random", "annotation", "memory")},
    **{name: f"passlab.relay.op.{name}" for name in ("algorithm", "contrib", "op", "reduce", "tensor", "transform")},
    "TupleWrapper": "passlab.ir.tuple_wrapper:TupleWrapper",
    "_make": "passlab.relay.op._make",
    "Expr": "passlab.ir.expr:Expr",
    "const": "passlab.relay.var_const:const",
    "operator": "passlab.op.declare:operator",
    **{name: f"passlab.op.registered:{name}" for name in ("register", "register_pattern", "register_stateful")},
    **{name: f"passlab.transform.registering:{name}" for name in REGISTERS},
}
__all__ = ["Op", "OpPattern", "get", "list"]
__getattr__, __dir__ = lazy_module(__name__, _NAMES, _namespace.find, _namespace.names)
