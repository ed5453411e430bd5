"""Models that nobody here made keep what the manual promises of any model; skipped where their packages are absent."""

from __future__ import annotations

import json

import pytest

from tests.zoo import smaller
from tests.zoo.__main__ import PAGE, RECORD, with_table
from tests.zoo.models import Absent, Model, models
from tests.zoo.trials import CULPRIT_CALLS, TRIALS, Trials

MODELS = models()


def absence(model: Model) -> str:
    """What to install for a model, "" where all of it is here."""
    try:
        model.source  # noqa: B018 - it looks for its packages
    except Absent as absent:
        return str(absent)
    return ""


ABSENT = {model.name: reason for model in MODELS if (reason := absence(model))}


def test_the_table_has_forty_files_and_forty_networks_of_other_names() -> None:
    assert len({model.name for model in MODELS}) == len(MODELS)
    assert sum(model.kind == "onnx" for model in MODELS) >= 40
    assert sum(model.kind == "torch" for model in MODELS) >= 40
    for model in MODELS:
        assert set(model.entry.get("fails", {})) <= {*TRIALS, "debug", "graph", "vm", "aot", "onnxruntime"}


def test_the_manual_has_the_table_of_the_record() -> None:
    page, record = PAGE.read_text(encoding="utf-8"), json.loads(RECORD.read_text(encoding="utf-8"))
    assert with_table(page, record) == page
    assert set(record) <= {model.name for model in MODELS}


def test_the_manual_compares_sizes_as_the_record_does() -> None:
    page, record = PAGE.read_text(encoding="utf-8"), json.loads(smaller.RECORD.read_text(encoding="utf-8"))
    assert smaller.with_comparison(page, record) == page
    for name, row in record.items():
        assert row["passlab"]["nodes"] <= row["nodes"], f"{name} became larger"
        assert "wrong" not in row["passlab"]


@pytest.mark.nightly
def test_what_is_absent_is_said() -> None:
    if ABSENT:  # one test, so that it counts as one that was skipped
        pytest.skip(f"{len(ABSENT)} models of the zoo: {'; '.join(sorted(set(ABSENT.values())))}")


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("model", [model for model in MODELS if model.name not in ABSENT], ids=lambda model: model.name)
def test_a_model_from_outside(model: Model) -> None:
    trials = Trials(model).run()
    known = model.entry.get("fails", {})
    new = {name: text for name, text in trials.failures.items() if name not in known or known[name] not in text}
    assert not new
    assert set(known) <= set(trials.failures), "what is known to fail does not any more: take it out of the table"
    figures = trials.figures
    assert figures.get("error", 0.0) <= model.entry.get("tolerance", 1e-4)
    assert figures.get("export error", 0.0) <= model.entry.get("tolerance", 1e-4)
    if figures.get("culprit") == "Swapped":
        assert figures["culprit calls"] <= model.entry.get("culprit_calls", CULPRIT_CALLS)
