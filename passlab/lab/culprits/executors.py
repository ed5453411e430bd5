"""`compare_executors`: which executor disagrees with the reference evaluator, by which stage, kernel or instruction.

    fault = compare_executors(mod, ("definition", "vm", "graph", "aot"))

"definition" stands for the kernels: each operator is compared with its definition. Each other executor runs the
program on draws of many kinds. Where one is wrong, the passes of its compiler are bisected; where these are right, the
program is reduced, and the answer names the operator, construct or instruction. `record_compilation` records those
passes.

The file begins with the question which instruction of the virtual machine is wrong: bytecode compared with the
semantics of each instruction.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from passlab.arguments import checked
from passlab.diffing.diff import node_name
from passlab.errors import Diagnostic, PassError, PasslabError, RunError, VerifyError, counted, did_you_mean
from passlab.evaluate import Evaluator
from passlab.evaluate.agreement import Disagreement, disagreement
from passlab.evaluate.values import ADTValue, Value
from passlab.executor.aot.module_source import lower
from passlab.executor.building import build_graph
from passlab.executor.create import create_executor
from passlab.executor.graph_module import GraphModule
from passlab.infer import infer_module
from passlab.instrument.statistics import count_module
from passlab.ir.adt import Constructor
from passlab.ir.expr import Call, Expr, Function, GlobalVar, If, Match, RefCreate, RefRead, RefWrite, TupleGetItem
from passlab.ir.module import IRModule
from passlab.ir.op import Op, is_op_call
from passlab.ir.walk import post_order
from passlab.lab.culprits.bisection import Bisection, bisect
from passlab.lab.culprits.criterion import SMALL, run_limit
from passlab.lab.culprits.kernel_search import WrongKernel, wrong_kernel
from passlab.lab.recordings.recording import Recorder, Recording
from passlab.lab.reducer.reduction import reduce
from passlab.lab.reducer.script import executor_script
from passlab.oracle.coverage_evaluator import noisy_runs
from passlab.oracle.deadline import TimeUpError, run_within
from passlab.oracle.drawn_inputs import Draw
from passlab.oracle.tolerance import LEAST_NOISE, beyond, special_disagreement
from passlab.oracle.trial import GIVEN, Trial, attempt
from passlab.rewriting.entry import MAIN, with_entry
from passlab.transform.context import PassContext
from passlab.transform.numeric_contract import DEFAULT_CONTRACT, FINITE
from passlab.vm.compiling.compiler import compile as compile_module
from passlab.vm.compiling.compiler import generate
from passlab.vm.executable import Executable
from passlab.vm.isa import Instruction, Opcode
from passlab.vm.kernels.scalars import as_array
from passlab.vm.machine import Machine
from passlab.vm.objects import VMClosure

MOST = 20_000  # instructions that are checked
CLOSE = 64  # units in the last place: kernels round otherwise than the evaluator
# Nearly all programs have these: they are named only where a program has no other instruction.
_COMMON = frozenset((
    Opcode.RET, Opcode.LOAD_CONST, Opcode.ALLOC_STORAGE, Opcode.ALLOC_TENSOR, Opcode.INVOKE_PACKED,
    Opcode.KILL_REGISTER, Opcode.MOVE, Opcode.LOAD_CONSTI, Opcode.GOTO,
))  # fmt: skip


def wrong_instruction(manifest: IRModule, arguments: Sequence[Any], compiled: bool = True) -> str:
    """Return the wrong instruction of a program with explicit allocations, in words; "" where none is known.

    With `compiled` the compiled engine is compared as well, where the stepping engine is right.
    """
    try:
        exe = generate(manifest)
        values = Evaluator(manifest).values("main", arguments)
    except PasslabError as error:
        return f"the code is refused: {error.diagnostics[0].message}"
    expected = values.get(manifest["main"].body)
    stepped = _step_through(exe, arguments, values, one_kernel=not compiled)
    if stepped or not compiled:
        return stepped
    inputs = [a if isinstance(a, (tuple, ADTValue)) else np.asarray(a) for a in arguments]
    try:
        result = Machine(exe).invoke(exe.global_map["main"], inputs)
    except PasslabError as error:
        rare = _unusual_instructions(exe)
        return f"{rare}, in the Python text of the compiled engine ({error.diagnostics[0].message})" if rare else ""
    rare = "" if expected is None or _same_machine_value(expected, result) else _unusual_instructions(exe)
    return f"{rare}, in the Python text of the compiled engine" if rare else ""


def _unusual_instructions(exe: Executable) -> str:
    """Name the unusual instructions of a small program; "" where it only calls kernels."""
    opcodes = dict.fromkeys(i.opcode for f in exe.functions for i in f.instructions)
    special = [o for o in opcodes if o not in _COMMON] or ([] if Opcode.INVOKE_PACKED in opcodes else [*opcodes])
    return ", ".join(
        f"`{next(i for f in exe.functions for i in f.instructions if i.opcode is o).spec.mnemonic}`" for o in special
    )


def _step_through(exe: Executable, arguments: Sequence[Any], values: dict[Expr, Any], one_kernel: bool) -> str:
    """Run step by step and return the first instruction that violates its semantics; "" where none does.

    With `one_kernel`, an instruction that only packs wrong results of a kernel is not blamed.
    """
    main = exe.global_map["main"]
    machine = Machine(exe)
    machine.start(main, list(arguments))
    tensors: dict[int, Expr] = {}  # by register of `main`, the nodes whose memory they hold
    for _ in range(MOST):
        if not machine.frames:
            return ""
        frame, depth = machine.frames[-1], len(machine.frames)
        instruction = exe.functions[frame.func_index].instructions[frame.pc]
        at, before = frame.pc, list(frame.registers)  # copies, since `step` overwrites both
        outer = frame.func_index == main and depth == 1
        name = f"`{instruction.spec.mnemonic}`"
        try:
            is_running = machine.step()
        except PasslabError as error:
            return f"{name} (it fails: {error.diagnostics[0].message})"
        if not is_running:
            return ""
        now = machine.frames[-1]
        # A call or a return changes the frame; registers are compared only within one frame.
        if not _follows_semantics(
            exe, instruction, at, before, now, frame.registers if len(machine.frames) == depth else None
        ):
            return name
        if outer and instruction.opcode in _MEMORY and instruction.node is not None:
            tensors[instruction.writes()[0]] = instruction.node
        if (
            outer
            and instruction.opcode is Opcode.INVOKE_PACKED
            and _permutes_results(instruction, before, tensors, values)
        ):
            return name
        if one_kernel and instruction.opcode is Opcode.ALLOC_ADT and _packs_other_fields(instruction, before, values):
            return ""
        if outer and len(machine.frames) == depth and _wrote_other_value(instruction, frame.registers, values):
            return f"`{type(instruction.node).__name__.lower()}`" if isinstance(instruction.node, (If, Match)) else name
    return ""


def _follows_semantics(
    exe: Executable, i: Instruction, at: int, before: list[Any], now: Any, after: list[Any] | None
) -> bool:
    """Whether an instruction did what its semantics say."""
    if i.opcode is Opcode.GOTO:
        return bool(now.pc == at + i.offset)
    if i.opcode is Opcode.IF:
        same = int(np.asarray(before[i.test])) == int(np.asarray(before[i.target]))
        return bool(now.pc == at + (i.true_offset if same else i.false_offset))
    if i.opcode in (Opcode.INVOKE, Opcode.INVOKE_CLOSURE):
        args = [before[a] for a in i.args]
        if i.opcode is Opcode.INVOKE_CLOSURE:
            args = [*before[i.closure].captured, *args]
        return all(a is b for a, b in zip(args, now.registers, strict=False))
    if after is None:
        return True
    semantics = _SEMANTICS.get(i.opcode)
    return semantics is None or _same_machine_value(semantics(exe, i, before), after[i.writes()[0]])


def _field_value(exe: Executable, i: Instruction, r: list[Any]) -> Value:
    whole = r[i.object]
    return whole[i.field] if isinstance(whole, tuple) else whole.fields[i.field]


def _packed_value(exe: Executable, i: Instruction, r: list[Any]) -> Value:
    fields = tuple(np.asarray(v) if isinstance(v := r[f], (int, np.generic)) else v for f in i.fields)
    return fields if i.tag == 0 else ADTValue(exe.constructors[i.tag], fields) if i.tag in exe.constructors else None


_MEMORY = (Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG)
_SEMANTICS: dict[Opcode, Any] = {
    Opcode.MOVE: lambda exe, i, r: r[i.operands[0]],
    Opcode.GET_FIELD: _field_value,
    Opcode.LOAD_CONST: lambda exe, i, r: exe.constants[i.operands[0]],
    Opcode.LOAD_CONSTI: lambda exe, i, r: i.operands[0],
    Opcode.GET_TAG: lambda exe, i, r: r[i.object].constructor.tag,
    Opcode.ALLOC_ADT: _packed_value,
    Opcode.SHAPE_OF: lambda exe, i, r: np.array(r[i.tensor].shape, np.int64),
    Opcode.RESHAPE_TENSOR: lambda exe, i, r: np.array(list(r[i.tensor].flat), r[i.tensor].dtype).reshape(
        tuple(int(n) for n in r[i.shape].reshape(-1))
    ),
}


def _wrote_other_value(i: Instruction, registers: list[Any], values: dict[Expr, Any]) -> bool:
    """Whether an instruction wrote another value than the evaluator computes for its node."""
    if i.node is None or i.node not in values or i.opcode in (Opcode.LOAD_CONSTI, Opcode.GET_TAG, Opcode.KILL_REGISTER):
        return False
    if i.opcode in (Opcode.ALLOC_STORAGE, Opcode.ALLOC_TENSOR, Opcode.ALLOC_TENSOR_REG, Opcode.ALLOC_CLOSURE):
        return False
    # Of the instructions of a branch, only the last `Move` writes its value.
    if isinstance(i.node, (If, Match)) and i.opcode is not Opcode.MOVE:
        return False
    written = i.writes()
    if not written or isinstance(i.node, Match):
        return False
    return not _same_machine_value(values[i.node], registers[written[0]])


def _permutes_results(i: Instruction, registers: list[Any], tensors: dict[int, Expr], values: dict[Expr, Any]) -> bool:
    """Whether a kernel wrote the right results to the wrong registers."""
    outs = [at for at in i.args if at in tensors and tensors[at] in values]
    right = [_same_machine_value(values[tensors[at]], registers[at]) for at in outs]
    if len(outs) < 2 or all(right):
        return False
    left = [values[tensors[at]] for at in outs]
    for at in outs:  # the results are a permutation of the right ones
        index = next((n for n, value in enumerate(left) if _same_machine_value(value, registers[at])), None)
        if index is None:
            return False
        del left[index]
    return True


def _packs_other_fields(i: Instruction, registers: list[Any], values: dict[Expr, Any]) -> bool:
    """Whether the fields that an instruction packs are not a permutation of the right ones."""
    whole = None if i.node is None else values.get(i.node)
    fields = list(whole if isinstance(whole, tuple) else whole.fields if isinstance(whole, ADTValue) else ())
    for at in i.fields:
        index = next((n for n, field in enumerate(fields) if _same_machine_value(field, registers[at])), None)
        if index is None:
            return True
        del fields[index]
    return False


def _same_machine_value(expected: Any, value: Any) -> bool:
    """Whether two values of the machine agree up to rounding; functions and storages always count as equal."""
    if value is expected:
        return True
    if isinstance(value, VMClosure) or isinstance(expected, VMClosure) or callable(expected):
        return True
    if isinstance(value, (int, float, np.generic)) or isinstance(expected, (int, float, np.generic)):
        return bool(np.array_equal(np.asarray(value), np.asarray(expected), equal_nan=True))
    if not isinstance(expected, (np.ndarray, tuple, ADTValue)) or not isinstance(value, (np.ndarray, tuple, ADTValue)):
        return True
    return disagreement(expected, value, CLOSE) is None


# In the order of the search: a wrong kernel makes every executor wrong, so kernels come first.
KINDS = ("definition", "vm", "aot", "graph")
KERNEL_SECONDS = 2.0
REDUCE_SECONDS = 15.0
COMPILE_SECONDS = 30.0  # limit of one compilation
PATIENCE, SHORT = 5.0, 0.5  # seconds that one run may always take: of the program, and of candidates of its reduction
MOST_COPIED = 16 << 20  # bytes of arguments up to which they are checked for writes
STEPPING = "vm, step by step"  # the engine of the debuggers; "vm" is the compiled engine


@dataclass(frozen=True)
class ExecutorFault:
    """A wrong executor (or "kernel"): the smallest program, the inputs, the disagreement, and its location.

    `stage` is the bisection of its compiler where one of its passes is to blame.

    >>> fault = lab.compare_executors(passlab.parse("def @main(%x: float32) { exp(%x) }"))
    >>> isinstance(fault, lab.ExecutorFault)  # None: all executors agree
    False
    """

    executor: str
    module: IRModule
    draw: Draw
    why: str
    finding: Disagreement | None
    where: str = ""
    stage: Bisection | None = None

    def sentences(self) -> tuple[str, ...]:
        """Return the sentences that say what is wrong, and where."""
        nodes = counted(count_module(self.module)[0], "node")
        if self.executor == "kernel":
            what = f"No pass is at fault; the kernel of `{self.where}` does not compute what the operator means"
            return (f"{what}: {self.why}.", f"It shows on {self.draw}, in a program of {nodes}, and in every executor.")
        what = f"No pass is at fault; the executor `{self.executor}` is wrong on {self.draw}: {self.why}."
        if not self.where:
            return (what, "Each of its kernels is right by itself: the fault lies between them.")
        return (what, f"It is {self.where}, in a program of {nodes}.")

    def script(self) -> str:
        """Return a Python script that compares the program on this executor, and fails once the fault is fixed."""
        kind = {"kernel": "definition", STEPPING: "vm", "debug": "vm"}.get(self.executor, self.executor)
        return executor_script(self.module, kind, self.draw, " ".join(self.sentences()))


def check_kinds(executors: Sequence[str]) -> list[str]:
    """Return the executors to compare. Raises `RunError` for one that does not exist."""
    for kind in executors:
        if kind not in (*KINDS, "debug"):
            hint = did_you_mean(kind, KINDS) or ", ".join(KINDS)
            raise RunError(Diagnostic(f"there is no executor `{kind}`", hint=hint))
    return [kind for kind in KINDS if kind in executors]


@checked
def compare_executors(
    mod: IRModule,
    executors: Sequence[str] = KINDS,
    options: dict[str, Any] | None = None,
    notes: list[str] | None = None,
    tell: Callable[[str], Any] = lambda text: None,
    keep: Callable[[ExecutorFault], Any] = lambda fault: None,
    agreed: list[str] | None = None,
) -> ExecutorFault | None:
    """Return the first executor that disagrees with the reference evaluator, None when all agree.

    `options` are `inputs`, `entry` and `seed` as for `bisect`; omissions are appended to `notes`, executors that agree
    to `agreed`. `tell(kind)` is called before each comparison, and `keep(fault)` with a disagreement before the search
    for its location, for which the time may not suffice. Raises `RunError` for an executor that does not exist.

    >>> lab.compare_executors(passlab.parse("def @main(%x: float32) { exp(%x) }")) is None
    True
    """
    kinds, options = check_kinds(executors), options or {}
    left_out: list[str] = [] if notes is None else notes
    typed = infer_module(with_entry(mod, options.get("entry", MAIN)))  # a compiled program starts at @main
    options = {**options, "entry": MAIN}
    trial = Trial(options.get("inputs"), MAIN, options.get("seed", 0))
    if kinds and (error := _first_error(typed, trial)) is not None:
        left_out.append(f"executors (the program runs on no inputs: {error.diagnostics[0].message})")
        return reference_fault(typed, trial)
    for kind in kinds:
        tell(kind)
        if kind == "definition":
            wrong = wrong_kernel(typed, trial, KERNEL_SECONDS, left_out)
            if wrong is not None:
                return kernel_fault(wrong)
            continue
        omissions = len(left_out)
        fault = _first_disagreement(typed, kind, trial, left_out)
        if fault is None and kind == "vm":
            fault = _first_disagreement(typed, STEPPING, trial)
        if fault is not None:
            keep(replace(fault, where="a part of it for which there was no time"))
            return _with_location(fault, options)
        if agreed is not None and len(left_out) == omissions:
            agreed.append(kind)
    return None


def _first_error(mod: IRModule, trial: Trial) -> PasslabError | None:
    """Return the error of the evaluator on the first inputs; None where the program runs on some inputs."""
    runs = (trial.run(mod, number) for number, _ in enumerate(trial.draws(mod)))
    first = next(runs).error
    return first if first is None or all(run.error is not None for run in runs) else None


def reference_fault(mod: IRModule, trial: Trial) -> ExecutorFault | None:
    """Return the fault of an evaluator that fails on a program which other executors run; None where they fail as
    well.
    """
    if trial.entry not in mod:
        return None
    typed = infer_module(with_entry(mod, trial.entry))
    trial = Trial(trial.inputs, MAIN, trial.seed)
    fault = _reference_failure(typed, trial)
    if fault is None:
        return None

    def shows_fault(smaller: IRModule) -> bool:
        try:
            again = _reference_failure(infer_module(smaller), Trial(seed=trial.seed, limit=run_limit(smaller)))
        except PasslabError:
            return False
        return again is not None and again.why == fault.why

    small = typed
    with contextlib.suppress(PassError):
        small = reduce(typed, shows_fault, seconds=REDUCE_SECONDS).module
    again = _reference_failure(infer_module(small), Trial(seed=trial.seed)) or fault
    return replace(again, where=f"what the evaluator makes of {_construct_names(again.module)}")


def _reference_failure(mod: IRModule, trial: Trial) -> ExecutorFault | None:
    for number, draw in enumerate(trial.draws(mod)):
        error = trial.run(mod, number).error
        if error is None:
            return None
        for kind in ("vm", "aot"):
            # Default values bind `kind` and `draw` of this round of the loop.
            value, _ = attempt(lambda kind=kind, draw=draw: _runner(kind, mod)(*draw.arguments))  # type: ignore[misc]
            if value is not None:
                return ExecutorFault("debug", mod, draw, f"it fails: {error.diagnostics[0].message}", None)
    return None


def kernel_fault(wrong: WrongKernel) -> ExecutorFault:
    """Return the fault for an operator with a wrong kernel."""
    draw = Draw(wrong.kind, wrong.arguments)
    return ExecutorFault("kernel", wrong.module, draw, str(wrong.finding), wrong.finding, wrong.operator)


def _first_disagreement(
    mod: IRModule, kind: str, trial: Trial, notes: list[str] | None = None, patience: float = PATIENCE
) -> ExecutorFault | None:
    """Return the first disagreement of one executor with the evaluator, None where they agree on all draws."""
    function: Callable[..., Any] | None = None
    value: Any = None
    for number, draw in enumerate(trial.draws(mod)):
        started = monotonic()
        run = trial.run(mod, number)
        if run.endless and trial.limit is not None:
            return None
        if run.error is not None or draw.extreme:  # the evaluator has no value, or only exact programs agree
            continue
        # An executor gets the time of 20 runs of the evaluator.
        seconds, error = max(patience, 20 * (monotonic() - started)), None
        if function is None:  # compiled once, and only when there is a value to compare
            function, error = _attempt_within(partial(_runner, kind, mod), COMPILE_SECONDS)
        if function is not None:
            guard = _ArgumentGuard(draw.arguments)
            value, error = _attempt_within(partial(function, *draw.arguments), seconds)
            if guard.restore():
                return ExecutorFault(kind, mod, draw, "it writes into its arguments", None)
        if isinstance(error, TimeUpError):
            return ExecutorFault(kind, mod, draw, str(error), None)
        if error is not None and _is_refusal(error):
            if notes is not None:
                notes.append(f"the executor `{kind}` ({error.diagnostics[0].message})")
            return None
        if error is not None:
            return ExecutorFault(kind, mod, draw, f"it fails: {error.diagnostics[0].message}", None)
        difference = _beyond_rounding(mod, trial.entry, draw, run.value, value)
        if difference is not None:
            return ExecutorFault(kind, mod, draw, str(difference), difference)
    return None


def _beyond_rounding(mod: IRModule, entry: str, draw: Draw, expected: Any, value: Any) -> Disagreement | None:
    """Return how the value of an executor differs from the evaluator's by more than rounding."""
    if draw.special:
        return special_disagreement(expected, value)
    difference = disagreement(expected, value, DEFAULT_CONTRACT.ulps, finite_only=True)
    if difference is None:
        return None
    return beyond(difference, expected, value, noisy_runs(mod, entry, draw.arguments, LEAST_NOISE), FINITE)


