"""`PassInstrument`: code that runs around passes; `pass_instrument` turns any class into one.

    @pass_instrument
    class Counter:
        def __init__(self):
            self.count = 0
        def run_after_pass(self, mod, info):
            self.count += 1

`transform.context` decides when each method is called and what happens when one raises.
"""

from __future__ import annotations

import difflib
import functools
from typing import TYPE_CHECKING, Any

from passlab.arguments import checked_own
from passlab.errors import Diagnostic, PassTypeError
from passlab.lazy import notebook_forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from passlab.ir.expr import Expr
    from passlab.ir.module import IRModule
    from passlab.transform.base import PassRun
    from passlab.transform.pass_info import PassInfo


class PassInstrument:
    """Base of all instruments; every method may be overridden, and does nothing otherwise.

    `name` is the name of the class unless an instance sets its own.

    >>> class Names(instrument.PassInstrument):
    ...     def run_before_pass(self, mod, info):
    ...         print(info.name)
    >>> with transform.PassContext(instruments=[Names()]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    FoldConstant
    InferType
    """

    _repr_mimebundle_ = notebook_forms

    name: str = "PassInstrument"

    def __init__(self) -> None:
        self.name = type(self).__name__

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = cls.__name__
        checked_own(cls)

    def enter_pass_ctx(self) -> None:
        """Called when the context is entered, or when this instrument is put into it."""

    def exit_pass_ctx(self) -> None:
        """Called when the context is left, or when this instrument is taken out of it."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Called before a pass that the context does not require; if any instrument answers False it is skipped."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called right before a pass runs."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called with the result right after a pass has run."""

    def pass_failed(self, mod: IRModule, info: PassInfo, error: BaseException) -> None:
        """Called with the input instead of `run_after_pass`, when the pass or an instrument around it raised."""

    def pass_skipped(self, run: PassRun, reason: str) -> None:
        """Called when a pass is skipped, with the reason: `disabled`, a level that is too low, an instrument."""

    def rewrite_observer(self, run: PassRun) -> Callable[[Expr, Expr, str], None] | None:
        """Return a function that is called as `observer(old, new, rule)` for each node this run replaces, or None.

        `rule` is the name of the rewrite, or "" for a node that changes only because its parts did.
        """
        return None

    def rewrite_permit(self, run: PassRun) -> Callable[[str], bool] | None:
        """Return a function that is called as `permit(rule)` before each named rewrite; False prevents it. Or None."""
        return None

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


_HOOKS = tuple(  # derived from the class, so a new hook is known everywhere
    name for name in vars(PassInstrument) if not name.startswith("_") and callable(getattr(PassInstrument, name))
)


def _check_hooks(cls: type) -> None:
    """Raise `PassTypeError` for a method whose name is nearly the name of a hook: it would never run."""
    for name in vars(cls):
        hooks = difflib.get_close_matches(name, _HOOKS, n=1, cutoff=0.85)
        if hooks and name not in _HOOKS and callable(getattr(cls, name)):
            message = f"{cls.__name__}.{name} would never be called: there is no such hook"
            raise PassTypeError(Diagnostic(message, hint=f"did you mean `{hooks[0]}`?"))


def pass_instrument(pi_cls: Any = None) -> Any:
    """Turn a class that defines some methods of `PassInstrument` into an instrument.

    An instrument class is returned unchanged; without an argument a decorator is returned. Raises `PassTypeError` for
    other objects than classes, and for a method whose name is nearly the name of a hook.

    >>> @instrument.pass_instrument
    ... class Names:
    ...     def run_before_pass(self, mod, info):
    ...         print(info.name)
    >>> with transform.PassContext(instruments=[Names()]):
    ...     _ = transform.FoldConstant()(passlab.parse("def @main() { 1f + 2f }"))
    FoldConstant
    InferType
    """

    def decorate(cls: Any) -> Any:
        if not isinstance(cls, type):
            raise PassTypeError(Diagnostic("pi_cls must be a class", found=type(cls).__name__))
        if issubclass(cls, PassInstrument):
            return cls
        _check_hooks(cls)

        @functools.wraps(cls.__init__)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            cls.__init__(self, *args, **kwargs)
            PassInstrument.__init__(self)

        class_names = {name: getattr(cls, name) for name in ("__doc__", "__module__", "__qualname__")}
        # Methods of the user's class come before those of the base.
        return type(cls.__name__, (cls, PassInstrument), {"__init__": init, **class_names})

    return decorate(pi_cls) if pi_cls is not None else decorate
