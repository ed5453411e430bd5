"""ONNX models made smaller as they are: no node, name or opset changes that need not change."""
