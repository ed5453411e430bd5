"""The generated stubs say what the declarations say, and their types are those that the conversions accept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from passlab import relay
from passlab.ir.op import Op
from tests.package.stubs import PACKAGE, TYPES, accepts, formatted, stubs

STUBS = stubs()
ONE = relay.const(1)
# For each kind of attribute, values that its type allows, and values that it does not.
VALUES: dict[str, tuple[list[Any], list[Any]]] = {
    "int": ([1, -1, np.int64(1), True], ["1", [1], ONE]),
    "float": ([1, 1.5, np.float32(1), np.int8(1)], ["1", [1.0], ONE]),
    "bool": ([True, False], ["True", 1.5, ONE]),
    "str": (["NCHW", ""], [1, ["NCHW"]]),
    "dtype": (["float32", np.float32, np.dtype("int8"), np.bool_], [ONE]),
    "shape": ([[1, 2], (0,), np.array([3]), [relay.Any()]], ["12", [1.5], [ONE]]),
    "list of int": ([[1, 2], (0,), np.array([3]), range(2)], ["12", [1.5], ["1"]]),
    "int or list of int": ([1, [1, 2], np.int64(1)], ["12", [1.5]]),
    "list of float": ([[1.5], (1,), np.array([0.5])], ["12", ["1"]]),
    "list of lists of int": ([[[1, 2]], ((0, 1), (2, 3)), np.array([[1]])], ["12", [1]]),
    "expression": ([ONE, relay.var("x")], [1, "x"]),
    "value": ([1, "x", [1.5], None], []),
}


@pytest.mark.parametrize("path", STUBS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_stub_is_what_the_declarations_say(path: Path, bless: bool) -> None:
    expected = formatted(STUBS[path])
    if bless:
        path.write_text(expected, encoding="utf-8")
    current = path.read_text(encoding="utf-8") if path.exists() else ""
    assert current == expected, "`pytest tests/package --bless` writes it"


FIELDS = [
    field for name in Op.list_op_names() for attrs in [Op.get(name).spec.attrs] if attrs for field in attrs.schema
]


@pytest.mark.parametrize("kind", TYPES)
def test_the_type_of_an_attribute_is_that_of_the_values_it_accepts(kind: str) -> None:
    allowed, refused = VALUES[kind]
    fields = [field for field in FIELDS if field.kind in (kind, f"{kind} or None")]
    assert fields
    for field in fields:
        assert [value for value in allowed if not accepts(None, value, field)] == [], field.name
        assert [value for value in refused if accepts(None, value, field)] == [], field.name


def test_every_kind_of_attribute_has_a_type() -> None:
    kinds = {field.kind.removesuffix(" or None") for field in FIELDS}
    assert {kind for kind in kinds if not kind.startswith("'")} == set(TYPES)
