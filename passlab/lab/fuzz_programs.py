"""Programs that make a pass do something: small ones of the operators that it speaks of, and random ones.

Five sources take turns, the more often the more of their programs the pass has changed: a call of one of these
operators; a call inside another; a call of any operator, since a pass may speak only of those that it makes; random
programs of these operators; random programs of all. Numbers of the pass are put into attributes and constants, and
operands are made equal, because that is what guards and patterns ask for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from passlab.errors import PasslabError
from passlab.infer import infer_module
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.ir.variables import free_vars
from passlab.ir.walk import rewrite, substitute
from passlab.lab.mentions import DTYPES, Mentions
from passlab.testing.programs import generate
from passlab.testing.programs.registry import Template, operator_names, templates

Source = Callable[["ProgramSource", random.Random, int], "IRModule | None"]


class ProgramSource:
    """Draws programs for one pass. `fired(name)` says that the pass changed a program of a source."""

    def __init__(self, spoken_of: Mentions, seed: int) -> None:
        self.operators = [name for name in spoken_of.operators if name in operator_names(False)]
        self.dtypes = tuple(dict.fromkeys([*spoken_of.dtypes, *DTYPES]))
        self.own_dtypes = tuple(spoken_of.dtypes)
        self.numbers = list(dict.fromkeys([*spoken_of.numbers, 0.0, 1.0, -1.0, 2.0]))
        self.seed = seed
        self.weights = dict.fromkeys(SOURCES, 1.0)

    def fired(self, name: str) -> None:
        """Note that a program of a source was changed."""
        self.weights[name] = min(8.0, self.weights[name] * 1.25)

    def go_on(self, weights: dict[str, float], operators: Sequence[str]) -> None:
        """Go on with what an earlier run of the same campaign has learned."""
        self.weights.update(weights)
        self.learn(list(operators))

    def learn(self, operators: list[str]) -> None:
        """Note operators that the pass took away: it looks for them."""
        self.operators += [n for n in operators if n not in self.operators and n in operator_names(False)]

    def programs(self, start: int = 0) -> Iterator[tuple[int, str, IRModule]]:
        """Yield the number of each program, its source, and the program, without end; the same for the same seed."""
        number = start
        while True:
            choice = random.Random(f"{self.seed} {number}")
            names = list(self.weights)
            name = choice.choices(names, [self.weights[n] for n in names])[0]
            try:
                mod = SOURCES[name](self, choice, number)
            except PasslabError:
                mod = None
            if mod is not None:
                yield number, name, mod
            number += 1

    # ------------------------------------------------------------ pieces
    def template(self, choice: random.Random, of_any: bool = False) -> Template | None:
        """Return a call of an operator that the pass speaks of, of any where it speaks of none."""
        names = (not of_any and self.operators) or list(operator_names(False))
        ranked = (self.own_dtypes or DTYPES[:1]) if choice.random() < 0.4 else self.dtypes
        cases = templates(choice.choice(names), choice.choice(ranked))
        return choice.choice(cases) if cases else None

    def mutated(self, body: Expr, choice: random.Random) -> Expr:
        """Put numbers of the pass into attributes and constants, and make operands equal."""

        def change(before: Expr, node: Expr) -> Expr:
            if isinstance(node, Constant) and not node.data.ndim and choice.random() < 0.5:
                return _constant(choice.choice(self.numbers), node)
            if not isinstance(node, Call) or not isinstance(node.op, Op):
                return node
            if len(node.args) == 2 and choice.random() < 0.35:
                node = self._operands(before, node, choice)
            if node.attrs is not None and choice.random() < 0.6:
                node = node.with_fields(attrs=self._attributes(node.attrs, choice))
            return node

        return rewrite(body, change, only=(Call, Constant))

    def _attributes(self, attrs: Attrs, choice: random.Random) -> Attrs:
        """Put numbers of the pass into numeric attributes, and lists into another order."""
        values: dict[str, Any] = {}
        for name, old in attrs.items():
            if isinstance(old, (list, tuple)) and len(old) > 1 and choice.random() < 0.5:
                values[name] = type(old)(choice.sample(list(old), len(old)))
            elif isinstance(old, (int, float)) and not isinstance(old, bool) and choice.random() < 0.7:
                number = choice.choice(self.numbers)
                values[name] = int(number) if isinstance(old, int) else number
        return attrs.with_fields(**values) if values else attrs

    def _operands(self, before: Expr, node: Call, choice: random.Random) -> Call:
        """Make the operands of a call, which had types before, equal, or one of them a number of the pass."""
        assert isinstance(before, Call)
        at = choice.randrange(2)
        other, ty = node.args[1 - at], before.args[1 - at].checked_type_
        operand: Expr = other
        if choice.random() < 0.6 and isinstance(ty, TensorType):
            operand = _constant(choice.choice(self.numbers), Constant(np.zeros((), _plain(ty.dtype))))
        args = (operand, other) if at == 0 else (other, operand)
        changed: Call = node.with_fields(args=args)
        return changed


def _plain(dtype: str) -> str:
    return dtype if dtype in DTYPES else "float32"


def _constant(number: float, like: Constant) -> Constant:
    """A number in the dtype of a constant."""
    with np.errstate(all="ignore"):
        return Constant(np.asarray(number).astype(like.data.dtype))


def _module(source: ProgramSource, choice: random.Random, params: list[Var], body: Expr) -> IRModule:
    """A program of a body, mutated more often than not."""
    mod = _infer(params, body)
    return _infer(params, source.mutated(mod["main"].body, choice)) if choice.random() < 0.7 else mod


def _infer(params: list[Var], body: Expr) -> IRModule:
    used = [param for param in params if param in set(free_vars(body))]
    return infer_module(IRModule.from_expr(Function(tuple(used), body)))


def _fill(template: Template, choice: random.Random, params: list[Var]) -> Expr:
    """A template with new parameters; those with a value are constants half of the time."""
    if choice.random() < 0.15:
        template = _of_lower_rank(template, choice)
    mapping: dict[Expr, Expr] = {}
    for param in template.params:
        if param in template.constants and choice.random() < 0.7:
            mapping[param] = template.constants[param]
        else:
            mapping[param] = var = Var(f"x{len(params)}", param.type_annotation)
            params.append(var)
    return substitute(template.call, mapping)


def _of_lower_rank(template: Template, choice: random.Random) -> Template:
    """A template without one axis: of its largest parameters, and of attributes with an entry for each axis."""
    call = template.call
    types = [p.type_annotation for p in template.params if isinstance(p.type_annotation, TensorType)]
    rank = max((len(ty.shape) for ty in types), default=0)
    if not isinstance(call, Call) or rank < 2:
        return template
    gone = choice.randrange(rank)
    lower: dict[Expr, Expr] = {}
    for param in template.params:
        ty = param.type_annotation
        if isinstance(ty, TensorType) and len(ty.shape) == rank and param not in template.constants:
            lower[param] = Var(param.name_hint, TensorType((*ty.shape[:gone], *ty.shape[gone + 1 :]), ty.dtype))
    attrs = dict(call.attrs.items()) if call.attrs is not None else {}
    lists = {name: v for name, v in attrs.items() if isinstance(v, (list, tuple)) and len(v) == rank}
    shorter = {name: (*v[:gone], *v[gone + 1 :]) for name, v in lists.items()}
    if call.attrs is not None and shorter:
        call = call.with_fields(attrs=call.attrs.with_fields(**shorter))
    params: Any = tuple([lower.get(p, p) for p in template.params])
    return Template(substitute(call, lower), params, template.constants)


def one_call(source: ProgramSource, choice: random.Random, number: int, of_any: bool = False) -> IRModule | None:
    """A call of one operator that the pass speaks of."""
    template = source.template(choice, of_any)
    if template is None:
        return None
    params: list[Var] = []
    body = _fill(template, choice, params)
    return _module(source, choice, params, body)


def call_of_any(source: ProgramSource, choice: random.Random, number: int) -> IRModule | None:
    """A call of any operator."""
    return one_call(source, choice, number, of_any=True)


def call_in_call(source: ProgramSource, choice: random.Random, number: int) -> IRModule | None:
    """Calls of operators whose operands are calls of operators."""
    template = source.template(choice)
    if template is None:
        return None
    params: list[Var] = []
    body = _fill(template, choice, params)
    for _ in range(choice.randrange(1, 4)):
        open_params = [p for p in params if isinstance(p.type_annotation, TensorType)]
        if not open_params:
            break
        param = choice.choice(open_params)
        inner = _giving(source, choice, param.type_annotation, params)
        if inner is not None:
            body = substitute(body, {param: inner})
    return _module(source, choice, params, body)


def _giving(source: ProgramSource, choice: random.Random, ty: object, params: list[Var]) -> Expr | None:
    """A call that gives a value of a type; an element-wise operator takes parameters of that shape."""
    name = choice.choice(source.operators or list(operator_names(False)))
    arity = len(Op.get(name).spec.inputs)
    assert isinstance(ty, TensorType)
    if arity not in (1, 2):
        return None
    dtypes = (ty.dtype,) if choice.random() < 0.6 else (ty.dtype, *(source.own_dtypes or DTYPES))
    shape = ty.shape[::-1] if arity == 1 and choice.random() < 0.3 else ty.shape  # as a transposition turns it
    operands = [Var(f"x{len(params) + k}", TensorType(shape, choice.choice(dtypes[:3]))) for k in range(arity)]
    cases = templates(name, ty.dtype)
    case = choice.choice(cases) if cases else None
    call = Call(Op.get(name), operands, case.call.attrs if case is not None and isinstance(case.call, Call) else None)
    if call.attrs is not None and "dtype" in dict(call.attrs.items()):
        call = call.with_fields(attrs=call.attrs.with_fields(dtype=ty.dtype))
    try:
        typed = infer_module(IRModule.from_expr(Function(tuple(operands), call)))
    except PasslabError:
        return None
    if typed["main"].body.checked_type_ is not ty:
        return None
    params.extend(operands)
    return call


def random_program(source: ProgramSource, choice: random.Random, number: int) -> IRModule | None:
    """A random program of the operators that the pass speaks of."""
    operators = source.operators or None
    effects, size = choice.random() < 0.3, choice.randrange(1, 5)
    return generate(choice.randrange(10**6), operators=operators, effects=effects, size=size)


def any_program(source: ProgramSource, choice: random.Random, number: int) -> IRModule | None:
    """A random program of everything."""
    return generate(choice.randrange(10**6), effects=choice.random() < 0.5)


SOURCES: dict[str, Source] = {
    "calls": one_call,
    "calls in calls": call_in_call,
    "calls of any operator": call_of_any,
    "programs of its operators": random_program,
    "programs": any_program,
}
