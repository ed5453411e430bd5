"""Programs that make a pass do something: small ones of the operators that its code mentions, and random ones.

Five sources are drawn from, each the more often the more of its programs the pass has changed: a call of a mentioned
operator; a call inside another; a call of any operator, since a pass may mention only those that it builds; random
programs of the mentioned operators; random programs of all. Numbers in the code of the pass become attributes and
constants, and operands are made equal, because guards and patterns test for them.
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
from passlab.lab.fuzzer.constants_in_pass import DTYPES, Mentions
from passlab.testing.programs import generate
from passlab.testing.programs.registry import Template, operator_names, templates

Source = Callable[["ProgramSource", random.Random, int], "IRModule | None"]


class ProgramSource:
    """Draws programs for one pass, from several sources. `reward(name)` makes a source more likely."""

    def __init__(self, mentioned: Mentions, seed: int) -> None:
        self.operators = [name for name in mentioned.operators if name in operator_names(False)]
        self.dtypes = tuple(dict.fromkeys([*mentioned.dtypes, *DTYPES]))
        self.own_dtypes = tuple(mentioned.dtypes)
        self.numbers = list(dict.fromkeys([*mentioned.numbers, 0.0, 1.0, -1.0, 2.0]))
        self.seed = seed
        self.weights = dict.fromkeys(SOURCES, 1.0)

    def reward(self, name: str) -> None:
        """Make a source more likely: the pass changed one of its programs."""
        self.weights[name] = min(8.0, self.weights[name] * 1.25)  # a limit, so that the other sources are still drawn

    def resume(self, weights: dict[str, float], operators: Sequence[str]) -> None:
        """Take over what an earlier run of the same campaign has learned."""
        self.weights.update(weights)
        self.learn(list(operators))

    def learn(self, operators: list[str]) -> None:
        """Add operators that the pass removed from a program: it matches them."""
        self.operators += [n for n in operators if n not in self.operators and n in operator_names(False)]

    def programs(self, start: int = 0) -> Iterator[tuple[int, str, IRModule]]:
        """Yield the number of each program, its source, and the program, without end; the same for the same seed."""
        number = start
        while True:
            # One generator for each number: a resumed campaign continues as if it had never stopped.
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
        """Return a call of an operator that the pass mentions, of any where it mentions none."""
        names = (not of_any and self.operators) or list(operator_names(False))
        ranked = (self.own_dtypes or DTYPES[:1]) if choice.random() < 0.4 else self.dtypes
        cases = templates(choice.choice(names), choice.choice(ranked))
        return choice.choice(cases) if cases else None

    def mutate(self, body: Expr, choice: random.Random) -> Expr:
        """Put numbers of the pass into attributes and constants, and make operands equal."""

        def change(before: Expr, node: Expr) -> Expr:
            if isinstance(node, Constant) and not node.data.ndim and choice.random() < 0.5:
                return _constant_like(choice.choice(self.numbers), node)
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
        """Make the operands of a call equal, or one of them a number of the pass; `before` is the call with types."""
        assert isinstance(before, Call)
        at = choice.randrange(2)
        other, ty = node.args[1 - at], before.args[1 - at].checked_type_
        operand: Expr = other  # by default both operands are equal
        if choice.random() < 0.6 and isinstance(ty, TensorType):
            operand = _constant_like(choice.choice(self.numbers), Constant(np.zeros((), _plain_dtype(ty.dtype))))
        args = (operand, other) if at == 0 else (other, operand)
        changed: Call = node.with_fields(args=args)
        return changed


def _plain_dtype(dtype: str) -> str:
    return dtype if dtype in DTYPES else "float32"


def _constant_like(number: float, like: Constant) -> Constant:
    """Return a number in the dtype of a constant."""
    with np.errstate(all="ignore"):  # the number may not fit into the dtype
        return Constant(np.asarray(number).astype(like.data.dtype))


def _mutated_program(source: ProgramSource, choice: random.Random, params: list[Var], body: Expr) -> IRModule:
    """Return a program with a body, mutated in 7 of 10 cases."""
    mod = _program_of(params, body)
    return _program_of(params, source.mutate(mod["main"].body, choice)) if choice.random() < 0.7 else mod


def _program_of(params: list[Var], body: Expr) -> IRModule:
    used = [param for param in params if param in set(free_vars(body))]
    return infer_module(IRModule.from_expr(Function(tuple(used), body)))


def _fill_template(template: Template, choice: random.Random, params: list[Var]) -> Expr:
    """Return the call of a template with new parameters; most of those with a value become constants."""
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
    """Return a template with one axis less, in parameters of the highest rank and attributes with entries per axis."""
    call = template.call
    types = [p.type_annotation for p in template.params if isinstance(p.type_annotation, TensorType)]
    rank = max((len(ty.shape) for ty in types), default=0)
    if not isinstance(call, Call) or rank < 2:
        return template
    axis = choice.randrange(rank)
    lower: dict[Expr, Expr] = {}
    for param in template.params:
        ty = param.type_annotation
        if isinstance(ty, TensorType) and len(ty.shape) == rank and param not in template.constants:
            lower[param] = Var(param.name_hint, TensorType((*ty.shape[:axis], *ty.shape[axis + 1 :]), ty.dtype))
    attrs = dict(call.attrs.items()) if call.attrs is not None else {}
    lists = {name: v for name, v in attrs.items() if isinstance(v, (list, tuple)) and len(v) == rank}
    shorter = {name: (*v[:axis], *v[axis + 1 :]) for name, v in lists.items()}
    if call.attrs is not None and shorter:
        call = call.with_fields(attrs=call.attrs.with_fields(**shorter))
    params: Any = tuple([lower.get(p, p) for p in template.params])
    return Template(substitute(call, lower), params, template.constants)


def one_call(source: ProgramSource, choice: random.Random, number: int, of_any: bool = False) -> IRModule | None:
    """Return a call of one operator that the pass mentions."""
    template = source.template(choice, of_any)
    if template is None:
        return None
    params: list[Var] = []
    body = _fill_template(template, choice, params)
    return _mutated_program(source, choice, params, body)


def call_of_any(source: ProgramSource, choice: random.Random, number: int) -> IRModule | None:
    """Return a call of any operator."""
    return one_call(source, choice, number, of_any=True)


def call_in_call(source: ProgramSource, choice: random.Random, number: int) -> IRModule | None:
    """Return a call of an operator whose operands are calls of operators."""
    template = source.template(choice)
    if template is None:
        return None
    params: list[Var] = []
    body = _fill_template(template, choice, params)
    for _ in range(choice.randrange(1, 4)):
        open_params = [p for p in params if isinstance(p.type_annotation, TensorType)]
        if not open_params:
            break
        param = choice.choice(open_params)
        inner = _call_of_type(source, choice, param.type_annotation, params)
        if inner is not None:
            body = substitute(body, {param: inner})
    return _mutated_program(source, choice, params, body)


def _call_of_type(source: ProgramSource, choice: random.Random, ty: object, params: list[Var]) -> Expr | None:
    """Return a call of a type, whose operands are parameters of its shape; None where the call has another type."""
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
    if typed["main"].body.checked_type_ is not ty:  # equal types are one object
        return None
    params.extend(operands)
    return call


def random_program(source: ProgramSource, choice: random.Random, number: int) -> IRModule | None:
    """Return a random program of the operators that the pass mentions."""
    operators = source.operators or None
    effects, size = choice.random() < 0.3, choice.randrange(1, 5)
    return generate(choice.randrange(10**6), operators=operators, effects=effects, size=size)


def any_program(source: ProgramSource, choice: random.Random, number: int) -> IRModule | None:
    """Return a random program of all operators."""
    return generate(choice.randrange(10**6), effects=choice.random() < 0.5)


SOURCES: dict[str, Source] = {
    "calls": one_call,
    "calls in calls": call_in_call,
    "calls of any operator": call_of_any,
    "programs of its operators": random_program,
    "programs": any_program,
}
