"""The names of `passlab.relay.frontend`.

Written from the declarations by `pytest tests/package --bless`; a test holds it to them.
"""

from passlab.frontend.onnx.importing import from_onnx as from_onnx
from passlab.frontend.pytorch.importing import from_pytorch as from_pytorch
