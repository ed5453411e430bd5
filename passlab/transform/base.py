"""`Pass`, and the two kinds of passes that do work: `ModulePass` and `FunctionPass`.

`pass_(mod)` runs a pass under the current context, through the instruments, and returns a module: the same object if
nothing changed. The input never changes, even by passes that edit their module: they get a snapshot. `sequential` has
pipelines, `decorators` the decorators, and `declare` declares standard passes.

The file begins with what a pass acts on: operators, kinds of nodes, or both. A function that contains none of it stays
as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextvars import copy_context
from time import perf_counter
from typing import Any, ClassVar

from passlab.analysis.contents import contents_of
from passlab.analysis.type_variables import free_type_vars
from passlab.arguments import checked, checked_own
from passlab.errors import Diagnostic, DiagnosticError, PassError, PassTypeError
from passlab.infer import infer_module
from passlab.ir.expr import Expr, Function
from passlab.ir.gc_pause import building
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.variables import free_vars
from passlab.ir.walk import Observer, Permit, observed, permitted
from passlab.lazy import PASSES, late
from passlab.transform.context import PassContext, _current_run
from passlab.transform.diagnostics import PassDiagnostics
from passlab.transform.numeric_contract import NumericContract
from passlab.transform.pass_info import PassInfo

Part = str | type[Expr] | Callable[[Op], bool]


def with_attr(name: str) -> Callable[[Op], bool]:
    """Return a condition that holds for operators with a registered attribute (`relay.op.register_op_attr`)."""
    return lambda op: op.spec.extra.get(name) is not None


def contains_any(function: Function, parts: Iterable[Part]) -> bool:
    """Whether a function contains one of the parts. What users have registered by now counts."""
    contents = contents_of(function)
    names = {op.name for op in contents.operators}
    for part in parts:
        if isinstance(part, str):
            if part in names:
                return True
        elif isinstance(part, type):
            if part in contents.kinds:
                return True
        elif any(map(part, contents.operators)):
            return True
    return False


class PassRun:
    """One run of a pass: the module it starts from, its context, and the enclosing run.

    `partial` is the module that a failed run had reached, `diagnostics` collects its findings. While a pipeline runs
    the passes that one of its passes requires, `requiring` is that pass. `seconds` is the wall time of the work.
    `has_ended` is true once the run has ended, normally or not.
    """

    __slots__ = ("pass_", "context", "module", "parent", "partial", "diagnostics", "requiring", "seconds", "has_ended")

    def __init__(self, pass_: Pass, context: PassContext, module: IRModule, parent: PassRun | None) -> None:
        self.pass_ = pass_
        self.context = context
        self.module = module
        self.parent = parent
        self.partial: IRModule = module
        self.diagnostics: PassDiagnostics | None = None
        self.requiring: Pass | None = None
        self.seconds = 0.0
        self.has_ended = False

    def path(self) -> str:
        """Return the names of the enclosing passes and its own, outermost first: `sequential > FuseOps`."""
        names: list[str] = []
        run: PassRun | None = self
        while run is not None:
            names.append(run.pass_.info.name)
            run = run.parent
        return " > ".join(reversed(names))


def current_run() -> PassRun | None:
    """Return the innermost run of a pass in this thread or task, or None if no pass runs.

    >>> @transform.module_pass(opt_level=0)
    ... def inner(mod, ctx):
    ...     print(transform.current_run().parent.pass_.info.name)
    ...     return mod
    >>> _ = transform.Sequential([inner], name="outer")(passlab.IRModule())
    outer
    """
    return _current_run.get()


class _NoInfo:
    """What a class of passes has for `info` until it is set."""

    def __get__(self, pass_: Any, owner: type) -> Any:
        if pass_ is None:
            return self
        raise PassTypeError(
            Diagnostic(
                f"the class `{owner.__name__}` derives from Pass and sets no `info`, the name and level of the pass",
                hint="decorate a class with `@transform.module_pass(opt_level=0)` instead of deriving it",
            )
        )


class Pass:
    """A module-to-module transformation with a name and a level. Call it with a module to run it.

    `contract` is its numeric contract; None: it guarantees nothing about values.

    >>> fold = transform.FoldConstant()
    >>> isinstance(fold, transform.Pass), fold.info.opt_level, fold.contract
    (True, 2, EXACT)
    """

    kind: ClassVar[str] = ""  # the kind of pass, as shown in tables
    info: PassInfo = _NoInfo()  # type: ignore[assignment]
    contract: NumericContract | None = None
    # the name under which `get_pass` creates a standard pass, where `info.name` differs
    factory_name: ClassVar[str | None] = None
    trusted: ClassVar[bool] = False  # whether the pass is tested to keep programs well-formed

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "acts_on" not in vars(cls) and not vars(cls).keys().isdisjoint(("transform_function", "transform_module")):
            cls.acts_on = Pass.acts_on  # type: ignore[method-assign]  # a new method may act on anything
        checked_own(cls)

    def __call__(self, mod: Any) -> IRModule:
        """Run the pass on a module under the current context and return the resulting module.

        Raises the errors of the pass and of instruments, and `PassTypeError` if `mod` or the result is not a module.
        """
        if not isinstance(mod, IRModule):
            hint = "wrap it: `IRModule.from_expr(...)`" if hasattr(mod, "checked_type_") else None
            raise PassTypeError(
                Diagnostic(
                    f"the pass `{self.info.name}` runs on a module",
                    expected="IRModule",
                    found=type(mod).__name__,
                    hint=hint,
                )
            )
        run = PassRun(self, PassContext.current(), mod, _current_run.get())
        try:
            # The run is set in a copy of the context variables: an interrupt cannot leave it current.
            with building():
                return copy_context().run(self._start, run)
        finally:
            run.has_ended = True

    def _start(self, run: PassRun) -> IRModule:
        _current_run.set(run)
        return run.context._run_with_hooks(run, lambda: self._body(run))

    def _body(self, run: PassRun) -> IRModule:
        """Do the work between the hooks: observed by recorders, and checked if `testing.immutable_module` is set."""
        observers = run.context._call_instruments("rewrite_observer", run)
        permits = run.context._call_instruments("rewrite_permit", run)
        check_input = bool(run.context.config.get("testing.immutable_module"))
        before = run.module.snapshot() if check_input else run.module
        start = perf_counter()
        try:
            if observers or permits:
                result = copy_context().run(self._run_observed, run, observers, permits)
            else:
                result = self._run(run)
        except Exception as error:
            # Add the name of the pass to the traceback of an error that has no notes yet; Python 3.10 has no notes.
            add_note = getattr(error, "add_note", None)
            if add_note is not None and not getattr(error, "__notes__", None):
                add_note(f"raised in the pass {run.path()}")
            raise
        finally:
            run.seconds = perf_counter() - start
        if check_input and not before.same_contents(run.module):
            raise PassError(Diagnostic(f"Immutable module has been modified in pass: {self.info.name}"))
        return result

    def _run_observed(self, run: PassRun, observers: list[Any], permits: list[Any]) -> IRModule:
        with observed(_joint_observer(observers)), permitted(_joint_permit(permits)):
            return self._run(run)

    def _run(self, run: PassRun) -> IRModule:
        raise NotImplementedError(f"{type(self).__name__} cannot run: derive from ModulePass or FunctionPass")

    def acts_on(self) -> Iterable[Part] | None:
        """Return what the pass acts on (a `Part`: operators by name or condition, kinds of nodes), None for anything.

        It is not called with functions, or modules of functions, that contain none of it.
        """
        return None

    def _with_types(self, mod: IRModule) -> IRModule:
        """Return the module to work on, with types inferred if the pass requires `InferType` and is called by itself.

        Instruments do not see this inference: in a pipeline the required passes have run, and there is nothing to do
        here.
        """
        if "InferType" not in self.info.required or all(f.checked_type_ is not None for _, f in mod.items()):
            return mod
        return infer_module(mod)

    def options(self) -> dict[str, Any]:
        """Return the options of this pass by name; those with their default value are omitted."""
        return {}

    def as_text(self) -> str:
        """Return the pass in the pipeline language, such as `FuseOps(fuse_opt_level=2)`."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        name = self.factory_name or self.info.name
        return f"{name}({options})" if options else name

    def __repr__(self) -> str:
        return self.as_text()


