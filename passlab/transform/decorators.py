"""`module_pass` and `function_pass` turn a Python function or class into a pass.

    @transform.function_pass(opt_level=1)
    def my_pass(func, mod, ctx): ...

A decorated function becomes a pass; a decorated class becomes a class of passes, each wrapping a user object.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, overload

from passlab.arguments import checked
from passlab.errors import Diagnostic, PassTypeError, PassValueError
from passlab.ir.expr import Expr, Function
from passlab.ir.module import IRModule
from passlab.transform.base import FunctionPass, ModulePass, Pass
from passlab.transform.context import PassContext
from passlab.transform.numeric_contract import NumericContract
from passlab.transform.pass_info import PassInfo


class _WrappedFunction(Pass):
    """The common part of passes created from functions: they keep the function and its metadata."""

    def __init__(self, pass_func: Callable[..., Any], info: PassInfo, contract: NumericContract | None) -> None:
        self._pass_func = pass_func
        self.info = info
        self.contract = contract
        self.__doc__ = getattr(pass_func, "__doc__", None)

    @property
    def pass_func(self) -> Callable[..., Any]:
        """The user's function."""
        return self._pass_func


class _WrappedModuleFunction(_WrappedFunction, ModulePass):
    """A module pass created from a function (mod, ctx) -> mod."""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        result: IRModule = self._pass_func(mod, ctx)
        return result


class _WrappedFunctionFunction(_WrappedFunction, FunctionPass):
    """A function pass created from a function (func, mod, ctx) -> func."""

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        result: Function = self._pass_func(func, mod, ctx)
        return result


@dataclass(frozen=True)
class _PassKind:
    """A kind of passes: the method that users write, its parameters, and the classes of the passes created from it."""

    name: str
    parameters: tuple[str, ...]
    base: type[Pass]
    from_function: type[_WrappedFunction]

    @property
    def method(self) -> str:
        return f"transform_{self.name}"


_MODULE = _PassKind("module", ("mod", "ctx"), ModulePass, _WrappedModuleFunction)
_FUNCTION = _PassKind("function", ("func", "mod", "ctx"), FunctionPass, _WrappedFunctionFunction)


ModuleFunction: TypeAlias = Callable[[IRModule, PassContext], IRModule]
FunctionFunction: TypeAlias = Callable[[Function, IRModule, PassContext], Expr]


class _ModuleDecorator(Protocol):
    @overload
    def __call__(self, target: ModuleFunction, /) -> Pass: ...
    @overload
    def __call__(self, target: type[Any], /) -> Callable[..., Pass]: ...


class _FunctionDecorator(Protocol):
    @overload
    def __call__(self, target: FunctionFunction, /) -> Pass: ...
    @overload
    def __call__(self, target: type[Any], /) -> Callable[..., Pass]: ...


@overload
def module_pass(
    pass_func: ModuleFunction,
    opt_level: int,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
    *,
    contract: NumericContract | None = None,
) -> Pass: ...
@overload
def module_pass(
    pass_func: type[Any],
    opt_level: int,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
    *,
    contract: NumericContract | None = None,
) -> Callable[..., Pass]: ...
@overload
def module_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
    *,
    contract: NumericContract | None = None,
) -> _ModuleDecorator: ...
@checked
def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
    *,
    contract: NumericContract | None = None,
) -> Any:
    """Create a module pass from a function (mod, ctx) -> mod, or from a class with `transform_module`.

    A class becomes a class of passes. Without `pass_func` a decorator is returned. Raises `PassValueError` without
    `opt_level`, `PassTypeError` if `required` is not a list or `pass_func` is not callable. `traceable` becomes part of
    the `info` of the pass.

    >>> @transform.module_pass(opt_level=1)
    ... def doubled(mod, ctx):
    ...     return mod.with_functions({"again": mod["main"]})
    >>> len(doubled(passlab.parse("def @main(%x: float32) { exp(%x) }")))
    2
    """
    return _create_pass(_MODULE, pass_func, opt_level, name, required, traceable, contract)


