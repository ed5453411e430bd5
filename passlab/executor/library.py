"""The file format of results of `relay.build` and of executables of the virtual machine: one file each.

    relay.build(mod).export_library("net.lib")
    relay.runtime.load_module("net.lib")["default"](device)

The parts of a file, by its kind (`passlab.vm.files.library_file` has their encoding):

    graph       the name of the module; the graph in Relay's JSON; the kernels as Relay text; the parameters
    program     the name of the module; the names of the inputs; the program as Relay text; its constants
    executable  an executable of the virtual machine, as `save` gives it; its kernels as Relay text

A program for the executor "aot" is stored as Relay, not as Python, and compiled again when it is loaded: no code from a
file is run. Files are verified: the graph against its kernels and parameters, the program by type inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, VerifyError
from passlab.executor.graph import COPY, NOP, Graph
from passlab.executor.param_dict import load_param_dict, save_param_dict
from passlab.infer import infer_module
from passlab.ir.expr import Constant, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.types import tensor_types
from passlab.ir.walk import substitute
from passlab.op.dtypes import array_dtype
from passlab.text.meta_writer import MetaWriter
from passlab.text.parser import parse
from passlab.text.printer import HEADER, text_with
from passlab.vm.files.library_file import pack
from passlab.vm.files.loading import Reader, kernel_functions, well_formed
from passlab.vm.files.saving import KernelLibrary, texts

GRAPH = "graph"
PROGRAM = "program"
CONSTANT = "relay.Constant"
Arrays = Mapping[str, "np.ndarray[Any, Any]"]


# ------------------------------------------------------------ graphs
def graph_file(name: str, graph: Graph, kernels: KernelLibrary, params: Mapping[str, Any]) -> bytes:
    """Return the file of a graph, its kernels and its parameters."""
    return pack(GRAPH, (text_part(name), text_part(graph.to_json()), kernels.bytes, save_param_dict(params)))


def read_graph(parts: Sequence[bytes]) -> tuple[str, Graph, dict[str, Function], dict[str, Any]]:
    """Return name, graph, kernels and parameters of a file. Raises `VerifyError` if they do not match."""
    name, text, kernels, params = parts
    graph = Graph.from_json(_text(text))
    functions = kernel_functions(KernelLibrary.of_bytes(kernels).text)
    check_kernels(graph, functions)
    arrays = load_param_dict(params)
    check_params(graph, arrays)
    return _text(name), graph, functions, arrays


def check_kernels(graph: Graph, kernels: Mapping[str, Function]) -> None:
    """Raise `VerifyError` unless every node calls a kernel with the types of its inputs and results."""
    rows = graph.row_ptr
    for i, node in enumerate(graph.nodes):
        inputs = [_describe(graph, rows[j] + index) for j, index in node.inputs]
        results = [_describe(graph, r) for r in range(rows[i], rows[i + 1])]
        if node.func_name in (NOP, COPY):
            _check_move(graph, rows, i)
        elif node.func_name:
            if node.func_name not in kernels:
                raise VerifyError(f"the library has no kernel `{node.func_name}`")
            kernel = kernels[node.func_name]
            _check_types(node.name, "inputs", inputs, [t for p in kernel.params for t in _tensors(p.checked_type)])
            _check_types(node.name, "results", results, _tensors(kernel.body.checked_type))


def check_params(graph: Graph, params: Arrays) -> None:
    """Raise `VerifyError` unless every parameter is an input of the graph, with its shape and dtype."""
    rows = graph.row_ptr
    inputs = {graph.nodes[i].name: rows[i] for i in graph.arg_nodes if graph.nodes[i].num_outputs == 1}
    for name, array in params.items():
        if name not in inputs:
            raise VerifyError(f"the graph has no input for the parameter `{name[:40]}`")
        result = inputs[name]
        if array.shape != graph.shapes[result] or array.dtype != array_dtype(graph.dtypes[result]):
            expected, actual = _describe(graph, result), f"Tensor[{array.shape}, {array.dtype.name}]"
            raise VerifyError(Diagnostic(f"the parameter `{name}` does not fit", expected=expected, found=actual))


def _describe(graph: Graph, result: int) -> str:
    return f"{graph.dtypes[result]}{graph.shapes[result]}"


def _tensors(ty: Any) -> list[str]:
    return [f"{t.dtype}{tuple(t.shape)}" for t in tensor_types(ty)]


def _check_types(node: str, what: str, declared: list[str], expected: list[str]) -> None:
    if declared != expected:
        message = f"the {what} of the node {node[:60]} in the graph differ from the {what} of its kernel"
        raise VerifyError(Diagnostic(message, expected=", ".join(expected)[:200], found=", ".join(declared)[:200]))


def _check_move(graph: Graph, rows: Sequence[int], number: int) -> None:
    """Check a reshape or copy: one input, the same dtype, and as many elements (a copy: the same shape)."""
    node, result = graph.nodes[number], rows[number]
    copies = node.func_name == COPY
    if len(node.inputs) == node.num_outputs == 1:
        source = rows[node.inputs[0][0]] + node.inputs[0][1]
        old, new = graph.shapes[source], graph.shapes[result]
        if graph.dtypes[source] == graph.dtypes[result] and (old == new if copies else prod(old) == prod(new)):
            return
    raise VerifyError(f"the node {node.name[:60]} is not a {'copy' if copies else 'reshape'} of its input")


# ------------------------------------------------------------ programs
def program_file(name: str, mod: IRModule) -> bytes:
    """Return the file of a lowered module whose entry is `main`."""
    meta = MetaWriter()
    body = text_with(meta, mod)
    # Constants become a binary part of the file; the text only refers to them by number.
    constants = meta.objects.pop(CONSTANT, [])
    section = meta.section()
    text = f"{HEADER}{body}\n{section}" if section else HEADER + body
    arrays = {str(i): constant.data for i, constant in enumerate(constants)}
    inputs = texts([p.name_hint for p in mod["main"].params])
    return pack(PROGRAM, (text_part(name), inputs, text_part(text), save_param_dict(arrays)))


def read_program(parts: Sequence[bytes]) -> tuple[str, IRModule]:
    """Return name and module of a file. Raises `VerifyError` for a module that does not parse or type."""
    name, inputs, text, constants = parts
    arrays = load_param_dict(constants)
    if list(arrays) != [str(i) for i in range(len(arrays))]:
        raise VerifyError("the constants of the program are not numbered one by one")
    table = {CONSTANT: [Constant(a) for a in arrays.values()]}
    with well_formed("the program"):
        mod = infer_module(parse(_text(text), source_name="library", init_meta_table=table))
    if "main" not in mod:
        raise VerifyError("the program has no function `main`")
    reader = Reader(inputs, "inputs")
    names = reader.texts()
    reader.finish()
    return _text(name), infer_module(mod.with_functions({"main": _with_inputs(mod["main"], names)}))


def _with_inputs(function: Function, names: Sequence[str]) -> Function:
    """Return a function with the parameter names `names`: the printer renames parameters that share a name."""
    if len(names) != len(function.params):
        raise VerifyError(f"{len(names)} inputs are named and the program has {len(function.params)}")
    renamed: dict[Expr, Expr] = {
        p: Var(name, p.type_annotation, p.span, p.virtual_device)
        for p, name in zip(function.params, names, strict=True)
        if p.name_hint != name
    }
    if not renamed:
        return function
    params = tuple([renamed.get(p, p) for p in function.params])
    return function.with_fields(params=params, body=substitute(function.body, renamed))


# ------------------------------------------------------------ parts
def text_part(text: str) -> bytes:
    """Return text as a part of a file."""
    return text.encode("utf-8", "surrogatepass")


def _text(part: bytes) -> str:
    try:
        return part.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise VerifyError(f"a part of the library is not text: {error.reason} at byte {error.start:,}") from None
