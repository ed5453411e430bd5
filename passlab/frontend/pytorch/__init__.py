"""The importer of programs exported from PyTorch.

`program` is such a program as plain data, and its file format; `torch_program` is the one file that knows torch, and
converts a `torch.export.ExportedProgram` to that data. `importing` is the entry point, `node` one node during its
translation, `promotion` implements PyTorch's rules for the dtypes of results, and `entries` is the table of operators
that the families in `operators/` fill.
"""
