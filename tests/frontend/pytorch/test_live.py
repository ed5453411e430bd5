"""PyTorch itself in; skipped where it is not installed."""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from passlab import errors, relay

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch", exc_type=ImportError)
models = importlib.import_module("tests.frontend.pytorch.cases")
for _family in ("networks", "functions"):
    importlib.import_module(f"tests.frontend.pytorch.{_family}")
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]


def assert_agrees(program: Any, args: Any, kwargs: Any, expected: Any) -> None:
    mod, params = relay.frontend.from_pytorch(program)
    inputs = [models.array(leaf) for leaf in models.flat((args, kwargs)) if leaf.dtype != torch.bool or leaf.dim()]
    weights = [params[p.name_hint] for p in mod["main"].params[len(inputs) :]]
    results = relay.create_executor("debug", mod).evaluate()(*inputs, *weights)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    for one, other in zip(results, expected, strict=False):
        loose = 1e-2 if np.asarray(one).dtype.name in ("bfloat16", "float16") else 2e-5
        wide = np.asarray(one).astype("float64"), models.array(other).astype("float64")
        np.testing.assert_allclose(*wide, rtol=loose, atol=loose)


@pytest.mark.parametrize("name", models.CASES)
def test_an_exported_program_computes_what_pytorch_computes(name: str) -> None:
    program, args, kwargs = models.exported(name)
    relay.frontend.from_pytorch(program)
    assert_agrees(program, args, kwargs, models.flat(program.module()(*args, **kwargs)))


NOT_OPEN = {
    "experts": "needs a shape that is known at import",  # as many products as there are matrices
    "several_outputs": None,  # torch.export takes no open sizes beside a flag
}


@pytest.mark.parametrize("name", [name for name in models.CASES if NOT_OPEN.get(name, "") is not None])
def test_a_program_with_all_sizes_open_computes_what_pytorch_computes(name: str) -> None:
    model, args, kwargs = models.made(name)
    sizes = torch.export.ShapesCollection()
    for leaf in torch.utils._pytree.tree_leaves((args, kwargs)):
        if isinstance(leaf, torch.Tensor):
            sizes[leaf] = dict.fromkeys(range(leaf.dim()), torch.export.Dim.AUTO)
    program = torch.export.export(model, args, kwargs, dynamic_shapes=sizes)
    if name in NOT_OPEN:
        with pytest.raises(errors.ModelError, match=str(NOT_OPEN[name])):
            relay.frontend.from_pytorch(program)
    else:
        assert_agrees(program, args, kwargs, models.flat(program.module()(*args, **kwargs)))


def test_a_program_in_a_file(tmp_path: Path) -> None:
    program, args, kwargs = models.exported("mlp")
    torch.export.save(program, str(tmp_path / "net.pt2"))
    assert_agrees(tmp_path / "net.pt2", args, kwargs, models.flat(program.module()(*args)))


def test_damaged_archives_end_in_errors_of_passlab(tmp_path: Path) -> None:
    damage = importlib.import_module("tests.frontend.pytorch.damage")
    whole = damage.archives()
    files = {number: damage.broken(whole[number % len(whole)], random.Random(number)) for number in range(60)}
    faults = {number: damage.fault(data, tmp_path) for number, data in files.items()}
    assert {number: text for number, text in faults.items() if text is not None} == {}


def test_a_module_that_was_not_exported_is_told() -> None:
    with pytest.raises(errors.ModelError, match=r"torch\.export\.export"):
        relay.frontend.from_pytorch(torch.nn.Linear(2, 2))


def test_a_file_that_is_no_program_is_told(tmp_path: Path) -> None:
    (tmp_path / "net.pt2").write_bytes(b"PK nothing")
    with pytest.raises(errors.ModelError, match="not an exported program"):
        relay.frontend.from_pytorch(tmp_path / "net.pt2")


@pytest.mark.parametrize(
    "name", ["resnet18", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5", "vit_b_32", "swin_t"]
)
def test_a_network_of_torchvision(name: str) -> None:
    vision = pytest.importorskip("torchvision")
    torch.manual_seed(0)
    model, image = getattr(vision.models, name)(weights=None).eval(), torch.randn(1, 3, 224, 224)
    assert_agrees(torch.export.export(model, (image,)), (image,), {}, [model(image)])