@overload
def function_pass(
    pass_func: FunctionFunction,
    opt_level: int,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
    *,
    contract: NumericContract | None = None,
) -> Pass: ...
@overload
def function_pass(
    pass_func: type[Any],
    opt_level: int,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
    *,
    contract: NumericContract | None = None,
) -> Callable[..., Pass]: ...
@overload
def function_pass(
    pass_func: None = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
    *,
    contract: NumericContract | None = None,
) -> _FunctionDecorator: ...
@checked
def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
    *,
    contract: NumericContract | None = None,
) -> Any:
    """Create a function pass from a function (func, mod, ctx) -> func, or from a class with `transform_function`.

    A class becomes a class of passes. Without `pass_func` a decorator is returned. Raises the errors of `module_pass`.

    >>> @transform.function_pass(opt_level=1)
    ... def negated(func, mod, ctx):
    ...     return relay.Function(func.params, relay.negative(func.body))
    >>> print(negated(passlab.parse("def @main(%x: float32) { exp(%x) }"))["main"].body.op)
    negative
    """
    return _create_pass(_FUNCTION, pass_func, opt_level, name, required, traceable, contract)


def _create_pass(
    kind: _PassKind,
    pass_func: Any,
    opt_level: int | None,
    name: str | None,
    required: Sequence[str] | None,
    traceable: bool,
    contract: NumericContract | None,
) -> Any:
    if opt_level is None:
        raise PassValueError(Diagnostic(f"Please provide opt_level for the {kind.name} pass."))
    if required and not isinstance(required, (list, tuple)):
        raise PassTypeError(
            Diagnostic("Required is expected to be the type of list/tuple.", found=type(required).__name__)
        )
    required_names = list(required or ())

    def decorate(target: Any) -> Any:
        if not callable(target):
            message = f"pass_func must be a callable for {kind.name.capitalize()} pass"
            raise PassTypeError(Diagnostic(message, found=type(target).__name__))
        info = PassInfo(
            opt_level, name or str(getattr(target, "__name__", type(target).__name__)), required_names, traceable
        )
        if isinstance(target, type):
            return _class_of_passes(kind, target, info, contract)
        _check_parameters(kind, target)
        return kind.from_function(target, info, contract)

    return decorate(pass_func) if pass_func is not None else decorate


def wraps_function(pass_: Pass) -> bool:
    """Whether a pass was made from a function, and so has no options."""
    return isinstance(pass_, _WrappedFunction)


def _check_parameters(kind: _PassKind, target: Any) -> None:
    """Reject callables whose parameters do not fit the kind of pass, where the signature is known."""
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):  # callables written in C may have no signature
        return
    try:
        signature.bind(*kind.parameters)
    except TypeError:
        expected = f"({', '.join(kind.parameters)})"
        raise PassTypeError(
            Diagnostic(f"a {kind.name} pass is called with other arguments", expected=expected, found=str(signature))
        ) from None


def _class_of_passes(kind: _PassKind, user_class: Any, info: PassInfo, contract: NumericContract | None) -> type[Pass]:
    """Return a class of passes whose instances wrap an instance of the user's class.

    Raises `PassTypeError` for a class without the method of the kind.
    """
    if not callable(getattr(user_class, kind.method, None)):
        methods = [name for name in dir(user_class) if not name.startswith("_")]
        nearest = difflib.get_close_matches(kind.method, methods, n=1)
        signature = f"{kind.method}(self, {', '.join(kind.parameters)})"
        hint = f"is `{nearest[0]}` meant?" if nearest else f"define `{signature}`"
        raise PassTypeError(Diagnostic(f"the class {user_class.__name__} has no method `{kind.method}`", hint=hint))

    @functools.wraps(user_class.__init__)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        self._user_object = user_class(*args, **kwargs)

    def transform(self: Any, *args: Any) -> object:
        return getattr(self._user_object, kind.method)(*args)

    def get_user_attribute(self: Any, attribute: str) -> object:
        if attribute.startswith("__") or attribute == "_user_object":
            raise AttributeError(attribute)
        return getattr(self._user_object, attribute)

    body = {
        "__init__": init,
        "__getattr__": get_user_attribute,
        kind.method: transform,
        "info": info,
        "contract": contract,
        "__doc__": user_class.__doc__,
        "__module__": user_class.__module__,
        "__qualname__": user_class.__qualname__,
    }
    return type(user_class.__name__, (kind.base,), body)
