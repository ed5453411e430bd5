"""`PassContext`: the options under which passes run, and the instruments that watch them.

The contexts entered with `with` form a stack of the thread, or of the asyncio task; only the innermost is in effect.
Each thread also has a default context, in effect outside of any `with`. This module alone defines in which order
instruments are called, and which of them are still called after one has raised. It depends on the protocol
`Instrument`, and on no particular instrument or pass.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassError, PassTypeError
from passlab.ir.module import IRModule
from passlab.lazy import late
from passlab.transform.config import convert_config, find_option, list_options
from passlab.transform.diagnostics import PassDiagnostics
from passlab.transform.pass_info import PassInfo, as_level, as_names

if TYPE_CHECKING:
    from passlab.transform.base import PassRun

_log = logging.getLogger("passlab.transform")

R = TypeVar("R")


class Instrument(Protocol):
    """The methods of an instrument that the pass manager calls. `passlab.instrument.PassInstrument` is the base class.

    Three more methods are optional. `pass_skipped(run, reason)` is called when a pass does not run.
    `rewrite_observer(run)` returns a function that is called as `observer(old, new, rule)` for each node that the pass
    replaces. `rewrite_permit(run)` returns a function that is called as `permit(rule)` before each rewrite by a named
    rule, and refuses it by returning False. Both may return None. `run` is the `PassRun`: the pass, the context, the
    module it starts from.
    """

    def enter_pass_ctx(self) -> None: ...
    def exit_pass_ctx(self) -> None: ...
    def should_run(self, mod: IRModule, info: PassInfo) -> bool: ...
    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None: ...
    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None: ...
    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None: ...


_HOOKS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass", "pass_failed")


class PassContext:
    """The optimization level, required and disabled passes, instruments and options under which passes run.

    Raises `PassTypeError` for arguments of the wrong type and `ConfigError` for unknown options and unsuitable values.
    Warns where a required or disabled pass has a name that is nearly the name of a pass.
    A context may be entered several times, also nested in itself.

    >>> mod = passlab.parse("def @main(%x: float32) { exp(%x) * (1f + 1f) }")
    >>> pipeline = transform.Sequential([transform.FoldConstant(), transform.FuseOps()])
    >>> with transform.PassContext(opt_level=3, disabled_pass=["FuseOps"]):
    ...     mod = pipeline(mod)
    >>> print(mod["main"].body.args[1])
    2f /* ty=float32 */
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        instruments: Iterable[Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.opt_level = as_level(opt_level, "the opt_level of a PassContext")
        self.required_pass = list(as_names(required_pass, "required_pass"))
        self.disabled_pass = list(as_names(disabled_pass, "disabled_pass"))
        for what, names in (("required_pass", self.required_pass), ("disabled_pass", self.disabled_pass)):
            for name in names:
                meant = late("passlab.transform.registry", "misspelled_pass")(name)
                if meant is not None:
                    warnings.warn(f"{what}: there is no pass `{name}`; did you mean `{meant}`?", stacklevel=2)
        self.instruments: list[Any] = _instrument_list(instruments)
        self.config = convert_config(config)
        self._diag_ctx: PassDiagnostics | None = None
        self._inherited: tuple[Any, ...] = ()  # instruments of an outer context, which enters and leaves them

    # ------------------------------------------------------------ the stack
    @staticmethod
    def current() -> PassContext:
        """Return the innermost context entered in this thread or task, or the thread's default context."""
        stack = _stack.get()
        if stack:
            return stack[-1]
        default: PassContext | None = getattr(_defaults, "context", None)
        if default is None:
            default = _defaults.context = PassContext()
        return default

    @property
    def entered(self) -> bool:
        """True if this context is on the stack of this thread or task; a default context never is."""
        return any(context is self for context in _stack.get())

    def __enter__(self) -> PassContext:
        outer = _stack.get()
        self._enter_instruments((*outer, self), outer)
        return self

    def __exit__(self, *exc_info: object) -> None:
        stack = _stack.get()
        if not stack or stack[-1] is not self:
            raise PassError(
                Diagnostic("this PassContext is not the innermost one", hint="leave contexts innermost first")
            )
        try:
            _stack.set(stack[:-1])
            self._exit_instruments()
        finally:
            _stack.set(stack[:-1])  # again, in case an interrupt prevented the first time

    @contextmanager
    @checked
    def derived(
        self,
        opt_level: int | None = None,
        *,
        required_pass: Iterable[str] | None = None,
        disabled_pass: Iterable[str] | None = None,
        instruments: Iterable[Any] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Iterator[PassContext]:
        """Enter a context derived from this one, with another level, more passes, options and instruments.

        The instruments of this context are called for the passes inside, before those in `instruments`; only the latter
        are entered and left. Raises the errors of `PassContext`.
        """
        inner = PassContext(
            self.opt_level if opt_level is None else opt_level,
            [*self.required_pass, *as_names(required_pass, "required_pass")],
            [*self.disabled_pass, *as_names(disabled_pass, "disabled_pass")],
            instruments,
            {**self.config, **(config or {})},
        )
        added = inner.instruments
        inner._inherited = tuple(self.instruments)
        inner.instruments = [*inner._inherited, *added]
        with inner:
            yield inner

    # ------------------------------------------------------------ options
    @checked
    def get_config(self, key: str, default: Any = None) -> Any:
        """Return the value of an option: its value here, else `default`, else its registered default. Raises
        `ConfigError`.
        """
        option = find_option(key)
        if key in self.config:
            return option.convert(self.config[key])
        return option.default if default is None else default

    @staticmethod
    def list_configs() -> dict[str, dict[str, Any]]:
        """Return all options: `{key: {"type": Relay's name of the type, "default": ..., "doc": ...}}`."""
        return {o.key: {"type": o.type_key, "default": o.default, "doc": o.doc} for o in list_options()}

    @property
    def diag_ctx(self) -> PassDiagnostics | None:
        """The diagnostic context of the running pass; None while none runs, unless one was set."""
        return _running_diagnostics(self) or self._diag_ctx

    @diag_ctx.setter
    def diag_ctx(self, value: PassDiagnostics | None) -> None:
        self._diag_ctx = value

    # ------------------------------------------------------------ which passes run
    @checked
    def pass_enabled(self, info: PassInfo) -> bool:
        """Return True if a `Sequential` runs a pass: not if disabled, else if required or from its opt_level on."""
        return self.why_disabled(info) is None

    @checked
    def why_disabled(self, info: PassInfo) -> str | None:
        """Return why a `Sequential` does not run a pass, or None when it does."""
        if info.name in self.disabled_pass:
            return "disabled"
        if info.name in self.required_pass or self.opt_level >= info.opt_level:
            return None
        return f"opt_level {self.opt_level} < {info.opt_level}"

    # ------------------------------------------------------------ instruments
    def override_instruments(self, instruments: Iterable[Any] | None) -> None:
        """Leave the instruments of this context and enter new ones (None: none).

        Raises `PassTypeError` for objects that are not instruments.
        """
        new = _instrument_list(instruments)
        self._exit_instruments()
        self.instruments = new
        self._enter_instruments(_stack.get(), _stack.get())

    def _enter_instruments(self, inside: tuple[PassContext, ...], outside: tuple[PassContext, ...]) -> None:
        """Enter all instruments, then make `inside` the stack; if one raises, leave them and restore `outside`."""
        entered: list[Any] = []
        try:
            for instrument in self._own_instruments():
                instrument.enter_pass_ctx()
                entered.append(instrument)
            _stack.set(inside)
        except BaseException:
            _stack.set(outside)
            self.instruments = []
            _log.info("pass instrumentation enter failed: instrumentation is disabled")
            _call_during_error([(i.exit_pass_ctx, "exit_pass_ctx") for i in reversed(entered)])
            raise

    def _own_instruments(self) -> list[Any]:
        """Return the instruments that this context enters and leaves: all but the inherited ones."""
        return [i for i in self.instruments if not any(i is other for other in self._inherited)]

    def _exit_instruments(self) -> None:
        try:
            for instrument in self._own_instruments():
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            _log.info("pass instrumentation exit failed: instrumentation is disabled")
            raise

    def _refusal(self, mod: IRModule, info: PassInfo) -> str | None:
        """Call `should_run` of every instrument; name those that return False, or None. Required passes always run."""
        if info.name in self.required_pass:
            return None
        names: list[str] = []
        for instrument in self.instruments:
            should_run = instrument.should_run(mod, info)
            if should_run is None:
                name = _instrument_name(instrument)
                raise PassTypeError(
                    Diagnostic(
                        f"`should_run` of the instrument {name} returned nothing for the pass `{info.name}`",
                        expected="bool",
                        found="None",
                        hint="does it end without a `return`?",
                    )
                )
            if not should_run:
                names.append(_instrument_name(instrument))
        return f"should_run of {', '.join(names)}" if names else None

    def _run_with_hooks(self, run: PassRun, body: Callable[[], IRModule]) -> IRModule:
        """Run the body of a pass between the hooks of the instruments.

        An instrument whose `run_before_pass` returned gets exactly one of `run_after_pass` and `pass_failed`.
        """
        mod, info = run.module, run.pass_.info
        refusal = _time_hooks(partial(self._refusal, mod, info))
        if refusal is not None:
            self._report_skipped(run, refusal)
            return mod
        pending: list[Any] = []  # instruments whose `run_before_pass` returned, until one of the other two is called

        def before() -> None:
            for instrument in list(self.instruments):
                instrument.run_before_pass(mod, info)
                pending.append(instrument)

        def after() -> None:
            for instrument in list(self.instruments):
                if instrument in pending:
                    pending.remove(instrument)
                    instrument.run_after_pass(result, info)

        try:
            _time_hooks(before)
            result = body()
            _time_hooks(after)
        except BaseException as error:
            _call_during_error([(partial(i.pass_failed, mod, info, error), "pass_failed") for i in pending])
            raise
        return result

    def _report_skipped(self, run: PassRun, reason: str) -> None:
        """Call `pass_skipped` of the instruments that have it."""
        for instrument in self.instruments:
            hook = getattr(instrument, "pass_skipped", None)
            if hook is not None:
                hook(run, reason)

    def _call_instruments(self, method: str, run: PassRun) -> list[Any]:
        """Call `method` of the instruments that have it; return the results other than None."""
        hooks = (getattr(instrument, method, None) for instrument in self.instruments)
        return [result for hook in hooks if hook is not None and (result := hook(run)) is not None]

    def __str__(self) -> str:
        names = [_instrument_name(i) for i in self.instruments]
        return (
            "Pass context information: \n"
            f"\topt_level: {self.opt_level}\n"
            f"\trequired passes: [{', '.join(self.required_pass)}]\n"
            f"\tdisabled passes: [{', '.join(self.disabled_pass)}]\n"
            f"\tinstruments: [{', '.join(names)}]\n"
            f"\tconfig: {{{', '.join(f'{key!r}: {value!r}' for key, value in self.config.items())}}}"
        )

    __repr__ = __str__


_stack: ContextVar[tuple[PassContext, ...]] = ContextVar("passlab_pass_contexts", default=())
_defaults = threading.local()
_current_run: ContextVar[PassRun | None] = ContextVar("passlab_pass_run", default=None)


class _HookTime(threading.local):
    """How long hooks of instruments took in this thread; hooks of passes that a hook runs are part of that hook."""

    total = 0  # nanoseconds
    started = 0
    depth = 0


_hook_time = _HookTime()


def _time_hooks(hooks: Callable[[], R]) -> R:
    """Call hooks, and add the time that they take.

    An interrupt may come between any two lines, so what is set back is what was there before. A context manager would
    leave its mark where the interrupt comes while it is entered.
    """
    depth, started = _hook_time.depth, perf_counter_ns()
    try:
        try:
            _hook_time.depth = depth + 1
            if depth == 0:
                _hook_time.started = started
            return hooks()
        finally:
            _hook_time.depth = depth
    finally:
        _hook_time.depth = depth  # again, in case an interrupt prevented the first time
        if depth == 0:
            _hook_time.total += perf_counter_ns() - started


def hook_nanoseconds() -> int:
    """Return how long hooks of instruments took in this thread so far, those that run now included."""
    running = perf_counter_ns() - _hook_time.started if _hook_time.depth else 0
    return _hook_time.total + running


def _running_diagnostics(context: PassContext) -> PassDiagnostics | None:
    run = _current_run.get()
    while run is not None:
        if run.context is context and run.diagnostics is not None:
            return run.diagnostics
        run = run.parent
    return None


def _instrument_name(instrument: Any) -> str:
    return str(getattr(instrument, "name", type(instrument).__name__))


def _instrument_list(instruments: Iterable[Any] | None) -> list[Any]:
    """Return instruments as a list. Raises `PassTypeError` if they are not a list of instruments."""
    if instruments is None:
        return []
    if isinstance(instruments, (str, bytes)) or not isinstance(instruments, Iterable):
        raise PassTypeError(
            Diagnostic("instruments must be a list", expected="list[PassInstrument]", found=repr(instruments))
        )
    result = list(instruments)
    for instrument in result:
        if isinstance(instrument, type):
            raise PassTypeError(
                Diagnostic(
                    f"{instrument.__name__} is a class, not an instrument", hint=f"write `{instrument.__name__}()`"
                )
            )
        if not all(callable(getattr(instrument, hook, None)) for hook in _HOOKS):
            raise PassTypeError(
                Diagnostic(
                    f"{type(instrument).__name__} is not an instrument",
                    hint="decorate its class with `@passlab.instrument.pass_instrument`",
                )
            )
    return result


def _call_during_error(hooks: Iterable[tuple[Callable[[], None], str]]) -> None:
    """Call hooks while an error propagates. Errors of the hooks are logged, so they do not replace it.

    An interrupt during one of them is raised instead of the error, after all hooks have been called.
    """
    interrupt: BaseException | None = None
    for hook, name in hooks:
        try:
            hook()
        except Exception:  # noqa: BLE001 - the propagating error matters more than that of the hook
            _log.warning("an instrument's %s raised while another error was being handled", name, exc_info=True)
        except BaseException as error:  # noqa: BLE001 - raised below
            interrupt = error
    if interrupt is not None:
        raise interrupt
