"""Damaged ONNX models by the hundred thousand: `nice python -m tests.frontend.damage 100000 SEED`.

A third of them have damaged bytes, the others are models that protobuf reads and that make no sense. Reading ends in a module or in
an error of passlab; anything else stops the run with the number that makes the same model again.
"""

from __future__ import annotations

import random
import sys
import time

from tests.frontend.remade import remade
from tests.frontend.test_fuzz import MODELS, damaged, edited, read


def main(count: int, seed: int = 7) -> None:
    data = [proto.SerializeToString() for proto in MODELS]
    start = time.monotonic()
    for number in range(count):
        rng = random.Random(f"{seed}/{number}")
        at = number // 3 % len(MODELS)
        change = (edited, remade)[number % 3 - 1]
        try:
            read(change(MODELS[at], rng) if number % 3 else damaged(data[at], rng))
        except Exception as error:
            raise SystemExit(f"model {number} of seed {seed}: {type(error).__name__}: {error}") from error
        if number % 10_000 == 9_999:
            print(f"{number + 1} models, {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or [100_000]))
