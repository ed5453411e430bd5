"""`passlab doctor` tries the parts: what works is ok, what is missing says what it is for."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import passlab
from passlab import doctor
from passlab.cli import main

ROOT = Path(__file__).resolve().parents[2]


def states():
    return {finding.part: finding for finding in doctor.examine()}


def test_the_parts_of_this_environment_work(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for part in (
        "passlab",
        "Python",
        "widgets",
        "JupyterLab extension",
        "Graphviz",
        "browser",
        "onnx",
        "torch",
    ):
        assert re.search(rf"^{part}\s", printed, re.MULTILINE)
    assert states()["Graphviz"].state == "ok"
    assert passlab.__version__ in states()["passlab"].detail


def test_a_missing_optional_part_says_what_it_is_for_and_how_to_get_it(monkeypatch):
    monkeypatch.setattr(doctor, "OPTIONAL", (("no-such-package", "flying", "pip install wings"),))
    finding = states()["no-such-package"]
    assert finding == ("no-such-package", "missing", "needed for flying", "pip install wings")


def test_a_missing_required_part_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "REQUIRED", ("no-such-package",))
    assert main(["doctor"]) == 1
    assert "pip install no-such-package" in capsys.readouterr().out


def test_graphviz_that_does_not_work_is_broken(monkeypatch):
    monkeypatch.setattr("passlab.display.graphs.layout.find_spec", lambda name: None)
    monkeypatch.setattr("passlab.display.graphs.layout.shutil.which", lambda name: None)
    finding = states()["Graphviz"]
    assert finding.state == "broken"
    assert "pygraphviz" in finding.fix


def test_no_browser_is_no_error(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    assert states()["browser"].state == "missing"


def test_the_extension_is_looked_for_where_jupyterlab_looks(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert states()["JupyterLab extension"].state == "missing"
    place = tmp_path / "share" / "jupyter" / "labextensions" / "passlab"
    place.mkdir(parents=True)
    (place / "package.json").write_text("{}")
    assert states()["JupyterLab extension"].state == "ok"


def test_threads_of_blas_on_a_busy_machine_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "thread_count", lambda: 4)
    monkeypatch.setattr(doctor.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(doctor, "quota", lambda: None)
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (0.5, 0.5, 0.5), raising=False)
    assert states()["threads"] == ("threads", "ok", "4 threads for large kernels, 4 processors", "")
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (9.0, 9.0, 9.0), raising=False)
    assert "OPENBLAS_NUM_THREADS=1" in states()["threads"].fix
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (0.5, 0.5, 0.5), raising=False)
    monkeypatch.setattr(doctor, "quota", lambda: 1.5)
    assert "this container may use 1.5" in states()["threads"].detail
    assert "OPENBLAS_NUM_THREADS=1" in states()["threads"].fix


@pytest.mark.parametrize(("text", "processors"), [("150000 100000\n", 1.5), ("max 100000\n", None), ("", None)])
def test_the_quota_of_a_container_is_read(text, processors, tmp_path):
    path = tmp_path / "cpu.max"
    path.write_text(text)
    assert doctor.quota(path) == processors
    assert doctor.quota(tmp_path / "none") is None


def test_the_version_is_one(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"passlab {passlab.__version__}\n"
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'\nversion = "{passlab.__version__}"\n' in project
    assert f"\nversion: {passlab.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {passlab.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
