"""`passlab docs`: the manual as text, without a network: its pages, and the sections that answer a question.

    $ passlab docs which pass broke the program
    $ passlab docs how-to/llvm

The pages are the Markdown from which the manual is built. The wheel carries them; a checkout has them in `docs`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import passlab
from passlab.errors import Diagnostic, PasslabError

GROUPS = ("tutorials", "how-to", "explanation", "reference", "api", "develop")
SHOWN = 5  # other sections that an answer names
MAGICS = (
    "%%relay %passes %graph %blame %run %vm %compare %bisect %culprit %fuzz %instruments %simplify %dump %%llvm %%mlir"
)
# What a page says that is written from the code when the manual is built, and where else it stands.
WRITTEN = {
    "reference/passes": "`passlab passes` prints the table of this page.",
    "reference/operators": "`relay.op.list()` returns the table of this page, `help(relay.nn.conv2d)` explains a row.",
    "reference/magics": f"They are {MAGICS}. In a notebook, a question mark after one explains it: `%passes?`.",
    "reference/command-line": "`passlab COMMAND --help` lists the options of a command.",
    "reference/configuration": "`transform.PassContext.list_configs()` returns the keys.",
    "reference/limits": "`passlab.limits.current()` shows the limits.",
    "reference/instructions": "`passlab.vm.isa.ISA` has the instructions.",
    "how-to/importing-models": "`passlab.frontend.onnx.entries.entries()` lists the operators of ONNX that are read.",
    "how-to/importing-pytorch": "`passlab.frontend.pytorch.entries.entries()` lists the operators that are read.",
    "develop/benchmark-results": "The results are in `benchmarks/records` of the source.",
    "api/index": "`help(passlab)` describes the names that one needs first.",
}
# Words of questions that stand on every page.
COMMON = (
    "a an and are be can do does for from how i in is it me my of on or own the that this to want what where with you"
)


class Section(NamedTuple):
    """A part of a page under one heading: the name of the page, the heading, and the text with the heading."""

    page: str
    heading: str
    text: str


def folder() -> Path:
    """Return the folder of the pages. Raises `PasslabError` if neither the package nor a checkout has them."""
    package = Path(passlab.__file__).parent
    for place in (package / "pages", package.parent / "docs"):
        if (place / "index.md").is_file():
            return place
    raise PasslabError(Diagnostic("this installation has no manual", hint="install passlab from its wheel"))


def pages() -> dict[str, str]:
    """Return the text of each page by its name, such as `how-to/llvm`, without what only the built manual shows."""
    top = folder()
    paths = [path for group in GROUPS for path in sorted((top / group).glob("*.md"))]
    return {path.relative_to(top).with_suffix("").as_posix(): _plain(path) for path in paths}


def _plain(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^```\{toctree\}.*?^```\n?|<!--.*?-->\n?|^\([\w-]+\)=\n", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\[\]\((?:\.\./)?([\w/-]+)\.md[^)]*\)", r"`passlab docs \1`", text)  # the build writes the titles
    name = f"{path.parent.name}/{path.stem}"
    module = re.match(r"# `(passlab[\w.]*)`", text)
    more = WRITTEN.get(name) or (f"`help({module[1]})` describes every name." if module else "")
    return f"{text.strip()}\n\n{more}".strip()


def sections(page: str, text: str) -> list[Section]:
    """Return the parts of a page, split at its headings; a `#` inside a program is not one."""
    outside = re.sub(r"^(`{3,}|:{3,}).*?^\1", lambda block: "x" * len(block[0]), text, flags=re.DOTALL | re.MULTILINE)
    starts = [match.start() for match in re.finditer(r"^#{1,3} ", outside, re.MULTILINE)]
    parts = [text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    return [Section(page, part.partition("\n")[0].lstrip("# "), part) for part in parts]


def answers(question: Sequence[str]) -> list[Section]:
    """Return the sections that hold most of a question, the likeliest first: rare words and headings count most."""
    asked = {_stem(word) for word in re.findall(r"\w[\w.-]*", " ".join(question).lower())} - {*COMMON.split()}
    every = [section for page, text in pages().items() for section in sections(page, text)]
    words = [_stems(section.text) for section in every]
    titles = [_stems(f"{section.heading} {section.page}") for section in every]
    holding = Counter(word for found in words for word in asked & found.keys())
    weight = {word: math.log(1 + len(every) / holding[word]) for word in holding}
    all_words = sum(weight.values())
    scores = []
    for number, section in enumerate(every):
        held = asked & words[number].keys()
        score = sum(weight[word] * (3 if word in titles[number] else 1) for word in held)
        if held and sum(weight[word] for word in held) >= 0.45 * all_words:
            place = {"how-to": 1.2, "tutorials": 1.1, "develop": 0.6, "api": 0.8}.get(
                section.page.partition("/")[0], 1.0
            )
            # Of two headings with the same words of a question, the shorter one is about it.
            score *= 1 + 0.1 * len(asked & titles[number].keys()) / len(titles[number])
            scores.append((-score * place, number))
    return [every[number] for _, number in sorted(scores)]


def _stems(text: str) -> Counter[str]:
    return Counter(_stem(word) for word in re.findall(r"\w[\w.-]*", text.lower()))


def _stem(word: str) -> str:
    """Return a word without its ending, so that `passes` and `pass`, `recorded` and `recording` are the same."""
    short = re.sub(r"(?:ings?|e[sd]|s|e)$", "", word.strip(".-"))
    return short if len(short) > 2 else word


def document(words: Sequence[str]) -> str:
    """Return the list of pages without words; the page of a name; or else the section that answers the words.

    Raises `PasslabError` if no page holds them.
    """
    every = pages()
    if not words:
        return "\n".join(f"{name:38} {text.partition(chr(10))[0].lstrip('# ')}" for name, text in every.items())
    name = words[0].removesuffix(".md")
    named = [page for page in every if len(words) == 1 and name in (page, page.partition("/")[2])]
    if named:
        return every[named[0]]
    found = answers(words)
    if not found:
        raise PasslabError(
            Diagnostic(f"no page of the manual holds `{' '.join(words)}`", hint="`passlab docs` lists the pages")
        )
    others = dict.fromkeys(f"passlab docs {section.page:32} {section.heading}" for section in found[1 : SHOWN + 1])
    return "\n".join([f"({found[0].page})\n\n{found[0].text}", *(["\nSee also:"] if others else []), *others])
