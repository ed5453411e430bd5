"""How the operators of Relay are written in ONNX, a family in each file."""
