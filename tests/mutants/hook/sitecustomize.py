"""Plants the mutation that the environment names in every Python process that has this folder on its PYTHONPATH, or notes
which functions of passlab that process calls.

Python imports `sitecustomize` before anything else. Nothing is parsed until the mutated module is imported, so that the
processes that never import it start as quickly as before.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


class _Waiting:
    """Stands in the import system until the mutated module is imported."""

    def __init__(self, module: str, root: str, mutation: dict[str, Any]) -> None:
        self.module = module
        self.root = root
        self.mutation = mutation

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        sys.path.insert(0, self.root)
        try:
            from tests.mutants.mutation import Mutation, planted_spec
        finally:
            sys.path.remove(self.root)
        return planted_spec(Mutation(**self.mutation), name, path)


if "PASSLAB_MUTATION" in os.environ:
    sys.meta_path.insert(0, _Waiting(**json.loads(os.environ["PASSLAB_MUTATION"])))  # type: ignore[arg-type]
if "PASSLAB_REACH" in os.environ:
    folder = Path(os.environ["PASSLAB_REACH"])
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from tests.mutants import noting

    del sys.path[0]
    noting.install(folder)
