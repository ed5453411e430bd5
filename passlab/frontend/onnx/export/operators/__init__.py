"""The writers of Relay operators in ONNX, one file for each family."""
