"""What passes make of programs worth reading: tests/passes/expected/*.relay, rewritten by `--bless`.

The first line of a file names the pipeline, as in `// FuseOps(fuse_opt_level=2)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from passlab import transform
from passlab.infer import infer_module
from passlab.text.parser import parse
from tests.expectation import read_input

FILES = sorted((Path(__file__).parent / "expected").glob("*.relay"))
_TYPES = re.compile(r" /\*.*?\*/")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_pipeline_makes_what_is_expected(path: Path, expect: Callable[[Path, str], None]):
    mod = read_input(path)
    pipeline = mod.splitlines()[0].removeprefix("// ")
    with transform.PassContext(opt_level=4):
        result = transform.Sequential.from_text(pipeline)(infer_module(parse(mod)))
    expect(path, _TYPES.sub("", str(infer_module(result))))
