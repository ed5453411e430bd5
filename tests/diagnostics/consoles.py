"""Console files: lines of Python as one types them, and below each what passlab answers.

    >>> passlab.parse("def @main(%x: int32) { negativ(%x) }")
    error: there is no operator `negativ`
     --> text:1:24
    ...

A line that raises is followed by the complete text of the error, one with a value by the value, one that prints by what it prints; as in a console, later
lines know the names of earlier ones. `make bless` rewrites the answers; a person reads the difference. Each file is run in a fresh process, because
files register operators and passes, and in a folder of its own, which an answer shows as `<folder>`.

    python -m tests.diagnostics.consoles watch|run     runs the files that it is asked for, each in a fork of a process that has imported passlab
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import passlab
from passlab.errors import Interruption, PasslabError
from tests.diagnostics.places import ROOT, noting, places

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.pycon"))
_ROOMS = [
    "analysis",
    "debugger",
    "dumps",
    "evaluate",
    "executor",
    "frontend",
    "instrument",
    "ir",
    "lab",
    "op",
    "relay",
    "text",
    "transform",
    "vm",
    "display",
]


@dataclass
class Block:
    """One input of a console file, the comment above it, and the answer that the file expects."""

    line: int
    comment: str
    code: str
    answer: str = ""

    def text(self, answer: str) -> str:
        first, *rest = self.code.split("\n")
        lines = [f">>> {first}", *(f"... {line}".rstrip() for line in rest)]
        return self.comment + "\n".join(lines) + "\n" + (f"{answer}\n" if answer else "")


@dataclass
class Session:
    """What a run of a console file showed: the answers, and the places that appear in them."""

    path: Path
    blocks: list[Block]
    answers: list[str] = field(default_factory=list)
    reached: set[str] = field(default_factory=set)

    def differences(self) -> list[str]:
        """Each answer that is not the expected one, with its input."""
        return [
            f"{self.path.name}:{block.line}\n>>> {block.code}\n--- expected\n{block.answer}\n--- found\n{answer}"
            for block, answer in zip(self.blocks, self.answers, strict=True)
            if answer != block.answer
        ]

    def write(self) -> None:
        """Write the file again with the answers of this run."""
        text = "".join(block.text(answer) for block, answer in zip(self.blocks, self.answers, strict=True))
        self.path.write_text(text, encoding="utf-8")


def read_blocks(text: str) -> list[Block]:
    """The inputs of a console file."""
    blocks: list[Block] = []
    comment, state = "", "comment"
    answer: list[str] = []

    def close() -> None:
        if blocks:
            blocks[-1].answer = "\n".join(answer).rstrip()
        answer.clear()

    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(">>> "):
            if state != "comment":
                close()
            blocks.append(Block(number, comment, line[4:]))
            comment, state = "", "code"
        elif state == "code" and line.startswith("..."):
            blocks[-1].code += "\n" + line[4:]
        elif line.startswith("# ") or (not line and state != "answer"):
            if state != "comment":
                close()
            comment, state = comment + line + "\n", "comment"
        else:
            state = "answer"
            answer.append(line)
    if state != "comment":
        close()
    return blocks


def _namespace() -> dict[str, Any]:
    rooms = {room: importlib.import_module(f"passlab.{room}") for room in _ROOMS}
    return {"passlab": passlab, "np": np, "os": os, "Path": Path, **rooms}


class Runner:
    """Runs console files in another process, one at a time and each once, so that a test runs its own file alone.

    Where `watched`, it notes the places that speak in the answers, which takes longer.
    """

    def __init__(self, watched: bool = False) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.sessions: dict[Path, Session] = {}
        environment = {
            **os.environ,
            "COLUMNS": "80",
            "IPYTHONDIR": f"{self.folder.name}/ipython",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(FOLDER.parents[1]), os.environ.get("PYTHONPATH")])),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.diagnostics.consoles", "watch" if watched else "run"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=FOLDER.parents[1], env=environment,
        )  # fmt: skip

    def session(self, path: Path) -> Session:
        """What a file showed."""
        if path not in self.sessions:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            print(path, file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
            assert line, f"{path.name} ended the process that runs console files"
            answers, reached = json.loads(line)
            self.sessions[path] = Session(path, read_blocks(path.read_text(encoding="utf-8")), answers, set(reached))
        return self.sessions[path]

    def close(self) -> None:
        """End the process."""
        self.process.communicate()
        self.folder.cleanup()


def _run_file(path: Path, watched: bool) -> Session:
    session = Session(path, read_blocks(path.read_text(encoding="utf-8")))
    namespace = _namespace()
    back = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            for block in session.blocks:
                with noting() if watched else contextlib.nullcontext() as notes:
                    answer = _answer(block.code, namespace)
                if notes is not None:
                    session.reached |= {place.name for place in notes.seen_in(answer)}
                answer = answer.replace(os.path.realpath(folder), "<folder>").replace(folder, "<folder>")
                session.answers.append(_stable(answer))
        finally:
            os.chdir(back)
    return session


def _stable(text: str) -> str:
    text = text.replace(str(ROOT), "<passlab>")
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text)
    return "\n".join(line.rstrip() or " ." for line in text.rstrip().split("\n")) if text.strip() else ""


def _answer(code: str, namespace: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            value = _run(code, namespace)
        except (PasslabError, Interruption) as error:
            value = f"{type(error).__name__}\n{error}"
        except SystemExit as error:
            value = f"exit status: {error.code}"
        except Exception as error:  # noqa: BLE001 - not of passlab: the answer shows its class, as for `UsageError`
            value = f"{type(error).__name__}: {error}"
    return printed.getvalue() + value


def _run(code: str, namespace: dict[str, Any]) -> str:
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<console>", "exec"), namespace)
    if last is None:
        return ""
    value = eval(compile(ast.Expression(last.value), "<console>", "eval"), namespace)
    return "" if value is None else str(value)


def _main(mode: str) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what files and their processes print past `sys.stdout` is no answer
    _namespace()  # once for all files, which run in forks: what they import, and the places to watch
    if mode == "watch":
        places()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the next names are for the parent
            session = _run_file(Path(line.rstrip("\n")), mode == "watch")
            print(json.dumps([session.answers, sorted(session.reached)]), file=answers, flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit(f"{line.rstrip()} ended with status {status}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
