"""Matches drawn at random over small data types, as Relay text, and all small values of these types."""

from __future__ import annotations

from functools import cache
from itertools import product
from random import Random

import passlab
from passlab.evaluate.values import ADTValue

TYPES = """
type Color { Red, Green, Blue }
type Tree { Leaf, Node(Tree, Tree) }
type Chain { End, Link(Color, Chain) }
type Box { Box(Tree, Color) }
"""
# the fields of each constructor, by type; tuples are written as types too
CONSTRUCTORS = {
    "Color": {"Red": (), "Green": (), "Blue": ()},
    "Tree": {"Leaf": (), "Node": ("Tree", "Tree")},
    "Chain": {"End": (), "Link": ("Color", "Chain")},
    "Box": {"Box": ("Tree", "Color")},
}
TUPLES = {"Both": ("Color", "Color"), "Deep": ("Tree", "Both"), "Three": ("Chain", "Box", "Color")}
WRITTEN = {name: f"{name}[]" for name in CONSTRUCTORS}
for _name, _fields in TUPLES.items():
    WRITTEN[_name] = f"({', '.join(WRITTEN[f] for f in _fields)})"
COUNTED = """
def @color(%c: Color[]) -> int32 { match (%c) { Red => 1, Green => 2, Blue => 3 } }
def @tree(%t: Tree[]) -> int32 { match (%t) { Leaf => 1, Node(%l, %r) => 3 * @tree(%l) + 7 * @tree(%r) } }
def @chain(%c: Chain[]) -> int32 { match (%c) { End => 1, Link(%h, %t) => @color(%h) + 5 * @chain(%t) } }
def @box(%b: Box[]) -> int32 { match (%b) { Box(%t, %c) => @tree(%t) * 4 + @color(%c) } }
"""


class Matrix:
    """A `match` on a value of some type: `text` is a module whose `main` says which arm fits, and what it binds."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.type = self.random.choice(list(WRITTEN))
        self.binding = 0
        arms = []
        for number in range(self.random.randint(1, 7)):
            self.bound: list[tuple[str, str]] = []
            lhs = self.pattern(self.type, self.random.randint(1, 4))
            seen = "".join(f" + 10 * @{ty.lower()}(%{name})" for name, ty in self.bound if ty in CONSTRUCTORS)
            arms.append(f"{lhs} => {number}{seen}")
        body = f"match? (%v) {{ {', '.join(arms)} }}"
        self.text = f"{TYPES}{COUNTED}def @main(%v: {WRITTEN[self.type]}) -> int32 {{ {body} }}"

    def pattern(self, ty: str, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.3:
            if self.random.random() < 0.4:
                return "_"
            self.binding += 1
            self.bound.append((f"x{self.binding}", ty))
            return f"%x{self.binding}"
        if ty in TUPLES:
            return f"({', '.join(self.pattern(f, depth - 1) for f in TUPLES[ty])})"
        name = self.random.choice(list(CONSTRUCTORS[ty]))
        fields = CONSTRUCTORS[ty][name]
        return f"{name}({', '.join(self.pattern(f, depth - 1) for f in fields)})" if fields else name


def values(mod: passlab.IRModule, ty: str, depth: int = 3) -> list[object]:
    """All values of a type whose constructors nest at most so deep."""
    constructors = {name: mod.find_constructor(name) for fields in CONSTRUCTORS.values() for name in fields}

    @cache
    def values_of(ty: str, depth: int) -> list[object]:
        if ty in TUPLES:
            return list(product(*[values_of(f, depth) for f in TUPLES[ty]]))
        if depth == 0:
            return []
        return [
            ADTValue(constructors[name], parts)
            for name, fields in CONSTRUCTORS[ty].items()
            for parts in product(*[values_of(f, depth - 1) for f in fields])
        ]

    return values_of(ty, depth)
