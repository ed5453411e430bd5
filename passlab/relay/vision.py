"""The operators `vision.*` as functions: `relay.vision.NAME(...)`."""

from passlab.relay.operators import operator_module

__getattr__, __dir__ = operator_module(__name__, "vision.", ("multibox", "nms", "rcnn", "yolo"))
