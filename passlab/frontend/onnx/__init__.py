"""The importer of ONNX models.

`importing` is the entry point and reads files, `tensors` and `attributes` their contents.
`graph` walks the nodes of a graph, `node` is one node during its translation, `building` creates typed and folded
Relay. `entries` is the table of operators, filled by the families in `operators/`; an operator without an entry is
expanded by ONNX's own definition (`definitions`), if there is one.
"""
