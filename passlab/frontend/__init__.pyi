"""The names of `passlab.frontend`, each written once: type checkers read them here, and so does the package itself."""

from passlab.frontend.onnx.export.exporting import to_onnx as to_onnx
from passlab.frontend.onnx.importing import from_onnx as from_onnx
from passlab.frontend.pytorch.importing import from_pytorch as from_pytorch
