"""Cuts out of a large program around its wrong operator, which spare `reduce` many steps.

`neighbourhood` is the operator with some of those above it, for a pass that can be run on it again. `Cut` is the part
of both programs, before and after the pass, with the operands as parameters and their recorded values. It needs no
second run of the pass, which may do something only in the large program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.evaluate import Evaluator
from passlab.infer import infer_module
from passlab.instrument.events import Event, contract_of
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType, TupleType, Type
from passlab.ir.variables import free_vars
from passlab.ir.walk import children, let_chain, post_order, rewrite
from passlab.oracle.first_wrong import WrongNode
from passlab.transform import Pass, PassContext, module_pass
from passlab.transform.numeric_contract import NumericContract

_DATAFLOW = (Call, Tuple, TupleGetItem)


def neighbourhood(mod: IRModule, node: Expr, depth: int) -> IRModule | None:
    """Return a program that computes a node from operands up to `depth` operators above it, or None if that fails.

    Operands that are further away become parameters. Variables of lets are replaced by their values.
    """
    values = _let_values(mod)
    inside: dict[Expr, int] = {}
    worklist = [(node, depth)]
    while worklist:
        part, left = worklist.pop()
        part = _let_value(part, values)
        # Visited again only where more operators above it may be taken.
        if inside.get(part, 0) >= left or not isinstance(part, _DATAFLOW):
            continue
        inside[part] = left
        worklist.extend((child, left - 1) for child in children(part))
    if not inside:
        return None
    replacements: dict[Expr, Expr] = {}
    params: list[Var] = []
    for part in inside:
        for child in children(part):
            target = _let_value(child, values)
            is_scalar = isinstance(target, Constant) and not target.data.ndim  # rules test for its value, so it stays
            if target in inside or is_scalar:
                if target is not child:
                    replacements[child] = target
            elif child not in replacements and _is_tensor_or_tuple(target.checked_type_):
                param = next((p for p in params if replacements.get(target) is p), None)
                replacements[child] = replacements[target] = param or Var(f"p{len(params)}", target.checked_type_)
                if param is None:
                    params.append(replacements[child])  # type: ignore[arg-type]
    return _program_of_node(mod, _let_value(node, values), replacements, params)


def _program_of_node(mod: IRModule, node: Expr, replacements: dict[Expr, Expr], params: list[Var]) -> IRModule | None:
    body = node
    for _ in range(len(replacements) + 1):  # values of lets may contain variables of other lets
        changed = rewrite(body, replace={a: b for a, b in replacements.items() if a is not node})
        if changed is body:
            break
        body = changed
    function = Function(tuple(params), body)
    if free_vars(function):
        return None
    used = {name for n in post_order(function) if (name := getattr(n, "name_hint", None))}
    others = {name: f for name, f in mod.items() if name != "main" and name in used}
    try:
        return infer_module(IRModule({"main": function, **others}, dict(mod.type_definitions.items())))
    except PasslabError:
        return None


def _let_values(mod: IRModule) -> dict[Expr, Expr]:
    values: dict[Expr, Expr] = {}
    for function in mod.functions.values():
        lets, _ = let_chain(function.body)
        values.update((let.var, let.value) for let in lets)
    return values


def _let_value(node: Expr, values: dict[Expr, Expr]) -> Expr:
    while node in values:
        node = values[node]
    return node


def _is_tensor_or_tuple(ty: Type | None) -> bool:
    if isinstance(ty, TupleType):
        return all(isinstance(field, TensorType) for field in ty.fields)
    return isinstance(ty, TensorType)


# ---------------------------------------------------------------- the wrong operator in both programs
LITERAL = 64  # elements up to which a constant stays one
DEEPEST = 8  # operators that a pass may have made of one
_CLOSED = (Op, GlobalVar, Constructor, Function)
Values = dict[Expr, Any]


@dataclass(frozen=True)
class Cut:
    """The wrong operator before and after a pass, as functions of its operands, and the values of these operands."""

    before: IRModule
    after: IRModule
    values: tuple[Any, ...]


def cut_at(before: IRModule, after: IRModule, wrong: WrongNode, entry: str, arguments: Sequence[Any]) -> Cut | None:
    """Return the wrong operator of both programs alone; None where its operands are not tensors with known values."""
    try:
        old_values = Evaluator(before).values(entry, arguments)
        new_values = Evaluator(after).values(entry, arguments)
        return _Cutter(before, after, wrong, old_values, new_values).cut(entry)
    except PasslabError:
        return None


class _Cutter:
    """Collects the operands of the wrong operator as parameters: equal values become the same parameter."""

    def __init__(self, before: IRModule, after: IRModule, wrong: WrongNode, old: Values, new: Values) -> None:
        self.before = before
        self.after = after
        self.wrong = wrong
        self.old = old
        self.new = new
        self.params: list[Var] = []
        self.values: list[Any] = []
        self.operands: list[Expr] = []  # the nodes that became parameters

    def cut(self, entry: str) -> Cut | None:
        root = self._old_root(entry)
        if root is None:
            return None
        inside = {root, self.wrong.old}
        before = self._with_parameters(root, lambda node, depth: node in inside or self._is_lost(node, depth), self.old)
        if any(not self._is_kept(operand) for operand in self.operands):
            return None  # the fault is in how the pass computes this operand, which the cut would leave out
        after = self._with_parameters(self.wrong.node, self._is_new, {**self.old, **self.new})
        if before is None or after is None:
            return None
        return Cut(self._program(self.before, before), self._program(self.after, after), tuple(self.values))

    def _old_root(self, entry: str) -> Expr | None:
        """Return the old operator; the first that uses it where the pass removed it."""
        if not self.wrong.removed:
            return self.wrong.old
        users = (n for n in post_order(self.before[entry]) if self.wrong.old in children(n) and n in self.old)
        return next(users, None)

    def _is_new(self, node: Expr, depth: int) -> bool:
        """Whether a node of the new program belongs to what the pass made of the wrong operator."""
        return depth == 0 or (depth < DEEPEST and node not in self.old and self._parameter_of(self.new[node]) is None)

    def _is_lost(self, node: Expr, depth: int) -> bool:
        """Whether nothing in the new program has the value of a node of the old one."""
        return depth < DEEPEST and node not in self.new and not self._is_kept(node)

    def _is_kept(self, node: Expr) -> bool:
        """Whether a node of the old program has its value in the new one as well."""
        if isinstance(node, Constant):
            return True
        if node in self.new:
            return _is_same(self.new[node], self.old[node])
        return any(_is_same(value, self.old[node]) for value in self.new.values())

    def _with_parameters(self, root: Expr, is_inside: Any, values: Values) -> Expr | None:
        """Return an expression with parameters for its operands; None where one has no value."""
        replace: dict[Expr, Expr] = {}
        worklist: list[tuple[Expr, int]] = [(root, 0)]
        seen = {root}
        while worklist:
            node, depth = worklist.pop()
            for child in children(node):
                if child in seen or isinstance(child, _CLOSED):
                    continue
                seen.add(child)
                if isinstance(child, Constant) and child.data.size <= LITERAL:
                    continue
                if child not in values or not _is_tensor_or_tuple(child.checked_type_):
                    return None
                if not isinstance(child, (Var, Constant)) and is_inside(child, depth + 1):
                    worklist.append((child, depth + 1))
                else:
                    replace[child] = self._parameter(child.checked_type_, values[child])
                    self.operands.append(child)
        return rewrite(root, replace=replace)

    def _parameter(self, ty: Type | None, value: Any) -> Var:
        found = self._parameter_of(value)
        if found is None:
            found = Var(f"p{len(self.params)}", ty)
            self.params.append(found)
            self.values.append(value)
        return found

    def _parameter_of(self, value: Any) -> Var | None:
        return next((p for p, v in zip(self.params, self.values, strict=True) if _is_same(v, value)), None)

    def _program(self, mod: IRModule, body: Expr) -> IRModule:
        names = {name for n in post_order(body) if (name := getattr(n, "name_hint", None))}
        others = {name: f for name, f in mod.items() if name != "main" and name in names}
        main = Function(tuple(self.params), body)
        return infer_module(IRModule({"main": main, **others}, dict(mod.type_definitions.items())))


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a is b
    return a is b or (a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())


def replay(event: Event, after: IRModule, default_contract: NumericContract | None) -> Pass:
    """Return a pass that makes one program of any: what a pass made of a part of a larger one, under its contract."""

    def made(mod: IRModule, ctx: PassContext) -> IRModule:
        return after

    result: Any = module_pass(made, opt_level=0, name=event.name)
    result.contract = contract_of(event, default_contract)
    result.replayed = after
    replaying: Pass = result
    return replaying
