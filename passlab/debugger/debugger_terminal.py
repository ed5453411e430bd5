"""The debugger in a terminal: one-letter commands, lower case forwards, upper case backwards.

Whole words work too (`step`, `break`, `back`). A number before or after a command is its count (`5s`, `s 5`, `120g`),
an empty line repeats the last move. The default register is the one just written, else the first one read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from passlab.debugger.breakpoints import PREDICATES, holds, predicate_of, words_of
from passlab.debugger.values import short_text
from passlab.errors import Diagnostic, PasslabError, RunError, counted, did_you_mean
from passlab.ir.op import op_name

if TYPE_CHECKING:
    from passlab.debugger.debugger import Debugger

HELP = """s S [n]     step, step back          n N [n]   next (over calls), back
f F [n]     finish this frame, back  c C [n]   continue to a breakpoint, back
g n         go to an instant; -1 is the end    an empty line: the last move again
b WHAT      breakpoint: nn.dense, @loop, @loop:12, line 6, nan       d n   delete one
a WHAT      all instants at which a breakpoint would stop
w [REG]     watch a register         i         breakpoints and watches
p [REG]     show a register in full  r         all registers
o [REG]     the origin of its value  O [REG]   go there
t [REG]     follow NaN (or inf) back to the instruction that first wrote it, and go there
y           the history of the next instruction: source line, and the passes that made it
e REG VALUE run on with another value: 2, [[1, 2]], zeros, random 7   u   back to the original
k           stack                    m         memory
h ?         this help                q         leave"""
WORDS = {
    "step": "s", "back": "S", "next": "n", "finish": "f", "up": "f", "continue": "c", "cont": "c", "run": "c",
    "goto": "g",
    "break": "b", "breakpoint": "b", "delete": "d", "query": "a", "all": "a", "watch": "w", "info": "i", "print": "p",
    "registers": "r", "origin": "o", "trail": "t", "history": "y", "edit": "e", "fork": "e", "original": "u", "bt": "k",
    "where": "k", "stack": "k", "backtrace": "k", "memory": "m", "help": "h", "?": "h", "quit": "q", "exit": "q",
}  # fmt: skip
MOVES = ("s", "S", "n", "N", "f", "F", "c", "C")
QUERIES = ("g", "b", "d", "a", "w", "i", "p", "r", "o", "O", "t", "y", "e", "u", "k", "m", "h", "q")
_COUNTED = re.compile(r"(-?\d[\d,]*)\s*([A-Za-z?]+)\s*\Z")
_LISTED = 40  # instants that `a` lists


class Session:
    """The state of a terminal: the debugger, the move that an empty line repeats, and the originals of branches."""

    def __init__(self, dbg: Debugger) -> None:
        self.dbg = dbg
        self.last = ""
        self.originals: list[Debugger] = []

    @property
    def prompt(self) -> str:
        """The prompt: the executor, or `fork`, and the number of the instant."""
        return f"({'fork' if self.originals else self.dbg.trace.kind} {self.dbg.at:,}) "

    def command(self, line: str) -> str | None:
        """Execute one command and return its output, None to leave. Raises `PasslabError` for wrong commands."""
        line = line.strip() or self.last
        match = _COUNTED.match(line)
        name, _, rest = line.partition(" ") if match is None else (match[2], " ", match[1])
        name, rest = WORDS.get(name, name), rest.strip()
        if name == "q":
            return None
        if name in MOVES:
            self.last = line
            return self._move(name, _number(rest, 1))
        if name == "" or name in QUERIES:
            return self._answer(name, rest)
        hint = did_you_mean(name, [*WORDS, *MOVES, *QUERIES]) or "`h` lists them"
        raise RunError(Diagnostic(f"there is no command `{name}`", hint=hint))

    def _move(self, name: str, count: int) -> str:
        dbg = self.dbg
        moves: dict[str, Callable[[int], Any]] = {"s": dbg.step, "S": dbg.step_back, "n": dbg.next, "N": dbg.next_back}
        if name in moves:
            return str(moves[name](count))
        plain = {"f": dbg.finish, "F": dbg.finish_back, "c": dbg.continue_, "C": dbg.continue_back}[name]
        for _ in range(min(count, len(dbg.trace) + 1)):  # further moves change nothing
            plain()
        return f"stopped: {dbg.reason}\n{dbg.now}"

    def _answer(self, name: str, rest: str) -> str:
        dbg = self.dbg
        answers: dict[str, Callable[[], Any]] = {
            "": lambda: dbg.now,
            "g": lambda: dbg.goto(_number(rest, 0)),
            "b": lambda: repr(dbg.breakpoint(rest)),
            "a": lambda: self._query(rest),
            "w": lambda: repr(dbg.watch(self._register(rest))),
            "i": self._stops,
            "r": dbg.table,
            "p": lambda: self._register_text(rest),
            "o": lambda: dbg.writer(self._register(rest)),
            "O": lambda: dbg.goto_writer(self._register(rest)),
            "t": lambda: self._trail(rest),
            "y": self._history,
            "e": lambda: self._fork(rest),
            "u": self._leave_branch,
            "h": lambda: HELP,
            "m": self._memory,
            "k": lambda: "\n".join(map(str, dbg.stack)) or "no frame runs",
            "d": lambda: self._delete(_number(rest, 0)),
        }
        return str(answers[name]())

    # ------------------------------------------------------------ queries
    def _register(self, rest: str) -> str:
        """Return the register to use: the one named, else the one just written, else the first one read."""
        now = self.dbg.now
        registers = [r for r in (*now.just_written, *now.reads) if r in now.registers]
        if not rest and not registers:
            raise RunError(Diagnostic("name a register", hint="as in `p $5`; `r` lists them"))
        return rest or f"${registers[0]}"

    def _register_text(self, rest: str) -> str:
        name = self._register(rest)
        value = self.dbg.register(name)
        return f"${self.dbg.number_of(name)} = {short_text(value)}\n{value}"

    def _trail(self, rest: str) -> str:
        dbg = self.dbg
        name = self._register(rest)
        kind = next((k for k in PREDICATES if holds(predicate_of(k), dbg.register(name))), None)
        if kind is None:
            raise RunError(f"{name} holds neither NaN nor infinities")
        trail = dbg.trail(name, kind)
        inside = [n for n, v in trail[-1].inside() if holds(predicate_of(kind), v)]
        dbg.goto(trail[-1].instant)
        lines = [f"the path of {kind}, oldest last:", *map(str, trail)]
        if inside:
            lines.append(f"it first appeared in `{op_name(inside[0])}`")
        return "\n".join([*lines, self._biographies("the history of that instruction:")]).rstrip()

    def _history(self) -> str:
        return self._biographies("") or "no pass made this instruction, or the compilation was not recorded"

    def _biographies(self, head: str) -> str:
        biographies = list(dict.fromkeys(map(str, self.dbg.now.history)))
        return "\n".join([head, *biographies]).lstrip("\n") if biographies else ""

    def _query(self, rest: str) -> str:
        instants = self.dbg.query(rest)
        more = f" ... {len(instants) - _LISTED:,} more" if len(instants) > _LISTED else ""
        count = counted(len(instants), "instant")
        return f"{count}: {' '.join(f'{i:,}' for i in instants[:_LISTED])}{more}" if instants else "no instants"

    def _stops(self) -> str:
        dbg = self.dbg
        watches = [f"{w!r} = {short_text(w.value(dbg.at))}" for w in dbg.watches]
        return "\n".join([*map(repr, dbg.breakpoints), *watches]) or "no breakpoints, no watches"

    def _delete(self, number: int) -> str:
        self.dbg.delete(number)
        return f"breakpoint {number} deleted"

    def _memory(self) -> str:
        storage = self.dbg.storage
        return "\n".join([repr(storage), *map(str, storage.at(self.dbg.at))])

    # ------------------------------------------------------------ forks
    def _fork(self, rest: str) -> str:
        name, _, text = rest.partition(" ")
        if not text.strip():
            raise RunError(Diagnostic("a fork needs a register and a value", hint="as in `e $5 zeros`"))
        fork = self.dbg.fork({name: text.strip()})
        self.originals.append(self.dbg)
        self.dbg = fork.debugger()
        return f"{fork}\nyou are on the branch; `u` goes back to the original"

    def _leave_branch(self) -> str:
        if not self.originals:
            raise RunError("you are on the original: there is no branch to leave")
        self.dbg = self.originals.pop()
        return str(self.dbg.now)


def _number(text: str, default: int) -> int:
    if not text:
        return default
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise RunError(f"`{text}` is not a number") from None


def completions(dbg: Debugger, line: str) -> list[str]:
    """Return the completions of the last word of a line: commands, breakpoints, registers."""
    head, blank, word = line.rpartition(" ")
    name = WORDS.get(head.split(" ")[0], head.split(" ")[0])
    pool: Sequence[str] = sorted({*WORDS, *MOVES, *QUERIES})
    if blank:
        registers = [f"${r}" for r in dbg.registers]
        pool = words_of(dbg.trace) if name in "ba" else registers if name in "wpoOte" else []
    return [candidate for candidate in pool if candidate.startswith(word)]


def _input_with_completion(session: Session) -> Callable[[str], str]:
    """Return `input`, with tab completion where Python has `readline`."""
    try:
        import readline
    except ImportError:
        return input

    def complete(text: str, state: int) -> str | None:
        names = completions(session.dbg, readline.get_line_buffer())
        return names[state] if state < len(names) else None

    readline.set_completer_delims(" ")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    return input


def interact(dbg: Debugger, read: Callable[[str], str] | None = None, write: Callable[[str], Any] = print) -> None:
    """Execute commands until `q` or the end of input. Errors are printed and change nothing."""
    session = Session(dbg)
    read = _input_with_completion(session) if read is None else read
    write(dbg.text())
    write("h lists the commands")
    while True:
        try:
            line = read(session.prompt)
        except EOFError:
            return
        except KeyboardInterrupt:
            write("q leaves")
            continue
        try:
            with np.printoptions(threshold=200, edgeitems=2, precision=5):
                answer = session.command(line)
        except PasslabError as error:
            answer = str(error)
        if answer is None:
            return
        write(answer)
