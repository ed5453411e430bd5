"""The ONNX operators by family: each file fills the table of `entries` with what it declares."""
