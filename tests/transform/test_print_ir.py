"""The pass PrintIR (pass-infra-semantics, section 6): log the module, return it unchanged."""

from __future__ import annotations

import logging

import passlab
from passlab.lab.recordings.recording import record
from passlab.transform import PassContext, Sequential, get_pass
from tests.transform.programs import chain, sum_with_constant


def test_the_module_is_logged_at_info_under_its_header(caplog):
    mod = chain("exp")
    assert get_pass("PrintIR", "here")(mod) is mod
    (entry,) = caplog.records
    assert entry.levelno == logging.INFO
    assert entry.getMessage() == f"PrintIR(here):\n{mod.astext(show_meta_data=False)}"


def test_without_logging_set_up_it_goes_to_standard_error(monkeypatch, capsys):
    logger = logging.getLogger("passlab.PrintIR")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest has put its own there
    get_pass("PrintIR")(chain("exp"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith('PrintIR():\n#[version = "0.0.5"]\n')


def test_constants_are_shown_only_when_asked(caplog):
    mod = sum_with_constant()
    get_pass("PrintIR")(mod)
    get_pass("PrintIR", show_meta_data=True)(mod)
    without, whole = [entry.getMessage() for entry in caplog.records]
    assert "b64ndarrays" not in without
    assert passlab.structural_equal(passlab.parse(whole.partition("\n")[2]), get_pass("InferType")(mod))


def test_it_stands_in_a_pipeline_and_its_text_in_a_recording(caplog):
    rec = record(chain("exp"), "PrintIR(header='a'), PrintIR(header='b')")
    assert [e.log[0].splitlines()[0] for e in rec[1:]] == ["INFO: PrintIR(a):", "INFO: PrintIR(b):"]


def test_it_can_be_disabled_like_any_pass(caplog):
    with PassContext(disabled_pass=["PrintIR"]):
        Sequential([get_pass("PrintIR")])(chain("exp"))
    assert caplog.records == []
