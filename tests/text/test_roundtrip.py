"""Programs built at random as nodes print to texts that read back to equal programs, with the same sharing and bits.

They hold every construct, nodes shared across scopes and functions, hostile names, constants of all dtypes.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from passlab.ir.adt import (
    Clause,
    Constructor,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
    pattern_vars,
)  # fmt: skip
from passlab.ir.attrs import DictAttrs
from passlab.ir.equal import structural_equal
from passlab.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)  # fmt: skip
from passlab.ir.module import IRModule
from passlab.ir.op import Op
from passlab.ir.types import (
    ANY,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    SizeVar,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
)  # fmt: skip
from passlab.text.parser import parse
from passlab.text.printer import astext, pretty, render

NAMES = [
    "x",
    "x",
    "x1",
    "y",
    "",
    "_",
    "1",
    "a.b:0",
    "let",
    "def",
    "True",
    "nanf",
    "é",
    'q"\\',
    "new\nline",
    "a/b",
    "a//b",
    "/*",
    "*/",
    "\u202e",
    "v",
    "x" * 50,
    "0",
]
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2,
]  # fmt: skip


class Programs:
    """Makes random programs from one seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.type_vars: list[TypeVar] = []
        header = GlobalTypeVar(self.rng.choice(["List", "odd type", "int32", "Tensor"]))
        element = TypeVar(self.rng.choice(["A", "float32", "List", "a b"]))
        own = TypeCall(header, [element])
        names = self.rng.choice([["Cons", "Nil"], ["add", "exp"], ["odd ctor", "fn"]])
        self.data = TypeData(
            header, [element], [Constructor(names[0], [element, own], header), Constructor(names[1], [], header)]
        )
        self.globals = [GlobalVar(name) for name in ("main", "f g", "def", "1")]

    def name(self) -> str:
        return self.rng.choice(NAMES)

    def type(self, depth: int = 2) -> Type:
        rng = self.rng
        kind = rng.randrange(10 if depth else 4)
        if kind < 3:
            return TensorType(
                [rng.choice([1, 3, 2**40, ANY, SIZE]) for _ in range(rng.randrange(4))], rng.choice(DTYPES)
            )
        if kind == 3:
            return rng.choice(self.type_vars) if self.type_vars else IncompleteType()
        if kind == 4:
            return TupleType([self.type(depth - 1) for _ in range(rng.randrange(3))])
        if kind == 5:
            return RefType(self.type(depth - 1))
        if kind == 6:
            return TypeCall(self.data.header, [self.type(depth - 1)])
        if kind == 7:
            mine = TypeVar(self.name() or "A")
            self.type_vars.append(mine)
            inner = self.type(depth - 1)
            self.type_vars.pop()
            return FuncType([inner, mine], mine, [mine])
        return FuncType([self.type(depth - 1) for _ in range(rng.randrange(3))], self.type(depth - 1))

    def constant(self) -> Constant:
        rng = self.rng
        dtype = np.dtype(rng.choice(DTYPES))
        shape = rng.choice([(), (), (), (2,), (0, 3), (1, 2, 2)])
        count = int(np.prod(shape))
        raw = rng.choice([b"\0" * dtype.itemsize * count, rng.randbytes(dtype.itemsize * count)])
        if dtype.kind == "b":
            raw = bytes(b & 1 for b in raw)
        return Constant(np.frombuffer(raw, dtype).reshape(shape).copy())

    def var(self) -> Var:
        return Var(self.name(), self.type() if self.rng.random() < 0.5 else None)

    def attrs(self) -> DictAttrs:
        values: list[Any] = [
            1,
            -(2**70),
            2.5,
            1e-300,
            float("nan"),
            -0.0,
            's"\\\n\x00é',
            None,
            True,
            (1, (2.0, "x")),
            {"k y": (None,)},
            (),
        ]
        return DictAttrs(
            {
                self.rng.choice(["Primitive", "a.b", "odd key", "fn", "virtual_device"]): self.rng.choice(values)
                for _ in range(self.rng.randrange(3))
            }
        )

    def expr(self, depth: int, pool: list[Expr]) -> Expr:
        """Return an expression over the nodes of `pool`, which holds what is in scope and gains what is made."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.3:
            value = rng.choice(pool) if pool and rng.random() < 0.8 else self.constant()
        else:
            value = getattr(self, f"_{rng.choice(KINDS)}")(depth - 1, pool)
        if rng.random() < 0.5:
            pool.append(value)
        return value

    def _call(self, depth: int, pool: list[Expr]) -> Expr:
        callee: Expr = self.rng.choice(
            [Op.get("add"), Op.get("add"), self.rng.choice(self.globals), self.data.constructors[0]]
        )
        if self.rng.random() < 0.2:
            callee = self.expr(depth, pool)
        attrs = (
            DictAttrs({**dict(self.attrs().items()), "e": (self.expr(depth, pool),)})
            if self.rng.random() < 0.1
            else None
        )
        return Call(callee, [self.expr(depth, pool) for _ in range(self.rng.randrange(4))], attrs)

    def _operator(self, depth: int, pool: list[Expr]) -> Expr:
        return Call(Op.get("cast"), [self.expr(depth, pool)], Op.get("cast").spec.attrs(dtype="int8"))  # type: ignore[misc]

    def _nil(self, depth: int, pool: list[Expr]) -> Expr:
        return self.rng.choice([Call(self.data.constructors[1], ()), self.data.constructors[1]])

    def _tuple(self, depth: int, pool: list[Expr]) -> Expr:
        return Tuple([self.expr(depth, pool) for _ in range(self.rng.randrange(4))])

    def _project(self, depth: int, pool: list[Expr]) -> Expr:
        return TupleGetItem(self.expr(depth, pool), self.rng.randrange(3))

    def _let(self, depth: int, pool: list[Expr]) -> Expr:
        var = self.var()
        value = self.expr(depth, [*pool, var]) if self.rng.random() < 0.2 else self.expr(depth, pool)
        if not isinstance(value, Function):
            value = self.expr(depth, pool)
        return Let(var, value, self.expr(depth, [*pool, var]))

    def _if(self, depth: int, pool: list[Expr]) -> Expr:
        return If(self.expr(depth, pool), self.expr(depth, [*pool]), self.expr(depth, [*pool]))

    def _function(self, depth: int, pool: list[Expr]) -> Expr:
        return self.function(depth, pool)

    def function(self, depth: int, pool: list[Expr]) -> Function:
        rng = self.rng
        type_params = [TypeVar(rng.choice(["A", "A", "int32", "a b", "fn"])) for _ in range(rng.choice([0, 0, 1, 2]))]
        self.type_vars += type_params
        params = [self.var() for _ in range(rng.randrange(3))]
        result = self.type() if rng.random() < 0.5 else None
        output = Function(params, self.expr(depth, [*pool, *params]), result, type_params, self.attrs())
        del self.type_vars[len(self.type_vars) - len(type_params) :]
        return output

    def _match(self, depth: int, pool: list[Expr]) -> Expr:
        clauses = []
        for _ in range(self.rng.randrange(3)):
            a, b = self.var(), self.var()
            pattern = self.rng.choice([
                PatternWildcard(), PatternVar(a), PatternTuple([PatternVar(a), PatternWildcard()]), PatternConstructor(self.data.constructors[1]),
                PatternConstructor(self.data.constructors[0], [PatternVar(a), PatternTuple([PatternVar(b)])]), PatternTuple([]),
            ])  # fmt: skip
            bound = [v for v in (a, b) if any(v is w for w in pattern_vars(pattern))]
            clauses.append(Clause(pattern, self.expr(depth, [*pool, *bound])))
        return Match(self.expr(depth, pool), clauses, self.rng.random() < 0.5)

    def _ref(self, depth: int, pool: list[Expr]) -> Expr:
        kind = self.rng.randrange(3)
        first = self.expr(depth, pool)
        return (
            RefCreate(first) if kind == 0 else RefRead(first) if kind == 1 else RefWrite(first, self.expr(depth, pool))
        )

    def module(self, depth: int = 5) -> IRModule:
        """Return a module of a few functions that share some nodes."""
        mod = IRModule(type_definitions={self.data.header: self.data})
        shared: list[Expr] = [self._call(1, []), self._tuple(2, [])]
        return mod.with_functions({var: self.function(depth, list(shared)) for var in self.globals})


SIZE = SizeVar("n")
KINDS = ["call", "call", "call", "operator", "nil", "tuple", "project", "let", "let", "if", "function", "match", "ref"]


def check(seed: int, depth: int) -> None:
    mod = Programs(seed).module(depth)
    text = astext(mod)
    back = parse(text)
    assert structural_equal(mod, back, map_free_vars=True), f"seed {seed}"
    assert astext(back) == text, f"seed {seed}"
    printed = render(mod)
    assert printed.text == pretty(mod), f"seed {seed}"


@pytest.mark.parametrize("start", range(0, 200, 40))
def test_random_programs_read_back(start: int) -> None:
    for seed in range(start, start + 40):
        check(seed, 4)


@pytest.mark.nightly
@pytest.mark.in_parts
@pytest.mark.parametrize("start", range(1_000, 6_000, 500))
def test_many_random_programs_read_back(start: int) -> None:
    for seed in range(start, start + 500):
        check(seed, 4 + seed % 4)


def test_the_text_does_not_depend_on_the_hash_seed() -> None:
    path, program = (
        Path(__file__),
        "import sys; sys.path.insert(0, sys.argv[1]); import test_roundtrip as t; print(t.astext(t.Programs(7).module(6)))",
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program, str(path.parent)], env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            cwd=path.parents[2], check=True, capture_output=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }  # fmt: skip
    assert len(texts) == 1
    assert len(texts.pop()) > 100
