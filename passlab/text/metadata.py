"""Reading of the metadata section: TVM's JSON of an object graph becomes the objects of `meta[key][index]`.

The JSON is `{"root", "nodes", "b64ndarrays", "attrs"}`. A node has a `type_key`, and `attrs` (texts: numbers, or
indices of nodes), or `data` (indices), `keys`, or `repr_str`; node 0 is the null object. Whether a number in a record
is a value or the index of a node depends on the record's declared fields and on which nodes have no other reference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from passlab.errors import Diagnostic, DiagnosticError, ParseError, PasslabError, did_you_mean
from passlab.ir.attrs import DictAttrs
from passlab.ir.expr import Var
from passlab.ir.span import Source, Span
from passlab.ir.types import Type
from passlab.op.dtypes import Array
from passlab.text.meta_objects import BUILDERS, EXACT, Node, OpaqueObject, build_record, references
from passlab.text.meta_writer import MODULE_ATTRS
from passlab.text.tensor_bytes import decode_tensor

_DEEPEST = 64
Decode = Callable[[Any], np.ndarray[Any, Any]]  # from the JSON of an array to the array


class MetaTable:
    """The objects of the `meta` references of one text: first its own section's, then the caller's."""

    def __init__(
        self,
        source: Source,
        start: int | None,
        table: Mapping[str, Sequence[Any]] | None,
        decode: Decode = decode_tensor,
    ) -> None:
        self.objects: dict[str, list[Any]] = {}
        if start is not None:
            try:
                self.objects = Section(source, start, decode=decode).read()
            except PasslabError:
                raise
            except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
                raise _malformation(source, start, str(error)) from None
        self.module_attrs = [_text_attrs(attrs) for attrs in self.objects.pop(MODULE_ATTRS, [])]
        self.own_vars = frozenset(v for v in self.objects.get("relay.Var", ()) if isinstance(v, Var))
        for key, objects in (table or {}).items():
            self.objects.setdefault(key, []).extend(objects)

    def lookup(self, word: str, span: Span) -> object:
        """Return the object of a `meta[key][index]` token. Raises `ParseError` if the file has no such object."""
        key, _, number = word[5:-1].partition("]")
        key, index = key.strip(), int(number.strip(" \n\t\r["))
        if key not in self.objects:
            hint = did_you_mean(key, self.objects) or "the text has no metadata section for it"
            raise ParseError(Diagnostic(f"no entry in the meta table for `{key}`", span, hint=hint))
        objects = self.objects[key]
        if index >= len(objects):
            raise ParseError(
                Diagnostic(
                    f"the node index `{index}` is out of bounds for `{key}`",
                    span,
                    hint=f"the table has {len(objects)} of them",
                )
            )
        if isinstance(objects[index], OpaqueObject):
            raise ParseError(Diagnostic(f"`{word}` stood for a Python object, which text cannot hold", span))
        return objects[index]


def _text_attrs(attrs: object) -> DictAttrs:
    """Return the attributes of a module without those that stood for Python objects."""
    values = attrs.items() if isinstance(attrs, DictAttrs) else ()
    return DictAttrs({key: value for key, value in values if not isinstance(value, OpaqueObject)})


def _malformation(source: Source, start: int, what: str) -> ParseError:
    return ParseError(
        Diagnostic(f"malformed metadata section: {what}", Span(source, start - len("#[metadata]"), start))
    )


class Section:
    """The object graph at `start` of a source while it is read; objects nest at most `deepest` levels (None: any)."""

    def __init__(
        self, source: Source, start: int, deepest: int | None = _DEEPEST, decode: Decode = decode_tensor
    ) -> None:
        self.decode = decode
        self.source = source
        self.start = start
        self.deepest = deepest
        text = (source.text or "")[start:]
        try:
            graph = json.loads(text)
        except json.JSONDecodeError as error:
            span = Span(source, start + error.pos, start + error.pos + 1)
            what = "metadata section" if start else "JSON"
            raise ParseError(Diagnostic(f"malformed {what}: {error.msg}", span)) from None
        self.nodes: list[Node] = graph["nodes"]
        self.root = int(graph.get("root", 1))
        self.tensors: list[Any] = graph.get("b64ndarrays", [])
        self.exact = EXACT.items() <= graph.get("attrs", {}).items()
        if not isinstance(self.nodes, list) or not all(isinstance(n, dict) for n in self.nodes):
            raise ValueError("`nodes` is not a list of objects")
        self.objects: dict[int, Any] = {0: None}
        self.depth: dict[int, int] = {0: 0}
        self.owned = {0, self.root} | {
            ref
            for node in self.nodes
            for ref, is_certain in references(node, self.nodes, frozenset(), self.exact)
            if is_certain
        }

    def read(self) -> dict[str, list[Any]]:
        """Return the objects of the root map by key."""
        table = self.build(self.root)
        if not isinstance(table, dict):
            raise ValueError("its root is not a map")
        return {key: list(objects) for key, objects in table.items()}

    def build(self, root: int) -> object:
        """Create the object of a node and of all nodes it refers to, without recursion."""
        stack = [(root, False)]
        while stack:
            index, ready = stack.pop()
            if index in self.objects:
                continue
            if not 0 <= index < len(self.nodes):
                raise ValueError(f"there is no node {index}")
            refs = [ref for ref, _ in references(self.nodes[index], self.nodes, self.owned, self.exact)]
            if ready:
                self.depth[index] = 1 + max((self.depth[r] for r in refs), default=0)
                if self.deepest is not None and self.depth[index] > self.deepest:
                    raise ValueError(f"its objects nest more than {self.deepest} deep")
                self.objects[index] = self._create(self.nodes[index])
                if isinstance(self.objects[index], Type):
                    self.depth[index] = 0  # types are compared by identity, so their depth does not matter
            elif index in self.depth:
                raise ValueError("its objects contain themselves")
            else:
                self.depth[index] = -1
                stack.append((index, True))
                stack.extend((r, False) for r in refs if r not in self.objects)
        return self.objects[root]

    def _create(self, node: Node) -> object:
        key = node.get("type_key", "")
        try:
            if key in BUILDERS:
                return BUILDERS[key](node, self.objects.__getitem__, self._tensor)
            return build_record(node, self.nodes, self.owned, self.objects.__getitem__, self.exact)
        except DiagnosticError as error:
            raise ValueError(error.diagnostics[0].message) from error

    def _tensor(self, index: int) -> Array:
        return self.decode(self.tensors[index])
