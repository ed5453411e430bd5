"""A fault as data: which text of which file of passlab is replaced by which, and the program that shows it.

`planted(fault)` makes the import of that file load the changed text, so it has to come before passlab is imported: each
fault runs in a process of its own (`run_fault`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

HOUSE = Path(__file__).parents[2] / "passlab"


@dataclass(frozen=True)
class Fault:
    """One fault. `old` stands once in the file (after the text `after`, where that is given) and becomes `new`.

    `pipeline` is what the user ran on `program`; `culprit` the pass or executor that has to be named, `by` the rewrite,
    operator, stage, kernel or instruction (a part of its name).
    """

    name: str
    kind: str
    file: str
    old: str
    new: str
    program: str
    pipeline: str
    culprit: str
    by: str
    after: str = ""
    config: tuple[tuple[str, object], ...] = ()

    @property
    def module(self) -> str:
        """The name of the module that is changed."""
        return "passlab." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def changed(self) -> str:
        """Return the text of the file with the fault. Raises `ValueError` where it does not fit the file any more."""
        text = (HOUSE / self.file).read_text(encoding="utf-8")
        head, anchor, rest = text.partition(self.after) if self.after else ("", "", text)
        if self.after and not anchor:
            raise ValueError(f"{self.name}: `{self.after}` does not stand in {self.file}")
        count = rest.count(self.old)
        if count == 0 or (count > 1 and not self.after):
            raise ValueError(f"{self.name}: `{self.old}` stands {count} times in {self.file}")
        return head + anchor + rest.replace(self.old, self.new, 1)


class _Loader(SourceFileLoader):
    """Loads a module from its changed text, without the cache of compiled files."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self.text = text

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.text, self.path, "exec")


class _Finder(MetaPathFinder):
    def __init__(self, fault: Fault) -> None:
        self.fault = fault

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.fault.module:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, self.fault.changed())
        return spec


def plant(fault: Fault) -> None:
    """From now on the module of a fault is loaded with it. Raises `RuntimeError` where it has been loaded already."""
    if fault.module in sys.modules:
        raise RuntimeError(f"{fault.module} is loaded already")
    sys.meta_path.insert(0, _Finder(fault))
