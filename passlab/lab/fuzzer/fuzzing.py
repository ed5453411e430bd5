"""`fuzz`: a random search for programs that a pass breaks.

    campaign = lab.fuzz(my_pass, seconds=60)
    campaign.failures[0].module, campaign.failures[0].why, campaign.save("tests/fuzzed")

Programs that make the pass do something (`ProgramSource`) are run before and after it on inputs of all kinds, and
counterexamples are reduced. Failures with equal signatures count once. Saved failures are tests for plain pytest.

The file begins with programs that make a pass do something: small ones of the operators that its code mentions, and
random ones.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from math import inf
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from passlab.arguments import check_seed, checked
from passlab.atomic_file import checked_path, make_folder, write_text
from passlab.diffing.diff import count_operators, node_name
from passlab.errors import Diagnostic, PassError, PasslabError, PassTypeError, counted
from passlab.infer import infer_module
from passlab.ir.attrs import Attrs
from passlab.ir.expr import Call, Constant, Expr, Function, Var
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import TensorType
from passlab.ir.variables import free_vars
from passlab.ir.walk import rewrite, substitute
from passlab.lab.culprits.bisection import Bisection, bisect
from passlab.lab.fuzzer.constants_in_pass import DTYPES, ConstantsInPass, constants_in_pass
from passlab.lab.recordings.recording import record
from passlab.lab.reducer.script import bisection_script
from passlab.oracle.deadline import Deadline, check_seconds
from passlab.oracle.signature import signature_of
from passlab.table import Table, Tabular
from passlab.testing.programs import generate
from passlab.testing.programs.registry import Template, operator_names, templates
from passlab.transform.base import Pass
from passlab.transform.numeric_contract import DEFAULT_CONTRACT, NumericContract
from passlab.transform.pipeline_text import as_pass
from passlab.transform.sequential import Sequential

Source = Callable[["ProgramSource", random.Random, int], "IRModule | None"]


class ProgramSource:
    """Draws programs for one pass, from several sources. `reward(name)` makes a source more likely."""

    def __init__(self, mentioned: ConstantsInPass, seed: int) -> None:
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
            operand = _constant_like(
                choice.choice(self.numbers), Constant(np.zeros((), ty.dtype if ty.dtype in DTYPES else "float32"))
            )
        args = (operand, other) if at == 0 else (other, operand)
        changed: Call = node.with_fields(args=args)
        return changed


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


Progress = Callable[[str, str, float], Any]
PASS_SECONDS = 5.0  # after which a pass on one program counts as not terminating
PROGRAM_SECONDS = 15.0  # limit of one program, the comparison included
REDUCE_SECONDS = 10.0
STATE = "campaign.json"


@dataclass
class Failure:
    """A program that the pass breaks, reduced; why it is wrong; and the signature that equal failures share."""

    number: int
    source: str
    bisection: Bisection
    module: IRModule
    why: str
    signature: str

    def script(self) -> str:
        """Return a Python script that shows the failure."""
        check = self.bisection.check_of(self.module)
        return bisection_script(self.bisection, self.module, () if check is None else check.arguments)

    def test(self) -> str:
        """Return a test that fails until the pass is fixed."""
        lines = self.script().rstrip("\n").split("\n")
        head, asked = lines[:-3], lines[-3]
        name = re.sub(r"\W+", "_", f"{self.bisection.event.name if self.bisection.event else 'pass'}_{self.number}")
        body = [f"    {asked}", "    assert not bisection.found, bisection.summary()"]
        return "\n".join([*head, "", "", f"def test_{name.lower()}():", *body]) + "\n"

    def record(self) -> Record:
        """Return the part of the failure that is saved."""
        return Record(self.number, self.source, self.why, self.module.astext(annotate=lambda expr: ""), self.test())

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True)
class Record:
    """The part of a failure that is saved between two runs of a campaign, all as text."""

    number: int
    source: str
    why: str
    program: str
    test: str


@dataclass
class Campaign(Tabular):
    """The outcome of a search: `tried` programs were drawn, the pass changed `fired`, `left_out` were not compared.

    `earlier` are the failures of the earlier runs of a campaign in a directory, which took `earlier_seconds`;
    this run took `seconds`. `by_source` counts the programs of all runs.
    """

    pass_: Pass
    seed: int
    failures: list[Failure] = field(default_factory=list)
    tried: int = 0
    fired: int = 0
    next: int = 0
    seconds: float = 0.0
    stopped: str = ""
    repeated: int = 0
    by_source: dict[str, list[int]] = field(default_factory=lambda: {name: [0, 0] for name in SOURCES})
    left_out: dict[str, int] = field(default_factory=dict)
    signatures: set[str] = field(default_factory=set)
    earlier: tuple[Record, ...] = ()
    earlier_seconds: float = 0.0
    weights: dict[str, float] = field(default_factory=dict)
    learned: tuple[str, ...] = ()

    @property
    def records(self) -> tuple[Record, ...]:
        """The failures of all runs of the campaign, the earlier ones first."""
        return (*self.earlier, *(f.record() for f in self.failures))

    def totals(self) -> str:
        """Return the outcome of all runs of the campaign in a sentence."""
        tried, fired = (sum(counts[n] for counts in self.by_source.values()) for n in (0, 1))
        ways = counted(len(self.records), "way")
        seconds = self.seconds + self.earlier_seconds
        what = f"{self.pass_.as_text()} breaks programs in {ways}" if self.records else "no program was broken"
        return f"{what}: {counted(tried, 'program')} in {seconds:.0f} s, of which it changed {fired:,}."

    @property
    def found(self) -> bool:
        """Whether the pass broke a program."""
        return bool(self.failures)

    def summary(self) -> str:
        """Return the outcome of this run in sentences."""
        name = self.pass_.as_text()
        ways = counted(len(self.failures), "way")
        none = f"{name} broke programs in no new way" if self.earlier else f"{name} broke no program"
        result = f"{name} breaks programs in {ways}" if self.failures else none
        text = (
            f"{result}: {counted(self.tried, 'program')} in {self.seconds:.0f} s, of which it changed {self.fired:,}."
        )
        if not self.fired:
            text += " It changed none, so the campaign has not tested it."
        if self.left_out:
            text += f" Not compared: {', '.join(f'{why} ({count:,})' for why, count in self.left_out.items())}."
        return f"{text} Stopped: {self.stopped}." if self.stopped else text

    def table(self) -> Table:
        """Return one row for each failure: program, source, operators and why."""
        rows = [(f.number, f.source, sum(count_operators(f.module).values()), f.why) for f in self.failures]
        return Table(("program", "source", "operators", "why"), rows)

    def sources(self) -> Table:
        """Return how many programs of each source were tried, and how many of them the pass changed."""
        return Table(("source", "tried", "changed"), [(name, *counts) for name, counts in self.by_source.items()])

    def text(self) -> str:
        """Return the summary, and each failure with its program."""
        parts = [self.summary(), *(f"{f.why}\n{f.module.astext()}" for f in self.failures)]
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return self.text()

    def save(self, directory: str | PathLike[str]) -> list[Path]:
        """Write each failure as a test for plain pytest, and the state of the campaign, from which a later run resumes.

        Returns the paths of the tests. Raises `FileAccessError`.
        """
        target, paths = checked_path(directory), list[Path]()
        state = {
            "pass": self.pass_.as_text(),
            "seed": self.seed,
            "next": self.next,
            "signatures": sorted(self.signatures),
            "seconds": self.seconds + self.earlier_seconds,
            "by_source": self.by_source,
            "weights": self.weights,
            "learned": list(self.learned),
            "failures": [asdict(record) for record in self.records],
        }
        make_folder(target)
        for failure in self.failures:
            name = re.sub(r"\W+", "_", self.pass_.info.name, flags=re.ASCII).lower()[:100]
            paths.append(target / f"test_{name}_{failure.number}.py")
            write_text(paths[-1], failure.test())
        write_text(target / STATE, json.dumps(state, indent=1))
        return paths


@checked
def fuzz(
    pass_: Any,
    *,
    seconds: float | None = 60.0,
    programs: int | None = None,
    seed: int = 0,
    most: int = 3,
    default_contract: NumericContract | None = DEFAULT_CONTRACT,
    progress: Progress | None = None,
    executor: Executor | None = None,
    directory: str | PathLike[str] | None = None,
) -> Campaign:
    """Look for programs that a pass (or pipeline) breaks, until `most` kinds of failures are found or time is up.

    With `programs` it ends after that number of programs, which are the same for the same seed. With `seconds=None`
    neither the search nor a program nor a reduction has a time limit, so results do not depend on the speed of the
    machine. A pass without contract is held to `default_contract`. `progress(stage, text, seconds_left)` is called for
    each program. With a `directory` the campaign there is resumed and saved at the end. Raises `PassError` for passes
    that do not exist. Raises `PassTypeError` if `most` or `programs` is not a whole number.

    >>> @transform.function_pass(opt_level=0)
    ... def sound(func, mod, ctx):
    ...     return func
    >>> lab.fuzz(sound, programs=5).found
    False
    """
    check_seconds(seconds)
    _check_counts(programs, most)
    check_seed(seed)
    subject = as_pass(pass_)
    if isinstance(subject, Sequential) and len(subject.passes) == 1:
        subject = subject.passes[0]
    campaign = Campaign(subject, seed)
    if directory is not None:
        _resume(campaign, checked_path(directory))
    end = None if seconds is None else monotonic() + seconds
    run = _CampaignRun(
        campaign, ProgramSource(constants_in_pass(subject), seed), end, programs, default_contract, executor
    )
    run.source.resume(campaign.weights, campaign.learned)
    started = monotonic()
    try:
        run.run(most, progress)
    except KeyboardInterrupt:
        campaign.stopped = "interrupted"
    campaign.seconds = monotonic() - started
    campaign.weights, campaign.learned = dict(run.source.weights), tuple(run.source.operators)
    if directory is not None:
        campaign.save(directory)
    return campaign


def _check_counts(programs: Any, most: Any) -> None:
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise PassTypeError(Diagnostic("`most` is a whole number from 1 on", found=repr(most)))
    if programs is not None and (isinstance(programs, bool) or not isinstance(programs, int) or programs < 0):
        raise PassTypeError(Diagnostic("`programs` is a whole number from 0 on, or None", found=repr(programs)))


def _resume(campaign: Campaign, directory: Path) -> None:
    """Load the saved state of a campaign of the same pass and seed. Raises `PassError` for an invalid file."""
    path = directory / STATE
    if not path.is_file():
        return
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        same = state["pass"] == campaign.pass_.as_text() and state["seed"] == campaign.seed
        number, signatures = int(state["next"]), {str(s) for s in state["signatures"]}
        seconds, weights = float(state["seconds"]), {name: float(state["weights"].get(name, 1.0)) for name in SOURCES}
        by_source = {name: [int(n) for n in state["by_source"].get(name, (0, 0))][:2] for name in SOURCES}
        learned = tuple(map(str, state["learned"]))
        records = tuple([Record(**record) for record in state["failures"]])
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise PassError(Diagnostic(f"{path} is not a campaign: {error}")) from None
    if same:
        campaign.next, campaign.signatures, campaign.by_source = number, signatures, by_source
        campaign.earlier, campaign.earlier_seconds = records, seconds
        campaign.weights, campaign.learned = weights, learned


class _CampaignRun:
    """One run of a campaign."""

    def __init__(
        self,
        campaign: Campaign,
        source: ProgramSource,
        end: float | None,
        programs: int | None,
        default_contract: NumericContract | None,
        executor: Executor | None,
    ) -> None:
        self.campaign = campaign
        self.source = source
        self.end = end
        self.programs = programs
        self.default_contract = default_contract
        self.executor = executor

    def left(self) -> float:
        return inf if self.end is None else self.end - monotonic()

    def within(self, least: float, most: float = inf) -> float | None:
        """Return the seconds that a step may take; None where the search has no time limit."""
        return None if self.end is None else min(most, max(least, self.left()))

    def is_over(self, most: int) -> bool:
        """Whether the time, the programs, or the kinds of failures to search for are used up."""
        campaign = self.campaign
        return self.left() <= 0 or campaign.tried == self.programs or len(campaign.failures) >= most

    def run(self, most: int, progress: Progress | None) -> None:
        campaign = self.campaign
        # One second more: the loop ends by itself unless a program hangs.
        deadline = Deadline(None if self.end is None else max(0.0, self.left()) + 1.0)
        try:
            with deadline:
                for number, source, mod in self.source.programs(campaign.next):
                    if self.is_over(most):
                        break
                    if progress is not None:
                        progress("fuzz", f"program {campaign.tried + 1:,}, {campaign.fired:,} changed", self.left())
                    fired = campaign.fired
                    self.try_program(number, source, mod)
                    campaign.tried += 1  # counted after the run: an interrupted program is the first of the next run
                    campaign.by_source[source][0] += 1
                    campaign.by_source[source][1] += campaign.fired - fired
                    campaign.next = number + 1
        except deadline.error:
            deadline.close()
            campaign.stopped = "time was up within one program"

    def try_program(self, number: int, source: str, mod: IRModule) -> None:
        """Run the pass on one program and compare."""
        campaign = self.campaign
        patience = Deadline(self.within(0.1, PROGRAM_SECONDS))
        try:
            with patience:
                recording = record(mod, campaign.pass_, 4, seconds=None if self.end is None else PASS_SECONDS)
                if recording.error is None and not any(e.changed for e in recording.steps[1:]):
                    return
                campaign.fired += 1
                self.source.reward(source)
                before, after = count_operators(recording.input), count_operators(recording.last)
                self.source.learn([name for name in before if before[name] > after[name]])
                bisection = bisect(recording, default_contract=self.default_contract, without_contract=True)
                if bisection.stopped:
                    raise KeyboardInterrupt
        except patience.error:
            patience.close()
            self._count_omission("no time")
            return
        except PasslabError as error:
            self._count_omission("the program does not run before the pass" if "run" in str(error) else "it is refused")
            return
        if bisection.found and not self._is_refusal(bisection):
            self._add_failure(number, source, bisection)

    def _is_refusal(self, bisection: Bisection) -> bool:
        """Whether the pass refused a program by a diagnostic, which is not a fault."""
        if bisection.error is None or not isinstance(bisection.error, PasslabError) or bisection.cause is not None:
            return False
        self._count_omission("refused by a diagnostic")
        return True

    def _count_omission(self, why: str) -> None:
        self.campaign.left_out[why] = self.campaign.left_out.get(why, 0) + 1

    def _add_failure(self, number: int, source: str, bisection: Bisection) -> None:
        campaign = self.campaign
        signature = failure_signature(bisection)
        if signature in campaign.signatures:
            campaign.repeated += 1
            return
        campaign.signatures.add(signature)
        module = bisection.before
        try:
            module = bisection.reduce(seconds=self.within(1.0, REDUCE_SECONDS), executor=self.executor).module
        except PassError:
            self._count_omission("not reduced")
        campaign.failures.append(Failure(number, source, bisection, module, bisection.summary(), signature))


def failure_signature(bisection: Bisection) -> str:
    """Return what makes two failures the same: the pass and its error, or the operator that it makes wrong."""
    assert bisection.event is not None
    error = bisection.error or bisection.cause
    if error is not None:
        return f"{bisection.event.name}: {signature_of(error)}"
    check = bisection.check
    if check is None or check.node is None:
        return f"{bisection.event.name}: result"
    if check.error is not None:
        return f"{bisection.event.name}: {signature_of(check.error)}"
    change = _wrong_change(bisection) or f"{node_name(check.node.old)} to {node_name(check.node.node)}"
    return f"{bisection.event.name}: {change}"


def _wrong_change(bisection: Bisection) -> str:
    """Return the rule of the wrong rewrite, or the operators it replaced and their replacements; "" where unknown."""
    rewrite = bisection.rewrite
    if rewrite is None or rewrite.rule:
        return "" if rewrite is None else rewrite.rule
    before, after = (Counter(count_operators(mod)) for mod in (rewrite.before, rewrite.after))
    return f"{_operator_list(before - after)} to {_operator_list(after - before)}"


def _operator_list(counts: Counter[str]) -> str:
    return ", ".join(sorted(counts.elements())) or "nothing"
