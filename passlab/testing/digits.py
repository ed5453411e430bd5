"""The network of the course: it classifies images of 8 x 8 pixels by the digit that they show.

    mod, weights = digits.get_workload()         # the typed program, and its trained weights
    images, labels = digits.images(200)          # noisy drawings of digits, and which digit each one shows
    digits.accuracy(mod, weights)                # the share of such images that the program gets right

The program is `digits.relay`. The weights in `digits.npz` are trained as in the lesson on gradients, with more images.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from passlab.executor import create_executor
from passlab.infer import infer_module
from passlab.ir.expr import Function
from passlab.ir.module import IRModule
from passlab.rewriting.parameters import bind_params_by_name
from passlab.text import parse

Array = np.ndarray[Any, Any]
FOLDER = Path(__file__).parent
# Seven rows of five pixels for each digit.
DRAWINGS = """
01110 10001 10011 10101 11001 10001 01110   00100 01100 00100 00100 00100 00100 01110
01110 10001 00001 00010 00100 01000 11111   11111 00010 00100 00010 00001 10001 01110
00010 00110 01010 10010 11111 00010 00010   11111 10000 11110 00001 00001 10001 01110
00110 01000 10000 11110 10001 10001 01110   11111 00001 00010 00100 01000 01000 01000
01110 10001 10001 01110 10001 10001 01110   01110 10001 10001 01111 00001 00010 01100
"""


def get_net(batch_size: int = 1) -> Function:
    """Return the network as a function of its images, `Tensor[(batch_size, 1, 8, 8), float32]`, and its weights."""
    text = (FOLDER / "digits.relay").read_text(encoding="utf-8")
    text = text.replace("%image: Tensor[(1,", f"%image: Tensor[({batch_size},")
    function = parse(text, "digits.relay")["main"]
    assert isinstance(function, Function)
    return function


def get_workload(batch_size: int = 1) -> tuple[IRModule, dict[str, Array]]:
    """Return the typed module and the trained weights, float32 arrays by the names of the parameters."""
    with np.load(FOLDER / "digits.npz", allow_pickle=False) as stored:
        weights = {name: stored[name] for name in stored.files}
    return infer_module(IRModule.from_expr(get_net(batch_size))), weights


def images(count: int, seed: int = 0) -> tuple[Array, Array]:
    """Return images, float32[count, 1, 8, 8], and the digits that they show, int64[count].

    Each is one of ten drawings, shifted by up to a pixel, of random contrast, with noise.
    """
    drawings = np.array([[int(pixel) for pixel in row] for row in DRAWINGS.split()], "float32").reshape(10, 7, 5)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    result = rng.normal(0, 0.2, (count, 1, 8, 8)).astype("float32")
    for image, label in zip(result, labels, strict=True):
        down, right = rng.integers(0, 2), rng.integers(1, 3)
        image[0, down : down + 7, right : right + 5] += drawings[label] * np.float32(rng.uniform(0.6, 1.2))
    return result, labels


def accuracy(mod: IRModule, weights: Mapping[str, Array] | None = None, count: int = 300, seed: int = 1) -> float:
    """Return the share of `count` images that a version of the network classifies correctly, one image at a time.

    `mod` takes an image and returns ten scores; the largest is its answer. Parameters in `weights` are bound first.
    Raises `RunError` where other parameters are left.
    """
    main = mod["main"]
    assert isinstance(main, Function)
    program = mod.with_functions({"main": bind_params_by_name(main, weights or {})})
    run = create_executor("graph", program).evaluate()
    pictures, labels = images(count, seed)
    right = [int(np.argmax(run(picture[None]))) == label for picture, label in zip(pictures, labels, strict=True)]
    return float(np.mean(right))
