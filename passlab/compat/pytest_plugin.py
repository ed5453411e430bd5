"""`tvm.testing.plugin`: a pytest plugin that provides `target`, `dev` and linked parameters of tests."""

from __future__ import annotations

from typing import Any

from passlab.compat.testing import enabled_targets


def pytest_generate_tests(metafunc: Any) -> None:
    """Run a test that takes `target` or `dev` on each target, and with each set of `tvm.testing.parameters`."""
    marked = {name for mark in metafunc.definition.iter_markers("parametrize") for name in _names(mark.args[0])}
    names = [name for name in ("target", "dev") if name in metafunc.fixturenames and name not in marked]
    if names:
        rows = [[dict(zip(("target", "dev"), row, strict=True))[name] for name in names] for row in enabled_targets()]
        metafunc.parametrize(names, rows)
    groups: dict[int, dict[str, Any]] = {}
    for name, definitions in metafunc._arg2fixturedefs.items():
        function = definitions[-1].func
        group = getattr(function, "parametrize_group", None)
        if group is not None:
            groups.setdefault(group, {})[name] = function
    for fixtures in groups.values():
        sets = list(zip(*(function.parametrize_values for function in fixtures.values()), strict=True))
        ids = next(iter(fixtures.values())).parametrize_ids
        metafunc.parametrize(list(fixtures), sets, indirect=True, ids=ids)


def _names(argument: Any) -> list[str]:
    return [name.strip() for name in argument.split(",")] if isinstance(argument, str) else list(argument)
