"""`Debugger`: a position in a trace, and the commands that move it forwards and backwards.

    dbg = vm.Debugger(mod, x, w)
    dbg.breakpoint("nn.dense"); dbg.continue_(); dbg.step_back(3); dbg.writer("$6"); dbg.fork({"$6": other})

The run is recorded first: moving executes nothing and changes nothing, and stepping back costs what stepping on does.
Registers are named by number (6), as in listings ("$6"), or, if they are parameters, by name ("x").

The file begins with values typed by users into a field or a terminal: numbers, lists, and a few ways to fill a tensor.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from passlab.arguments import checked
from passlab.debugger.breakpoints import Breakpoint, Predicate, ValueBreakpoint, breakpoint_of, holds, predicate_of
from passlab.debugger.debugger_terminal import interact
from passlab.debugger.instant import Instant, StackFrame
from passlab.debugger.node_runs import record_nodes
from passlab.debugger.trace import Fork, Trace
from passlab.debugger.values import Unwritten, kind_text, short_text
from passlab.debugger.writers import Watch, Writer, writer_of
from passlab.errors import Diagnostic, RunError, RunTypeError, did_you_mean
from passlab.evaluate.values import Value
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.lazy import notebook_forms
from passlab.pickling import OfOneProcess
from passlab.table import Table
from passlab.vm.executable import Executable

if TYPE_CHECKING:
    from passlab.debugger.storage_map import StorageMap
    from passlab.lab.recordings.recording import Recording

Array = np.ndarray[Any, Any]
MOST = 1 << 20  # characters
_CALL = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?:\(\s*(?P<in>[^()]*)\)|(?P<after>[-+.\w]*))\s*\Z")
FILLS: dict[str, Callable[[tuple[int, ...], float | None], Array]] = {
    "zeros": lambda shape, _: np.zeros(shape),
    "ones": lambda shape, _: np.ones(shape),
    "full": lambda shape, number: np.full(shape, 0.0 if number is None else number),
    "arange": lambda shape, start: np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape) + (start or 0),
    "random": lambda shape, seed: np.random.default_rng(int(seed or 0)).standard_normal(shape),
    "eye": lambda shape, _: _identity(shape),
}
_NUMBERS = {"nan": np.nan, "inf": np.inf, "+inf": np.inf, "-inf": -np.inf, "true": 1.0, "false": 0.0}


def _identity(shape: tuple[int, ...]) -> Array:
    """Return ones on the diagonals of the last two dimensions; all ones for fewer than two dimensions."""
    if len(shape) < 2:
        return np.ones(shape)
    return np.broadcast_to(np.eye(shape[-2], shape[-1]), shape)


def value_of(text: str, old: Value, names: Mapping[str, Any] | None = None) -> Value:
    """Return the value that a text describes, to replace `old`. `names` are variables that it may name.

    Raises `RunError` for a text of another form, and for a list that does not fit the shape.
    """
    text = text.strip()
    if not text or len(text) > MOST:
        raise _unknown(text, names)
    name = text.removeprefix("%")
    if names is not None and name in names and name not in FILLS:
        return _value_of_variable(names[name], old)
    number = _number(text)
    if number is not None:
        return _fill(number, old)
    if text[0] == "[":
        return _with_shape(_parse_list(text), old)
    call = _CALL.match(text)
    if call is None or call["name"] not in FILLS:
        raise _unknown(text, names)
    argument = (call["in"] or call["after"] or "").strip()
    number = _number(argument) if argument else None
    if argument and (number is None or call["name"] in ("zeros", "ones", "eye") or not _usable(call["name"], number)):
        raise RunError(Diagnostic(f"`{call['name']}` does not take `{argument}`", hint="full 2, arange 1, random 7"))
    if not isinstance(old, (np.ndarray, Unwritten)):
        raise RunError(f"`{call['name']}` is a tensor and cannot replace a {kind_text(old) or type(old).__name__}")
    return _with_shape(FILLS[call["name"]](old.shape, number), old)


def _usable(name: str, number: float) -> bool:
    return name != "random" or (number >= 0 and number == int(number))


def _number(text: str) -> float | None:
    if text.lower() in _NUMBERS:
        return _NUMBERS[text.lower()]
    if not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text):
        return None
    # Integers of up to 18 digits fit into 64 bits; others become floats.
    return int(text) if re.fullmatch(r"[-+]?\d{1,18}", text) else float(text)


def _fill(number: float, old: Value) -> Value:
    if isinstance(old, (np.ndarray, Unwritten)):
        return _cast(np.full(old.shape, number), old)
    if isinstance(old, int) and number == number and abs(number) < 1 << 62:  # `number == number` excludes NaN
        return int(number)
    raise RunError(
        Diagnostic(f"a number cannot replace a {kind_text(old) or type(old).__name__}", hint="name a variable")
    )


def _parse_list(text: str) -> Array:
    try:
        array = np.array(json.loads(text), dtype=np.float64)
    except (ValueError, TypeError, RecursionError) as error:
        raise RunError(
            Diagnostic(f"this is not a list of numbers: {str(error)[:80]}", hint="as in [[1, 2], [3, 4]]")
        ) from None
    return array


def _with_shape(array: Array, old: Value) -> Array:
    if not isinstance(old, (np.ndarray, Unwritten)):
        raise RunError(f"a list cannot replace a {kind_text(old) or type(old).__name__}")
    try:
        return _cast(np.broadcast_to(array, old.shape), old)
    except ValueError:
        what = f"a list of the shape {array.shape} does not fit {kind_text(old)}"
        raise RunError(Diagnostic(what, expected=str(old.shape), found=str(array.shape))) from None


def _cast(array: Array, old: Any) -> Array:
    """Return an array in the dtype of the value it replaces. Raises `RunError` for numbers outside of its range."""
    if old.dtype.kind in "iu":
        bounds = np.iinfo(old.dtype)
        if not np.isfinite(array).all() or (array < bounds.min).any() or (array > bounds.max).any():
            raise RunError(f"these numbers do not fit into {old.dtype.name}")
    with np.errstate(all="ignore"):
        return np.array(array.astype(old.dtype))


def _value_of_variable(value: Value, old: Value) -> Value:
    """Return the value of a variable; numbers that replace a tensor are broadcast to its shape."""
    if isinstance(old, (np.ndarray, Unwritten)) and isinstance(value, (np.ndarray, np.generic, int, float, list)):
        try:
            return _with_shape(np.asarray(value), old)
        except (ValueError, TypeError) as error:
            raise RunError(f"this variable is not a tensor of numbers: {error}") from None
    return value


def _unknown(text: str, names: Mapping[str, Any] | None) -> RunError:
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    words = [*FILLS, *(names or ())]
    hint = did_you_mean(text, words) or f"a number, a list, {', '.join(FILLS)}{', a variable' if names else ''}"
    return RunError(Diagnostic(f"`{shown}` is not a value" if text else "a value is missing", hint=hint))


Register = int | str


@checked
class Debugger(OfOneProcess):
    """Steps through a run of `program` (a trace, module, function, executable or recording) on `args`.

    `executor` is "vm", "graph" or "debug": the last two step by node. Further options are as for `Trace.record`.
    Every method that moves returns the new `Instant`; `at` is its number, `reason` why the debugger stopped there.

    >>> mod = passlab.parse("def @main(%x: Tensor[(2), float32]) { tanh(exp(%x)) }")
    >>> dbg = passlab.Debugger(mod, np.float32([0, 1]))
    >>> dbg.step().number, dbg.step_back().number
    (1, 0)
    >>> print(dbg.goto(dbg.query("tanh")[0]).instruction)
    fused_exp_tanh (in: $0, out: $4)
    """

    _repr_mimebundle_ = notebook_forms
    pickled_instead = "save its `trace` by `trace.save(path)`"

    def __init__(
        self,
        program: Trace | Executable | IRModule | Expr | Recording,
        *args: Any,
        entry: str = "main",
        executor: str = "vm",
        **options: Any,
    ) -> None:
        self.trace = program if isinstance(program, Trace) else _record(program, args, entry, executor, options)
        self.at = 0
        self.reason = "start"
        self.breakpoints: list[Breakpoint] = []
        self.watches: list[Watch] = []
        self._next_number = 1

    # ------------------------------------------------------------ the state
    @property
    def now(self) -> Instant:
        """The current instant."""
        return self.trace[self.at]

    @property
    def stack(self) -> list[StackFrame]:
        """The frames, innermost first."""
        return self.now.stack

    @property
    def registers(self) -> dict[int, Any]:
        """The registers of the current frame."""
        return self.now.registers

    @property
    def storage(self) -> StorageMap:
        """The storages of the whole run; `storage.at(dbg.at)` are those that are live now."""
        return self.trace.storage

    def register(self, name: Register) -> Value:
        """Return the value of a register of the current frame. Raises `RunError` where it holds nothing."""
        number = self.number_of(name)
        held = self.now.registers
        if number not in held:
            raise RunError(Diagnostic(f"${number} holds nothing at instant {self.at:,}", hint=self._held_text()))
        return held[number]

    def number_of(self, name: Register) -> int:
        """Return the number of a register. Raises `RunError` for an unknown name."""
        if isinstance(name, (int, np.integer)):
            return int(name)
        if name.removeprefix("$").isdigit():
            return int(name.removeprefix("$"))
        names = self.now.parameters
        if name.removeprefix("%") not in names:
            hint = did_you_mean(name, names) or self._held_text()
            raise RunError(Diagnostic(f"there is no register `{name}` in @{self.now.function}", hint=hint))
        return names[name.removeprefix("%")]

    def _held_text(self) -> str:
        return f"registers with a value: {', '.join(f'${r}' for r in list(self.now.registers)[:12]) or 'none'}"

    # ------------------------------------------------------------ moving
    def goto(self, instant: int | Instant) -> Instant:
        """Go to an instant; negative numbers count from the end. Raises `RunError` outside the run."""
        number = instant.number if isinstance(instant, Instant) else whole_number(instant, "an instant")
        if not -len(self.trace) - 1 <= number <= len(self.trace):
            raise RunError(f"there is no instant {number:,}: the run has 0 to {len(self.trace):,}")
        # The instants are 0 to len, so -1 is the last one.
        return self._move(number % (len(self.trace) + 1), "goto")

    def _move(self, instant: int, reason: str) -> Instant:
        self.at = min(max(instant, 0), len(self.trace))
        self.reason = reason
        if self.at == len(self.trace) and reason not in ("goto", "step"):
            self.reason = "failed" if self.trace.error is not None else self.trace.stopped or "end"
        return self.now

    def step(self, count: int = 1) -> Instant:
        """Execute `count` instructions, stepping into calls."""
        return self._move(self.at + whole_number(count), "step")

    def step_back(self, count: int = 1) -> Instant:
        """Undo `count` instructions."""
        return self._move(self.at - whole_number(count), "step")

    def next(self, count: int = 1) -> Instant:
        """Execute `count` instructions of this frame, stepping over calls."""
        for _ in range(whole_number(count)):
            self._move(self._over(self.at), "step")
        return self.now

    def next_back(self, count: int = 1) -> Instant:
        """Undo `count` instructions of this frame, stepping back over calls."""
        for _ in range(whole_number(count)):
            self._move(self._over_back(self.at), "step")
        return self.now

    def finish(self) -> Instant:
        """Run until this frame has returned to its caller."""
        stops = self.trace.depth[self.at :] < self.now.depth
        return self._move(self.at + int(np.argmax(stops)) if stops.any() else len(self.trace), "finish")

    def finish_back(self) -> Instant:
        """Go back to the call that created this frame."""
        if self.now.ended:
            return self._move(self.at - 1, "finish")
        created = self.trace.log.created[self.now.frame]
        return self._move(max(int(created), 0), "finish")

    def _over(self, instant: int) -> int:
        if instant >= len(self.trace) or instant + 1 >= len(self.trace):
            return instant + 1
        frame, depth = self.trace.frame_of[instant], self.trace.depth[instant]
        if self.trace.frame_of[instant + 1] == frame:
            return instant + 1
        later = slice(instant + 1, None)
        # The frame runs again, or has ended, and a frame below it runs.
        stops = (self.trace.depth[later] < depth) | (self.trace.frame_of[later] == frame)
        return instant + 1 + int(np.argmax(stops)) if stops.any() else len(self.trace)  # `argmax` finds the first True

    def _over_back(self, instant: int) -> int:
        if instant <= 0:
            return 0
        if instant >= len(self.trace):
            return instant - 1
        frame, depth = self.trace.frame_of[instant], self.trace.depth[instant]
        stops = (self.trace.depth[:instant] < depth) | (self.trace.frame_of[:instant] == frame)
        return int(instant - 1 - np.argmax(stops[::-1])) if stops.any() else 0

    def continue_(self) -> Instant:
        """Run to the next breakpoint or change of a watched register, else to the end."""
        return self._to_stop_after(self.at)

    def _to_stop_after(self, start: int) -> Instant:
        stops = [(i, s) for s in self._stops() if (i := s.after(start)) is not None]
        if not stops:
            return self._move(len(self.trace), "end")
        instant, stop = min(stops, key=lambda pair: pair[0])
        return self._move(instant, repr(stop))

    def continue_back(self) -> Instant:
        """Run back to the last breakpoint or change of a watched register, else to the start."""
        stops = [(i, s) for s in self._stops() if (i := s.before(self.at)) is not None]
        if not stops:
            return self._move(0, "start")
        instant, stop = max(stops, key=lambda pair: pair[0])
        return self._move(instant, repr(stop))

    def to_first_stop(self) -> Instant:
        """Go to the first stop of the run, which may be its start, else to the end."""
        return self._to_stop_after(-1)  # a stop at instant 0 counts

    def _stops(self) -> list[Breakpoint | Watch]:
        return [*(b for b in self.breakpoints if b.enabled), *(w for w in self.watches if w.stops)]

    # ------------------------------------------------------------ breakpoints, watches, origins of values
    def breakpoint(self, stop: Any) -> Breakpoint:
        """Set a breakpoint; `breakpoints.breakpoint_of` lists the kinds. Raises `RunError` where nothing matches."""
        new = breakpoint_of(self.trace, self._next_number, stop)
        self._next_number += 1
        self.breakpoints.append(new)
        return new

    def delete(self, number: int | Breakpoint) -> None:
        """Delete a breakpoint. Raises `RunError` if no breakpoint has that number."""
        deleted = number.number if isinstance(number, Breakpoint) else number
        kept = [b for b in self.breakpoints if b.number != deleted]
        if len(kept) == len(self.breakpoints):
            raise RunError(f"there is no breakpoint {deleted}")
        self.breakpoints = kept

    def watch(self, register: Register, stop: bool = True) -> Watch:
        """Watch a register of the current frame; with `stop`, `continue_` stops where it changes.

        Raises `RunError` after the end of the program.
        """
        if self.now.ended:
            raise RunError(
                Diagnostic("the program has ended: there is no frame to watch", hint="go to an earlier instant")
            )
        watch = Watch(self.trace, self.now.frame, self.number_of(register), stop)
        self.watches.append(watch)
        return watch

    def writer(self, register: Register, frame: int | None = None) -> Writer:
        """Return the instruction that gave a register its value.

        Raises `RunError` for a value that no instruction wrote, such as an argument of the program.
        """
        return writer_of(self.trace, self.at, self.now.frame if frame is None else frame, self.number_of(register))

    def goto_writer(self, register: Register) -> Instant:
        """Go to the instant before the instruction that gave a register its value."""
        writer = self.writer(register)
        return self._move(writer.instant, f"writer of {writer.name}")

    def trail(self, register: Register, predicate: str | Predicate = "nan", most: int = 1000) -> list[Writer]:
        """Follow a value back through inputs for which a predicate holds, to the first instruction that wrote one.

        The last writer of the list has no such input. Raises `RunError` where it does not hold for the value itself.
        """
        test = predicate_of(predicate)
        if not holds(test, self.register(register)):
            raise RunError(f"the predicate does not hold for ${self.number_of(register)} at instant {self.at:,}")
        writers = [self.writer(register)]
        while len(writers) < most:
            source = next((s for s in writers[-1].inputs if holds(test, s.value)), None)
            if source is None:
                break
            try:
                writers.append(writer_of(self.trace, writers[-1].instant + source.later, source.frame, source.register))
            except RunError:  # an argument of the program has that value
                break
        return writers

    def query(self, stop: Any) -> list[int]:
        """Return all instants at which a breakpoint would stop."""
        condition = breakpoint_of(self.trace, 0, stop)
        instants = [0] if isinstance(condition, ValueBreakpoint) and condition.at(0) else []
        # Instant 0 of a breakpoint on values stands for the arguments, which the line above tests.
        instant = condition.after(-1 if not isinstance(condition, ValueBreakpoint) else 0)
        while instant is not None:
            instants.append(instant)
            instant = condition.after(instant)
        return instants

    def fork(
        self,
        changes: Mapping[Register, Any] | None = None,
        instant: int | None = None,
        names: Mapping[str, Any] | None = None,
    ) -> Fork:
        """Run on from here, or from an instant, with other values in registers, as a branch.

        The trace stays as it is; the branch is a trace too, `compare()` of the fork lists the differences, and
        `trace.forks` keeps it. A value may be a text such as `"zeros"` (see `value_of`); `names` are the
        variables that a text may name. Raises `RunError` for unknown registers and values that do not fit.
        """
        if instant is not None:
            self.goto(instant)
        values = {self.number_of(register): value for register, value in (changes or {}).items()}
        for register, value in values.items():
            if isinstance(value, str):
                values[register] = value_of(value, self.register(register), names)
        return self.trace.fork(self.at, values)

    # ------------------------------------------------------------ output
    def table(self) -> Table:
        """Return the registers of the current frame: number, name, value, and the instant of the last write."""
        names = {register: name for name, register in self.now.parameters.items()}
        rows: list[Sequence[Any]] = []
        for register, value in self.now.registers.items():
            try:
                written: Any = self.writer(register).instant
            except RunError:
                written = ""
            rows.append((f"${register}", names.get(register, ""), short_text(value), written))
        return Table(("register", "name", "value", "written_at"), rows)

    def interact(self) -> None:
        """Read commands in the terminal; `h` lists them."""
        interact(self)

    def text(self) -> str:
        """Return the state as text: why the debugger stopped, the instant, breakpoints and watches."""
        lines = [f"{self.trace!r}", f"stopped: {self.reason}", self.now.text()]
        lines += [repr(b) for b in self.breakpoints]
        lines += [f"{w!r} = {short_text(w.value(self.at))}" for w in self.watches]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()


def whole_number(number: SupportsIndex, what: str = "a number of steps") -> int:
    """Return a whole number. Raises `RunTypeError` for anything else."""
    try:
        return operator.index(number)
    except TypeError:
        message = f"{what} must be a whole number"
        raise RunTypeError(Diagnostic(message, found=repr(number), hint="-1 is the end of the run")) from None


def _record(program: Any, args: Sequence[Any], entry: str, executor: str, options: Mapping[str, Any]) -> Trace:
    if executor == "vm":
        return Trace.record(program, args, entry, **options)
    return record_nodes(Trace, program, args, entry, executor)
