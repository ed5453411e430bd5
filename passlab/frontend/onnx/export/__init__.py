"""Relay programs become ONNX models: `relay.to_onnx(mod, params)`.

`exporting` is the way in; `emitter` writes the nodes of a graph in the order of the program, with `If` and `Loop` for
branches and for functions that call themselves; `table` says how each operator is written, by the families in
`operators/`. What ONNX cannot say is collected and named all at once.
"""
