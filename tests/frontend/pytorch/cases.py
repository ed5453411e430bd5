"""The table of models in PyTorch, how they are exported, and how their programs are stored.

    python -m tests.frontend.pytorch.cases [name ...]

A stored case is a program in the neutral form, arguments, and what PyTorch makes of them, so that the reader is tested
where torch is not installed.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from passlab.frontend.pytorch.entries import entries
from passlab.frontend.pytorch.importing import program_of
from passlab.frontend.pytorch.program import TorchProgram, to_data

PROGRAMS = Path(__file__).parent / "programs"
CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]], dict[str, Any]]] = {}


def case(name: str, *arguments: Any, **export: Any) -> Callable[[Any], Any]:
    """Enter a class or a function into the cases. Arguments are shapes of floats, or tensors as they are."""

    def entered(model: Any) -> Any:
        value = model if isinstance(model, type) else (lambda: Plain(model))
        CASES[name] = (value, lambda: tuple(_argument(a) for a in arguments), export)
        return model

    return entered


class Plain(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def _argument(inputs: Any) -> Any:
    if isinstance(inputs, tuple):
        return torch.randn(inputs) if all(isinstance(part, int) for part in inputs) else tuple(map(_argument, inputs))
    return inputs


def ints(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(3))


BATCH = torch.export.Dim("batch", min=2, max=64)
ROWS = torch.export.Dim("rows", min=3, max=64)
HEIGHT = torch.export.Dim("height", min=3, max=64)


# ------------------------------------------------------------ storing
def made(name: str) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    """Return the model of a case, with its arguments."""
    torch.manual_seed(0)
    result, arguments, export = CASES[name]
    model = result().eval()
    for buffer in model.buffers():  # statistics that are no identity
        if buffer.is_floating_point() and buffer.dim() == 1:
            buffer.uniform_(0.5, 1.5)
    return model, arguments(), {key: _argument(value) for key, value in export.get("kwargs", {}).items()}


def exported(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the ExportedProgram of a case, with its arguments."""
    model, args, kwargs = made(name)
    export = {key: value for key, value in CASES[name][2].items() if key != "kwargs"}
    return torch.export.export(model, args, kwargs, **export), args, kwargs


def flat(value: Any) -> list[Any]:
    """Return the tensors of arguments and results in PyTorch's order; numbers are tensors of no dimension."""
    leaves = torch.utils._pytree.tree_leaves(value)
    return [leaf if isinstance(leaf, torch.Tensor) else torch.tensor(leaf) for leaf in leaves if leaf is not None]


def array(tensor: Any) -> np.ndarray[Any, Any]:
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.detach().numpy()


def stored(name: str) -> dict[str, Any]:
    """Return a case as data."""
    program, args, kwargs = exported(name)
    data = to_data(program_of(program, frozenset(entries())))
    module = program.module()
    results = [array(t) for t in flat(module(*args, **kwargs))]
    if sum(result is not None for result in data["results"]) > len(results):  # behind them: what buffers become
        results += [array(dict(module.named_buffers())["count"])]
    inputs = [array(leaf) for leaf in flat((args, kwargs)) if leaf.dtype != torch.bool or leaf.dim()]
    kept = {f"input{at}": value for at, value in enumerate(inputs)}
    kept |= {f"result{at}": value for at, value in enumerate(results)}
    return {
        "program": data,
        "arrays": to_data(TorchProgram("", (), (), (), kept))["weights"],
    }


def main(names: list[str]) -> None:
    for name in names or CASES:
        print(name, flush=True)
        text = json.dumps(stored(name), separators=(",", ":"), sort_keys=True)
        (PROGRAMS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    cases = importlib.import_module("tests.frontend.pytorch.cases")  # the module that the models are entered into
    importlib.import_module("tests.frontend.pytorch.networks")
    importlib.import_module("tests.frontend.pytorch.functions")
    cases.main(sys.argv[1:])
