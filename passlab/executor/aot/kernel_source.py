"""A primitive function as Python: one expression where it is one operator, else a function of straight-line NumPy.

An intermediate result that only the next operator reads is overwritten by it where shape and dtype stay the same, as
a hand-written kernel would do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from passlab.errors import Diagnostic, VerifyError
from passlab.executor.aot.constants import Constants
from passlab.executor.aot.names import Names
from passlab.executor.aot.spelling import Spelled, spell
from passlab.executor.aot.vendor import Library
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType, Type
from passlab.ir.walk import post_order

SHORT = 72  # characters of an expression that stands inside another


class Kernels:
    """Writes the primitive functions of one module; `blocks` are those that became functions."""

    def __init__(self, names: Names, constants: Constants, library: Library) -> None:
        self.names = names
        self.constants = constants
        self.library = library
        self.blocks: list[str] = []
        self.made: dict[str, str] = {}

    def call(self, name: str, function: Function, args: Sequence[str]) -> Spelled:
        """Return the call of a primitive function on named values."""
        body = function.body
        if isinstance(body, Call) and isinstance(body.op, Op) and all(a in function.params for a in body.args):
            given = dict(zip(function.params, args, strict=True))
            return self.operator(body, tuple([given[a] for a in body.args]))  # type: ignore[index]
        if isinstance(body, Call) and isinstance(body.op, Op):
            known: dict[Expr, str] = dict(zip(function.params, args, strict=True))
            for node in body.args:
                if isinstance(node, Constant):
                    known[node] = self.constants.array(node.data)
            if all(a in known for a in body.args):
                return self.operator(body, tuple([known[a] for a in body.args]))
        if name not in self.made:
            self.made[name] = self.names.make(name)
            self.blocks.append(_KernelText(self, function).text(self.made[name]))
        return Spelled(f"{self.made[name]}({', '.join(args)})")

    def operator(self, call: Call, args: tuple[str, ...]) -> Spelled:
        """Return an operator applied to named values."""
        assert isinstance(call.op, Op)
        result = call.checked_type_
        if isinstance(result, TensorType) and 0 in result.shape and not result.dynamic:
            shape = ", ".join(map(str, result.shape))
            return Spelled(f'np.empty(({shape},), "{result.dtype}")')  # nothing to compute
        spelled = spell(call, args, self.constants.scalar)
        if spelled is not None:
            return spelled
        spec = call.op.spec
        kernel = spec.raw or spec.kernel
        if kernel is None or (spec.stateful and spec.non_computational):  # an instruction of the virtual machine
            raise VerifyError(Diagnostic(f"`{call.op.name}` cannot be written in Python", call.span))
        hint = call.op.name.replace(".", "_")
        name = self.library.kernel(kernel, hint)
        given = [_as_array(a, node.checked_type_) for a, node in zip(args, call.args, strict=True)]
        return Spelled(f"{name}({', '.join([self.constants.record(call.attrs, hint), *given])})", fresh=False)


def _as_array(text: str, ty: Type | None) -> str:
    """Kernels expect arrays; results of NumPy without dimensions are scalars."""
    if isinstance(ty, TensorType) and not ty.shape:
        return f"np.asarray({text})"
    if isinstance(ty, TupleType) and any(isinstance(f, TensorType) and not f.shape for f in ty.fields):
        return f"tuple(map(np.asarray, {text}))"
    return text


class _KernelText:
    """One primitive function as the text of a Python function."""

    def __init__(self, kernels: Kernels, function: Function) -> None:
        self.kernels = kernels
        self.function = function
        self.names = Names(kernels.names)
        self.texts: dict[Expr, str] = {}
        self.owned: set[Expr] = set()  # what holds an array of its own, which may be overwritten
        self.lines: list[str] = []
        order = [n for n in post_order(function.body) if not isinstance(n, Op)]
        self.uses = Counter(c for n in order for c in _parts(n))
        self.order = order

    def text(self, name: str) -> str:
        """Return the definition of the function."""
        params = [self.names.make(p.name_hint) for p in self.function.params]
        self.texts.update(zip(self.function.params, params, strict=True))
        for node in self.order:
            if node not in self.texts:
                self._node(node)
        body = "".join(f"    {line}\n" for line in [*self.lines, f"return {self.texts[self.function.body]}"])
        return f"def {name}({', '.join(params)}):\n{body}"

    def _node(self, node: Expr) -> None:
        if isinstance(node, Constant):
            self.texts[node] = self.kernels.constants.array(node.data)
        elif isinstance(node, Tuple):
            self.texts[node] = f"({''.join(f'{self.texts[f]}, ' for f in node.fields).rstrip(' ')})"
        elif isinstance(node, TupleGetItem):
            self.texts[node] = f"{self.texts[node.tuple_value]}[{node.index}]"
        elif isinstance(node, Call) and isinstance(node.op, Op):
            self._call(node, node.op)
        else:
            raise VerifyError(Diagnostic(f"a kernel cannot hold a {type(node).__name__}", node.span))

    def _call(self, node: Call, op: Op) -> None:
        spelled = self.kernels.operator(node, tuple([self.texts[a] for a in node.args]))
        first = node.args[0] if node.args else None
        in_place = spelled.into and first in self.owned and self.uses[first] == 1 and _same_place(first, node)
        if in_place and spelled.into:
            target = self.texts[first]  # type: ignore[index]
            self.lines.append(spelled.into(target))
            self.texts[node] = target
            self.owned.add(node)
            return
        if node is self.function.body or (self.uses[node] == 1 and spelled.atom and _pure_view(op)):
            self.texts[node] = spelled.text
            return
        self.texts[node] = name = self.names.make(op.name.rpartition(".")[2])
        self.lines.append(f"{name} = {spelled.text}")
        if spelled.fresh:
            self.owned.add(node)


def _pure_view(op: Op) -> bool:
    """Whether an operator only looks at its argument in another way, and so may stand inside another expression."""
    return op.name in ("reshape", "squeeze", "expand_dims", "transpose", "nn.batch_flatten")


def _parts(node: Expr) -> Sequence[Expr]:
    if isinstance(node, Call):
        return node.args
    if isinstance(node, Tuple):
        return node.fields
    return (node.tuple_value,) if isinstance(node, TupleGetItem) else ()


def _same_place(first: Expr | None, node: Call) -> bool:
    """Whether a result has the known shape and dtype of the first argument, and dimensions."""
    ty = node.checked_type_
    if first is None or not isinstance(ty, TensorType) or ty.dynamic or not ty.shape:
        return False
    return first.checked_type_ is ty and node.args.count(first) == 1
