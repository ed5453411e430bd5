"""Programs exported from PyTorch in, the numbers of PyTorch out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from passlab import relay
from passlab.frontend import from_pytorch
from passlab.frontend.pytorch.program import load_program
from tests.each import each

PROGRAMS = Path(__file__).parent / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.json"))


def stored(name: str) -> tuple[Any, list[Any], list[Any]]:
    """Return a stored case: the program, its inputs, and the results that PyTorch gave."""
    data = json.loads((PROGRAMS / f"{name}.json").read_text())
    empty = {"format": "passlab exported program", "version": 1, "name": ""}
    arrays = load_program({**empty, "weights": data["arrays"]}).weights
    of_kind = [
        [arrays[f"{kind}{at}"] for at in range(len(arrays)) if f"{kind}{at}" in arrays] for kind in ("input", "result")
    ]
    return data["program"], of_kind[0], of_kind[1]


def assert_close(results: Any, expected: list[Any]) -> None:
    results = [np.asarray(r) for r in results] if isinstance(results, (list, tuple)) else [np.asarray(results)]
    assert len(results) == len(expected)
    for at, (one, other) in enumerate(zip(results, expected, strict=True)):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), at
        loose = 1e-2 if one.dtype.name in ("bfloat16", "float16") else 2e-5
        as_floats = one.astype("float64"), other.astype("float64")
        np.testing.assert_allclose(*as_floats, rtol=loose, atol=loose, err_msg=f"result {at}")


def run(kind: str, mod: Any, params: dict[str, Any], inputs: list[Any]) -> Any:
    function = relay.create_executor(kind, mod).evaluate()
    return function(*inputs, *(params[p.name_hint] for p in mod["main"].params[len(inputs) :]))


def test_thirty_models_are_stored() -> None:
    assert len(NAMES) >= 30


@each("kind", ["debug", "vm"])
@each("name", NAMES)
def test_a_program_computes_what_pytorch_computes(name: str, kind: str) -> None:
    program, inputs, expected = stored(name)
    mod, params = from_pytorch(program)
    assert_close(run(kind, mod, params, inputs), expected)


@each("name", ["dynamic_shapes", *(name for name in NAMES if name.startswith("open_"))])
def test_programs_of_open_sizes_are_exported(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="pip install passlab[bench]")
    program, inputs, expected = stored(name)
    model = relay.to_onnx(from_pytorch(program, freeze_params=True)[0])
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert_close(session.run(None, dict(zip([i.name for i in session.get_inputs()], inputs, strict=True))), expected)


def test_a_recurrent_layer_of_pytorch_is_one_call() -> None:
    mod, _ = from_pytorch(load_program(stored("recurrent")[0]))
    assert mod.astext(show_meta_data=False).count("= contrib.recurrent(") == 5, "two layers, one, two"