class _ArgumentGuard:
    """Copies of the arrays in arguments, to detect and undo writes of an executor."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        worklist, arrays = list(arguments), list[Any]()
        while worklist:
            value = worklist.pop()
            if isinstance(value, np.ndarray):
                arrays.append(value)
            else:
                worklist += getattr(value, "fields", value if isinstance(value, tuple) else ())
        small = sum(array.nbytes for array in arrays) <= MOST_COPIED
        self.pairs = [(array, array.copy()) for array in arrays] if small else []

    def restore(self) -> bool:
        """Restore arrays that were overwritten, and return whether there were any."""
        # Compared as bytes, since NaN differs from itself.
        changed = [pair for pair in self.pairs if pair[0].tobytes() != pair[1].tobytes()]
        for array, copy in changed:
            np.copyto(array, copy)
        return bool(changed)


def _attempt_within(work: Callable[[], Any], seconds: float) -> tuple[Any, PasslabError | TimeUpError | None]:
    """Return the result of a function or its error, a `TimeUpError` after `seconds`."""
    outcome, late = run_within(seconds, lambda: attempt(work))
    return (None, late) if outcome is None else outcome


# Executors that do not support a program refuse it with these words, which is not a fault.
_REFUSALS = (
    "the graph executor does not support",
    "a graph is made of",
    "the virtual machine cannot run",
    "a Python module is",
)


def _runner(kind: str, mod: IRModule) -> Callable[..., Value]:
    """Return a function that runs a program on an executor."""
    return _stepping_runner(mod) if kind == STEPPING else create_executor(kind, mod).evaluate()


def _stepping_runner(mod: IRModule) -> Callable[..., Value]:
    """Return a function that runs a program on the stepping engine of the virtual machine."""
    exe = compile_module(mod)

    def run(*arguments: Value) -> Value:
        machine = Machine(exe)
        machine.start(exe.global_map["main"], list(arguments))
        while machine.step():
            pass
        return as_array(machine.result)

    return run


def _is_refusal(error: PasslabError) -> bool:
    """Whether an error says that the executor does not support such programs, so that nothing is wrong."""
    message = error.diagnostics[0].message if error.diagnostics else ""
    written = isinstance(error, VerifyError) and ("in Python" in message or "the kernel" in message)
    return message.startswith(_REFUSALS) or written


def _with_location(fault: ExecutorFault, options: dict[str, Any]) -> ExecutorFault:
    """Return a fault with the guilty pass of the compiler or, where no pass is guilty, with the smallest program."""
    kind, mod = fault.executor, fault.module
    stage = _wrong_stage(fault, options)
    if stage is not None:
        return replace(fault, stage=stage, where=stage.event.name if stage.event else "")
    inputs = options.get("inputs")

    def trial(smaller: IRModule) -> Trial:
        if inputs is not None and len(smaller["main"].params) == len(fault.draw.arguments):
            return Trial(inputs)
        if count_module(smaller)[0] <= SMALL:
            return Trial(seed=options.get("seed", 0), first=fault.draw.kind, limit=run_limit(smaller))
        return Trial(seed=options.get("seed", 0), kinds=() if fault.draw.kind == GIVEN else (fault.draw.kind,))

    def shows_fault(smaller: IRModule) -> bool:
        try:
            return _first_disagreement(smaller, kind, trial(smaller), patience=SHORT) is not None
        except RunError:
            return False

    try:
        typed = infer_module(reduce(mod, shows_fault, seconds=REDUCE_SECONDS).module)
    except PassError:
        return replace(fault, where=_wrong_part_name(fault))
    again = _first_disagreement(typed, kind, trial(typed), patience=SHORT) or fault
    if again.finding is not None and _reference_is_alone(again):
        return replace(again, executor="debug", where=f"what the evaluator makes of {_construct_names(again.module)}")
    return replace(again, where=_wrong_part_name(again))


def _reference_is_alone(fault: ExecutorFault) -> bool:
    """Whether the executors agree with each other against the evaluator, on a program without calls of kernels.

    Only the evaluator can then be wrong: without kernels the executors share no code.
    """
    if any(is_op_call(n) for f in fault.module.functions.values() for n in post_order(f.body)):
        return False
    reference, *values = [attempt(partial(_run_on, kind, fault))[0] for kind in ("debug", "vm", "aot")]
    if reference is None or any(value is None for value in values):
        return False
    return disagreement(values[0], values[1]) is None and disagreement(reference, values[0]) is not None


def _run_on(kind: str, fault: ExecutorFault) -> Value:
    return _runner(kind, fault.module)(*fault.draw.arguments)


def _wrong_stage(fault: ExecutorFault, options: dict[str, Any]) -> Bisection | None:
    """Return the bisection of a compiler: on inputs of all kinds, then on those that showed the fault."""
    if fault.executor not in COMPILERS:
        return None
    criterion = {name: options[name] for name in ("inputs", "entry", "seed", "default_contract") if name in options}
    with contextlib.suppress(PasslabError):
        recording = record_compilation(fault.module, fault.executor)
        for inputs in (criterion.get("inputs"), list(fault.draw.arguments)):
            stage = bisect(recording, without_contract=True, **{**criterion, "inputs": inputs})
            if stage.stopped:
                raise KeyboardInterrupt
            if stage.found:
                return stage
    return None


def _wrong_part_name(fault: ExecutorFault) -> str:
    """Name the part of a small program that an executor gets wrong."""
    parts = _construct_names(fault.module)
    if fault.executor in ("vm", STEPPING):
        manifest = infer_module(record_compilation(fault.module, "vm").last)
        instruction = wrong_instruction(manifest, fault.draw.arguments, not _is_of_one_kernel(fault.module))
        return f"the instruction {instruction}" if instruction else f"the kernel of {parts}"
    if fault.executor == "graph" and not _is_of_one_kernel(fault.module) and _right_without_sharing(fault):
        return f"the memory that {parts} share"
    what = "the kernel of" if _is_of_one_kernel(fault.module) else "what is made of"
    return f"{what} {parts}"


def _right_without_sharing(fault: ExecutorFault) -> bool:
    """Whether the graph is right when each result has memory of its own, and wrong when they share it."""
    try:
        factory = build_graph(infer_module(fault.module))
        values = []
        for module in (factory.module(), factory.debug_create()):
            assert isinstance(module, GraphModule)
            module.use_inputs(list(fault.draw.arguments))
            module.run()
            values.append(tuple(module.get_output(n) for n in range(module.get_num_outputs())))
    except PasslabError:
        return False
    return disagreement(values[0], values[1]) is not None


def _is_of_one_kernel(mod: IRModule) -> bool:
    """Whether a program is one call of an operator that has a kernel, and nothing else."""
    nodes = [n for f in mod.functions.values() for n in post_order(f.body)]
    others = [
        n for n in nodes if isinstance(n, (If, Match, Function, GlobalVar, Constructor, RefCreate, RefRead, RefWrite))
    ]
    # Reshapes change no data, so no kernel runs for them.
    return not others and sum(isinstance(n, Call) for n in nodes) == 1 and not _is_one_reshape(nodes)


def _is_one_reshape(nodes: Sequence[Expr]) -> bool:
    names = [n.op.name for n in nodes if is_op_call(n)]
    return names in (["reshape"], ["expand_dims"], ["squeeze"], ["nn.batch_flatten"], ["dyn.reshape"])


def _construct_names(mod: IRModule) -> str:
    """Name the operators, branches, matches, calls and projections of a program, each once."""
    names: dict[str, None] = {}
    for function in mod.functions.values():
        for node in post_order(function.body):
            name = _construct_name(node)
            if name:
                names[name] = None
    return ", ".join(f"`{name}`" for name in names)


def _construct_name(node: Expr) -> str:
    if isinstance(node, Call):
        if isinstance(node.op, GlobalVar):
            return f"call of @{node.op.name_hint}"
        return node_name(node) if isinstance(node.op, (Op, Constructor)) else "call of a closure"
    if isinstance(node, (If, Match, RefCreate, RefRead, RefWrite)):
        return type(node).__name__.lower()
    return "projection" if isinstance(node, TupleGetItem) else ""


# ---------------------------------------------------------------- compilation
COMPILERS: dict[str, Callable[[IRModule], Any]] = {"vm": compile_module, "graph": build_graph, "aot": lower}


@checked
def record_compilation(mod: IRModule, executor: str = "vm") -> Recording:
    """Compile a module for an executor and return the recording of its passes, under the options in force.

        rec = lab.record_compilation(mod, "vm")              # or "graph", as `relay.build` does, or "aot"
        lab.validate(rec), lab.bisect(rec), rec.steps

    The steps are the passes of that compiler in order, down to those that make allocations explicit for the virtual
    machine.

    A pass that raises ends it. Raises `RunError` for an executor without a compiler, and where a compiler refuses the
    program before any pass.

    >>> mod = passlab.parse("def @main(%x: float32) { exp(%x) * (1f + 1f) }")
    >>> [step.name for step in lab.record_compilation(mod, "graph").steps if step.changed]
    ['FoldConstant', 'FuseOps', 'LowerTE']
    """
    if executor not in COMPILERS:
        hint = did_you_mean(executor, COMPILERS) or f"there are {', '.join(COMPILERS)}"
        raise RunError(Diagnostic(f"`{executor}` has no compiler", hint=hint))
    typed = infer_module(mod)
    recorder = Recorder()
    try:
        with PassContext.current().derived(instruments=[recorder]):
            COMPILERS[executor](typed)
    except PasslabError:
        if not recorder.roots:
            raise
    return Recording(recorder.roots, recorder.input or typed.snapshot(), f"compiled for {executor}")
