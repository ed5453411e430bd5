"""The data of a recorder: one `Event` per pass that ran, failed or was skipped.

The modules are snapshots, which share all their contents with the modules that the passes saw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from passlab.diffing.diff import Diff, diff, same_programs
from passlab.errors import Diagnostic
from passlab.ir.expr import Expr
from passlab.ir.module import IRModule
from passlab.transform.base import Pass
from passlab.transform.numeric_contract import DEFAULT_CONTRACT, NumericContract, combine, declared_contract

Status = Literal["input", "ran", "skipped", "failed", "running"]
Role = Literal["step", "required", "nested"]


@dataclass(frozen=True)
class ContextOptions:
    """The options of the pass context of a pass, for running it again."""

    opt_level: int = 2
    required_pass: tuple[str, ...] = ()
    disabled_pass: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)


class Rewrites:
    """The rewrites of a pass in order: pairs (old, new) of nodes, and the names of rules."""

    __slots__ = ("_flat", "_rules")

    def __init__(self) -> None:
        self._flat: list[Expr] = []  # old, new, old, new, ...: a third of the memory of pairs
        self._rules: dict[int, str] = {}

    def note(self, old: Expr, new: Expr, rule: str = "") -> None:
        """Add a pair, and the name of the rule that made it."""
        if rule:
            self._rules[len(self)] = rule
        self._flat += (old, new)

    def with_rules(self) -> Iterator[tuple[Expr, Expr, str]]:
        """Yield each pair with the name of its rule: (old, new, rule)."""
        for index, (old, new) in enumerate(self):
            yield old, new, self._rules.get(index, "")

    @property
    def rules(self) -> dict[str, int]:
        """How often each named rule was applied."""
        return dict(Counter(self._rules.values()))

    def __len__(self) -> int:
        return len(self._flat) // 2

    def __iter__(self) -> Iterator[tuple[Expr, Expr]]:
        # One iterator twice: `zip` takes two items in turn from the flat list.
        flat = iter(self._flat)
        return zip(flat, flat, strict=True)

    def __getitem__(self, index: int) -> tuple[Expr, Expr]:
        at = range(len(self))[index]  # `range` also understands negative numbers, and raises `IndexError`
        return self._flat[2 * at], self._flat[2 * at + 1]

    def __repr__(self) -> str:
        return f"<{len(self)} rewrites>"


@dataclass(eq=False)
class Event:
    """One pass in a recording.

    `id` is its number ("3", or "3.1" for a pass inside pass 3). `status` says whether it ran, failed, was skipped (for
    the `reason`) or is still running; `role` whether it is a step of a pipeline, required by the pass around it, or
    called by that pass. `before` and `after` are modules; after a failure `after` is the partial result. `seconds` is
    wall time, `peak_bytes` the peak memory above that at the start, where it was measured. `loaded_contract` is the
    contract that the pass of an event from a file had, "default" where it declared none.

    >>> rec = passlab.record(passlab.parse("def @main() { 1f + 2f }"), "FoldConstant")
    >>> event = rec["FoldConstant"]
    >>> print(event.status, event.changed, event.after["main"].body)
    ran True 3f /* ty=float32 */
    """

    name: str
    before: IRModule
    after: IRModule
    status: Status = "running"
    role: Role = "step"
    reason: str = ""
    kind: str = ""
    opt_level: int = 0
    pass_: Pass | None = None
    context: ContextOptions = field(default_factory=ContextOptions)
    seconds: float = 0.0
    peak_bytes: int | None = None
    rewrites: Rewrites = field(default_factory=Rewrites)
    log: list[str] = field(default_factory=list)
    diagnostics: tuple[Diagnostic, ...] = ()
    error: BaseException | None = None
    parent: Event | None = None
    children: list[Event] = field(default_factory=list)
    id: str = ""
    written: str = ""
    loaded_contract: NumericContract | Literal["default"] | None = "default"
    _compared: tuple[IRModule, IRModule, bool] | None = field(default=None, init=False, repr=False)

    @property
    def text(self) -> str:
        """The pass in the pipeline language, as in `FuseOps(fuse_opt_level=2)`."""
        return self.written or (self.pass_.as_text() if self.pass_ is not None else "")

    @property
    def replaced(self) -> bool:
        """Whether the pass returned another module object, be it an equal one."""
        return self.after is not self.before

    @property
    def changed(self) -> bool:
        """Whether the pass changed the program. One that builds an equal program anew has not."""
        key = (self.before, self.after)
        if self._compared is None or self._compared[0] is not key[0] or self._compared[1] is not key[1]:
            self._compared = (*key, self.replaced and not same_programs(*key))
        return self._compared[2]

    @property
    def depth(self) -> int:
        """The number of passes around this one."""
        return self.id.count(".")

    def walk(self) -> Iterator[Event]:
        """Yield this event and all inside it, in the order they are numbered."""
        stack = [self]
        while stack:
            event = stack.pop()
            yield event
            stack.extend(reversed(event.children))

    def diff(self) -> Diff:
        """Return the difference between the modules before and after (`lab.Diff`)."""
        return diff(self.before, self.after)

    def __repr__(self) -> str:
        state = f"{self.status}{': ' + self.reason if self.reason else ''}"
        change = "" if self.status != "ran" else ", changed" if self.changed else ", unchanged"
        return f"<{self.id or '-'} {self.name}: {state}{change}>"


def contract_of(event: Event, default_contract: NumericContract | None = DEFAULT_CONTRACT) -> NumericContract | None:
    """Return the contract of one run of a pass: the contract of the rules it applied, where all declare one."""
    if event.pass_ is None and event.loaded_contract != "default":
        return event.loaded_contract
    contract = declared_contract(event.pass_, default_contract)
    rules = event.rewrites.rules
    contracts = {rule.name: rule.contract for rule in getattr(event.pass_, "rules", ())}
    if contract is None or not rules or not all(rule in contracts for rule in rules):
        return contract
    return combine(contracts[rule] for rule in rules)
