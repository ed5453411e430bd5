"""The operators `annotation.*` and `on_device` as functions: `relay.annotation.stop_fusion(...)`."""

from passlab.lazy import lazy_module
from passlab.relay.operators import OperatorNamespace

_namespace = OperatorNamespace("annotation.", __name__)
_NAMES = {
    "annotation": "passlab.relay.annotation",
    "function_on_device": "passlab.relay.device_annotations:function_on_device",
    "on_device": "passlab.relay:on_device",
}
__getattr__, __dir__ = lazy_module(__name__, _NAMES, _namespace.find, _namespace.names)
