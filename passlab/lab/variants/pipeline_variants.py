"""`WhatIf`: the pipeline of a recording with passes switched off, moved, repeated, inserted or given other options.

    rec.what_if.without("FoldConstant").comparison.summary()
    rec.what_if.move("FuseOps", to=1).with_options("FuseOps", fuse_opt_level=0).recording

Nothing runs before `recording` is read; the steps before the first difference come from the old recording and do not
run again. Each method returns a new value, so that several variants can start from one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassError, did_you_mean
from passlab.instrument.events import ContextOptions, Event
from passlab.lab.recordings.comparison import Comparison, compare
from passlab.lab.recordings.recording import Recording, copy_of, record_alone
from passlab.transform.base import Pass
from passlab.transform.decorators import wraps_function
from passlab.transform.pipeline_text import as_pass
from passlab.transform.registry import find_factory
from passlab.transform.sequential import Sequential

MOST_TIMES = 1000
Which = int | str  # a pass of the pipeline: its number, counted from 1, or its name, for the first of that name


@checked
class WhatIf:
    """A pipeline that differs from a recorded one. `passes` are events of the recording, and new passes."""

    def __init__(self, base: Recording, passes: Sequence[Event | Pass] | None = None) -> None:
        self.base = base
        # A required pass runs again with the pass that requires it.
        self._recorded_passes = [event for event in base.steps[1:] if event.role != "required"]
        self.passes = tuple(self._recorded_passes if passes is None else passes)

    # ------------------------------------------------------------ questions
    @checked
    def without(self, which: Which) -> WhatIf:
        """Return the pipeline without a pass. Raises `PassError` if there is no such pass, as all methods do."""
        at = self._index_of(which)
        return self._with((*self.passes[:at], *self.passes[at + 1 :]))

    @checked
    def move(self, which: Which, to: int) -> WhatIf:
        """Return the pipeline with a pass moved to the number `to`."""
        at = self._index_of(which)
        rest = [*self.passes[:at], *self.passes[at + 1 :]]
        rest.insert(min(max(0, to - 1), len(rest)), self.passes[at])
        return self._with(rest)

    @checked
    def repeat(self, which: Which, times: int = 2) -> WhatIf:
        """Return the pipeline with a pass that runs several times in a row, at most 1,000.

        Raises `PassError` for more.
        """
        at = self._index_of(which)
        if not 0 <= times <= MOST_TIMES:
            raise PassError(Diagnostic(f"a pass is repeated 0 to {MOST_TIMES:,} times", found=str(times)))
        return self._with((*self.passes[:at], *[self.passes[at]] * times, *self.passes[at + 1 :]))

    @checked
    def with_options(self, which: Which, **options: Any) -> WhatIf:
        """Return the pipeline with a pass whose options are replaced by others."""
        at = self._index_of(which)
        text = f"{_pass_name(self.passes[at])}({', '.join(f'{key}={value!r}' for key, value in options.items())})"
        return self._with((*self.passes[:at], *_parse_passes(text, self._own_classes()), *self.passes[at + 1 :]))

    def _own_classes(self) -> dict[str, Any]:
        """Return the classes of the user's own passes of the recording by name: text names only registered ones."""
        passes = [_runnable(item) for item in self.passes if isinstance(item, Pass) or item.pass_ is not None]
        return {
            one.info.name: one if wraps_function(one) else type(one)
            for one in passes
            if not find_factory(one.info.name)
        }

    @checked
    def insert(self, added: Any, at: int) -> WhatIf:
        """Return the pipeline with one more pass, or the passes of a text, inserted at the number `at`."""
        rest = list(self.passes)
        rest[max(0, at - 1) : max(0, at - 1)] = _parse_passes(added)  # an empty slice: nothing is replaced
        return self._with(rest)

    @checked
    def rewrite(self, passes: Iterable[Which], scope: Mapping[str, Any] | None = None) -> WhatIf:
        """Return a pipeline of passes of this one, given by number, and new ones, as text; `scope` may add names."""
        passes_now: list[Event | Pass] = []
        for item in passes:
            passes_now += [self.passes[self._index_of(item)]] if isinstance(item, int) else _parse_passes(item, scope)
        return self._with(passes_now)

    # ------------------------------------------------------------ answers
    @property
    def first_difference(self) -> int | None:
        """The number of the first pass that differs from the recording; None where none does."""
        pairs = zip(self.passes, self._recorded_passes, strict=False)
        same = next((at for at, (new, old) in enumerate(pairs) if new is not old), None)
        shortest = min(len(self.passes), len(self._recorded_passes))
        return (
            same + 1 if same is not None else None if len(self.passes) == len(self._recorded_passes) else shortest + 1
        )

    @cached_property
    def recording(self) -> Recording:
        """The recording of the variant: old steps up to the first difference, then the passes that ran."""
        first = self.first_difference
        if first is None:
            return self.base
        kept = self._unchanged_steps(first)
        start = kept[-1].after if kept else self.base.input
        runs = [copy_of(event) for event in kept]
        if not any(event.status == "failed" for event in kept):  # a failure ends the variant as well
            passes = [_runnable(item) for item in self.passes[first - 1 :]]
            runs += record_alone(start, passes, self._options).runs if passes else []
        return Recording(runs, self.base.input, self.base.name, self.base.earlier)

    @cached_property
    def comparison(self) -> Comparison:
        """The old recording and the new one, step by step."""
        return compare(self.base, self.recording)

    def _unchanged_steps(self, first: int) -> list[Event]:
        """Return the steps before the first pass that differs, with the passes they require."""
        if first == 1:
            return []
        # Numbers count from 1, and the pass before `first` is the last one kept.
        last = self._recorded_passes[first - 2]
        steps = self.base.steps[1:]
        return steps[: next(at for at, step in enumerate(steps) if step is last) + 1]

    @property
    def _options(self) -> ContextOptions:
        """The options of the pass context of the old recording."""
        return self._recorded_passes[0].context if self._recorded_passes else ContextOptions()

    def _with(self, passes: Sequence[Event | Pass]) -> WhatIf:
        return WhatIf(self.base, passes)

    def _index_of(self, which: Which) -> int:
        """Return the index of a pass in `passes`. Raises `PassError` if it is not one of them."""
        names = [_pass_name(item) for item in self.passes]
        if isinstance(which, int):
            if 1 <= which <= len(names):
                return which - 1
            raise PassError(Diagnostic(f"there is no pass {which}", hint=f"the pipeline has passes 1 to {len(names)}"))
        if which in names:
            return names.index(which)
        hint = did_you_mean(which, dict.fromkeys(names)) or f"it has {', '.join(dict.fromkeys(names))}"
        raise PassError(Diagnostic(f"the pipeline has no pass `{which}`", hint=hint))

    def __repr__(self) -> str:
        return f"<what if: {', '.join(_pass_text(item) for item in self.passes)}>"


def _parse_passes(value: Any, scope: Mapping[str, Any] | None = None) -> list[Pass]:
    """Return the passes of a text; a list of one for a pass."""
    if isinstance(value, Pass):
        return [value]
    pipeline = as_pass(value if isinstance(value, str) else [value], scope)
    return pipeline.passes if isinstance(pipeline, Sequential) else [pipeline]


def _runnable(item: Event | Pass) -> Pass:
    if isinstance(item, Pass):
        return item
    return item.pass_ if item.pass_ is not None else _parse_passes(item.text)[0]


def _pass_name(item: Event | Pass) -> str:
    return item.name if isinstance(item, Event) else item.info.name


def _pass_text(item: Event | Pass) -> str:
    return (item.text or item.name) if isinstance(item, Event) else item.as_text()
