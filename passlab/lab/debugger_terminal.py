"""The debugger in a terminal: one-letter commands, lower case forwards, upper case the same thing backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from passlab.errors import PasslabError, RunError, did_you_mean
from passlab.lab.trace_values import short_text

if TYPE_CHECKING:
    from passlab.lab.debugger import Debugger

HELP = """s S [n]   step, step back          n N [n]   next (over calls), back
f F       finish this frame, back  c C       continue to a breakpoint, back
g n       go to an instant         b WHAT    breakpoint: nn.dense, @loop, @loop:12, line 6, nan
d n       delete a breakpoint      w REG     watch a register
o REG     where its value is from  O REG     go to that instruction
p REG     show a register in full  r         all registers
k         stack                    i         breakpoints and watches
m         memory                   h         this help            q         leave"""


def command(dbg: Debugger, line: str) -> str | None:
    """Carry out one command and return what it answers, None to leave. Raises `PasslabError` for bad commands."""
    name, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    if name in ("q", "quit"):
        return None
    moves: dict[str, Callable[[int], Any]] = {"s": dbg.step, "S": dbg.step_back, "n": dbg.next, "N": dbg.next_back}
    plain: dict[str, Callable[[], Any]] = {
        "f": dbg.finish, "F": dbg.finish_back, "c": dbg.continue_, "C": dbg.continue_back,
    }  # fmt: skip
    if name in moves:
        return str(moves[name](_number(rest, 1)))
    if name in plain:
        plain[name]()
        return f"stopped: {dbg.reason}\n{dbg.now}"
    if name == "g":
        return str(dbg.goto(_number(rest, 0)))
    asked = _ask(dbg, name, rest)
    if asked is not None:
        return asked
    raise RunError(f"there is no command `{name}`: {did_you_mean(name, [*moves, *plain]) or '`h` lists them'}")


def _ask(dbg: Debugger, name: str, rest: str) -> str | None:
    if name == "b":
        return repr(dbg.breakpoint(rest))
    if name == "d":
        dbg.delete(_number(rest, 0))
        return "deleted"
    if name == "w":
        return repr(dbg.watch(rest))
    if name == "o":
        return str(dbg.writer(rest))
    if name == "O":
        return str(dbg.goto_writer(rest))
    if name == "p":
        return f"{short_text(dbg.register(rest))}\n{dbg.register(rest)}"
    if name == "i":
        return "\n".join(
            [*map(repr, dbg.breakpoints), *(f"{w!r} = {short_text(w.value(dbg.at))}" for w in dbg.watches)]
        )
    answers: dict[str, Callable[[], Any]] = {
        "r": dbg.table, "k": lambda: "\n".join(map(str, dbg.stack)), "h": lambda: HELP, "": lambda: dbg.now,
        "m": lambda: "\n".join([repr(dbg.storage), *map(str, dbg.storage.at(dbg.at))]),
    }  # fmt: skip
    return str(answers[name]()) if name in answers else None


def _number(text: str, default: int) -> int:
    if not text:
        return default
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise RunError(f"`{text}` is not a number") from None


def interact(dbg: Debugger, read: Callable[[str], str] = input, write: Callable[[str], Any] = print) -> None:
    """Read commands and answer them until `q` or the end of input. An error is told and changes nothing."""
    write(dbg.text())
    while True:
        try:
            line = read("(vm) ")
        except EOFError:
            return
        try:
            answer = command(dbg, line)
        except PasslabError as error:
            answer = str(error)
        if answer is None:
            return
        write(answer)


__all__ = ["HELP", "command", "interact"]
