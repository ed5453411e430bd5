"""Stored dumps of real compilers, with the verdicts of an independent run of each compiler."""

import gzip
import json
import tarfile
from pathlib import Path

DATA = Path(__file__).parent / "data"
STREAMS = sorted(path.name.removesuffix(".gz").removesuffix(".txt") for path in DATA.glob("*.txt*"))
FOLDERS = sorted(path.name.removesuffix(".tar.gz") for path in DATA.glob("*.tar.gz"))
AFTER_ONLY = {"llvm22-list-after", "mlir22-small-after", "tvm-zero-after", "xdsl-a"}


def stream(name):
    """The bytes of a stored stream."""
    path = DATA / f"{name}.txt"
    return path.read_bytes() if path.exists() else gzip.decompress((DATA / f"{name}.txt.gz").read_bytes())


def folder(name, tmp_path):
    """A stored folder, unpacked."""
    with tarfile.open(DATA / f"{name}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def expected(name):
    """What the passes of a dump are called, what they ran on, and whether they changed it."""
    path = DATA / f"{name}.expected.json.gz"
    steps = json.loads(gzip.decompress(path.read_bytes()))
    return in_order_of_end(steps) if name == "tvm-zero-after" else steps


def in_order_of_end(steps):
    """Turn a list in order of begin, with depths, into the order in which the passes ended."""
    done, begun = [], []
    for step in steps:
        while begun and begun[-1]["depth"] >= step["depth"]:
            done.append(begun.pop())
        begun.append(step)
    return done + begun[::-1]
