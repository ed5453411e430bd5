"""`neighbourhood`: a small program around one node of a large one, which spares `reduce` many steps."""

from __future__ import annotations

from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var
from passlab.ir.module import IRModule
from passlab.ir.types import TensorType, TupleType, Type
from passlab.ir.variables import free_vars
from passlab.ir.walk import children, let_chain, post_order, rewrite

_DATAFLOW = (Call, Tuple, TupleGetItem)


def neighbourhood(mod: IRModule, node: Expr, depth: int) -> IRModule | None:
    """Return a program that computes a node from operands up to `depth` operators above it; None where there is none.

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
