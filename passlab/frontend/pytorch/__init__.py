"""Programs exported from PyTorch become Relay.

`program` is such a program as plain data, and its file format; `torch_program` is the one file that knows torch, and
makes that data of a `torch.export.ExportedProgram`. `importing` is the way in, `node` one node as its translation sees
it, `promotion` PyTorch's rules for the dtypes of results, `entries` the table of operators that the families in
`operators/` fill.
"""
