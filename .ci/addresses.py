"""Write the addresses of .ci/addresses.toml into the files that name them; `--check` asks whether they stand there.

python .ci/addresses.py            before the first release, and again when an address changes
python .ci/addresses.py --check    in the release: fails while one is empty, or stands nowhere
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "# addresses: written by .ci/addresses.py", "# end of addresses"


def filled(root: Path, table: dict[str, Any]) -> dict[Path, str]:
    """The files that name an address, with their new text."""
    repository = table["repository"].rstrip("/")
    pages = f"{repository}/blob/main/"
    project = [
        BEGIN,
        "[project.urls]",
        f'Documentation = "{table["documentation"]}"',
        f'Source = "{repository}"',
        f'Issues = "{repository}/issues"',
        f'Changelog = "{pages}CHANGELOG.md"',
        END,
    ]
    texts = {name: (root / name).read_text(encoding="utf-8") for name in FILES}
    texts["pyproject.toml"] = block(texts["pyproject.toml"], "\n".join(project), "[project.scripts]")
    texts["pyproject.toml"] = re.sub(
        r"^authors = .*$",
        f'authors = [{{ name = "The passlab authors", email = "{table["email"]}" }}]',
        texts["pyproject.toml"],
        flags=re.MULTILINE,
    )
    raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/") + "/main/"
    texts["README.md"] = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{raw}", texts["README.md"])
    texts["README.md"] = re.sub(r"(?<!!)(\[[^\]]*\]\()(?!https?:|#)", rf"\g<1>{pages}", texts["README.md"])
    cited = [f"repository-code: {repository}", f"url: {table['documentation']}"]
    texts["CITATION.cff"] = re.sub(r"^(repository-code|url): .*\n", "", texts["CITATION.cff"], flags=re.MULTILINE)
    texts["CITATION.cff"] = texts["CITATION.cff"].rstrip() + "\n" + "\n".join(cited) + "\n"
    texts[".github/CODEOWNERS"] = f"# From .ci/addresses.toml.\n* {' '.join(table['owners'])}\n"
    recipe = re.sub(
        r"^  homepage: .*\n|^  repository: .*\n|^  documentation: .*\n", "", texts[RECIPE], flags=re.MULTILINE
    )
    about = f"about:\n  homepage: {repository}\n  repository: {repository}\n  documentation: {table['documentation']}\n"
    texts[RECIPE] = recipe.replace("about:\n", about, 1)
    return {root / name: text for name, text in texts.items()}


RECIPE = ".ci/conda/recipe.yaml"
FILES = ("pyproject.toml", "README.md", "CITATION.cff", ".github/CODEOWNERS", RECIPE)


def block(text: str, new: str, before: str) -> str:
    """The text with a marked block, which replaces the one that is there or stands before a line."""
    text = re.sub(rf"{re.escape(BEGIN)}.*?{re.escape(END)}\n\n", "", text, flags=re.DOTALL)
    return text.replace(before, f"{new}\n\n{before}", 1)


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write the addresses, or check them; return the exit status."""
    table = tomllib.loads((root / ".ci" / "addresses.toml").read_text(encoding="utf-8"))
    empty = [name for name, value in table.items() if not value]
    if empty:
        print(f"{root / '.ci' / 'addresses.toml'}: fill in {', '.join(empty)}", file=sys.stderr)
        return 1
    new = filled(root, table)
    stale = [path for path, text in new.items() if path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path}: run `python .ci/addresses.py`", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        path.write_text(new[path], encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
