"""The manual as it is built: without warnings, complete, its links lead somewhere, and its search answers questions."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import io
import json
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from playwright.sync_api import sync_playwright

from passlab.ir.op import Op
from passlab.notebook.extension import MAGICS
from tests.docs.test_manual import normal, own_operators  # noqa: F401 - a fixture

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "docs"))

import reference_pages  # noqa: E402 - a script of the manual, which is no package

# Questions that readers of the manual had, as they would type them, and the page that answers.
ASKED = [
    ("recording data frame", "how-to/for-compiler-engineers"),
    ("save recording", "how-to/for-compiler-engineers"),
    ("compare two programs", "how-to/for-pass-authors"),
    ("pattern rewriting", "lessons/06-pattern-rewriting"),
    ("save executable", "how-to/for-model-owners"),
    ("stop first NaN", "how-to/for-model-owners"),
    ("limit time memory depth", "how-to/for-model-owners"),
    ("own instrument order of hooks", "how-to/for-pass-authors"),
    ("compute gradient", "how-to/for-model-owners"),
    ("max_depth", "reference/configuration"),
    ("import PyTorch model", "how-to/importing-pytorch"),
    ("mixed precision", "how-to/for-model-owners"),
    ("configuration %passes", "how-to/for-compiler-engineers"),
    ("own instrument in %passes", "how-to/for-pass-authors"),
    ("%passes PassContext", "how-to/for-compiler-engineers"),
    ("weights constants bind_params_by_name", "how-to/for-model-owners"),
    ("arguments of passlab.record", "how-to/for-compiler-engineers"),
    ("grammar of the text", "reference/language"),
    ("write an exercise nbval", "how-to/writing-an-exercise"),
    ("save graph SVG DOT", "how-to/for-compiler-engineers"),
]
MORE = [
    ("import ONNX model", "how-to/for-model-owners"),
    ("quantise network", "how-to/for-model-owners"),
    ("count operators", "how-to/for-pass-authors"),
    ("find all calls of an operator", "how-to/for-pass-authors"),
    ("replace operator", "how-to/for-pass-authors"),
    ("accept any batch size", "how-to/for-model-owners"),
    ("time the passes", "how-to/for-pass-authors"),
    ("print program after pass", "how-to/for-pass-authors"),
    ("disabled pass", "how-to/for-compiler-engineers"),
    ("which pass broke the program", "how-to/for-compiler-engineers"),
    ("smallest failing program", "how-to/for-pass-authors"),
    ("fuzz counterexample", "how-to/for-pass-authors"),
    ("numeric contract of a pass", "explanation/numeric-contracts"),
    ("match clauses", "reference/language"),
    ("post-dominator", "reference/glossary"),
    ("alloc_storage", "reference/instructions"),
    ("FoldScaleAxis", "reference/passes"),
    ("nn.conv2d", "reference/operators"),
    ("differences TVM", "reference/differences-from-tvm"),
    ("Netron", "explanation/comparison"),
    ("open LLVM dump", "how-to/for-compiler-engineers"),
    ("record MLIR passes", "how-to/dumps"),
    ("debugger step_back", "how-to/time-travel"),
    ("compile program to plain Python", "how-to/for-model-owners"),
    ("old programs tvm", "how-to/old-programs"),
    ("write an operator", "how-to/writing-an-operator"),
    ("%fuzz seconds", "reference/magics"),
    ("keep notebook free of outputs that change", "how-to/for-teachers"),
    ("memory of a run", "how-to/for-compiler-engineers"),
    ("hover type", "reference/notebook"),
    ("PassContext.list_configs", "api/transform"),
    ("StructureError", "api/errors"),
]
# Words that people type, and tasks whose answer was hard to find.
TYPED = [
    ("Colab", "how-to/troubleshooting"),
    ("FAQ", "how-to/troubleshooting"),
    ("troubleshooting", "how-to/troubleshooting"),
    ("dark mode", "how-to/troubleshooting"),
    ("keyboard shortcuts", "how-to/troubleshooting"),
    ("license", "how-to/troubleshooting"),
    ("AllocTensor", "how-to/troubleshooting"),
    ("jupyter classic notebook", "how-to/troubleshooting"),
    ("uninstall", "how-to/troubleshooting"),
    ("install", "how-to/troubleshooting"),
    ("widget blank", "how-to/troubleshooting"),
    ("it hangs", "how-to/troubleshooting"),
    ("interrupt run", "how-to/for-model-owners"),
    ("what is a pass", "how-to/troubleshooting"),
    ("module pass", "how-to/for-pass-authors"),
    ("test a pass", "how-to/for-pass-authors"),
    ("register a pass", "how-to/writing-a-pass"),
    ("required pass", "how-to/for-compiler-engineers"),
    ("change attribute of a call", "how-to/for-pass-authors"),
    ("option of my pass", "how-to/for-pass-authors"),
    ("ONNX opset", "how-to/importing-models"),
    ("why is recording cheap memory", "explanation/recordings-are-cheap"),
    ("numeric contract", "explanation/numeric-contracts"),
    ("verdict unknown dump", "explanation/what-a-dump-proves"),
    ("checkpoint time travel", "explanation/how-time-travel-works"),
    ("sharp bits", "explanation/sharp-bits"),
    ("speed onnxruntime", "explanation/speed"),
    ("LimitError", "reference/errors"),
    ("limits default", "reference/limits"),
    ("MissingPackageError", "reference/errors"),
    ("grade a class", "how-to/for-teachers"),
    ("nbgrader", "how-to/course"),
    ("torch.compile recompilation", "tutorials/first-hour-torch-compile"),
    ("LLVM tutorial dump", "tutorials/first-hour-llvm"),
    ("VS Code", "reference/hosts"),
    ("marimo", "reference/hosts"),
    ("deploy program without passlab", "how-to/shipping"),
    ("GPU cuda", "how-to/devices"),
    ("%0 mean", "how-to/troubleshooting"),
    ("Relay introduction minutes", "explanation/relay-in-ten-minutes"),
]
# What strangers typed, who do not know what passlab calls it.
STRANGERS = [
    ("layout NHWC", "lessons/13-layouts"),
    ("share a recording", "how-to/recordings"),
    ("compare two passes", "how-to/comparing-pipelines"),
    ("print IR after each pass", "how-to/for-pass-authors"),
    ("install on colab", "how-to/troubleshooting"),
    ("out of memory", "how-to/troubleshooting"),
    ("onnx opset version", "how-to/importing-models"),
    ("what is a relation", "reference/glossary"),
    ("how do I write my own pass", "how-to/writing-a-pass"),
    ("gpu", "how-to/devices"),
    ("kernel died", "how-to/troubleshooting"),
    ("jupyter lab extension not found", "how-to/troubleshooting"),
    ("huggingface", "how-to/importing-pytorch"),
    ("dynamic shape", "how-to/for-model-owners"),
    ("variable length input", "how-to/for-model-owners"),
    ("unsupported operator", "how-to/importing-models"),
    ("wrong result after optimization", "how-to/finding-faults"),
    ("bisect", "how-to/finding-faults"),
    ("delta debugging", "how-to/finding-faults"),
    ("int8 quantization", "lessons/13c-quantisation"),
    ("clang print-after-all", "how-to/llvm"),
    ("mlir-opt dump", "how-to/mlir"),
    ("JAX dump", "how-to/xla"),
    ("triton kernel ptx", "how-to/triton"),
    ("gimple gcc dump", "how-to/gcc"),
    ("graph break", "tutorials/first-hour-torch-compile"),
    ("benchmark a model", "how-to/for-model-owners"),
    ("send to a colleague", "how-to/recordings"),
    ("reverse debugging", "how-to/time-travel"),
    ("windows", "how-to/troubleshooting"),
    ("docker offline", "how-to/troubleshooting"),
    ("telemetry privacy", "how-to/troubleshooting"),
    ("upgrade deprecation", "reference/versions"),
    ("tvm import error", "how-to/old-programs"),
    ("relax", "how-to/troubleshooting"),
    ("operator fusion explained", "lessons/10-operator-fusion"),
    ("dead code elimination", "reference/passes"),
    ("optimization level", "how-to/for-compiler-engineers"),
    ("recursion depth", "reference/limits"),
    ("output too long", "reference/limits"),
    ("font size zoom graph", "reference/keys"),
    ("export picture for paper", "how-to/for-compiler-engineers"),
    ("random seed reproducible", "how-to/fuzzing"),
    ("thread safe", "reference/ownership"),
    ("json", "how-to/for-compiler-engineers"),
    ("pandas", "how-to/for-compiler-engineers"),
    ("shape mismatch error", "reference/errors"),
    ("change batch size", "how-to/for-model-owners"),
    ("regression test in ci", "how-to/for-pass-authors"),
    ("contribute", "develop/architecture"),
    ("cheat sheet", "reference/keys"),
    ("slides presentation", "how-to/for-teachers"),
    ("screen reader", "reference/notebook"),
    ("multiprocessing", "how-to/searching-on-several-machines"),
    ("solution of an exercise", "how-to/course"),
    ("why is my pass not applied", "how-to/troubleshooting"),
    ("missed remark vectorize", "how-to/llvm"),
    ("train a network", "lessons/12b-training"),
    ("attributes of conv2d", "reference/operators"),
    ("list all operators", "reference/operators"),
    ("types mypy", "reference/versions"),
    ("vm instructions", "reference/instructions"),
    ("get intermediate activations", "how-to/for-model-owners"),
    ("create new node", "how-to/for-pass-authors"),
    ("step through program", "how-to/time-travel"),
    ("undefined variable error", "reference/errors"),
    ("infinite loop", "how-to/troubleshooting"),
    ("roadmap", "reference/versions"),
    ("compare two versions of clang", "how-to/llvm"),
    ("why did validation fail", "explanation/how-validation-decides"),
    ("tolerance too strict", "explanation/numeric-contracts"),
    ("who wrote this line", "tutorials/explorer"),
    ("student progress", "how-to/course"),
    ("how long does it take", "explanation/speed"),
]
QUESTIONS = [*ASKED, *MORE, *TYPED, *STRANGERS]
HEADINGS = [
    (heading, f"how-to/{path.stem}")
    for path in sorted((ROOT / "docs/how-to").glob("for-*.md"))
    for heading in re.findall(r"^### (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
]


# Building the manual takes a minute of computing.
built = pytest.mark.nightly


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built manual."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", str(folder)]
    build = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert build.returncode == 0, build.stderr
    return folder


@built
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    header, _, body = (site / "objects.inv").read_bytes().partition(b"zlib.\n")
    assert b"# Sphinx inventory version 2" in header
    listed = {line.split(" ", 1)[0] for line in zlib.decompress(body).decode().splitlines()}
    missing = [
        f"{module}.{name}"
        for module in reference_pages.MODULES.values()
        for name in reference_pages.public_names(importlib.import_module(module))
        if f"{module}.{name}" not in listed
    ]
    assert not missing
    assert "passlab.transform.PassContext.list_configs" in listed, "methods are listed, too"


def test_each_module_has_a_page() -> None:
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md")}
    assert {name: reference_pages.API.findall(pages[name]) for name in reference_pages.MODULES} == {
        name: [module] for name, module in reference_pages.MODULES.items()
    }


def test_every_public_name_has_words_of_its_own() -> None:
    silent = [
        f"{module}.{name}"
        for module in reference_pages.MODULES.values()
        for name in reference_pages.public_names(importlib.import_module(module))
        if not reference_pages._doc(getattr(importlib.import_module(module), name))
    ]
    assert not silent


def names_in(block: str) -> set[str]:
    """The names that a program mentions."""
    nodes = list(ast.walk(ast.parse(block)))
    return {
        *(node.id for node in nodes if isinstance(node, ast.Name)),
        *(node.attr for node in nodes if isinstance(node, ast.Attribute)),
        *(node.name.rpartition(".")[2] for node in nodes if isinstance(node, ast.alias)),
    }


def test_every_public_name_has_an_example_that_runs() -> None:
    """`test_manual` runs the programs of all pages. Operators have examples in Relay; submodules need none."""
    operators = {name.rpartition(".")[2] for name in Op.list_op_names()}
    pages = {name: (ROOT / "docs/api" / f"{name}.md").read_text(encoding="utf-8") for name in reference_pages.MODULES}
    shown = {
        f"{module}.{name}"
        for page, module in reference_pages.MODULES.items()
        for name in (
            *reference_pages.examples_of(pages[page]),
            *names_in("\n".join(python_of(pages[page].partition("<!-- example")[0]))),
        )
    }
    without = []
    for module in reference_pages.MODULES.values():
        for name in reference_pages.public_names(importlib.import_module(module)):
            value = getattr(importlib.import_module(module), name)
            is_operator = module == "passlab.relay" and name in operators
            every = {f"{module}.{name}", *reference_pages.same_elsewhere(module, name)}
            if not (inspect.ismodule(value) or is_operator or every & shown):
                without.append(f"{module}.{name}")
    assert not without


def test_an_example_uses_the_names_it_is_an_example_of() -> None:
    idle = [
        f"{page}: {name}"
        for page in reference_pages.MODULES
        for name, blocks in reference_pages.examples_of(
            (ROOT / "docs/api" / f"{page}.md").read_text(encoding="utf-8")
        ).items()
        for block in blocks
        if name not in names_in("\n".join(python_of(block)))
    ]
    assert not idle


@pytest.mark.rotating
@pytest.mark.usefixtures("own_operators")
@pytest.mark.parametrize("page", reference_pages.MODULES)
def test_each_example_stands_alone(page: str) -> None:
    examples = reference_pages.examples_of((ROOT / "docs/api" / f"{page}.md").read_text(encoding="utf-8"))
    for blocks in dict.fromkeys(block for several in examples.values() for block in several):
        (program,) = python_of(blocks)
        expected = re.findall(r"^```text\n(.*?)^```", blocks, re.DOTALL | re.MULTILINE)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(program, f"{page}.md", "exec"), {"__name__": "__main__"})
        assert [normal(out.getvalue())] == (expected or ["\n"]), program


def python_of(page: str) -> list[str]:
    """The Python blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def test_every_magic_is_on_its_page_with_its_options() -> None:
    page = "\n".join(reference_pages.magics())
    headings = set(re.findall(r"`(%+\w+)`", " ".join(re.findall(r"^## .*$", page, re.MULTILINE))))
    assert headings == {f"{mark}{name}" for kind, mark in (("line", "%"), ("cell", "%%")) for name in MAGICS[kind]}
    assert "`--seconds`" in page
    assert "`--random`" in page[page.index("## `%run`") :], "the options of programs, not the words about scripts"


