"""The exporter of Relay programs to ONNX models: `relay.to_onnx(mod, params)`.

`exporting` is the entry point. `emitter` writes the nodes of a graph in program order, with `If` and `Loop` for
branches and recursive functions. `table` lists the writers of the operators, defined by the families in `operators/`.
Constructs without an ONNX counterpart are collected and reported together.
"""
