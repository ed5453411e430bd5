"""Damaged `.pt2` archives by the thousand: `nice python -m tests.frontend.pytorch.damage 2000 SEED`.

A quarter of them have damaged bytes, a quarter a member that is damaged, missing or renamed, half a member of JSON in
which places are changed. Reading ends in a module or in an error of passlab; anything else is printed with its number.
"""

from __future__ import annotations

import io
import json
import logging
import random
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch

from passlab import limits
from passlab.errors import PasslabError
from passlab.frontend import from_pytorch
from tests.frontend.pytorch.edits import edited
from tests.frontend.test_fuzz import damaged


class Layers(torch.nn.Module):
    """Layers of three kinds, a buffer, results by name."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.cell = torch.nn.Linear(3, 3), torch.nn.LSTM(3, 4, batch_first=True)
        self.register_buffer("scale", torch.arange(4.0))

    def forward(self, x: Any) -> dict[str, Any]:
        result, (state, _) = self.cell(torch.softmax(self.layer(x), -1))
        return {"result": result * self.scale, "state": state[-1]}


class Sizes(torch.nn.Module):
    """Shapes that are computed from an open size."""

    def forward(self, x: Any) -> Any:
        pairs = x.view(x.shape[0], -1, 2).mean(1, keepdim=True)
        return torch.where(x > 0, pairs.expand(-1, 3, -1).reshape(x.shape[0], -1), -x)


def archives() -> list[bytes]:
    """Return the bytes of archives that are whole."""
    size = torch.export.Dim("n", min=2, max=64)
    result = []
    for network, x in ((Layers(), torch.ones(2, 5, 3)), (Sizes(), torch.ones(3, 6))):
        file = io.BytesIO()
        torch.export.save(torch.export.export(network.eval(), (x,), dynamic_shapes=({0: size},), strict=False), file)
        result.append(file.getvalue())
    return result


def broken(data: bytes, rng: random.Random) -> bytes:
    """Return an archive with bytes, a member or places of a member of JSON damaged."""
    how = rng.randrange(4)
    if how == 0:
        return damaged(data, rng)
    source, result = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    names = source.namelist()
    chosen = rng.choice([name for name in names if how == 1 or name.endswith(".json")])
    with zipfile.ZipFile(result, "w") as archive:
        for name in names:
            content = source.read(name)
            if name == chosen and how > 1:
                content = edited(json.loads(content), rng).encode()
            elif name == chosen:
                fate = rng.randrange(3)
                if fate == 0:
                    continue
                content = damaged(content or b"x", rng)
                name += "x" if fate == 1 else ""
            archive.writestr(name, content)
    return result.getvalue()


def fault(data: bytes, folder: Path) -> str | None:
    """Return what reading an archive raises that is no error of passlab."""
    path = folder / "net.pt2"
    path.write_bytes(data)
    try:
        with limits.override(elements=10**5, tensor_bytes=10**6, model_nodes=500, model_nesting=10):
            from_pytorch(path)
    except PasslabError:
        return None
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        return f"{type(error).__name__}: {error}"
    return None


def main(count: int, seed: int = 7) -> None:
    logging.disable(logging.WARNING)  # torch tells each failure
    whole, found = archives(), 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            wrong = fault(broken(whole[number % len(whole)], random.Random(f"{seed}/{number}")), Path(folder))
            if wrong is not None:
                found += 1
                print(f"archive {number} of seed {seed}: {wrong[:300]}", flush=True)
    print(f"{count} archives, {found} with errors of others")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or [2000]))
