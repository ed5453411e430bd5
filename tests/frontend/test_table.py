"""Laws over the table of operators."""

from __future__ import annotations

import onnx

from passlab.frontend.onnx.entries import OnnxOperator, entries
from tests.each import each


def history() -> dict[str, set[int]]:
    table: dict[str, set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        prefix = f"{schema.domain}." if schema.domain else ""
        table.setdefault(f"{prefix}{schema.name}", set()).add(schema.since_version)
    return table


HISTORY = history()


@each("entry", entries().values(), ids=lambda entry: entry.name)
def test_an_entry_understands_every_definition_of_its_operator(entry: OnnxOperator) -> None:
    newest = max(HISTORY[entry.name])
    assert {version for version in entry.versions if version <= newest} == HISTORY[entry.name]
    assert list(entry.versions) == sorted(set(entry.versions))


@each("entry", entries().values(), ids=lambda entry: entry.name)
def test_an_entry_takes_the_inputs_that_its_operator_has(entry: OnnxOperator) -> None:
    domain, _, name = entry.name.rpartition(".")
    schema = onnx.defs.get_schema(name, domain=domain)
    if not schema.deprecated:
        assert entry.needed <= max(schema.min_input, 1)
        assert entry.most is None or entry.most >= min(schema.max_input, len(schema.inputs))


@each("entry", entries().values(), ids=lambda entry: entry.name)
def test_an_entry_says_what_its_operator_becomes(entry: OnnxOperator) -> None:
    assert entry.doc.partition("\n")[0].endswith(".")
