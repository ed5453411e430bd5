"""What `reduce` may cut from a program, the largest parts first.

Each stage goes over the smallest program so far and proposes functions that are smaller; the search says which of them
it keeps. A part whose value is still needed is replaced by a new parameter where nobody calls the function, else by
zeros or ones. Stages go through nodes by number, from lists made anew after each cut, and recurse over nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from passlab.analysis.purity import module_purity
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from passlab.ir.op import Op, is_op_call
from passlab.ir.types import TensorType, TupleType, Type, map_type
from passlab.ir.variables import free_vars
from passlab.ir.walk import LEAVES, children, let_chain, make_lets, post_order, rewrite
from passlab.lab.reduction_calls import (
    alike_branches,
    condition_as_parameter,
    drop_called_parameters,
    drop_closure_parameters,
    fewer_clauses,
    inline_calls,
    merge_called_parameters,
    retype_arguments,
    stand_for_caller,
)
from passlab.op.declare import call
from passlab.rewriting.let_removal import LetAction, remove_lets

if TYPE_CHECKING:
    from passlab.lab.reduction import Changes, Search

LIKE = 2  # parameters of the type of a node that are tried in its place
ARGUMENTS = 6  # operands of a call that are tried in its place


# ---------------------------------------------------------------- functions
def drop_functions(search: Search) -> None:
    """Take functions away, half of them at once at first."""
    count = len(search.best)
    while count:
        names = [name for name, _ in search.best.items()]
        kept = True
        for start in range(0, len(names), count):
            part = {name: None for name in names[start : start + count] if name in search.best}
            if part and search.attempt(dict(part), f"the functions {', '.join(f'@{name}' for name in part)}"):
                kept = False
        count = count // 2 if kept else min(count, len(search.best))


def remove_all_lets(search: Search) -> None:
    """Put values where the variables of lets stand, so that parts can be cut anywhere."""
    for name, function in _functions(search):
        plain = remove_lets(function, lambda let, value: LetAction.INLINE)
        if plain is function or search.attempt({name: plain}, f"the lets of @{name}"):
            continue
        some = _without_pure_lets(search, function)
        if some is not function:
            search.attempt({name: some}, f"the lets without effects of @{name}")


def _without_pure_lets(search: Search, function: Function) -> Function:
    """Return a function that keeps the lets whose values have effects."""
    purity = module_purity(search.best)
    return remove_lets(function, lambda let, value: LetAction.INLINE if purity.pure(let.value) else LetAction.KEEP)


# ---------------------------------------------------------------- large parts
def cut_ends(search: Search) -> None:
    """End a function at an earlier node: what came after it is gone."""
    for name, _ in _functions(search):
        step = None
        while step != 0:
            function = search.best[name]
            bodies = _bodies(function)
            step = len(bodies) // 2 if step is None else min(step, len(bodies) // 2)
            place = len(bodies) - 1 - step
            if not step or not search.attempt({name: _with_body(function, bodies[place]())}, f"the end of @{name}"):
                step //= 2


def cut_starts(search: Search) -> None:
    """Let a function begin at a later node: what came before it is given from outside."""
    for name, _ in _functions(search):
        step = None
        while step != 0:
            function, called = search.best[name], _is_called(search, name)
            lets, body = let_chain(function.body)
            order = _dataflow(body)
            count = len(lets) or len(order)
            step = count // 2 if step is None else min(step, count // 2)
            result = None
            if step:
                result = (
                    _without_lets(function, step, called) if lets else _without_nodes(function, order, step, called)
                )
            if result is None or not search.attempt({name: result}, f"the start of @{name}"):
                step //= 2


def _bodies(function: Function) -> list[Callable[[], Expr]]:
    """What a function may end with, the smallest first, its body last."""
    lets, body = let_chain(function.body)
    if lets:
        bound = [(let.var, let.value) for let in lets]
        return [*(lambda k=k: make_lets(bound[:k], bound[k][1]) for k in range(len(bound))), lambda: function.body]
    return [lambda node=node: node for node in _dataflow(body) if not isinstance(node, LEAVES)]  # type: ignore[misc]


def _dataflow(body: Expr) -> list[Expr]:
    """The nodes of a body that stand in no branch and no function inside it, and the body."""
    closed = (Function, If, Match, Let)
    return [n for n in post_order(body, enter=lambda n: not isinstance(n, closed)) if not isinstance(n, Function)]


def _without_lets(function: Function, count: int, called: bool) -> Function | None:
    """A function without its first lets."""
    lets, body = let_chain(function.body)
    rest = make_lets([(let.var, let.value) for let in lets[count:]], body)
    gone = {let.var: let.value for let in lets[:count]}
    return _given(function, rest, {var: gone[var] for var in free_vars(rest) if var in gone}, called)


def _without_nodes(function: Function, order: list[Expr], count: int, called: bool) -> Function | None:
    """A function whose first nodes are given from outside, as far as others use them."""
    first = {node for node in order[:count] if not isinstance(node, LEAVES)}
    border: dict[Expr, Expr] = {}
    for node in order[count:]:
        border.update((child, child) for child in children(node) if child in first)
    return _given(function, function.body, border, called) if border else None


def _given(function: Function, body: Expr, parts: dict[Expr, Expr], called: bool) -> Function | None:
    """Return a function in which stand-ins take the place of parts, by the nodes whose types they have."""
    stands, params = dict[Expr, Expr](), list[Var]()
    for number, (part, typed) in enumerate(parts.items()):
        stand = (
            _filler(typed.checked_type_)
            if called
            else _parameter(typed.checked_type_, f"p{len(function.params) + number}")
        )
        if stand is None:
            return None
        stands[part] = stand
        params += [stand] if isinstance(stand, Var) else []
    return function.with_fields(params=(*function.params, *params), body=rewrite(body, replace=stands))


def bypass_operators(search: Search) -> None:
    """Put an operand in the place of all calls of an operator at once, in all branches that have to stay alike."""
    for name, _ in _functions(search):
        calls = [node for node in post_order(search.best[name].body) if is_op_call(node)]
        for op, count in Counter(node.op for node in calls).items():
            if count > 1:
                search.attempt({name: _bypassed(search.best[name], op)}, f"all `{op.name}` in @{name}")


def _bypassed(function: Function, op: Op) -> Function:
    def rule(pre: Expr, post: Expr) -> Expr:
        if not is_op_call(post) or post.op is not op:
            return post
        assert isinstance(pre, Call)
        alike = (a for a, old in zip(post.args, pre.args, strict=True) if old.checked_type_ is pre.checked_type_)
        return next(alike, post)

    return rewrite(function, rule, only=(Call,))


# ---------------------------------------------------------------- nodes
def simplify_nodes(search: Search) -> None:
    """Go through the nodes from the result to the inputs and put something smaller in the place of each."""
    for name, _ in _functions(search):
        order = post_order(search.best[name].body)
        place = len(order) - 1
        while place >= 0:
            function = search.best[name]
            if search.first(({name: result}, what) for result, what in _smaller(search, name, function, order[place])):
                order = post_order(search.best[name].body)
                place = min(place, len(order) - 1)
            else:
                place -= 1


def _smaller(search: Search, name: str, function: Function, node: Expr) -> Iterator[tuple[Function, str]]:
    """Functions in which something smaller takes the place of a node."""
    if isinstance(node, (*LEAVES, Function)):
        return
    what = f"a {type(node).__name__.lower()} in @{name}"
    if is_op_call(node):
        what = f"`{node.op.name}` in @{name}"
    called = _is_called(search, name)
    for part in _parts(node):
        yield _replace(function, node, part, called), what
    if search.sharing:
        yield from ((_replace(function, node, param, called), what) for param in _like(function, node))
    if not called:
        result = _given(function, function.body, {node: node}, called=False)
        if result is not None:
            yield result, what
    filler = _filler(node.checked_type_)
    if filler is not None and not _is_filler(node):
        yield _replace(function, node, filler, called), what


def _parts(node: Expr) -> Iterator[Expr]:
    """What may stand for a node: one of its parts, those of its type first."""
    if isinstance(node, If):
        yield from (node.true_branch, node.false_branch, node.cond)
        yield from alike_branches(node)
    elif isinstance(node, Let):
        yield from _let_parts(node)
    elif isinstance(node, Match):
        yield from (clause.rhs for clause in node.clauses)
        yield node.data
        yield from fewer_clauses(node)
    elif isinstance(node, Tuple):
        yield from node.fields[:ARGUMENTS]
    elif isinstance(node, TupleGetItem):
        if isinstance(node.tuple_value, Tuple):
            yield node.tuple_value.fields[node.index]
        yield node.tuple_value
    elif isinstance(node, (RefCreate, RefRead, RefWrite)):
        yield from children(node)
    elif isinstance(node, Call):
        if isinstance(node.op, Function) and len(node.op.params) == len(node.args):
            yield rewrite(node.op.body, replace=dict(zip(node.op.params, node.args, strict=True)))
        args = node.args[:ARGUMENTS]
        yield from sorted(args, key=lambda arg: arg.checked_type_ is not node.checked_type_)


def _let_parts(let: Let) -> Iterator[Expr]:
    yield rewrite(let.body, replace={let.var: let.value})
    yield let.value
    if let.var not in free_vars(let.body):
        yield Tuple((let.value, let.body))  # computed in this order, too
    if let.body is not let.var:
        yield Let(let.var, let.value, let.var)


def _like(function: Function, node: Expr) -> list[Var]:
    """A few parameters of the type of a node."""
    return [param for param in function.params if param.checked_type_ is node.checked_type_][:LIKE]


# ---------------------------------------------------------------- parameters
def merge_parameters(search: Search) -> None:
    """Put other parameters, or values, in the place of parameters of their type, where nobody calls the function."""
    for name, _ in _functions(search):
        place = 0
        while search.sharing and not _is_called(search, name) and place < len(search.best[name].params):
            function = search.best[name]
            gone = function.params[place]
            rest = (*function.params[:place], *function.params[place + 1 :])
            others = [n for n in (*rest, *_dataflow(function.body)) if n.checked_type_ is gone.checked_type_]
            merged = (
                function.with_fields(params=rest, body=rewrite(function.body, replace={gone: other}))
                for other in others[: 2 * LIKE]
                if other is not gone and gone not in free_vars(other)
            )
            if not search.first(({name: fewer}, f"a parameter of @{name}") for fewer in merged):
                place += 1


def merge_types(search: Search) -> None:
    """Give parameters the type of another one, all of one type at once, and put that in the place of one of them."""
    for name, _ in _functions(search):
        if not search.sharing or _is_called(search, name):
            continue
        params = search.best[name].params
        types = list(dict.fromkeys(p.checked_type_ for p in params))[: 2 * LIKE]
        pairs = [(old, new) for old in types for new in types if old is not new and _is_data(old) and _is_data(new)]
        merged: Iterator[tuple[Changes, str]] = (
            ({name: _with_type(search.best[name], old, new, gone)}, f"a type in @{name}")
            for old, new in pairs
            for gone in [p for p in params if p.checked_type_ is old][:LIKE]
        )
        search.first(merged)


def _with_type(function: Function, old: Type | None, new: Type | None, gone: Var) -> Function:
    """Return a function in which one type is another one, and a parameter of that stands for one of the first."""

    def now(ty: Type | None) -> Type | None:
        return None if ty is None else map_type(ty, lambda part: new if part is old else None)

    held = [n for n in post_order(function) if isinstance(n, Var) and now(n.type_annotation) is not n.type_annotation]
    stands: dict[Expr, Expr] = {var: Var(var.name_hint, now(var.type_annotation)) for var in held}
    stands[gone] = next(p for p in function.params if p.checked_type_ is new)

    def rule(pre: Expr, post: Expr) -> Expr:
        assert isinstance(post, Function)
        return post.with_fields(ret_type=now(post.ret_type))

    params = tuple([stands.get(p, p) for p in function.params if p is not gone])
    body = rewrite(function.body, rule, replace=stands, only=(Function,))
    result: Function = function.with_fields(params=params, body=body, ret_type=None)
    return result


def share_constants(search: Search) -> None:
    """Put one constant in the place of others of its type."""
    for name, _ in _functions(search):
        place = 0
        while search.sharing and name in search.best:
            function = search.best[name]
            constants = [n for n in post_order(function.body) if isinstance(n, Constant)]
            if place >= len(constants):
                break
            gone = constants[place]
            others = [n for n in constants if n is not gone and n.tensor_type is gone.tensor_type]
            shared = (_replace(function, gone, other) for other in others[:LIKE])
            if not search.first(({name: fewer}, f"a constant of @{name}") for fewer in shared):
                place += 1


def drop_parameters(search: Search) -> None:
    """Take parameters away that are not used, where nobody calls the function."""
    for name, function in _functions(search):
        used = set(free_vars(function.body))
        params = tuple(param for param in function.params if param in used)
        if len(params) < len(function.params) and not _is_called(search, name):
            search.attempt({name: function.with_fields(params=params)}, f"parameters of @{name}")


def shrink_shapes(search: Search) -> None:
    """Make dimensions of parameters smaller, the same one everywhere at once, where nobody calls the function."""
    for name, _ in _functions(search):
        if _is_called(search, name):
            continue
        for dim in sorted({dim for param in search.best[name].params for dim in _dims(param)}, reverse=True):
            for small in dict.fromkeys((1, 2, dim // 2)):
                if small < dim and search.attempt(
                    {name: _resize(search.best[name], dim, small)}, f"{dim} to {small} in @{name}"
                ):
                    break


def _dims(param: Var) -> list[int]:
    ty = param.type_annotation
    return [dim for dim in ty.shape if isinstance(dim, int) and dim > 1] if isinstance(ty, TensorType) else []


def _resize(function: Function, dim: int, small: int) -> Function:
    """Return a function whose parameters have a smaller dimension in the place of one."""
    params: dict[Expr, Expr] = {}
    for param in function.params:
        ty = param.type_annotation
        if isinstance(ty, TensorType) and dim in ty.shape:
            shape = [small if at == dim else at for at in ty.shape]
            params[param] = Var(param.name_hint, TensorType(shape, ty.dtype))
    result: Function = function.with_fields(
        params=tuple([params.get(param, param) for param in function.params]),
        body=rewrite(function.body, replace=dict(params)),
        ret_type=None,
    )
    return result


# ---------------------------------------------------------------- pieces
def _functions(search: Search) -> Iterator[tuple[str, Function]]:
    """The functions there are, as they are when their turn comes."""
    for name in [name for name, _ in search.best.items()]:
        if name in search.best:
            yield name, search.best[name]


def _is_called(search: Search, name: str) -> bool:
    return any(
        isinstance(node, GlobalVar) and node.name_hint == name
        for function in search.best.functions.values()
        for node in post_order(function)
    )


def _with_body(function: Function, body: Expr) -> Function:
    """Return a function with another body, whose type becomes that of its result."""
    result: Function = function.with_fields(body=body, ret_type=None)
    return result


def _replace(function: Function, node: Expr, part: Expr, called: bool = True) -> Function:
    """Return a function with a part in the place of a node. What had the type that it has keeps that of the result.

    Parameters that are not used any more go where the function is not `called`.
    """
    body = rewrite(function.body, replace={node: part})
    ret_type = function.ret_type if part.checked_type_ is node.checked_type_ else None
    used = set() if called else set(free_vars(body))
    params = function.params if called else tuple(p for p in function.params if p in used)
    result: Function = function.with_fields(params=params, body=body, ret_type=ret_type)
    return result


def _parameter(ty: Type | None, name: str) -> Var | None:
    return Var(name, ty) if _is_data(ty) else None


def _is_data(ty: Type | None) -> bool:
    stack = [ty]
    while stack:
        at = stack.pop()
        if isinstance(at, TupleType):
            stack.extend(at.fields)
        elif not isinstance(at, TensorType):
            return False
    return True


def _filler(ty: Type | None) -> Expr | None:
    """Zeros or ones of a type with a known shape: ones where zeros might lead to NaN."""
    if isinstance(ty, TupleType):
        fields = [field for part in ty.fields if (field := _fill(part)) is not None]
        return Tuple(fields) if len(fields) == len(ty.fields) else None
    return _fill(ty)


def _fill(ty: Type | None) -> Expr | None:
    if not isinstance(ty, TensorType) or not all(isinstance(dim, int) for dim in ty.shape):
        return None
    return call("ones" if "float" in ty.dtype else "zeros", shape=tuple(ty.shape), dtype=ty.dtype)


def _is_filler(node: Expr) -> bool:
    return isinstance(node, (Call, Tuple)) and all(
        isinstance(part, Call) and getattr(part.op, "name", "") in ("ones", "zeros") and not part.args
        for part in (node.fields if isinstance(node, Tuple) else (node,))
    )


STAGES: tuple[Callable[[Search], None], ...] = (
    drop_functions,
    cut_ends,
    cut_starts,
    remove_all_lets,
    cut_ends,
    cut_starts,
    drop_functions,
    inline_calls,
    bypass_operators,
    simplify_nodes,
    drop_parameters,
    drop_called_parameters,
    drop_closure_parameters,
    retype_arguments,
    merge_parameters,
    merge_called_parameters,
    merge_types,
    share_constants,
    stand_for_caller,
    condition_as_parameter,
    shrink_shapes,
)
