"""ONNX models become Relay.

`importing` is the way in; `model_file` and `external_data` read files, `tensors` and `attributes` their contents.
`graph` walks the nodes of a graph, `node` is one node as its translation sees it, `building` makes typed and folded
Relay of it. `entries` is the table of operators, filled by the families in `operators/`; what has no entry is
written out by ONNX's own definition of it (`definitions`), where there is one.
"""
