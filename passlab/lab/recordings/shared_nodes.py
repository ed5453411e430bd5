"""The nodes that the programs of a recording share: written as numbers, and joined again in programs read from text.

Text keeps what one program computes, and not that a node is the same object in the next program, nor that two uses of a
scalar are one constant. Numbers count the nodes of a program in an order that printing and parsing preserve. The type
parameters of a function are other objects in each text, so they are joined before the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.adt import Constructor
from passlab.ir.equal import structural_equal
from passlab.ir.expr import Call, Constant, Expr, Function, GlobalVar
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.span import Span
from passlab.ir.types import Type, TypeVar, map_type
from passlab.ir.walk import children, post_order, rewrite


def file_name(number: int) -> str:
    """Return the name of the file of a program."""
    return f"{number:04d}.relay"


def valid_index(value: Any) -> int:
    """Return an index from a file. Raises `ValueError` for a negative one, which would silently select another item."""
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not an index of the list")
    return value


def has_type_args(node: Expr) -> bool:
    """Whether a node is a call with type arguments, which text does not have: inference finds them."""
    return type(node) is Call and not node.op.is_operator and bool(node.type_args)


def nodes_in_order(mod: IRModule) -> list[Expr]:
    """Return all nodes of a program in an order that printing and parsing preserve."""
    seen: set[Expr] = set()
    return [node for _, function in sorted(mod.items()) for node in post_order(function, seen=seen)]


def scalars_of(mod: IRModule) -> list[Constant]:
    """Return the scalar constants of a program, one for each use: text has them in place, each use on its own."""
    seen: set[Expr] = set()
    nodes = (node for _, function in sorted(mod.items()) for node in post_order(function, seen=seen))
    return [part for node in nodes for part in children(node) if type(part) is Constant and not part.data.ndim]


def repeated_in(scalars: Sequence[Constant]) -> str:
    """Return which scalars are one that was used before: `AT:FIRST` for each."""
    first: dict[int, int] = {}
    pairs = [(at, first.setdefault(id(scalar), at)) for at, scalar in enumerate(scalars)]
    return " ".join(f"{at}:{before}" for at, before in pairs if at != before)


def shared_runs(places: dict[int, tuple[int, int]], nodes: Sequence[Expr | Span | TypeVar | None]) -> str:
    """Return which nodes, their spans or type parameters stand in an earlier program: runs of equal steps, each
    `AT:PROGRAM:PLACE:LENGTH`.
    """
    runs: list[list[int]] = []
    for at, node in enumerate(nodes):
        if node is None or id(node) not in places:
            continue
        program, place = places[id(node)]
        last = runs[-1] if runs else [-1, -1, -1, 0]
        if [at, program, place] == [last[0] + last[3], last[1], last[2] + last[3]]:
            last[3] += 1
        else:
            runs.append([at, program, place, 1])
    return " ".join(":".join(map(str, run)) for run in runs)


def runs_of(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield the runs that `shared_runs` wrote. Raises `ValueError` for another text, and for numbers below zero."""
    for run in text.split():
        at, program, place, length = map(int, run.split(":"))
        if min(at, program, place, length) < 0:
            raise ValueError(f"the nodes {run} are not in the programs")
        yield at, program, place, length


class Sharing:
    """What each program of a recording shares with earlier ones, as its file says; `programs` are their nodes."""

    def __init__(self) -> None:
        self.programs: list[list[Expr]] = []
        self.places: dict[int, tuple[int, int]] = {}  # the first place of a node, by its identity
        self._spans: dict[int, tuple[int, int]] = {}
        self._owners: dict[int, tuple[int, int]] = {}  # of type parameters

    def of_next(self, mod: IRModule) -> dict[str, Any]:
        """Return the JSON of the next program."""
        number, nodes = len(self.programs), nodes_in_order(mod)
        self.programs.append(nodes)
        told = [None if id(node) in self.places else node.span for node in nodes]
        data = {
            "nodes": len(nodes),
            "runs": shared_runs(self.places, nodes),
            "spans": shared_runs(self._spans, told),
            "no_span": " ".join(str(at) for at, node in enumerate(nodes) if node.span is None),
        }
        own: dict[int, int] = {}
        for at, node in enumerate(nodes):
            self.places.setdefault(id(node), (number, at))
            if self._spans.setdefault(id(node.span), (number, at))[0] == number:
                own.setdefault(id(node.span), at)
        later = [None if own.get(id(node.span), at) == at else node.span for at, node in enumerate(nodes)]
        params = type_params_of(nodes)
        more = {"own_spans": shared_runs(self._spans, later), "type_params": shared_runs(self._owners, params)}
        for at, param in enumerate(params):
            self._owners.setdefault(id(param), (number, at))
        return data | {key: runs for key, runs in more.items() if runs}


