"""Support for `ctx=`, the name of the parameter `device` up to TVM 0.7."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from passlab.compat import arrays
from passlab.executor import create_executor as _create_executor
from passlab.relay import debug_executor, graph_executor

P = ParamSpec("P")
R = TypeVar("R")


def accept_ctx(function: Callable[P, R]) -> Callable[..., R]:
    """Return a function that accepts its argument `device` as `ctx` as well."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        if "ctx" in kwargs:
            kwargs["device"] = kwargs.pop("ctx")
        return function(*args, **kwargs)

    return call


array = accept_ctx(arrays.array)
empty = accept_ctx(arrays.empty)
create_executor = accept_ctx(_create_executor)
create_graph = accept_ctx(graph_executor.create)
create_debug = accept_ctx(debug_executor.create)
