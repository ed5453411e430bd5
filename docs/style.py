"""Check the prose of passlab against its style sheet (`docs/develop/style.md`): `python docs/style.py [FILES]`.

Looks at the manual, the lessons' texts, docstrings, messages, and the labels of views, and prints a line a finding.
A checker such as Vale reads whole files: it would first have to be told which strings of the code are messages.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 35


class Text(NamedTuple):
    """A piece of prose: its file, its first line, the kind of text, and the words."""

    path: Path
    line: int
    kind: str  # "manual", "reference", "lesson", "docstring", "message" or "label"
    words: str


class Rule(NamedTuple):
    """A habit to avoid: its name, what finds it, what to do, and a sentence that is wrong and one that is right."""

    name: str
    pattern: str
    fix: str
    bad: str
    good: str
    kinds: tuple[str, ...] = ()  # () is every kind


PROSE = ("manual", "reference", "lesson", "docstring")
RULES = [
    Rule(
        "that-of",
        r"\b(?:that|those) of\b(?! course)",
        "repeat the noun",
        "The type of a subclass is that of Python.",
        "A subclass compares as the Python type.",
    ),
    Rule(
        "is-none",
        r"\b(?:is|are|was|were) none\b(?! of\b)|\bwhat (?:is|are) no\b",
        "write `not a ...` or `there is no ...`",
        "Return None for a line that is none.",
        "Return None if the line is not a heading.",
    ),
    Rule(
        "is-no",
        r"(?<!\b[Tt]here )\b(?:is|are) no (?!longer|more\b|less|better|worse|matter|faster|slower|larger|one\b)",
        "write `is not a ...` or `has no ...`",
        "Raise for what is no module; the value is no tensor.",
        "Raise unless the value is a module.",
    ),
    Rule(
        "where-there-is",
        r"\bwhere there (?:is|are)\b|\bif there is none\b|\bwhere (?:it|they) (?:is|are) (?:none|not)\b",
        "write `if it has a ...`, `on machines with ...`",
        "It runs on a CUDA device where there is one.",
        "It runs on a CUDA device if the machine has one.",
    ),
    Rule(
        "what-is",
        r"(?m)^What (?!is\b|are\b|if\b)[^?.:|]*\.",
        "begin with a subject and a verb",
        "What passlab adds, and where another tool is the better choice.",
        "This page says what passlab adds, and when to use another tool.",
        ("manual", "reference", "lesson"),
    ),
    Rule(
        "none-exists",
        r"\bif none exists\b|\b[Tt]here exists\b",
        "say what is missing: `or None if the module lacks it`",
        "Return the function of a name, None if none exists.",
        "Return the function of a name, or None if the module lacks it.",
    ),
    Rule(
        "of-the-one",
        r"\bof the one\b(?! before| after| above| below| that)|\bthat which\b|\bthe one and\b",
        "name the two things",
        "The passes of the one, each next to the same pass of the other.",
        "Each pass of one recording next to the same pass of the other recording.",
    ),
    Rule(
        "beside",
        r"\bbeside\b",
        "write `next to` (a place), `besides` (in addition) or `compared with`",
        "Operators that have nothing beside them are not exported.",
        "Operators without a ratio are not exported.",
    ),
    Rule(
        "quiet",
        r"\bquiet (?:machine|processor|system)|\bwas quiet\b",
        "write `idle`",
        "This is best on a quiet machine.",
        "This is best on an idle machine.",
    ),
    Rule(
        "caps",
        r"\b[Cc]aps?\b",
        "write `limits`",
        "The caps on memory.",
        "The limits on memory.",
    ),
    Rule(
        "calls-in",
        r"\bcall(?:s|ed)? in (?:what|its|the lines?|so)\b",
        "write `prefetch`",
        "Each tile calls in what it adds.",
        "Each tile prefetches its addends.",
    ),
    Rule(
        "so-many",
        r"\b(?:every|after|of|for|by|within|takes?) so many\b",
        "give the number a name",
        "Take every so many rows.",
        "Take every `step`-th row.",
    ),
    Rule(
        "just-so",
        r"\bjust so\b|\ball but small\b|\bin turns with\b|\bwithout effect\b|\bby a hair\b",
        "write plain English",
        "It misses the goal, and the other just so.",
        "Both miss the goal, the second one by 2 %.",
    ),
    Rule(
        "too",
        r", too\b",
        "write `also`, before the verb",
        "Views are shown, too.",
        "Views are also shown.",
    ),
    Rule(
        "riddle",
        r"(?m)^#+ (?:Only|Who|That)\b[^?\n]*$|^#+ What (?:must|stays|is not)\b[^?\n]*$|^#+ An? [^\n]* that [^\n?]*$",
        "let the heading name the task or the thing",
        "# Who owns the memory",
        "# Aliasing of inputs and results",
        ("manual", "reference", "lesson"),
    ),
    Rule(
        "history",
        r"\b(?:were left out|was left out|were tried|was tried|used to be|previously|in earlier versions)\b"
        r"|\b(?:which took|took twice)\b",
        "say what holds now; history belongs in the changelog and in the notes for developers",
        "Without this, a convolution took twice its time.",
        "This halves the time of a convolution.",
        ("reference",),
    ),
    Rule(
        "comma",
        r"\bexpected (?!and |or |was |is )[^,.;]* found\b|\bgiven [^,.;]* expected\b",
        "put a comma between what was expected and what was found",
        "expected a `;` found `add`",
        "expected `;`, found `add`",
        ("message",),
    ),
    Rule(
        "semicolons",
        r"[^.!?;]*;[^.!?;]*;[^.!?;]*",
        "make a list or several sentences",
        "It reads; it writes; it closes.",
        "It reads and writes. Then it closes.",
        ("manual", "reference", "lesson"),
    ),
    Rule(
        "filler",
        r"(?i)\b(?:simply|easily|obviously|just works|seamless(?:ly)?|blazing(?:ly)?|leverages?|utili[sz]es?)\b",
        "delete the word",
        "Simply call it.",
        "Call it.",
    ),
]
END = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)[\"')\]*]*\s+(?=[\"'(*_\[]*(?:[A-Z`%]|passlab\b|onnxruntime\b|torch\.compile\b))"
)


# ------------------------------------------------------------------------------------------------ texts
def markdown(path: Path, text: str, kind: str, first: int = 1) -> Iterator[Text]:
    """Yield the paragraphs, headings, items and cells of Markdown, without programs, comments and markup."""
    blank = lambda match: "\n" * match[0].count("\n")  # noqa: E731 - keeps the numbers of lines
    text = re.sub(r"^([`:]{3,}).*?^\1[ ]*$", blank, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->|<(?:script|style|details|summary)[^>]*>|</[a-z]+>", blank, text, flags=re.DOTALL)
    pattern = r"(?:^[ ]*(?:[-*]|\d+\.|\|).*(?:\n(?![ ]*(?:[-*|#]|\d+\.))[^\n]*\S[^\n]*)*)"
    pattern += r"|(?:^.*\S.*(?:\n(?![ ]*(?:[-*|#]|\d+\.) )[^\n]*\S[^\n]*)*)"
    for match in re.finditer(pattern, text, re.MULTILINE):
        line = first + text.count("\n", 0, match.start())
        if match[0].lstrip().startswith("|"):
            for cell in match[0].split("|"):
                yield Text(path, line, kind, f"| {cell.strip()}")  # no line of its own
        elif re.match(r"[ ]{4}[^ *\-\d].*[=(]", match[0]):
            continue  # an indented program
        else:
            yield Text(path, line, kind, match[0].strip())


def python(path: Path, text: str) -> Iterator[Text]:
    """Yield the docstrings of a module, and its other strings of several words: messages, hints and documentation."""
    docs = set()
    inside = set()
    strings: list[ast.JoinedStr | ast.Constant] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            doc = ast.get_docstring(node)
            if doc is not None:
                docs.add(id(node.body[0].value))  # type: ignore[attr-defined]
                for block in re.split(r"\n[ ]*\n", doc):
                    if not re.match(r"[ ]{4}|>>>|[ ]*\|", block) and not is_table(block):
                        words = re.sub(r"^[ ]{4}.*\n?", "", block, flags=re.MULTILINE)
                        yield Text(path, node.body[0].lineno, "docstring", words)
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in ast.walk(node)} - {id(node)}
        if isinstance(node, (ast.JoinedStr, ast.Constant)):
            strings.append(node)
    for node in strings:
        if id(node) in docs | inside:
            continue
        if isinstance(node, ast.JoinedStr):
            words = "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value
        else:
            continue
        if len(words.split()) > 2 and not re.search(r"[{}<>]|\bdef |=> |%\w+: |^(?:from|import) ", words, re.MULTILINE):
            words = "\n\n".join(block for block in re.split(r"\n[ ]*\n", words) if not is_table(block))
            yield Text(path, node.lineno, "message", words)


def is_table(block: str) -> bool:
    """Return whether most lines of a paragraph have columns: names with what they mean, programs with comments."""
    columns = [re.search(r"\S {2,}\S", line) is not None for line in block.splitlines()]
    return len(columns) > 2 and sum(columns) > len(columns) / 2


def script(path: Path, text: str) -> Iterator[Text]:
    """Yield the strings of several words of a script: the labels of views."""
    for match in re.finditer(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', text):
        words = re.sub(r"\$\{[^}]*\}", "X", match[1] or match[2] or "")
        if len(words.split()) > 2 and not re.search(r"[{}<>;=]", words):
            yield Text(path, text.count("\n", 0, match.start()) + 1, "label", words)


def texts(path: Path) -> Iterator[Text]:
    """Yield the prose of a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        parts = path.relative_to(ROOT).parts
        reference = parts[0] == "docs" and parts[1] in {"reference", "api"}
        yield from markdown(path, text, "reference" if reference else "manual")
    elif path.suffix == ".ipynb":
        for number, cell in enumerate(json.loads(text)["cells"]):
            if cell["cell_type"] == "markdown":
                for found in markdown(path, "".join(cell["source"]), "lesson"):
                    yield found._replace(line=number)
    elif path.suffix == ".py":
        yield from python(path, text)
    else:
        yield from script(path, text)