def type_params_of(nodes: Sequence[Expr]) -> list[TypeVar]:
    """Return the type parameters of all functions among some nodes, in order."""
    return [param for node in nodes if type(node) is Function for param in node.type_params]


def with_type_params(
    mod: IRModule, shared: dict[int, Any], number: int, modules: list[IRModule], nodes: dict[int, list[Expr]]
) -> None:
    """Give functions that were just parsed the type parameters of earlier functions, and their types with them."""
    own = nodes_in_order(mod)
    if len(own) != shared[number]["nodes"]:
        return
    fresh, swap = type_params_of(own), dict[Type, Type]()
    for at, program, place, length in runs_of(shared[number].get("type_params", "")):
        if program < number and program not in nodes:
            nodes[program] = nodes_in_order(modules[program])
        older = fresh if program == number else type_params_of(nodes[program])
        if at + length > len(fresh) or place + length > len(older):
            raise ValueError(f"the type parameters {at}:{program}:{place}:{length} are not in the programs")
        swap.update(zip(fresh[at : at + length], older[place : place + length], strict=True))
    for node in own if swap else ():
        for field in {"type_annotation", "ret_type"}.intersection(node.field_names):
            if (ty := getattr(node, field)) is not None:
                object.__setattr__(node, field, map_type(ty, swap.get))
        if type(node) is Function:
            object.__setattr__(node, "type_params", tuple(swap.get(ty, ty) for ty in node.type_params))


def joined_runs(mod: IRModule) -> str:
    """Return which nodes of functions also stand in an earlier function of the program, where a text has two of them.

    Nodes are counted for each function on its own. Scalars are not among them (`repeated_in`), nor what a text joins.
    """
    nodes = [node for _, function in sorted(mod.items()) for node in post_order(function)]
    first: dict[int, tuple[int, int]] = {}
    for at, node in enumerate(nodes):
        first.setdefault(id(node), (0, at))
    named = (GlobalVar, Constructor, Op)
    again = (node if first[id(node)] != (0, at) and type(node) not in named else None for at, node in enumerate(nodes))
    return shared_runs(first, [None if type(node) is Constant and not node.data.ndim else node for node in again])


def with_joined(mod: IRModule, joined: str) -> IRModule:
    """Return a program in which nodes of functions that were nodes of earlier functions are these again."""
    first: dict[int, int] = {}
    count = sum(len(post_order(function)) for _, function in mod.items()) if joined else 0
    for at, _, place, length in runs_of(joined):  # which may be longer than the program, in a damaged file
        first |= {node: place + node - at for node in range(at, min(at + length, count))}
    nodes: list[Expr] = []
    functions = {}
    for name, function in sorted(mod.items()) if first else ():
        own, start = post_order(function), len(nodes)
        places = {node: first[start + at] for at, node in enumerate(own) if start + at in first}
        if any(not 0 <= place < start for place in places.values()):
            raise ValueError("a node is not one of an earlier function")
        new = _with_nodes(function, {node: nodes[place] for node, place in places.items()})
        again = post_order(new)
        if len(again) != len(own) or not structural_equal(function, new, exact=True, by_name=True):
            new, again = function, own  # the file names a node that cannot stand there
        functions[name] = new
        nodes += again
    return mod.with_functions(functions)


def with_repeated(mod: IRModule, repeated: str, before: IRModule | None) -> IRModule:
    """Return a program in which the scalars that were one constant are one again: one of the program before, if any."""
    if not repeated:
        return mod
    scalars, groups = scalars_of(mod), dict[int, list[Constant]]()
    for pair in repeated.split():
        at, first = map(int, pair.split(":"))
        if not 0 <= first < at < len(scalars):
            raise ValueError(f"the constants {pair} are not in the program")
        groups.setdefault(first, [scalars[first]]).append(scalars[at])
    older = set() if before is None else set(scalars_of(before))
    same: dict[Expr, Expr] = {}
    for group in groups.values():
        one = next((scalar for scalar in group if scalar in older), group[0])
        same |= {s: one for s in group if s is not one and structural_equal(s, one, exact=True)}
    return mod.with_functions({name: _with_nodes(function, same) for name, function in mod.items()})


def with_type_args(mod: IRModule, at: list[int]) -> IRModule:
    """Return a program in which calls, by their indices, have the type arguments that inference finds."""
    if not at:
        return mod
    try:
        inferred = nodes_in_order(infer_module(mod))
    except PasslabError:  # a pass left it without a type: it is shown as its text has it
        return mod
    nodes = nodes_in_order(mod)
    found = {nodes[i]: inferred[i].type_args for i in map(valid_index, at) if has_type_args(inferred[i])}  # type: ignore[attr-defined]

    def applied(old: Expr, new: Expr) -> Expr:
        return new.with_fields(type_args=found[old]) if old in found else new

    return mod.with_functions({name: rewrite(f, applied, only=(Call,)) for name, f in mod.items()})


