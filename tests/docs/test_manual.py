"""The manual and the README do what they say: their programs run, and print what stands below them.

The blocks of a page marked `python` run in order in one namespace. A `text` block right after one is what it prints
(`make bless` rewrites it). The program of a `%%relay` cell must parse and have types.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import passlab
from passlab import errors
from passlab.errors import PasslabError
from passlab.ir import op
from passlab.op import load
from tests.operator_facts import facts_of_tests

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if "lessons" not in path.parts)]
sys.path.append(str(DOCS))

import redirects  # noqa: E402 - a script of the manual, which is no package

_BLOCK = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)


@dataclass
class Block:
    """One fenced block of a page: `joined` tells that it follows the block before it with nothing in between."""

    language: str
    body: str
    start: int
    end: int
    line: int
    joined: bool


def blocks(page: str) -> list[Block]:
    results: list[Block] = []
    at = 0
    for m in _BLOCK.finditer(page):
        joined = bool(results) and not page[at : m.start()].strip()
        results.append(Block(m["language"], m["body"], *m.span("body"), page.count("\n", 0, m.start()) + 2, joined))
        at = m.end()
    return results


def outputs(page: str, name: str) -> list[tuple[Block, str]]:
    """Run a page; return each block of expected output with what was printed.

    A diagnostic that ends a block is part of what it prints, where the page shows that.
    """
    space: dict[str, Any] = {"__name__": "__main__"}
    results = []
    every = blocks(page)
    for number, block in enumerate(every):
        if block.language != "python":
            continue
        after = every[number + 1 : number + 2]
        shown = after[0] if after and after[0].language == "text" and after[0].joined else None
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                exec(compile("\n" * (block.line - 1) + block.body, name, "exec"), space)
            except PasslabError as error:
                if shown is None:
                    raise
                out.write(f"{error}\n")
        if shown is not None:
            results.append((shown, out.getvalue()))
    return results


@pytest.fixture
def own_operators(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Operators that a page declares are gone after it, and so are its facts about others and the files it writes."""
    load()
    before = facts_of_tests()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(op, "_registry", dict(op._registry))
    yield
    for name, fact in facts_of_tests() - before:
        op.Op.get(name).reset_attr(fact)


@pytest.mark.usefixtures("own_operators")
@pytest.mark.parametrize(
    "path",
    [PAGES[0], *(pytest.param(path, marks=pytest.mark.rotating) for path in PAGES[1:])],
    ids=[path.relative_to(ROOT).as_posix() for path in PAGES],
)
def test_programs_of_the_page_print_what_it_says(path: Path, bless: bool) -> None:
    page = path.read_text(encoding="utf-8")
    result = outputs(page, path.name)
    if bless:
        for block, printed in reversed(result):
            page = page[: block.start] + normal(printed) + page[block.end :]
        path.write_text(page, encoding="utf-8")
    for block, printed in result:
        assert normal(printed) == (normal(printed) if bless else block.body), f"{path.name}:{block.line}"


def normal(printed: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in printed.rstrip().expandtabs(4).split("\n"))


CELLS = [
    (path, block)
    for path in PAGES
    for block in blocks(path.read_text(encoding="utf-8"))
    if block.body.startswith("%%relay")
]


@pytest.mark.parametrize(("path", "block"), CELLS, ids=[f"{path.stem}:{block.line}" for path, block in CELLS])
def test_relay_cells_of_the_page_have_types(path: Path, block: Block) -> None:
    assert len(passlab.parse(block.body.partition("\n")[2], path.name)) > 0


def test_every_page_is_reached_from_the_front_page() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = set(
        re.findall(r"^([\w/-]+)$", "".join(re.findall(r"```\{toctree\}\n(.*?)```", index, re.DOTALL)), re.MULTILINE)
    )
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in PAGES if path.is_relative_to(DOCS)}
    assert {page for page in listed if "lessons/" not in page} == {
        page for page in pages - {"index"} if not page.startswith("api/") or page == "api/index"
    }


RECIPES = sorted((DOCS / "how-to").glob("for-*.md"))


@pytest.mark.rotating
@pytest.mark.usefixtures("own_operators")
@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_each_recipe_runs_after_the_lines_that_come_first(path: Path) -> None:
    """Only after these, as the button on a program copies it: no recipe needs another one."""
    page = path.read_text(encoding="utf-8")
    setup, *recipes = re.split(r"^### ", page, flags=re.MULTILINE)
    for recipe in recipes:
        space: dict[str, Any] = {"__name__": "__main__"}
        for block in (*examples_in(setup), *examples_in(recipe)):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.body, f"{path.name}: {recipe.partition(chr(10))[0]}", "exec"), space)


def examples_in(page: str) -> list[Block]:
    return [block for block in blocks(page) if block.language == "python"]


def test_every_class_of_error_has_a_cause_and_a_cure() -> None:
    page = (DOCS / "reference/errors.md").read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    rows = {name.strip("`"): rest for name, *rest in cells}
    classes = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    raised = {name: cls for name, cls in classes.items() if issubclass(cls, (PasslabError, errors.Interruption))}
    assert set(rows) == set(raised)
    for name, (also, cause, fix) in rows.items():
        assert not also or issubclass(raised[name], vars(builtins)[also.strip("`")]), name
        assert len(cause.split()) > 3, name
        assert len(fix.split()) > 3, name


def test_each_page_of_the_reference_begins_with_an_example() -> None:
    silent = [path.name for path in PAGES if path.parent.name == "api" and path.stem != "index" and not examples(path)]
    assert not silent


def examples(path: Path) -> list[Block]:
    return examples_in(path.read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------------------------ links
def prose_of(path: Path) -> str:
    """The text of a page, or that of the prose of a notebook, without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return _BLOCK.sub("", text)


def anchors(path: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub and MyST write them."""
    headings = re.findall(r"^#+ (.*)$", prose_of(path), re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)) for heading in headings]
    return {word.strip().lower().replace(" ", "-") for word in words}


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for path in [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "notebooks").glob("*.ipynb"))]:
        for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`]*`", "", prose_of(path))):
            if "://" in target:
                continue
            file, _, anchor = target.partition("#")
            file = re.sub(r"lessons/(?=\d)", "../notebooks/", file)  # the build of the manual copies the lessons
            aimed = path.parent / file if file else path
            if not aimed.exists() or (anchor and aimed.suffix == ".md" and anchor not in anchors(aimed)):
                broken.append(f"{path.name}: {target}")
    assert not broken


def test_old_addresses_lead_to_pages_and_headings_that_exist() -> None:
    wrong = []
    for old, new in redirects.table().items():
        page, _, anchor = new.partition("#")
        path = DOCS / f"{page}.md"
        if not path.exists() or (anchor and anchor not in anchors(path)):
            wrong.append(f"{old}: {new} does not exist")
        if (DOCS / f"{old}.md").exists():
            wrong.append(f"{old} is still a page")
    assert not wrong
    assert (
        'location.replace(headings[heading] ?? "reference/passes.html" + location.hash)' in redirects.pages()["passes"]
    )
