"""The reading path: each of the twelve files opens as the list says, and its examples print what they say."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_docstring_examples import IMPORTS

ROOT = Path(__file__).resolve().parents[2]

LIST, _, BREAKS = (ROOT / "docs/develop/reading.md").read_text().partition("## Twelve lines to break")


def rows(page: str) -> list[list[str]]:
    """The rows of a table that begin with a number, as cells."""
    lines = [line for line in page.splitlines() if re.match(r"\| \d", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


CHAPTERS = rows(LIST)
FILES = [chapter[1].strip("`") for chapter in CHAPTERS]
BESIDE = [file for chapter in CHAPTERS for file in re.findall(r"`([\w/]+\.py)`", chapter[4])]
# Runs the examples of a module, of which one line is changed: what was imported before has the module itself.
BROKEN = """
import doctest, importlib, importlib.abc, importlib.machinery, importlib.util, sys
name, path, old, new, imports = sys.argv[1:]
class Broken(importlib.machinery.SourceFileLoader):
    def get_code(self, _):
        return compile(self.get_data(path).decode().replace(old, new), path, "exec", dont_inherit=True)
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, wanted, *_):
        return importlib.util.spec_from_file_location(name, path, loader=Broken(name, path)) if wanted == name else None
sys.meta_path.insert(0, Finder())
space = {}
exec(imports, space)
failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS, extraglobs=space)
sys.exit(3 if failed else 0)
"""


def module_of(file: str) -> str:
    return "passlab." + file.removesuffix(".py").replace("/", ".")


def test_there_are_twelve_chapters_in_order() -> None:
    assert [chapter[0] for chapter in CHAPTERS] == [str(number) for number in range(1, 13)]


def examples(file: str) -> tuple[int, int]:
    """Run the examples of a file. Return how many failed, and how many there are."""
    module, space = importlib.import_module(module_of(file)), dict[str, Any]()
    exec(IMPORTS, space)  # what the examples of the reference need
    return doctest.testmod(module, optionflags=doctest.ELLIPSIS, extraglobs=space)


@pytest.mark.parametrize("file", FILES)
def test_a_chapter_has_examples_that_run(file: str) -> None:
    failed, tried = examples(file)
    assert tried >= 3
    assert not failed


@pytest.mark.parametrize("file", BESIDE)
def test_examples_beside_a_chapter_run(file: str) -> None:
    failed, _ = examples(file)
    assert not failed


@pytest.mark.parametrize("file", FILES)
def test_the_examples_of_a_chapter_see_its_broken_line(file: str) -> None:
    number, old, new, question = rows(BREAKS)[FILES.index(file)]
    path = ROOT / "passlab" / file
    old, new = old.strip("`"), new.strip("`")
    assert number == str(FILES.index(file) + 1)
    assert path.read_text().count(old) == 1
    assert question.endswith("?")
    command = [sys.executable, "-c", BROKEN, module_of(file), str(path), old, new, IMPORTS]
    assert subprocess.run(command, check=False, cwd=ROOT, stdout=subprocess.DEVNULL, timeout=100).returncode == 3


@pytest.mark.parametrize("file", FILES)
def test_a_chapter_has_what_to_look_for(file: str) -> None:
    _, _, question, names, _ = CHAPTERS[FILES.index(file)]
    text = (ROOT / "passlab" / file).read_text()
    defined = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assigned = set(re.findall(r"^(\w+)(?:: [^=\n]+)? = ", text, re.MULTILINE))
    wanted = re.findall(r"`(\w+)`", names)
    assert wanted
    assert set(wanted) <= defined | assigned
    assert question.endswith("?")


@pytest.mark.parametrize("file", FILES)
def test_a_chapter_opens_with_its_question(file: str) -> None:
    question = CHAPTERS[FILES.index(file)][2]
    doc = ast.get_docstring(ast.parse((ROOT / "passlab" / file).read_text())) or ""
    assert doc.split("\n\n")[1].replace("\n", " ").startswith(question)


PYTHONS = ("__setattr__", "__delattr__", "__getattr__", "__getitem__")  # whose errors Python has settled


def silent(tree: ast.Module) -> list[str]:
    """The public functions and classes that raise an error, where no docstring says so."""
    results = []
    for node in ast.walk(tree):
        parts = node.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_") else []
        if isinstance(node, ast.Module):
            parts = node.body
        for part in parts:
            if isinstance(part, ast.FunctionDef) and (part.name.endswith("__") or not part.name.startswith("_")):
                docs = [ast.get_docstring(one) or "" for one in (part, node)]  # of a constructor the class has it
                raises = any(isinstance(one, ast.Raise) and isinstance(one.exc, ast.Call) for one in ast.walk(part))
                if raises and not any("Raise" in doc for doc in docs) and part.name not in PYTHONS:
                    results.append(f"{getattr(node, 'name', '')}.{part.name}")
    return results


@pytest.mark.parametrize("file", FILES)
def test_a_chapter_says_what_it_raises(file: str) -> None:
    assert not silent(ast.parse((ROOT / "passlab" / file).read_text()))


def used_before(tree: ast.Module) -> list[str]:
    """The constants that stand below what uses them, though they need nothing of the file, as a table of functions does."""
    own = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    results = []
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
            if own.isdisjoint(part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)):
                results += sorted({use.id for use in uses if use.id in names and use.lineno < node.lineno})
    return results


@pytest.mark.parametrize("file", FILES)
def test_a_chapter_has_constants_before_their_use(file: str) -> None:
    assert not used_before(ast.parse((ROOT / "passlab" / file).read_text()))


def test_a_chapter_imports_no_later_one() -> None:
    for number, file in enumerate(FILES):
        tree = ast.parse((ROOT / "passlab" / file).read_text())
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not imported & {module_of(later) for later in FILES[number + 1 :]}, file
