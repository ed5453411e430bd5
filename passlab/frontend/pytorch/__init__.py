"""The importer of programs exported from PyTorch.

`program` is such a program as plain data, and its file format. `importing` is the entry point: it converts a
`torch.export.ExportedProgram` to that data, as the one file that knows torch. `node` is one node during its
translation, with PyTorch's rules for the dtypes of results, and `entries` is the table of operators that the families
in `operators/` fill.
"""