def _joint_observer(observers: list[Observer]) -> Observer | None:
    if len(observers) < 2:
        return observers[0] if observers else None

    def observe(old: Any, new: Any, rule: str) -> None:
        for observer in observers:
            observer(old, new, rule)

    return observe


def _joint_permit(permits: list[Permit]) -> Permit | None:
    if len(permits) < 2:
        return permits[0] if permits else None
    return lambda rule: sum(not permit(rule) for permit in permits) == 0  # all permits are called, as with `should_run`


class ModulePass(Pass):
    """A pass over a whole module. Subclasses write `transform_module(mod, ctx)`, which returns a module.

    It may return its argument, edit it, or return another module. Its argument is a snapshot.

    >>> issubclass(transform.InferType, transform.ModulePass), transform.InferType().info.name
    (True, 'InferType')
    """

    kind: ClassVar[str] = "module"

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the transformed module."""
        raise NotImplementedError(f"the pass `{self.info.name}` has no transform_module")

    @property
    def pass_func(self) -> Callable[..., IRModule]:
        """The function that does the work: (mod, ctx) -> mod."""
        return self.transform_module

    def _run(self, run: PassRun) -> IRModule:
        run.diagnostics = PassDiagnostics(run.module)
        start = run.partial = self._with_types(run.module).snapshot()
        parts = self.acts_on()
        if parts is None or any(contains_any(function, parts) for _, function in start.items()):
            result = self.transform_module(start, run.context)
        else:
            result = start
        if not isinstance(result, IRModule):
            raise _wrong_result_error(self, "IRModule", result)
        run.partial = result
        run.diagnostics.render()
        return run.module if result.same_contents(run.module) else result

    def __str__(self) -> str:
        return f"Run Module pass: {self.info.name} at the optimization level {self.info.opt_level}"


@checked
def is_optimizable(function: Function) -> bool:
    """Return False for functions that function passes skip: external, of another compiler, or marked to be skipped."""
    attrs = function.attrs
    if not len(attrs):
        return True
    return not (isinstance(attrs.get("Compiler"), str) or attrs.get("Extern") or attrs.get("SkipOptimization"))


class FunctionPass(Pass):
    """A pass over each optimizable function, one at a time.

    Subclasses write `transform_function(func, mod, ctx)`, which returns a function. Every function is transformed
    against a snapshot of the module before the pass: functions can be replaced, not added or removed. Afterwards types
    are inferred, by `InferType` as a complete pass that instruments see.

    >>> class Negated(transform.FunctionPass):
    ...     info = transform.PassInfo(1, "Negated", [])
    ...     def transform_function(self, func, mod, ctx):
    ...         return relay.Function(func.params, relay.negative(func.body))
    >>> print(Negated()(passlab.parse("def @main(%x: float32) { exp(%x) }"))["main"].body.op)
    negative
    """

    kind: ClassVar[str] = "function"

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        """Return the transformed function."""
        raise NotImplementedError(f"the pass `{self.info.name}` has no transform_function")

    @property
    def pass_func(self) -> Callable[..., Function]:
        """The function that does the work: (func, mod, ctx) -> func."""
        return self.transform_function

    def _run(self, run: PassRun) -> IRModule:
        run.diagnostics = PassDiagnostics(run.module)
        start = self._with_types(run.module)
        start_module = start.snapshot()
        # What a user's pass adds to its argument must not become part of the result.
        argument = start_module if self.trusted else start.snapshot()
        changes: dict[str, Function] = {}
        parts = self.acts_on()
        try:
            for name, function in start.items():
                if is_optimizable(function) and (parts is None or contains_any(function, parts)):
                    result = self.transform_function(function, argument, run.context)
                    if result is not function:
                        if not isinstance(result, Function):
                            raise _wrong_result_error(self, "relay.Function", result, f" for @{name}")
                        if not self.trusted:
                            self._check_closed(result, name, start_module)
                        changes[name] = result
        except BaseException:
            run.partial = start_module.with_functions(changes)
            raise
        result_mod = start_module.with_functions(changes)
        run.partial = result_mod
        run.diagnostics.render()
        if result_mod.same_contents(run.module):
            result_mod = run.module
        return infer_types(result_mod)

    def _check_closed(self, result: Function, name: str, mod: IRModule) -> None:
        """Raise `DiagnosticError` for a function with free variables or free type variables.

        The parameters of a data type are bound by its definition, which is in the module.
        """
        message = f"the pass `{self.info.name}` returned @{name}, which contains free"
        if free := free_vars(result):
            names = ", ".join(f"%{v.name_hint}" for v in free)
            raise DiagnosticError(Diagnostic(f"{message} variables: {names}", free[0].span))
        if types := free_type_vars(result, mod):
            hint = "list them in the type_params of the function"
            names = ", ".join(v.name_hint for v in types)
            raise DiagnosticError(Diagnostic(f"{message} type variables: {names}", result.span, hint=hint))

    def __str__(self) -> str:
        return f"Run Function pass: {self.info.name} at the optimization level {self.info.opt_level}"


def infer_types(mod: IRModule) -> IRModule:
    """Run the pass `InferType` on a module, through the instruments of the current context."""
    infer_type: Pass = late(f"{PASSES}.program.infer_type", "InferType")()
    return infer_type(mod)


def _wrong_result_error(pass_: Pass, expected: str, actual: Any, where: str = "") -> PassTypeError:
    hint = "does it end without a `return`?" if actual is None else None
    kind = "module" if isinstance(pass_, ModulePass) else "function"
    return PassTypeError(
        Diagnostic(
            f"the {kind} pass `{pass_.info.name}` returned a wrong result{where}",
            expected=expected,
            found=type(actual).__name__,
            hint=hint,
        )
    )
