"""A primitive function as the text of a Python function: straight-line NumPy, one line per operator.

An intermediate result that only the next operator reads is overwritten by it where shape and dtype stay the same. A
`Binder` chooses the names of constants and of kernels without text: the ahead-of-time compiler writes these into its
module, the machine binds objects. Names and literals of any generated Python are made at the end of this file.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, Protocol

from passlab.errors import Diagnostic, VerifyError
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op, is_op_call
from passlab.ir.span import Span
from passlab.ir.types import TensorType, TupleType, Type
from passlab.ir.walk import post_order
from passlab.op import make
from passlab.op.dtypes import HALF_BYTES
from passlab.vm.kernels.numpy_emitter import EMITTERS, VIEWS, PyExpr, emit

_CAST = Op.get("cast")
SHORT = 72  # characters of an expression that stands inside another


class Binder(Protocol):
    """The source of names in a text."""

    def scalar(self, dtype: str, value: Any) -> str:
        """Return the name of a number of a standard dtype."""

    def array(self, value: Any) -> str:
        """Return the name of a constant array."""

    def replaces(self, call: Call) -> bool:
        """Whether the binder has another kernel for an operator than its NumPy text."""

    def kernel(self, call: Call, args: Sequence[str]) -> str:
        """Return the text of a kernel call on named arrays. Raises `VerifyError` where there is no kernel."""


def operator_text(call: Call, args: tuple[str, ...], binder: Binder) -> PyExpr:
    """Return the text of a typed operator call on named values."""
    result = call.checked_type_
    if isinstance(result, TensorType) and 0 in result.shape and not result.dynamic:
        shape = ", ".join(map(str, result.shape))
        return PyExpr(f"np.empty(({shape},), {literal(result.dtype)})")  # nothing to compute
    expr = emit(call, args, binder.scalar)
    if expr is not None and not binder.replaces(call):
        return expr
    operands = [_as_array(a, node.checked_type_) for a, node in zip(args, call.args, strict=True)]
    text = binder.kernel(call, operands)
    if isinstance(result, TensorType) and result.dtype in HALF_BYTES and call.op is not _CAST:
        text = binder.kernel(make("cast", call, dtype=result.dtype), [f"np.asarray({text})"])
    return PyExpr(text, fresh=False)


def _as_array(text: str, ty: Type | None) -> str:
    """Return the text of a value as an array, since 0-d results of NumPy are scalars and kernels expect arrays.

    Nested tuples stay as they are: only annotations take them, and return them unchanged.
    """
    if isinstance(ty, TensorType) and not ty.shape:
        return f"np.asarray({text})"
    fields = [f for f in ty.fields if isinstance(f, TensorType)] if isinstance(ty, TupleType) else []
    if isinstance(ty, TupleType) and len(fields) == len(ty.fields) and not all(f.shape for f in fields):
        return f"tuple(map(np.asarray, {text}))"
    return text


class KernelText:
    """Emits one primitive function; its identifiers may not hide those of `names`."""

    def __init__(self, function: Function, names: Names, binder: Binder) -> None:
        self.function = function
        self.binder = binder
        self.names = Names(names)
        self.texts: dict[Expr, str] = {}
        self.owned: set[Expr] = set()  # nodes whose array is new, so it may be overwritten
        self.lines: list[str] = []
        self.spans: dict[str, Span | None] = {}  # by line: the source location of its operator
        order = [n for n in post_order(function.body) if not isinstance(n, Op)]
        self.uses = Counter(c for n in order for c in _parts(n))
        self.order = order

    def text(self, name: str) -> str:
        """Return the definition of the function with a name."""
        params = [self.names.make(p.name_hint) for p in self.function.params]
        self.texts.update(zip(self.function.params, params, strict=True))
        for node in self.order:
            if node not in self.texts:
                self._node(node)
        result = f"return {self.texts[self.function.body]}"
        self.spans.setdefault(result, self.function.body.span)
        body = "".join(f"    {line}\n" for line in [*self.lines, result])
        return f"def {name}({', '.join(params)}):\n{body}"

    def _node(self, node: Expr) -> None:
        if isinstance(node, Constant):
            self.texts[node] = self.binder.array(node.data)
        elif isinstance(node, Tuple):
            self.texts[node] = f"({''.join(f'{self.texts[f]}, ' for f in node.fields).rstrip(' ')})"
        elif isinstance(node, TupleGetItem):
            self.texts[node] = f"{self.texts[node.tuple_value]}[{node.index}]"
        elif is_op_call(node):
            self._call(node, node.op)
        else:
            raise VerifyError(Diagnostic(f"a kernel cannot hold a {type(node).__name__}", node.span))

    def _call(self, node: Call, op: Op) -> None:
        expr = operator_text(node, tuple([self.texts[a] for a in node.args]), self.binder)
        first = node.args[0] if node.args else None
        in_place = expr.into and first in self.owned and self.uses[first] == 1 and _has_type_of(first, node)
        if in_place and expr.into:
            target = self.texts[first]  # type: ignore[index]
            self._line(expr.into(target), node)
            self.texts[node] = target
            self.owned.add(node)
            return
        # Only views stand inside another expression: each computation has a line, and so a source location, of its own.
        inside = self.uses[node] == 1 and expr.atom and width(expr.text) <= SHORT and EMITTERS.get(op.name) in VIEWS
        if inside or node is self.function.body:
            self.texts[node] = expr.text
            return
        self.texts[node] = name = self.names.make(op.name.rpartition(".")[2])
        self._line(f"{name} = {expr.text}", node)
        if expr.fresh:
            self.owned.add(node)

    def _line(self, text: str, node: Expr) -> None:
        self.lines.append(text)
        self.spans.setdefault(text, node.span)


def _parts(node: Expr) -> Sequence[Expr]:
    if isinstance(node, Call):
        return node.args
    if isinstance(node, Tuple):
        return node.fields
    return (node.tuple_value,) if isinstance(node, TupleGetItem) else ()


def _has_type_of(first: Expr | None, node: Call) -> bool:
    """Whether a result has the static shape and dtype of the first argument, and is not 0-d."""
    ty = node.checked_type_
    # 0-d results are NumPy scalars, which cannot be written into.
    if first is None or not isinstance(ty, TensorType) or ty.dynamic or not ty.shape:
        return False
    return first.checked_type_ is ty and node.args.count(first) == 1


# ---------------------------------------------------------------- Python text
# Text of programs in generated Python: only as identifiers and literals that this module makes. Generated modules,
# kernels and functions are templates of passlab. Names, strings and attribute values of a program pass through
# `identifier` or `literal`, so they can neither end a string or a comment nor begin a statement: the syntax tree of
# generated source never depends on the names in a program. A name that hid a builtin would change the meaning of
# generated calls.
RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins)) | {"np", "constants"}
LONGEST = 60  # characters of one name
NAME_WIDTH = 6  # characters that `width` counts per name
_WORD = re.compile(r"[A-Za-z_]\w*")


class Names:
    """The identifiers of one scope; inner scopes may not hide those of outer ones."""

    def __init__(self, outer: Names | None = None) -> None:
        self.outer = outer
        self.taken: set[str] = set()
        self.inside: set[str] = set()  # names of inner scopes, which would hide later names of this one
        self.counts: dict[str, int] = {}

    def free(self, name: str) -> bool:
        """Whether a name is unused in this scope and those around and inside it."""
        scope: Names | None = self
        while scope is not None:
            if name in scope.taken or name in self.inside:
                return False
            scope = scope.outer
        return name not in RESERVED

    def make(self, hint: str) -> str:
        """Return an identifier like `hint` that is new in this scope and those around it."""
        stem = identifier(hint)
        name = stem
        while not self.free(name):
            self.counts[stem] = self.counts.get(stem, 0) + 1
            name = f"{stem.rstrip('_')}_{self.counts[stem]}"
        self.taken.add(name)
        scope = self.outer
        while scope is not None:
            scope.inside.add(name)
            scope = scope.outer
        return name

    def take(self, names: Iterable[str]) -> None:
        """Reserve names."""
        self.taken.update(names)


def identifier(hint: str) -> str:
    """Return `hint` as an ASCII identifier that is neither private nor special to Python (`__file__`)."""
    stem = re.sub(r"[^0-9A-Za-z_]+", "_", hint)[:LONGEST].rstrip("_") or "x"
    return f"v{stem}" if stem[0].isdigit() or stem.startswith("__") else stem


def literal(value: Any) -> str:
    """Return None, a bool, number or string, or a list, tuple or dict of such, as a Python expression.

    The text is printable, on one line, and evaluates to an equal value; infinities and NaN are `float("inf")` and so
    on. Raises `VerifyError` for other objects.
    """
    texts: list[str] = []
    stack: list[tuple[bool, Any]] = [(True, value)]  # values (True) and finished text (False)
    while stack:
        is_value, item = stack.pop()
        if not is_value:
            texts.append(item)
        elif isinstance(item, (tuple, list)):
            begin, end = "()" if isinstance(item, tuple) else "[]"
            end = ",)" if isinstance(item, tuple) and len(item) == 1 else end
            # Each field has a comma before it; `[1:]` drops the first comma.
            inner = [part for field in item for part in ((False, ", "), (True, field))][1:]
            stack += reversed([(False, begin), *inner, (False, end)])
        elif isinstance(item, dict):
            pairs = [p for k, v in item.items() for p in ((False, ", "), (True, k), (False, ": "), (True, v))][1:]
            stack += reversed([(False, "{"), *pairs, (False, "}")])
        else:
            texts.append(_scalar_literal(item))
    return "".join(texts)


def _scalar_literal(value: Any) -> str:
    if isinstance(value, str):
        # `str`, and `int` and `float` below, since a subclass may have another `repr`.
        text = repr(str(value))  # escapes quotes, line ends, control, bidirectional and surrogate characters
        return text if '"' in text or "'" in text[1:-1] else f'"{text[1:-1]}"'
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        number = float(value)
        return repr(number) if isfinite(number) else f'float("{number}")'
    raise VerifyError(Diagnostic(f"an attribute of type {type(value).__name__} cannot be written in Python"))


def docstring(text: str) -> str:
    """Return the literal of a docstring. Lone surrogates are escaped, since Python rejects them there."""
    return literal(text.encode("utf-8", "backslashreplace").decode())


def keyword_argument(name: str, text: str) -> str:
    """Return the keyword argument `name=text`. Raises `VerifyError` for a name that is no identifier."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise VerifyError(Diagnostic(f"an attribute called {name!r} cannot be written in Python"))
    return f"{name}={text}"


def width(text: str) -> int:
    """Return the length of a text with `NAME_WIDTH` for each name: layout must not depend on a program's names."""
    words = _WORD.findall(text)
    return len(text) - sum(map(len, words)) + NAME_WIDTH * len(words)
