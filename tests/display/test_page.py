"""A view as one file: everything inside, nothing from outside, hostile data included."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

import passlab
from passlab.display import module_view, recording_view, table_view
from passlab.display.pages.page import document, write
from passlab.display.pages.scripts import STYLES, WEB, inline, script, style
from passlab.errors import PasslabError
from tests.architecture.sources import ROOT
from tests.display.programs import HOSTILE, Reader, hostile, network
from tests.display.view_examples import EXAMPLES, LIVE, SCRIPTS
from tests.each import each


def test_a_page_fetches_nothing():
    page = document(module_view(network()))
    assert not re.findall(r"(?:src|href)\s*=|url\(|@import|https?://(?!www\.w3\.org/)", page)
    assert "default-src 'none'" in page


def test_hostile_names_stay_inside_the_data():
    page = document(module_view(hostile()))
    assert page.count("<script") == 2
    (state,) = re.findall(r'<script type="application/json" id="state">(.*?)</script>', page, re.DOTALL)
    assert any("alert(1)" in line[0] for line in json.loads(state)["data"]["lines"])
    assert HOSTILE.split(" ")[0] not in page


def test_a_page_is_written_whole(tmp_path):
    view = recording_view(passlab.record(network(), "FuseOps"))
    write(view, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == document(view)


def test_a_table_is_no_page():
    with pytest.raises(PasslabError, match="is a table"):
        document(table_view(passlab.record(network(), "FuseOps").blame()))


@each("name", LIVE)
def test_every_view_with_a_widget_can_be_a_page_that_shows_its_static_form_first(name):
    view = EXAMPLES[name]()
    page = document(view)
    first, rest = re.search(
        r'<div class="pl-first">(.*)</div></div><noscript><style>.*</style>(.*)</noscript>', page, re.DOTALL
    ).groups()
    assert view.html() == f"<div>{first}{rest}</div>"
    assert Reader(first).text.strip()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_one_module_without_imports(name):
    code = script(name)
    assert not re.search(r"(?<![.\w])import\s*[\w{*\"'(]", code)
    assert code.endswith("export default view.default;\n")
    assert "</script" not in code


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_page_needs_no_address_to_import_its_script_from(name):
    assert not re.search(r"(?<![.\w])(?:import\s*[\w{*\"'(]|export\s*[\w{*])", inline(name))
    assert inline(name).endswith("const { render } = view.default;\n")


def test_the_bundles_are_those_of_the_sources():
    """What `web/build.mjs` writes beside them: a hash over the names and texts of what it reads."""
    result = hashlib.sha256()
    sources = [path for kind in ("js", "json") for path in sorted(WEB.glob(f"*.{kind}"), key=lambda path: path.name)]
    for path in [*sources, ROOT / "package-lock.json"]:
        result.update(path.name.encode() + b"\0" + path.read_bytes())
    stamp = (WEB / "dist/built-from.txt").read_text(encoding="ascii").strip()
    assert stamp == result.hexdigest(), "run `make scripts` and commit what it writes"


def test_every_entry_has_a_bundle_and_every_bundle_an_entry():
    entries = {path.name for path in WEB.glob("*.js") if "\nexport default {" in path.read_text(encoding="utf-8")}
    assert {path.name for path in (WEB / "dist").glob("*.js")} == entries
    assert {f"{name}.js" for name in [*SCRIPTS, "live"]} == entries


@each("path", sorted([*WEB.glob("*.js"), *WEB.glob("*.css")]), ids=lambda path: path.name)
def test_sources_begin_with_what_they_are_for(path):
    assert path.read_text(encoding="utf-8").startswith(("// ", "/* "))


def test_every_style_sheet_is_used():
    assert {path.stem for path in WEB.glob("*.css")} == set(STYLES)


def test_the_style_sheet_fetches_nothing():
    assert "url(" not in style()
    assert "@import" not in style()