def test_every_command_is_on_its_page_with_its_options() -> None:
    page = "\n".join(reference_pages.commands())
    for command in ("opt", "run", "report", "culprit", "fuzz", "bisect", "dump", "passes", "doctor"):
        assert f"## `passlab {command}`" in page
    assert "`--print-after` `PASSES`" in page


# ------------------------------------------------------------------------------------------------ search
# Ask the page of the search itself: the pages that it would list for each question, the likeliest first.
SEARCH = """questions => questions.map(question => {
  const [query, words, excluded, , objects] = Search._parseQuery(question);
  const pages = Search._performSearch(query, words, excluded, [], objects).reverse().map(([page]) => page);
  return [...new Set(pages)];
})"""


@pytest.fixture(scope="module")
def answers(site: Path, chromium: Path) -> dict[str, list[str]]:
    """The pages that the search of the built manual lists for each question, as a reader's browser ranks them."""
    asked = [question for question, _ in [*QUESTIONS, *HEADINGS]]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto((site / "search.html").as_uri())
        page.wait_for_function("Search._index")
        listed = page.evaluate(SEARCH, asked)
        browser.close()
    return dict(zip(asked, listed, strict=True))


@built
@pytest.mark.browser
@pytest.mark.parametrize(("question", "page"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_a_question_is_answered_in_two_clicks(answers: dict[str, list[str]], question: str, page: str) -> None:
    assert page in answers[question][:5], f"the search finds {answers[question][:8]}"


@built
@pytest.mark.browser
def test_most_questions_are_answered_by_the_first_page(answers: dict[str, list[str]]) -> None:
    later = [question for question, page in QUESTIONS if answers[question][:1] != [page]]
    assert len(later) < len(QUESTIONS) / 3, later


@built
@pytest.mark.browser
@pytest.mark.parametrize(("heading", "page"), HEADINGS, ids=[heading for heading, _ in HEADINGS])
def test_the_search_finds_each_how_to_by_its_heading(answers: dict[str, list[str]], heading: str, page: str) -> None:
    assert page in answers[heading][:5]


def test_the_words_that_people_type_lead_to_pages_that_exist() -> None:
    script = (ROOT / "docs/static/search.js").read_text(encoding="utf-8")
    rows = script.partition("const TYPED = `\n")[2].partition("\n`;")[0].splitlines()
    pages = [row.partition(": ")[0] for row in rows]
    assert len(pages) > 40
    assert len(set(pages)) == len(pages), "one line a page"
    lessons = {f"lessons/{path.stem}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert not [page for page in pages if page not in lessons and not (ROOT / "docs" / f"{page}.md").exists()]


def _is_moved(page: Path) -> bool:
    """Whether a page only leads from an old address to a new one."""
    return "<title>This page has moved</title>" in page.read_text(encoding="utf-8")


@built
def test_the_front_page_leads_to_every_page_in_two_clicks(site: Path) -> None:
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html") if not _is_moved(path)}
    pages = {page for page in pages if not page.startswith(("_", "py-modindex", "search", "genindex"))}
    one = _targets(site, "index.html")
    two = {target for page in one for target in _targets(site, page)}
    assert not pages - one - two


# ------------------------------------------------------------------------------------------------ links
class Links(HTMLParser):
    """The targets and the anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if (tag, name) in {("a", "href"), ("img", "src"), ("link", "href"), ("script", "src")} and value:
                self.targets.append(value)


@functools.cache
def links(page: Path) -> Links:
    parser = Links()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def _targets(site: Path, page: str) -> set[str]:
    """The pages of the manual that a page links to."""
    path = site / page
    local = {urldefrag(target)[0] for target in links(path).targets if "://" not in target}
    resolved = {(path.parent / unquote(target)).resolve() for target in local if target.endswith(".html")}
    return {target.relative_to(site.resolve()).as_posix() for target in resolved if target.exists()}


@built
def test_every_link_leads_somewhere(site: Path) -> None:
    broken = []
    for page in sorted(site.rglob("*.html")):
        for target in links(page).targets:
            if re.match(r"[a-z]+:", target):
                continue
            path, anchor = urldefrag(unquote(target))
            aimed = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not aimed.exists():
                broken.append(f"{page.relative_to(site)}: {target}")
            elif anchor and aimed.suffix == ".html" and anchor not in links(aimed).anchors:
                broken.append(f"{page.relative_to(site)}: {target} has no such anchor")
    assert not broken


@built
def test_lessons_are_pages_with_their_pictures(site: Path) -> None:
    lessons = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    pages = {name: (site / "lessons" / f"{name}.html").read_text(encoding="utf-8") for name in lessons}
    assert not [name for name, page in pages.items() if page.count("output text_html") < 2], "two drawings each"
    assert "application/vnd.jupyter.widget-view" not in "".join(pages.values())


# ------------------------------------------------------------------------------------------------ spelling
# Words of the code that a spelling list takes for slips.
RIGHT = "unequality,canonicalizations,befores,passtime,ans,mak,te,fo,ist,nd,hist,ore,datas,inout,som,clos,indx,caf,nin,wit,parms,ccompiler"


def test_words_are_spelt_correctly(tmp_path: Path) -> None:
    prose = [str(ROOT / name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    prose += [str(path) for path in (ROOT / "docs").rglob("*.md")]
    prose += [str(path) for path in (ROOT / "passlab").rglob("*.py")]
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        copy = tmp_path / f"{path.stem}.txt"
        copy.write_text("\n\n".join("".join(cell["source"]) for cell in cells), encoding="utf-8")
        prose.append(str(copy))
    command = [str(Path(sys.executable).with_name("codespell")), "-L", RIGHT, *prose]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
