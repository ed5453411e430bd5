"""A primitive function as the text of a Python function: straight-line NumPy, one line per operator.

An intermediate result that only the next operator reads is overwritten by it where shape and dtype stay the same. A
`Binder` chooses the names of constants and of kernels without text: the ahead-of-time compiler writes these into its
module, the machine binds objects. Names and literals of any generated Python are made here as well, and each
operator has its text as NumPy at the end of the file.
"""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any, NamedTuple, Protocol

import numpy as np

from passlab.errors import Diagnostic, VerifyError, type_in_words
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op, is_op_call
from passlab.ir.span import Span
from passlab.ir.types import TensorType, TupleType, Type, tensor_types
from passlab.ir.walk import post_order
from passlab.op import make
from passlab.op.dtypes import HALF_BYTES

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
        """Return the text of a kernel call on named arrays. Raises `VerifyError` if there is no kernel."""


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
    """Emits one primitive function; its identifiers may not hide identifiers in `names`."""

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
            raise VerifyError(Diagnostic(f"a kernel cannot hold {type_in_words(node)}", node.span))

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
    """The identifiers of one scope; inner scopes may not hide identifiers of outer scopes."""

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
    """Return the keyword argument `name=text`. Raises `VerifyError` for a name that is not an identifier."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise VerifyError(Diagnostic(f"an attribute called {name!r} cannot be written in Python"))
    return f"{name}={text}"


def width(text: str) -> int:
    """Return the length of a text with `NAME_WIDTH` for each name: layout must not depend on a program's names."""
    words = _WORD.findall(text)
    return len(text) - sum(map(len, words)) + NAME_WIDTH * len(words)


