"""`Steps`: what a recording of Relay and a recording of another compiler have in common.

    rec[3], rec["FuseOps"], rec[-1], rec[2:5], len(rec), [step.name for step in rec], rec.plot(), rec.to_html("a.html")

A step of Relay has programs as objects (`lab.Recording`), one that was read from a dump has texts
(`dumps.TextRecording`); a step of either has a number, a name and what came of the pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Generic, TypeVar, overload

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassError, PassIndexError, PasslabError, PassTypeError, did_you_mean
from passlab.lazy import late
from passlab.table import Tabular

S = TypeVar("S")

_CHART = ("passlab.display.charts", "plot")  # of a higher layer, so it is loaded on first use
_MOST_NAMES = 12  # that a hint lists


@checked
class Steps(Tabular, Generic[S]):
    """A recording of passes: `steps` in order, each with a number and a name."""

    steps: list[S]
    first_number: ClassVar[int] = 0  # that of `steps[0]`: the input of a pipeline is step 0, and a dump may lack it
    unknown_name: ClassVar[type[PasslabError]] = PassError

    @property
    def page_writer(self) -> Callable[..., None]:
        """The function that writes a recording of this kind as a page."""
        raise NotImplementedError

    def named(self, name: str) -> S | None:
        """Return the step that `rec[name]` means, None without one."""
        raise NotImplementedError

    def names(self) -> Iterable[str]:
        """Return the names of all steps."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[S]:
        return iter(self.steps)

    @overload
    def __getitem__(self, key: slice) -> list[S]: ...

    @overload
    def __getitem__(self, key: int | str) -> S: ...

    def __getitem__(self, key: int | str | slice) -> S | list[S]:
        if isinstance(key, slice):
            return self.steps[key]
        if isinstance(key, int):
            return self.step(key)
        given: object = key
        if not isinstance(given, str):
            message = "a recording is indexed by number or name of a pass"
            raise PassTypeError(Diagnostic(message, found=type(given).__name__))
        step = self.named(key)
        if step is None:
            names = dict.fromkeys(self.names())
            hint = did_you_mean(key, names) or f"it has {', '.join([*names][:_MOST_NAMES])}"
            raise self.unknown_name(Diagnostic(f"no pass `{key}` was recorded", hint=hint))
        return step

    def step(self, number: int) -> S:
        """Return the step of a number; negative numbers count from the end. Raises `PassIndexError`."""
        at = number - self.first_number if number >= 0 else len(self.steps) + number
        if not 0 <= at < len(self.steps):
            numbers = f"{self.first_number} to {self.first_number + len(self.steps) - 1}"
            raise PassIndexError(Diagnostic(f"step {number} of a recording with steps {numbers}"))
        return self.steps[at]

    def plot(self, what: str = "", inputs: Any = None) -> Any:
        """Return a chart with a bar for each step: an Altair chart, or a Matplotlib figure where Altair is missing.

        Of a recording of text, `what` is "lines". Of one of Relay, it is "nodes" (the default), "operators", "seconds",
        "peak_bytes" (of a recording with `memory=True`) or "error". The error is the largest difference of the results
        from the results of the input, over their largest magnitude, on drawn or given `inputs`.
        """
        return late(*_CHART)(self, what, inputs)

    def to_html(self, path: str | os.PathLike[str], static: bool = False) -> None:
        """Write the recording as one HTML page, which needs neither kernel nor network: the explorer of a notebook.

        With `static` the page has no scripts, to be read or printed. Raises `FileAccessError`.
        """
        self.page_writer(self, path, static)

    def __repr__(self) -> str:
        return self.text()
