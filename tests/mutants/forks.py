"""Runs tests with one mutant after another, each in a fork of a process that has imported passlab and collected the tests.

The fork replaces the code of the mutated function in every function object that has it, whatever wraps or holds it; a module
that is not loaded yet is loaded with the mutant. Two kinds of mutant need a process of their own: those of what runs when a
module is loaded, such as tables and defaults, and survivors in a function that the process has called before the fork, whose
results may still be in use.

    python -m tests.mutants.forks FILES     answers with the names of the collected tests, then each line (a job) with a line
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import IO, Any

import pytest

from tests.mutants import noting
from tests.mutants.definitions import HOUSE
from tests.mutants.mutation import Mutation, plant

HOOK = Path(__file__).parent / "hook"
MEMORY = 6 << 30  # of a fork, in bytes: a mutant may ask for all that there is
Functions = dict[tuple[str, str, int, bytes], list[FunctionType]]


class Forks:
    """The process that forks, as the process that measures sees it."""

    def __init__(self, files: Iterable[str]) -> None:
        self.printed = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `close` closes it
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.forks", *files],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.printed, text=True, cwd=HOUSE.parent,
        )  # fmt: skip
        self.tests: list[str] = self._answer()

    def run(self, mutation: Mutation | None, tests: Sequence[str], limit: float) -> dict[str, Any]:
        """Run tests with a mutation, or with none, until one fails or they have taken so many seconds.

        The answer has `passed`, a number, and `failed`, a text; or `fresh`, why the mutant needs a process of its own.
        """
        job = {"key": mutation and mutation.key, "tests": list(tests), "limit": limit}
        assert self.process.stdin is not None
        print(json.dumps(job), file=self.process.stdin, flush=True)
        answer: dict[str, Any] = self._answer()
        return answer

    def close(self) -> None:
        """End the process."""
        self.process.communicate()
        self.printed.close()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.printed.seek(0)
            raise SystemExit(f"{self.printed.read()}\nthe tests cannot be collected without a mutant")
        return json.loads(line)


# ---------------------------------------------------------------------------------------------------- replacing code


def live_functions() -> Functions:
    """All functions of passlab that exist, by what their code says about where it comes from."""
    result: Functions = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(str(HOUSE)):
            result[_place(thing.__code__)].append(thing)
    return result


def replace(mutation: Mutation, functions: Functions) -> str:
    """Replace the code of a mutated function where it stands. Returns why that is not enough, or nothing."""
    changed = mutation.changed()
    if changed.module not in sys.modules:
        plant(mutation)
        return ""
    before = compile(changed.file.read_bytes(), str(changed.file), "exec", dont_inherit=True)
    after = compile(changed.tree, str(changed.file), "exec", dont_inherit=True)
    pairs = list(_different(before, after))
    if not all(a.co_flags & inspect.CO_OPTIMIZED for a, b in pairs if _shallow(a) != _shallow(b)):
        return "it is run when its module is loaded"
    found = [(function, new) for old, new in pairs for function in functions.get(_place(old), ())]
    if not found or any(function.__code__.co_freevars != new.co_freevars for function, new in found):
        return "its function cannot be found, or needs other variables around it"
    for function, new in found:
        function.__code__ = new
    return ""


def _different(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Code before and after, from the module inwards, where the two differ."""
    if before != after:
        yield before, after
        inner, new = ([c for c in code.co_consts if isinstance(c, CodeType)] for code in (before, after))
        if len(inner) == len(new):
            for pair in zip(inner, new, strict=True):
                yield from _different(*pair)


def _shallow(code: CodeType) -> CodeType:
    """Code without that of the functions and classes inside of it."""
    return code.replace(co_consts=tuple("code" if isinstance(c, CodeType) else c for c in code.co_consts))


def _place(code: CodeType) -> tuple[str, str, int, bytes]:
    """What tells one function from another, also where several lambdas stand in one line."""
    return code.co_filename, code.co_name, code.co_firstlineno, code.co_code if code.co_name == "<lambda>" else b""


# ---------------------------------------------------------------------------------------------------- the process that forks


class _Server:
    """A plugin of pytest that runs jobs where pytest would run all tests."""

    def __init__(self, answers: IO[str], folder: Path) -> None:
        self.answers = answers
        self.folder = folder
        self.passed = 0
        self.failed = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer jobs until there are no more."""
        if session.testsfailed:
            return True
        items = {item.nodeid: item for item in session.items}
        called = set(noting.Called(self.folder))
        functions = live_functions()
        gc.collect()
        gc.freeze()
        print(json.dumps(list(items)), file=self.answers, flush=True)
        for line in sys.stdin:
            job = json.loads(line)
            answer = self._fork(job, [items[name] for name in job["tests"]], functions)
            mutation = job["key"] and Mutation.from_key(job["key"])
            if mutation and not answer.get("failed"):
                place = mutation.changed()
                if f"{place.module}:{place.path}" in called:
                    answer = {"fresh": "its function has been called already", **answer}
            print(json.dumps(answer), file=self.answers, flush=True)
        return True

    def _fork(self, job: dict[str, Any], items: list[pytest.Item], functions: Functions) -> dict[str, Any]:
        """Run a job in a fork, and end the processes that it leaves behind."""
        read, write = os.pipe()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            child = os.fork()
            if child == 0:
                os.close(read)
                os.setsid()
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the next lines are for the parent
                resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
                os.environ["TMPDIR"] = tempfile.tempdir = folder
                self._run(job, items, functions, write)
            os.close(write)
            with os.fdopen(read) as pipe:
                text = pipe.readline() if select.select([pipe], [], [], job["limit"])[0] else '{"failed": "no end"}'
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        answer: dict[str, Any] = json.loads(text or '{"failed": "the process has died"}')
        return answer

    def _run(self, job: dict[str, Any], items: list[pytest.Item], functions: Functions, write: int) -> None:
        """What the fork does."""
        fresh = ""
        if job["key"]:
            mutation = Mutation.from_key(job["key"])
            os.environ |= hooked(mutation)  # for the processes that tests start
            fresh = replace(mutation, functions)
        for item, following in zip(items, [*items[1:], None], strict=True):
            if fresh or self.failed:
                break
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        answer = {"fresh": fresh} if fresh else {"passed": self.passed, "failed": self.failed}
        os.write(write, json.dumps(answer).encode() + b"\n")
        os._exit(0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what passes, and what fails first."""
        self.passed += report.when == "call" and report.passed
        if report.failed and not self.failed:
            self.failed = report.nodeid


def hooked(mutation: Mutation) -> dict[str, str]:
    """The environment in which every Python process has a mutation: what `hook/sitecustomize.py` reads."""
    fields = {"definition": mutation.definition, "kind": mutation.kind, "which": mutation.which, "new": mutation.new}
    planted = {"module": mutation.changed().module, "root": str(HOUSE.parent), "mutation": fields}
    return {
        "PASSLAB_MUTATION": json.dumps(planted),
        "PYTHONPATH": os.pathsep.join(map(str, (HOOK, HOUSE.parent))),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def main(files: Sequence[str]) -> None:
    """Collect, then answer."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what pytest and tests print is no answer
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text) / "calls"
        noting.prepare(folder)
        noting.install(folder)
        options = ["-q", "-s", "-p", "no:randomly", "-p", "no:cacheprovider", f"--basetemp={text}/files"]
        pytest.main([*options, *files], plugins=[_Server(answers, folder)])


if __name__ == "__main__":
    main(sys.argv[1:])
