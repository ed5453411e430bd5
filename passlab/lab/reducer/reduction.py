"""`reduce`: the smallest program for which something still holds.

    small = lab.reduce(mod, lambda mod: crashes(mod))
    small.module, small.text()

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002) over functions and
nodes: large parts are cut off first, then ever smaller ones, then nodes one by one; shapes shrink last. Every candidate
that the predicate is asked about has types, has no free variables, and is smaller than the best one so far.
Stages propose the cuts, here and in `calls` and `definitions`; `search` keeps the best candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passlab.analysis.purity import module_purity
from passlab.arguments import checked
from passlab.errors import Diagnostic, PassTypeError, counted
from passlab.infer import infer_module
from passlab.instrument.statistics import count_module
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
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_op_call
from passlab.ir.types import TensorType, TupleType, Type, map_type
from passlab.ir.variables import free_vars
from passlab.ir.walk import LEAVES, children, let_chain, make_lets, post_order, rewrite
from passlab.lab.reducer.calls import (
    condition_as_parameter,
    drop_called_parameters,
    drop_closure_parameters,
    fewer_clauses,
    inline_calls,
    merge_called_parameters,
    replace_caller,
    retype_arguments,
    simpler_branches,
)
from passlab.lab.reducer.search import Changes, EndOfSearchError, ReductionSearch, Shrinking
from passlab.op.declare import call
from passlab.oracle.deadline import Deadline, check_seconds
from passlab.oracle.predicate import Oracle, Predicate
from passlab.rewriting.let_removal import LetAction, remove_lets
from passlab.table import Table, Tabular

if TYPE_CHECKING:
    from passlab.lab.culprits.bisection import Bisection


# The stages of `reduce`, the largest cuts first.

LIKE = 2  # parameters of the type of a node that may replace it
ARGUMENTS = 6  # operands of a call that may replace it


# ---------------------------------------------------------------- functions
def drop_functions(search: ReductionSearch) -> None:
    """Drop functions, at first half of them at once."""
    count = len(search.best)
    while count:
        names = [name for name, _ in search.best.items()]
        kept = True
        for start in range(0, len(names), count):
            part = {name: None for name in names[start : start + count] if name in search.best}
            if part and search.attempt(dict(part), f"the functions {', '.join(f'@{name}' for name in part)}"):
                kept = False
        count = count // 2 if kept else min(count, len(search.best))


def remove_all_lets(search: ReductionSearch) -> None:
    """Replace the variables of lets by their values, so that parts can be cut anywhere."""
    for name, function in _functions(search):
        plain = remove_lets(function, lambda let, value: LetAction.INLINE)
        if plain is function or search.attempt({name: plain}, f"the lets of @{name}"):
            continue
        some = _without_pure_lets(search, function)
        if some is not function:
            search.attempt({name: some}, f"the lets without effects of @{name}")


def _without_pure_lets(search: ReductionSearch, function: Function) -> Function:
    """Return a function that keeps the lets whose values have effects."""
    purity = module_purity(search.best)
    return remove_lets(function, lambda let, value: LetAction.INLINE if purity.pure(let.value) else LetAction.KEEP)


# ---------------------------------------------------------------- large parts
def cut_ends(search: ReductionSearch) -> None:
    """End a function at an earlier node, without the nodes after it."""
    for name, _ in _functions(search):
        step = None
        while step != 0:
            function = search.best[name]
            bodies = _bodies(function)
            # First half of the nodes, then ever fewer.
            step = len(bodies) // 2 if step is None else min(step, len(bodies) // 2)
            index = len(bodies) - 1 - step
            if not step or not search.attempt({name: _with_body(function, bodies[index]())}, f"the end of @{name}"):
                step //= 2


def cut_starts(search: ReductionSearch) -> None:
    """Begin a function at a later node: new parameters or constants replace the nodes before it."""
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
    """Return functions that make the possible bodies of a function, the smallest first, its own body last."""
    lets, body = let_chain(function.body)
    # Bodies are made only when they are tried; default values bind the variables of the loops.
    if lets:
        bound = [(let.var, let.value) for let in lets]
        return [*(lambda k=k: make_lets(bound[:k], bound[k][1]) for k in range(len(bound))), lambda: function.body]
    return [lambda node=node: node for node in _dataflow(body) if not isinstance(node, LEAVES)]  # type: ignore[misc]


def _dataflow(body: Expr) -> list[Expr]:
    """Return the nodes of a body that are in no branch and no inner function, and the body."""
    closed = (Function, If, Match, Let)
    return [n for n in post_order(body, enter=lambda n: not isinstance(n, closed)) if not isinstance(n, Function)]


def _without_lets(function: Function, count: int, called: bool) -> Function | None:
    """Return a function without its first lets."""
    lets, body = let_chain(function.body)
    rest = make_lets([(let.var, let.value) for let in lets[count:]], body)
    dropped = {let.var: let.value for let in lets[:count]}
    return _with_inputs_for(function, rest, {var: dropped[var] for var in free_vars(rest) if var in dropped}, called)


def _without_nodes(function: Function, order: list[Expr], count: int, called: bool) -> Function | None:
    """Return a function whose first nodes are replaced by parameters or constants, as far as later nodes use them."""
    first = {node for node in order[:count] if not isinstance(node, LEAVES)}
    border: dict[Expr, Expr] = {}
    for node in order[count:]:
        border.update((child, child) for child in children(node) if child in first)
    return _with_inputs_for(function, function.body, border, called) if border else None


def _with_inputs_for(function: Function, body: Expr, parts: dict[Expr, Expr], called: bool) -> Function | None:
    """Return a function in which parameters or constants replace parts; `parts` maps each to a node of its type."""
    replacements, params = dict[Expr, Expr](), list[Var]()
    for number, (part, typed) in enumerate(parts.items()):
        replacement = (
            _filler(typed.checked_type_)
            if called
            else _parameter(typed.checked_type_, f"p{len(function.params) + number}")
        )
        if replacement is None:
            return None
        replacements[part] = replacement
        params += [replacement] if isinstance(replacement, Var) else []
    return function.with_fields(params=(*function.params, *params), body=rewrite(body, replace=replacements))


def bypass_operators(search: ReductionSearch) -> None:
    """Replace all calls of an operator by an operand at once, also in branches whose types must stay equal."""
    for name, _ in _functions(search):
        calls = [node for node in post_order(search.best[name].body) if is_op_call(node)]
        for op, count in Counter(node.op for node in calls).items():
            if count > 1:
                search.attempt({name: _bypass(search.best[name], op)}, f"all `{op.name}` in @{name}")


def _bypass(function: Function, op: Op) -> Function:
    def rule(pre: Call, post: Call) -> Expr:
        if post.op is not op:
            return post
        alike = (a for a, old in zip(post.args, pre.args, strict=True) if old.checked_type_ is pre.checked_type_)
        return next(alike, post)

    return rewrite(function, rule, only=(Call,))


# ---------------------------------------------------------------- nodes
def simplify_nodes(search: ReductionSearch) -> None:
    """Replace nodes by smaller expressions, from the result to the inputs."""
    for name, _ in _functions(search):
        order = post_order(search.best[name].body)
        index = len(order) - 1
        while index >= 0:
            function = search.best[name]
            if search.first(
                ({name: result}, what) for result, what in _smaller_functions(search, name, function, order[index])
            ):
                order = post_order(search.best[name].body)
                index = min(index, len(order) - 1)
            else:
                index -= 1


def _smaller_functions(
    search: ReductionSearch, name: str, function: Function, node: Expr
) -> Iterator[tuple[Function, str]]:
    """Yield functions in which a smaller expression replaces a node, each with the name of the cut."""
    if isinstance(node, (*LEAVES, Function)):
        return
    what = f"a {type(node).__name__.lower()} in @{name}"
    if is_op_call(node):
        what = f"`{node.op.name}` in @{name}"
    called = _is_called(search, name)
    for part in _replacements(node):
        yield _replace_node(function, node, part, called), what
    if search.sharing:
        yield from (
            (_replace_node(function, node, param, called), what)
            for param in [param for param in function.params if param.checked_type_ is node.checked_type_][:LIKE]
        )
    if not called:
        result = _with_inputs_for(function, function.body, {node: node}, called=False)
        if result is not None:
            yield result, what
    filler = _filler(node.checked_type_)
    if filler is not None and not _is_filler(node):
        yield _replace_node(function, node, filler, called), what


def _replacements(node: Expr) -> Iterator[Expr]:
    """Yield the expressions that may replace a node: its parts, first the parts of its type."""
    match node:
        case If(cond=cond, true_branch=yes, false_branch=no):
            yield from (yes, no, cond)
            yield from simpler_branches(node)
        case Let():
            yield from _let_parts(node)
        case Match(data=data, clauses=clauses):
            yield from (clause.rhs for clause in clauses)
            yield data
            yield from fewer_clauses(node)
        case Tuple(fields=fields):
            yield from fields[:ARGUMENTS]
        case TupleGetItem(tuple_value=value, index=index):
            if isinstance(value, Tuple):
                yield value.fields[index]
            yield value
        case RefCreate() | RefRead() | RefWrite():
            yield from children(node)
        case Call(op=callee, args=args):
            if isinstance(callee, Function) and len(callee.params) == len(args):
                yield rewrite(callee.body, replace=dict(zip(callee.params, args, strict=True)))
            # False sorts before True.
            yield from sorted(args[:ARGUMENTS], key=lambda arg: arg.checked_type_ is not node.checked_type_)


def _let_parts(let: Let) -> Iterator[Expr]:
    yield rewrite(let.body, replace={let.var: let.value})
    yield let.value
    if let.var not in free_vars(let.body):
        yield Tuple((let.value, let.body))  # keeps the order of evaluation
    if let.body is not let.var:
        yield Let(let.var, let.value, let.var)


# ---------------------------------------------------------------- parameters
def merge_parameters(search: ReductionSearch) -> None:
    """Replace parameters by other parameters or values of their type, where nobody calls the function."""
    for name, _ in _functions(search):
        index = 0
        while search.sharing and not _is_called(search, name) and index < len(search.best[name].params):
            function = search.best[name]
            dropped = function.params[index]
            rest = (*function.params[:index], *function.params[index + 1 :])
            others = [n for n in (*rest, *_dataflow(function.body)) if n.checked_type_ is dropped.checked_type_]
            merged = (
                function.with_fields(params=rest, body=rewrite(function.body, replace={dropped: other}))
                for other in others[: 2 * LIKE]
                if other is not dropped and dropped not in free_vars(other)
            )
            if not search.first(({name: fewer}, f"a parameter of @{name}") for fewer in merged):
                index += 1


def merge_types(search: ReductionSearch) -> None:
    """Give all parameters of one type the type of another parameter, and replace one of them by that parameter."""
    for name, _ in _functions(search):
        if not search.sharing or _is_called(search, name):
            continue
        params = search.best[name].params
        types = list(dict.fromkeys(p.checked_type_ for p in params))[: 2 * LIKE]
        pairs = [
            (old, new) for old in types for new in types if old is not new and _is_tensors(old) and _is_tensors(new)
        ]
        merged: Iterator[tuple[Changes, str]] = (
            ({name: _with_type(search.best[name], old, new, dropped)}, f"a type in @{name}")
            for old, new in pairs
            for dropped in [p for p in params if p.checked_type_ is old][:LIKE]
        )
        search.first(merged)


def _with_type(function: Function, old: Type | None, new: Type | None, dropped: Var) -> Function:
    """Return a function with one type replaced by another, and the parameter `dropped` by one of the new type."""

    def retyped(ty: Type | None) -> Type | None:
        return None if ty is None else map_type(ty, lambda part: new if part is old else None)

    variables = [
        n for n in post_order(function) if isinstance(n, Var) and retyped(n.type_annotation) is not n.type_annotation
    ]
    replacements: dict[Expr, Expr] = {var: Var(var.name_hint, retyped(var.type_annotation)) for var in variables}
    replacements[dropped] = next(p for p in function.params if p.checked_type_ is new)

    def rule(pre: Function, post: Function) -> Expr:
        return post.with_fields(ret_type=retyped(post.ret_type))

    params = tuple([replacements.get(p, p) for p in function.params if p is not dropped])
    body = rewrite(function.body, rule, replace=replacements, only=(Function,))
    result: Function = function.with_fields(params=params, body=body, ret_type=None)
    return result


def share_constants(search: ReductionSearch) -> None:
    """Replace constants by others of their type."""
    for name, _ in _functions(search):
        index = 0
        while search.sharing and name in search.best:
            function = search.best[name]
            constants = [n for n in post_order(function.body) if isinstance(n, Constant)]
            if index >= len(constants):
                break
            dropped = constants[index]
            others = [n for n in constants if n is not dropped and n.tensor_type is dropped.tensor_type]
            shared = (_replace_node(function, dropped, other) for other in others[:LIKE])
            if not search.first(({name: fewer}, f"a constant of @{name}") for fewer in shared):
                index += 1


def drop_parameters(search: ReductionSearch) -> None:
    """Drop unused parameters, where nobody calls the function."""
    for name, function in _functions(search):
        used = set(free_vars(function.body))
        params = tuple(param for param in function.params if param in used)
        if len(params) < len(function.params) and not _is_called(search, name):
            search.attempt({name: function.with_fields(params=params)}, f"parameters of @{name}")


def shrink_shapes(search: ReductionSearch) -> None:
    """Make dimensions of parameters smaller, all equal ones at once, where nobody calls the function."""
    for name, _ in _functions(search):
        if _is_called(search, name):
            continue
        for dim in sorted({dim for param in search.best[name].params for dim in _dims(param)}, reverse=True):
            for small in dict.fromkeys((1, 2, dim // 2)):  # a size of 1 may hide the fault by broadcasting
                if small < dim and search.attempt(
                    {name: _resize(search.best[name], dim, small)}, f"{dim} to {small} in @{name}"
                ):
                    break


def _dims(param: Var) -> list[int]:
    ty = param.type_annotation
    return [dim for dim in ty.shape if isinstance(dim, int) and dim > 1] if isinstance(ty, TensorType) else []


def _resize(function: Function, dim: int, small: int) -> Function:
    """Return a function with one dimension replaced by a smaller one in all parameters."""
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


# ---------------------------------------------------------------- shared by the stages
def _functions(search: ReductionSearch) -> Iterator[tuple[str, Function]]:
    """Yield the functions of the best candidate by name, each as it is when its turn comes."""
    for name in [name for name, _ in search.best.items()]:
        if name in search.best:
            yield name, search.best[name]


def _is_called(search: ReductionSearch, name: str) -> bool:
    return any(
        isinstance(node, GlobalVar) and node.name_hint == name
        for function in search.best.functions.values()
        for node in post_order(function)
    )


def _with_body(function: Function, body: Expr) -> Function:
    """Return a function with another body, without its result type."""
    result: Function = function.with_fields(body=body, ret_type=None)
    return result


def _replace_node(function: Function, node: Expr, part: Expr, called: bool = True) -> Function:
    """Return a function with a node replaced by a part; the result type stays where the part has the type of the node.

    Unused parameters are dropped where the function is not `called`.
    """
    body = rewrite(function.body, replace={node: part})
    ret_type = function.ret_type if part.checked_type_ is node.checked_type_ else None
    used = set() if called else set(free_vars(body))
    params = function.params if called else tuple(p for p in function.params if p in used)
    result: Function = function.with_fields(params=params, body=body, ret_type=ret_type)
    return result


def _parameter(ty: Type | None, name: str) -> Var | None:
    return Var(name, ty) if _is_tensors(ty) else None


def _is_tensors(ty: Type | None) -> bool:
    stack = [ty]
    while stack:
        at = stack.pop()
        if isinstance(at, TupleType):
            stack.extend(at.fields)
        elif not isinstance(at, TensorType):
            return False
    return True


def _filler(ty: Type | None) -> Expr | None:
    """Return ones (of floats: zeros might lead to NaN) or zeros of a type with known shapes; None for other types."""
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


# Ends and starts are cut again after lets are inlined: bound values are dataflow then, and can be cut anywhere.
STAGES: tuple[Callable[[ReductionSearch], None], ...] = (
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
    replace_caller,
    condition_as_parameter,
    shrink_shapes,
)


@dataclass(frozen=True)
class Reduction(Tabular):
    """The smallest program of a search. `stopped` says why the search ended early, "" when no cut was left."""

    original: IRModule
    module: IRModule
    steps: tuple[Shrinking, ...]
    tries: int
    stopped: str = ""
    predicate: Predicate | None = field(default=None, repr=False)
    of: Bisection | None = field(default=None, repr=False)  # has the guilty pass, for the notebook

    def summary(self) -> str:
        """Return the sizes before and after in a sentence."""
        tries = f"{self.tries:,} {'try' if self.tries == 1 else 'tries'}"
        end = f"; stopped: {self.stopped}" if self.stopped else ""
        return f"from {_size_text(self.original)} to {_size_text(self.module)} in {tries}{end}"

    def table(self) -> Table:
        """Return one row for each cut."""
        rows = [(number, s.what, s.functions, s.nodes) for number, s in enumerate(self.steps, 1)]
        return Table(("step", "what_was_cut", "functions", "nodes"), rows)

    def text(self) -> str:
        """Return the summary and the program as Relay text."""
        return f"{self.summary()}\n{self.module.astext()}"

    def notebook(self, path: str | PathLike[str]) -> Path:
        """Write a reproducer notebook of the smallest program, and return its path.

        Its last cell asserts that the fault is there, so it fails once the fault is fixed. Raises `PasslabError` where
        nbformat is not installed.
        """
        from passlab.lab.reducer.reproducer import write_bisection, write_reduction

        if self.of is not None:
            return write_bisection(self.of, path, self.module)
        return write_reduction(self, self.predicate, path)

    def __repr__(self) -> str:
        return self.text()


@checked
def reduce(
    mod: IRModule,
    predicate: Predicate,
    *,
    tries: int = 2000,
    seconds: float | None = None,
    of: Bisection | None = None,
    executor: Executor | None = None,
) -> Reduction:
    """Search for the smallest program for which a predicate over modules holds, as it does for `mod`.

    No single cut makes the result smaller. A predicate that raises does not hold. After `tries` evaluations of the
    predicate, after `seconds`, or after a keyboard interrupt, the smallest program so far is returned; `of` is the
    bisection whose notebook the result writes. An `executor` (of `concurrent.futures`) evaluates several cuts at once
    and the first that holds is made: the result is the same, after more tries in less time. Raises `PassError` when the
    predicate does not hold for `mod`, and `DiagnosticError` when `mod` has no types. Each try costs, besides the
    predicate, time linear in the functions it changes. Raises `PassTypeError` for arguments of a wrong class.

    >>> mod = passlab.parse("def @main(%x: float32) { tanh(exp(%x)) + sqrt(%x) }")
    >>> small = lab.reduce(mod, lambda candidate: "exp" in candidate.astext())
    >>> print(small.module["main"].body.op)
    exp
    """
    _check_options(mod, predicate, tries, seconds)
    search = ReductionSearch(infer_module(mod.snapshot()), Oracle(predicate, executor), tries, seconds)
    search.check_start()
    stopped, deadline = "", Deadline(seconds, busy=True)
    try:
        with deadline:
            # The loop sets the attribute: all stages run without sharing first, then with it.
            for search.sharing in (False, True):
                size = None
                while size != search.size:  # until no stage makes a cut
                    size = search.size
                    for stage in STAGES:
                        stage(search)
            search.drop_types()
    except EndOfSearchError as enough:
        stopped = str(enough)
    except deadline.error:
        deadline.close()
        stopped = f"after {seconds:g} seconds"
    except KeyboardInterrupt:
        stopped = "interrupted"
    return Reduction(mod, search.best, tuple(search.steps), search.tries, stopped, predicate, of)


def _check_options(mod: Any, predicate: Any, tries: Any, seconds: Any) -> None:
    """Raise `PassTypeError` for arguments of a wrong kind."""
    if not isinstance(mod, IRModule):
        raise PassTypeError(Diagnostic("only a module can be reduced", expected="IRModule", found=type(mod).__name__))
    if not callable(predicate):
        hint = "as in `lambda mod: crashes(mod)`"
        raise PassTypeError(Diagnostic("a predicate is a function of a module", found=repr(predicate), hint=hint))
    if isinstance(tries, bool) or not isinstance(tries, int) or tries < 0:
        raise PassTypeError(Diagnostic("`tries` is a number of questions, from 0 on", found=repr(tries)))
    check_seconds(seconds)


def _size_text(mod: IRModule) -> str:
    nodes, functions = count_module(mod)[0], len(mod)
    return f"{nodes:,} nodes in {counted(functions, 'function')}"
