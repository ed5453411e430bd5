"""The operators `image.*` as functions: `relay.image.NAME(...)`."""

from passlab.relay.operators import operator_module

__getattr__, __dir__ = operator_module(__name__, "image.", ("image",))