# ---------------------------------------------------------------- one operator as NumPy
# `emit` returns the Python text of an operator call on named arguments, or None where the operator needs its kernel.
# Each text computes the bits of the kernel, for the dtypes in its entry; a test checks this. 0-d results may be NumPy
# scalars, which behave like arrays.
NATIVE = frozenset(("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))) | {
    "float16",
    "float32",
    "float64",
}
FLOATS = frozenset(("float16", "float32", "float64"))
BLAS = frozenset(("float32", "float64"))
NUMBERS = NATIVE - {"bool"}
LARGE = 1 << 13  # elements
MANY = 9  # parts of a `split`: fewer are emitted as slices


class PyExpr(NamedTuple):
    """Python text; `atom` where it needs no parentheses; `fresh` where its array is new.

    `into(target)` is a statement that writes the result into an argument without other uses.
    """

    text: str
    atom: bool = True
    fresh: bool = True
    into: Callable[[str], str] | None = None


class EmitContext(NamedTuple):
    """A call to emit: its arguments as text, the types of arguments and results; `scalar` names a constant."""

    call: Call
    args: tuple[str, ...]
    types: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    scalar: Callable[[str, Any], str]

    @property
    def result(self) -> TensorType:
        """The type of the only result."""
        return self.results[0]

    @property
    def dtype(self) -> str:
        """The dtype of the first argument."""
        return self.types[0].dtype

    @property
    def attrs(self) -> Any:
        """The attributes of the call."""
        return self.call.attrs


Emitter = Callable[[EmitContext], PyExpr | None]


def wrap(text: str) -> str:
    """Return a text in parentheses, if it needs them before a method or operator."""
    if text.isidentifier() or text.replace("_", "").replace(".", "").isalnum() or _is_bracketed(text):
        return text
    return f"({text})"


def _is_bracketed(text: str) -> bool:
    """Whether a text is one call, subscript or parenthesis, judged by its brackets."""
    depth = 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        # A space outside brackets stands between operands, and a leading minus binds weaker than a method.
        if char == " " and depth == 0:
            return False
        if depth == 0 and char == "-" and i == 0:
            return False
    return True


def _infix(symbol: str, dtypes: frozenset[str]) -> Emitter:
    def emitter(context: EmitContext) -> PyExpr | None:
        if context.dtype not in dtypes:
            return None
        left, right = map(wrap, context.args)
        # A comparison returns bool, which does not fit into the array of an argument, and has no assignment of its own.
        keeps = context.result.dtype == context.dtype and symbol in ("+", "-", "*", "/")
        return PyExpr(
            f"{left} {symbol} {right}", False, into=(lambda t: f"{t} {symbol}= {context.args[1]}") if keeps else None
        )

    return emitter


def _function(name: str, dtypes: frozenset[str]) -> Emitter:
    def emitter(context: EmitContext) -> PyExpr | None:
        if context.dtype not in dtypes:
            return None
        inner = ", ".join(context.args)
        keeps = context.result.dtype == context.dtype
        return PyExpr(f"np.{name}({inner})", into=(lambda t: f"np.{name}({inner}, out={t})") if keeps else None)

    return emitter


def _negative(context: EmitContext) -> PyExpr | None:
    return PyExpr(f"-{wrap(context.args[0])}", False) if context.dtype in NUMBERS else None


def _relu(context: EmitContext) -> PyExpr | None:
    sizes: Any = context.result.shape
    if context.dtype not in NUMBERS or context.result.dynamic or math.prod(sizes) > LARGE:
        return None  # the kernel of a large array is faster
    inner = f"{context.args[0]}, {context.scalar(context.dtype, 0)}"
    return PyExpr(f"np.maximum({inner})", into=lambda t: f"np.maximum({inner}, out={t})")


def _rsqrt(context: EmitContext) -> PyExpr | None:
    return PyExpr(f"np.reciprocal(np.sqrt({context.args[0]}))") if context.dtype in FLOATS else None


def _sigmoid(context: EmitContext) -> PyExpr | None:
    if context.dtype not in BLAS:
        return None
    return PyExpr(f"np.reciprocal(np.exp(-{wrap(context.args[0])}) + {context.scalar(context.dtype, 1)})")


def _dense(context: EmitContext) -> PyExpr | None:
    same = {t.dtype for t in (*context.types, context.result)}
    if len(same) > 1 or context.dtype not in BLAS or len(context.types[0].shape) != 2:
        return None
    return PyExpr(f"{wrap(context.args[0])} @ {wrap(context.args[1])}.T", False)


def _bias_add(context: EmitContext) -> PyExpr | None:
    rank = len(context.result.shape)
    axis = context.attrs.axis % rank
    if context.dtype not in NUMBERS or context.types[1].dtype != context.dtype:
        return None
    after = rank - axis - 1
    # New axes of length 1 stand for those after the axis of the bias.
    bias = wrap(context.args[1]) + (f"[:, {', '.join(['None'] * after)}]" if after else "")
    return PyExpr(f"{wrap(context.args[0])} + {bias}", False, into=lambda t: f"{t} += {bias}")


def _reshape(context: EmitContext) -> PyExpr | None:
    if context.result.dynamic or context.types[0].dynamic:
        return None
    shape = ", ".join(map(str, context.result.shape)) or "()"
    return PyExpr(f"{wrap(context.args[0])}.reshape({shape})", fresh=False)


def _transpose(context: EmitContext) -> PyExpr | None:
    rank = len(context.result.shape)
    axes = context.attrs.axes
    order = tuple(a % rank for a in axes) if axes else tuple(reversed(range(rank)))
    if order == tuple(reversed(range(rank))):
        return PyExpr(f"{wrap(context.args[0])}.T", fresh=False)
    return PyExpr(f"{wrap(context.args[0])}.transpose({', '.join(map(str, order))})", fresh=False)


def _cast(context: EmitContext) -> PyExpr | None:
    if context.dtype not in NATIVE or context.result.dtype not in NATIVE or context.dtype == context.result.dtype:
        return None
    if "float" in context.dtype and "int" in context.result.dtype:
        return None  # `op.dtypes.convert` defines the result for floats outside of the range
    return PyExpr(f"{wrap(context.args[0])}.astype(np.{np.dtype(context.result.dtype).type.__name__})")


def _where(context: EmitContext) -> PyExpr | None:
    # `context.dtype` is that of the condition.
    return PyExpr(f"np.where({', '.join(context.args)})") if context.dtype == "bool" else None


def _split(context: EmitContext) -> PyExpr | None:
    """Return the parts as slices, if they are few and of static size."""
    data = context.types[0]
    if data.dynamic or len(context.results) >= MANY:
        return None
    axis, start, cuts = context.attrs.axis % len(data.shape), 0, []
    for part in context.results:
        size: Any = part.shape[axis]
        cuts.append(f"{wrap(context.args[0])}[{':, ' * axis}{start}:{start + size}]")
        start += size
    return PyExpr(f"({', '.join(cuts)},)", fresh=False)


_CALCULUS = {
    "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "sqrt": "sqrt", "sin": "sin", "cos": "cos",
    "tan": "tan", "tanh": "tanh", "sinh": "sinh", "cosh": "cosh", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "fast_exp": "exp", "fast_tanh": "tanh",
}  # fmt: skip
EMITTERS: dict[str, Emitter] = {
    "add": _infix("+", NUMBERS), "subtract": _infix("-", NUMBERS), "multiply": _infix("*", NUMBERS),
    "divide": _infix("/", FLOATS), "equal": _infix("==", NATIVE), "not_equal": _infix("!=", NATIVE),
    "less": _infix("<", NATIVE), "less_equal": _infix("<=", NATIVE), "greater": _infix(">", NATIVE),
    "greater_equal": _infix(">=", NATIVE), "maximum": _function("maximum", NATIVE),
    "minimum": _function("minimum", NATIVE), "power": _function("power", FLOATS), "abs": _function("absolute", NUMBERS),
    "logical_and": _function("logical_and", frozenset({"bool"})), "where": _where,
    "logical_or": _function("logical_or", frozenset({"bool"})), "cast": _cast,
    "logical_not": _function("logical_not", frozenset({"bool"})), "negative": _negative, "rsqrt": _rsqrt,
    "sigmoid": _sigmoid, "nn.relu": _relu, "nn.dense": _dense, "nn.bias_add": _bias_add, "reshape": _reshape,
    "nn.batch_flatten": _reshape, "squeeze": _reshape, "expand_dims": _reshape, "transpose": _transpose,
    "split": _split,
    **{name: _function(ufunc, FLOATS) for name, ufunc in _CALCULUS.items()},
}  # fmt: skip
VIEWS = (_reshape, _transpose)  # they return views of their argument, and may stand inside an expression


def emit(call: Call, args: tuple[str, ...], scalar: Callable[[str, Any], str]) -> PyExpr | None:
    """Return the text of a typed operator call on `args`, None where the operator needs its kernel.

    `scalar(dtype, value)` returns the name of a constant.
    """
    op, results = call.op, tuple(tensor_types(call.checked_type_))
    if not isinstance(op, Op) or op.name not in EMITTERS or not results:
        return None
    tensors = tuple([t for a in call.args if isinstance(t := a.checked_type_, TensorType)])
    if len(tensors) < len(call.args):
        return None
    return EMITTERS[op.name](EmitContext(call, args, tensors, results, scalar))