def files() -> list[Path]:
    """Return every file with prose that readers see."""
    every = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    every += sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "style.md")
    every += sorted((ROOT / "notebooks").glob("*.ipynb"))
    every += sorted((ROOT / "passlab").rglob("*.py"))
    return every + sorted((ROOT / "passlab/display/web").glob("*.js"))


# --------------------------------------------------------------------------------------------- findings
def plain(words: str) -> str:
    """Return words without code, links and emphasis; code counts as one word."""
    words = re.sub(r"``.*?``|`[^`]*`", "X", words, flags=re.DOTALL)
    words = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", words)
    words = re.sub(r"\[([^\]]*)\](?:\([^)]*\))?", r"\1", words)
    return re.sub(r"\{[\w:]+\}|\*\*|\\\n", "", words)


def findings(text: Text) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each rule that a text breaks, the words that break it, and what to do."""
    words = plain(text.words)
    joined = words if words.lstrip().startswith("#") else re.sub(r"\s+", " ", words)
    for rule in RULES:
        if not rule.kinds or text.kind in rule.kinds:
            for match in re.finditer(rule.pattern, joined):
                start = max(0, match.start() - 50)
                yield rule.name, joined[start : match.end() + 30].strip(), rule.fix
    if text.kind in PROSE or text.kind == "message":
        for sentence in re.split(END, re.sub(r"\n[ ]*(?:[-*]|\d+\.)[ ]", ". X ", words)):
            count = len(re.findall(r"[\w'’/.%-]*\w[\w'’/.%-]*", sentence))
            if count > LONGEST and re.search(r"[.,:](?:\s|$)", sentence):
                yield "long", " ".join(sentence.split()), f"{count} words: two sentences, or a list"
    if text.path.suffix == ".md" and text.path.name != "CHANGELOG.md" and not text.words.startswith(("#", "|")):
        yield from lines(text)


def lines(text: Text) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of a page that hold two sentences, and the sentences that take two lines."""
    words = re.sub(r"``.*?``|`[^`]*`", lambda match: "X" * len(match[0]), text.words)
    for line in words.splitlines():
        if END.search(re.sub(r"^[ ]*\d+\.[ ]", "", line)):
            yield "line", line.strip(), "one sentence a line (`python docs/style.py --lines FILE`)"