def with_shared_nodes(
    mod: IRModule,
    shared: dict[int, Any],
    number: int,
    modules: list[IRModule],
    nodes: dict[int, list[Expr]],
    is_typed: bool,
) -> IRModule:
    """Return a program with the nodes of earlier programs in their places, except in functions that would differ."""
    own = nodes_in_order(mod)
    if len(own) != shared[number]["nodes"]:
        return mod
    file = file_name(number)
    fresh = [node.span is not None and node.span.source.name == file for node in own]  # not one of an earlier program
    for at, older in _places_of(shared[number].get("spans", ""), shared, number, modules, nodes):
        if fresh[at]:
            object.__setattr__(own[at], "span", older.span)
    for at, _, place, length in runs_of(shared[number].get("own_spans", "")):
        for node, older in zip(own[at : at + length], own[place : place + length], strict=True):
            if node.span is not None and node.span.source.name == file:
                object.__setattr__(node, "span", older.span)
    for at in map(int, shared[number].get("no_span", "").split()):
        if fresh[at]:
            object.__setattr__(own[at], "span", None)
    same = {own[at]: older for at, older in _places_of(shared[number]["runs"], shared, number, modules, nodes)}
    try:
        joined = mod.with_functions({name: _with_nodes(function, same) for name, function in mod.items()})
        called = {node.name_hint: node for node in same.values() if type(node) is GlobalVar and node.name_hint in mod}
        joined = joined.with_global_vars(called)  # else inference types the calls of nodes that are shared again
        joined = infer_module(joined) if is_typed else joined
    except PasslabError:  # the file names a node that cannot stand there
        return mod
    other = {n: f for n, f in mod.items() if not structural_equal(f, joined[n], exact=True, by_name=True)}
    return joined.with_functions(other)


def _places_of(
    runs: str, shared: dict[int, Any], number: int, modules: list[IRModule], nodes: dict[int, list[Expr]]
) -> Iterator[tuple[int, Expr]]:
    """Yield the index of each node of some runs, and its node in the earlier program."""
    for at, program, place, length in runs_of(runs):
        if program >= number or at + length > shared[number]["nodes"]:
            raise ValueError(f"the nodes {at}:{program}:{place}:{length} are not in the programs")
        if program not in nodes:
            nodes[program] = nodes_in_order(modules[program])
        if len(nodes[program]) == shared[program]["nodes"]:
            yield from zip(range(at, at + length), nodes[program][place : place + length], strict=True)


def shared_pairs(runs: str, number: int, programs: Sequence[Sequence[Expr]]) -> Iterator[tuple[Expr, Expr]]:
    """Yield the nodes of a program that were nodes of earlier programs and are copies of them, each with that node."""
    for at, program, place, length in runs_of(runs):
        pairs = zip(programs[number][at : at + length], programs[program][place : place + length], strict=True)
        yield from ((node, older) for node, older in pairs if node is not older)


def _with_nodes(function: Function, same: dict[Expr, Expr]) -> Function:
    """Return a function with other nodes in place of some; `same` may hold nodes of many functions."""
    if function in same:
        return cast("Function", same[function])
    return rewrite(function, replace={node: same[node] for node in post_order(function) if node in same})


def shared_functions(before: IRModule, after: IRModule, shared: dict[str, Any] | None) -> dict[str, Any]:
    """Return the functions of the program before where one of the same name is equal, and was it if that is known."""
    old = dict(before.items())
    names = [name for name, _ in after.items() if name in old]
    if shared is not None:
        own = nodes_in_order(after)
        kept = {node for at, _, _, length in runs_of(shared["runs"]) for node in own[at : at + length]}
        names = [name for name in names if after[name] in kept]
    return {name: old[name] for name in names if structural_equal(old[name], after[name], exact=True)}


def found_nodes(found: dict[str, Any], shared: dict[int, Any], modules: list[IRModule]) -> dict[int, Expr]:
    """Return the rewritten nodes, by their numbers, that are in the program of another event."""
    nodes: dict[int, list[Expr]] = {}
    known: dict[int, Expr] = {}
    for number, (program, place) in found.items():
        if valid_index(program) not in nodes:
            nodes[program] = nodes_in_order(modules[program])
        if program in shared and len(nodes[program]) == shared[program]["nodes"]:  # else indices are invalid
            known[int(number)] = nodes[program][valid_index(place)]
    return known
