"""Files that other services read: workflows, forms, recipes and addresses. What cannot run here is at least well formed."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.sources import ROOT
from tests.architecture.test_packaging import PROJECT

yaml = pytest.importorskip("yaml", reason="workflows are read by PyYAML, which JupyterLab brings")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


JOBS = [(path, name, job) for path in WORKFLOWS for name, job in read(path)["jobs"].items()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_unless_a_job_says_more(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert set(workflow[True]) <= {"push", "pull_request", "schedule", "workflow_dispatch"}  # YAML reads `on` as True


@pytest.mark.parametrize(("path", "name", "job"), JOBS, ids=[f"{p.stem}-{n}" for p, n, _ in JOBS])
def test_a_job_is_well_formed(path: Path, name: str, job: dict[str, Any]) -> None:
    jobs = read(path)["jobs"]
    needs = job.get("needs", [])
    assert {needs} <= set(jobs) if isinstance(needs, str) else set(needs) <= set(jobs)
    matrix = job.get("strategy", {}).get("matrix", {})
    known = set(matrix) | {key for row in matrix.get("include", []) for key in row}
    assert set(re.findall(r"\bmatrix\.(\w+)", str(job))) <= known
    assert all(
        pinned(step["uses"]) if "uses" in step else isinstance(step["run"], str) and "run" in step
        for step in job["steps"]
    )
    # A name that somebody else chose (a branch, a title) must not become a part of a script.
    assert not [s for s in job["steps"] if re.search(r"\$\{\{\s*github\.(event|head_ref|ref_name)", s.get("run", ""))]


def pinned(action: str) -> bool:
    return re.fullmatch(r"[\w.-]+/[\w.-]+@(v\d+|release/v\d+)", action) is not None


def test_the_tests_run_on_every_python_that_the_package_claims() -> None:
    claimed = [c.rsplit(" ", 1)[1] for c in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)]
    (matrix,) = [job["strategy"]["matrix"] for path, name, job in JOBS if (path.stem, name) == ("tests", "tests")]
    assert matrix["python"] == claimed
    assert {row["os"] for row in matrix["include"]} == {"macos-latest", "windows-latest"}


def test_files_that_workflows_name_exist() -> None:
    named = {word for path in WORKFLOWS for word in re.findall(r"(?<![\w/])(\.ci/[\w./]+)", path.read_text())}
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda p: p.stem)
def test_a_form_asks_under_different_names(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    assert all(field["attributes"]["label"] for field in form["body"])


def test_the_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe = read(ROOT / ".ci" / "conda" / "recipe.yaml")
    assert recipe["context"]["version"] == PROJECT["project"]["version"]
    asked = {re.split(r"[>=<; ]", line.strip())[0] for line in PROJECT["project"]["dependencies"]}
    names = {"python-graphviz" if name == "graphviz" else name for name in asked} - {"pygraphviz"}
    run = {line.split(" ")[0] for line in recipe["requirements"]["run"]}
    assert names <= run
    assert run - names == {"python", "graphviz"}


def test_the_addresses_are_written_where_they_belong(tmp_path: Path) -> None:
    script = ROOT / ".ci" / "addresses.py"
    spec = importlib.util.spec_from_file_location("addresses", script)
    assert spec is not None
    assert spec.loader is not None
    addresses = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(addresses)
    for name in (*addresses.FILES, ".ci/addresses.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    assert addresses.main([], tmp_path) == 1  # as long as they are empty
    (tmp_path / ".ci/addresses.toml").write_text(
        'repository = "https://github.com/a/passlab"\ndocumentation = "https://a.example"\n'
        'email = "a@a.example"\nowners = ["@a"]\n',
        encoding="utf-8",
    )
    assert addresses.main(["--check"], tmp_path) == 1
    assert addresses.main([], tmp_path) == 0
    assert addresses.main(["--check"], tmp_path) == 0
    sys.modules.pop("addresses", None)
    project = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    assert 'Source = "https://github.com/a/passlab"' in project
    links = re.findall(r"\]\(([^)]+)\)", (tmp_path / "README.md").read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not link.startswith("https://")] == []