def report(paths: list[Path]) -> list[str]:
    """Return a line for each finding in these files."""
    found = []
    for path in paths:
        for text in texts(path):
            for name, words, fix in findings(text):
                found.append(f"{path.relative_to(ROOT)}:{text.line}: {name}: {words}  ({fix})")
    return found


# ------------------------------------------------------------------------------------------------ lines
def one_sentence_a_line(page: str) -> str:
    """Return a page of Markdown with one sentence on each line of its paragraphs and items."""
    out: list[str] = []
    paragraph: list[str] = []
    fence = ""
    blank = True

    def flush() -> None:
        if paragraph:
            out.extend(_sentences(paragraph))
            paragraph.clear()

    for line in page.splitlines():
        mark = re.match(r"[ ]*([`:]{3,})", line)
        if fence:
            out.append(line)
            fence = "" if mark and line.strip() == fence else fence
        elif mark:
            flush()
            out.append(line)
            fence = mark[1]
        elif not line.strip() or re.match(r"[ ]*(?:#|\||<|!\[|:[ ]|\([\w-]+\)=)", line):
            flush()
            out.append(line)
        elif line.startswith("    ") and not paragraph and blank:
            out.append(line)
            continue
        else:
            if re.match(r"[ ]*(?:[-*]|\d+\.)[ ]", line):
                flush()
            paragraph.append(line)
        blank = not line.strip()
    flush()
    return "\n".join(out) + "\n"


def _sentences(paragraph: list[str]) -> list[str]:
    item = re.match(r"([ ]*)((?:[-*]|\d+\.)[ ]+)?", paragraph[0])
    assert item is not None
    indent = " " * len(item[0])
    text = " ".join(line.strip() for line in paragraph)[len(item[2] or "") :]
    hidden = re.sub(r"``.*?``|`[^`]*`", lambda match: "X" * len(match[0]), text)
    cuts = [0, *(match.end() for match in END.finditer(hidden)), len(text)]
    cut = [text[start:end].strip() for start, end in itertools.pairwise(cuts)]
    return [f"{item[0] if number == 0 else indent}{sentence}" for number, sentence in enumerate(cut)]


def main(arguments: list[str]) -> int:
    """Print the findings in the files named, or in all; with `--lines`, put one sentence on each line of pages."""
    paths = [Path(name).resolve() for name in arguments if not name.startswith("--")] or files()
    if "--lines" in arguments:
        for path in paths:
            if path.suffix == ".md" and path.name != "CHANGELOG.md":
                path.write_text(one_sentence_a_line(path.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    found = report(paths)
    print("\n".join([*found, f"{len(found)} findings; see docs/develop/style.md" if found else "no findings"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
