"""Shared structure costs what it is, not what it would be written out: text, comments, parser, inference and JSON."""

from __future__ import annotations

import json
import random
import time

import pytest

from passlab.errors import PasslabError
from passlab.infer.inference import infer_module
from passlab.ir import IRModule, structural_equal, structural_hash
from passlab.text.parser import parse
from passlab.text.printer import pretty, render
from passlab.text.program_json import load_json, save_json

DOUBLINGS = 60
TUPLES = "def @main(%x: int8) { let %t0 = (%x, %x); " + "".join(
    f"let %t{i} = (%t{i - 1}, %t{i - 1}); " for i in range(1, DOUBLINGS)
)
RESULTS = {"a part": f"%t{DOUBLINGS - 1}.0 }}", "all": f"%t{DOUBLINGS - 1} }}", "one": "%x }"}


@pytest.mark.parametrize("result", RESULTS)
def test_sixty_doublings_of_a_tuple_read_and_print_in_linear_space(result: str) -> None:
    untyped = parse(TUPLES + RESULTS[result])
    mod = infer_module(untyped)
    text = mod.astext()
    assert len(text) < 400_000
    assert len(pretty(mod)) < 400_000
    assert len(render(mod).text) < 400_000
    back = infer_module(parse(text))
    assert structural_equal(back, mod)
    assert back.astext() == text
    assert len(save_json(mod)) < 200_000
    assert structural_hash(infer_module(load_json(save_json(mod)))) == structural_hash(mod)


def test_comments_of_long_types_are_cut_and_annotations_are_not() -> None:
    mod = infer_module(parse(TUPLES + RESULTS["all"]))
    text = mod.astext()
    assert "-> meta[TupleType][" in text
    assert "..." in text
    assert all("..." not in line.split("/*")[0] for line in text.split("#[metadata]")[0].splitlines()[1:])


@pytest.mark.rotating
def test_half_a_million_parentheses_are_read_or_refused_in_seconds() -> None:
    count = 500_000
    start = time.process_time()
    assert str(parse("def @main() { " + "(" * count + "1" + ")" * count + " }")["main"].body) == "1"
    for hostile in ("def @main() { " + "(" * 4 * count, "def @main() { 1" + ")" * count, "[" * count, "{" * count):
        with pytest.raises(PasslabError):
            parse(hostile)
    assert time.process_time() - start < 60  # minutes before


SEEDS = (
    (
        "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) "
        "{ nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3])) + 1.5f }"
    ),
    "type L[A] { C(A, L[A]), N } def @f[A](%l: L[A]) -> int32 { match (%l) { C(%h, %t) => 1 + @f(%t), N => 0 } }",
    "def @main(%c: bool, %x: (float32, ref(int8))) { if (%c) { %x.0 } else { ref_write(%x.1, 2i8); 3f } }",
    'def @main(%f: fn [A](A) -> A, %x: Tensor[(?, 2), int64]) { (%f(%x), fn (%y: int32, Compiler="x") { %y }) }',
)
ODD = ("", "0", "1", "-1", "99999", "\ud800", "nan", "1e400", "x", None, True, [], {}, 7, -3, 10**30, [1, 2], "float32")


def damage(graph: dict[str, list[dict[str, object]]], rng: random.Random) -> None:
    """Change something in an object graph."""
    node = rng.choice(graph["nodes"])
    other = str(rng.randrange(len(graph["nodes"])))
    attrs, data = node.get("attrs"), node.get("data")
    if isinstance(attrs, dict) and attrs and rng.random() < 0.6:
        attrs[rng.choice(list(attrs))] = rng.choice(ODD) if rng.random() < 0.5 else other
    elif isinstance(data, list) and data and rng.random() < 0.6:
        data[rng.randrange(len(data))] = rng.choice((int(other), *ODD))
    elif rng.random() < 0.6:
        node["type_key"] = rng.choice([n.get("type_key") for n in graph["nodes"]])
    else:
        node["repr_str"] = rng.choice(ODD)


@pytest.mark.rotating
def test_damaged_json_is_refused_or_is_a_program() -> None:
    rng = random.Random(5)
    texts = [save_json(infer_module(parse(seed))) for seed in SEEDS]
    for _ in range(3_000):
        graph = json.loads(rng.choice(texts))
        for _ in range(rng.randrange(1, 4)):
            damage(graph, rng)
        try:
            mod = load_json(json.dumps(graph))
            if isinstance(mod, IRModule):
                mod.astext()
                structural_hash(mod)
                save_json(infer_module(mod))
        except PasslabError:
            continue
