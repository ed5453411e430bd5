"""The operators `annotation.*` and `on_device` as functions: `relay.annotation.stop_fusion(...)`."""

from passlab.faces import face
from passlab.relay.operators import OperatorRoom

_room = OperatorRoom("annotation.", __name__)
_NAMES = {
    "annotation": "passlab.relay.annotation",
    "function_on_device": "passlab.relay.placement:function_on_device",
    "on_device": "passlab.relay:on_device",
}
__getattr__, __dir__ = face(__name__, _NAMES, _room.find, _room.names)
