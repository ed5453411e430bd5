"""Random programs for the laws of stepping: dataflow, tuples, lets, branches, calls, recursion and data types, from a seed."""

from __future__ import annotations

from random import Random

import numpy as np

HEAD = """
type Chain { End, Link(Tensor[(3), float32], Chain) }
def @fold(%c: Chain[], %acc: Tensor[(3), float32]) -> Tensor[(3), float32] {
  match (%c) { End => %acc, Link(%head, %tail) => @fold(%tail, %acc + %head) }
}
def @power(%x: Tensor[(3), float32], %n: int32) -> Tensor[(3), float32] {
  if (%n == 0) { %x } else { %x * @power(%x, %n - 1) }
}
"""
UNARY = ("nn.relu", "tanh", "sqrt", "log", "negative", "sort", "cumsum")
BINARY = ("add", "multiply", "subtract", "divide", "maximum")


class Program:
    """The text of one program, and arguments for it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.names = ["%x", "%y"]
        for _ in range(self.random.randint(2, 9)):
            self.add()
        kept = self.random.sample(self.names, min(len(self.names), self.random.randint(1, 3)))
        result = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
        body = "\n".join([*self.lines, f"  {result}"])
        self.text = f"""{HEAD}def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32], %n: int32) {{
{body}
}}"""
        rng = np.random.default_rng(seed)
        self.args = [rng.standard_normal(3).astype("float32") for _ in range(2)] + [np.int32(self.random.randint(0, 5))]

    def some(self) -> str:
        return self.random.choice(self.names)

    def add(self) -> None:
        """Bind one more tensor."""
        value = self.random.choice((self.unary, self.binary, self.branch, self.call, self.pair, self.chain))()
        name = f"%v{len(self.names)}"
        self.lines.append(f"  let {name} = {value};")
        self.names.append(name)

    def unary(self) -> str:
        return f"{self.random.choice(UNARY)}({self.some()})"

    def binary(self) -> str:
        return f"{self.random.choice(BINARY)}({self.some()}, {self.some()})"

    def branch(self) -> str:
        return f"if (%n < {self.random.randint(0, 5)}) {{ {self.unary()} }} else {{ {self.binary()} }}"

    def call(self) -> str:
        return f"@power({self.some()}, %n)"

    def pair(self) -> str:
        index = self.random.randint(0, 1)
        return f"({self.some()}, {self.binary()}).{index}"

    def chain(self) -> str:
        inner = "End"
        for _ in range(self.random.randint(0, 3)):
            inner = f"Link({self.some()}, {inner})"
        return f"@fold({inner}, {self.some()})"
