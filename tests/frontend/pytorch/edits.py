"""Values of JSON with some places changed, as damaged files have them."""

from __future__ import annotations

import json
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**20,
    1.5,
    "",
    "x",
    [],
    {},
    [None],
    {"as_int": 3},
    {"as_tensor": {"name": "q"}},
)


def edited(value: Any, rng: random.Random) -> str:
    """Return a value of JSON with one to three places changed, as text."""
    for _ in range(rng.randint(1, 3)):
        if not (found := places(value)):
            break
        (holder, key), (other, at) = rng.choice(found), rng.choice(found)
        old = holder[key]
        match rng.randrange(6):
            case 0:
                del holder[key]
            case 1:
                holder[key] = rng.choice(VALUES)
            case 2 if isinstance(old, int):
                holder[key] = rng.choice((old + 1, -old, old * 1000))
            case 3 if isinstance(old, str):
                holder[key] = rng.choice((old + "x", old[:-1], old[::-1], "torch.ops.aten.add.Tensor", "\0"))
            case 4:
                holder[key] = json.loads(json.dumps(other[at])) if holder is not other or key != at else None
            case _ if isinstance(old, list):
                holder[key] = rng.choice((old + old, old[::-1]))
    return json.dumps(value)


def places(root: Any) -> list[tuple[Any, Any]]:
    """Return the lists and objects in a value of JSON with each of their keys."""
    found, stack = [], [root]
    while stack:
        holder = stack.pop()
        for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            found.append((holder, key))
            if isinstance(value, (dict, list)):
                stack.append(value)
    return found
