"""The pages on how passlab is built show what the code is: its packages, their imports, and files that exist."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

import package_picture  # noqa: E402 - a script of the manual, which is no package

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def titles(kind: str) -> set[str]:
    """The titles of the nodes or edges of the stored picture, as Graphviz writes them."""
    picture = package_picture.PICTURE.read_text(encoding="utf-8")
    groups = re.findall(rf'class="{kind}">\s*<title>(.*?)</title>', picture)
    return {html.unescape(title) for title in groups if "used by all" not in title}


def test_the_picture_shows_the_imports_of_the_code() -> None:
    drawn = {tuple(title.split("->")) for title in titles("edge")}
    assert drawn == package_picture.arrows(), "run `python docs/package_picture.py` and look at the picture"
    assert titles("node") == set(package_picture.packages()) - set(package_picture.GROUND)


def test_the_page_lists_every_package() -> None:
    page = (ROOT / "docs/develop/architecture.md").read_text(encoding="utf-8")
    first_cells = "".join(re.findall(r"^\|(.*?)\|", page, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", first_cells)) == set(package_picture.packages())


def test_arrows_leave_out_what_follows_from_others() -> None:
    arrows = package_picture.arrows()
    imports = package_picture.imports()
    assert all(target in imports[source] for source, target in arrows)
    assert ("notebook", "course") in arrows
    assert "ir" in imports["passes"]
    assert ("passes", "ir") not in arrows, "reached through other packages"


@each("path", PAGES, ids=lambda path: path.stem)
def test_files_that_a_page_names_exist(path: Path) -> None:
    named = set(
        re.findall(r"`((?:passlab|tests|docs|notebooks|benchmarks|extension)/[\w./-]*\w)`", path.read_text("utf-8"))
    )
    assert not [name for name in named if not (ROOT / name).exists()]
