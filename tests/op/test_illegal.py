"""The law of errors: whatever an operator is given, it works or says in a located diagnostic why not.

The edge cases of the declarations are made wrong in every way a program can be: another rank, size or dtype, an
argument too few or too many, a tuple for a tensor, an attribute of any value. What passes inference is run.
"""

from __future__ import annotations

import contextlib
import random
import re
import resource
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import passlab
from passlab import limits
from passlab.errors import LimitError, PasslabError, RunError
from passlab.evaluate import Evaluator
from passlab.ir.attrs import Field
from passlab.ir.expr import Call
from passlab.ir.op import Op
from passlab.ir.types import FuncType
from passlab.op.dtypes import array_dtype
from passlab.op.edge_cases import program
from tests.op.test_edges import NO_VALUE, filled
from tests.op_nn.running import check_type

NAMES = [name for name in Op.list_op_names() if Op.get(name).spec.edge_cases]
DTYPES = ("float32", "int32", "int64", "uint8", "bool", "float16", "bfloat16", "uint64")
_TENSOR = re.compile(r"Tensor\[\(([\d, ]*)\), (\w+)\]")


def attribute(field: Field, rng: random.Random) -> str:
    """A value of about the kind of a field, in Relay text."""
    kind = field.kind
    some = [-100, -2, -1, 0, 1, 2, 3, 99]
    if kind.startswith("list of lists"):
        return rng.choice(["[]", "[[1]]", "[[-9, 0], [0, 0]]", "[[1, 2], [3, 4], [5, 6], [7, 8]]", "[[0, 0]]", "3"])
    if kind.startswith(("list of int", "shape", "int or list")):
        return rng.choice(
            ["[]", "None", str([rng.choice(some) for _ in range(rng.randint(1, 4))]), str(rng.choice(some))]
        )
    if kind.startswith("list of float"):
        return rng.choice(["[]", "[0f]", "[-1f, 2f]", "[nanf]", "None"])
    if kind.startswith("int"):
        return rng.choice([*map(str, some), "2000000000", "None"])
    if kind.startswith("float"):
        return rng.choice(["0f", "-1f", "nanf", "inff", "1e30f", "1"])
    if kind.startswith("bool"):
        return rng.choice(["True", "False", "2"])
    if kind.startswith("dtype"):
        return rng.choice(['"int8"', '"float64"', '"bool"', '"float33"', '""', '"uint64"', '"bfloat16"'])
    words = re.findall(r"'([^']*)'", kind)
    return '"' + rng.choice([*words, "", "?", "NCHW", "NHWC", "NCHW4c", "OIHW", "HWIO", "NCW", "ij,jk->ik", "é"]) + '"'


def spoiled(source: str, name: str, rng: random.Random) -> str:
    """A program made wrong (or not: what is legal must then work) in one way."""
    call = re.search(rf"{re.escape(name)}\((.*)\)\n}}", source, re.DOTALL)
    assert call is not None
    fields = Op.get(name).spec.attrs
    way = rng.choice(["rank", "size", "dtype", "arity", "tuple", "attribute", "attribute", "attribute"])
    if way in ("rank", "size", "dtype"):
        results = list(_TENSOR.finditer(source))
        if not results:
            return source
        hit = rng.choice(results)
        dims = [d.strip() for d in hit[1].split(",") if d.strip()]
        dtype = rng.choice(DTYPES) if way == "dtype" else hit[2]
        if way == "rank":
            dims = dims[1:] if rng.random() < 0.5 else [*dims, rng.choice(["1", "2", "0"])]
        elif way == "size" and dims:
            dims[rng.randrange(len(dims))] = rng.choice(["0", "1", "5", "7", "?"])
        return f"{source[: hit.start()]}Tensor[({', '.join(dims)}), {dtype}]{source[hit.end() :]}"
    if way == "arity":
        inner = call[1]
        first = re.match(r"(%\w+|\([^()]*\)|-?[\d.]+f?)(, )?", inner)
        new = inner[first.end() :] if first and rng.random() < 0.5 else f"1f, {inner}"
        return source.replace(call[0], f"{name}({new})\n}}")
    if way == "tuple":
        swapped = re.sub(r"%\w+", lambda m: f"({m[0]}, {m[0]})", call[1], count=1)
        return source.replace(call[0], f"{name}({swapped})\n}}")
    if fields is None or not fields.schema:
        return source
    field = rng.choice(fields.schema)
    bare = re.sub(rf'(, )?\b{field.name}=(\[[^=]*\]|"[^"]*"|-?[\w.]+)', "", call[1])
    joint = ", " if bare.strip() else ""
    return source.replace(call[0], f"{name}({bare}{joint}{field.name}={attribute(field, rng)})\n}}")


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """Let the process have a gigabyte more than it has: a kernel that asks for more has not asked for the caps."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    if not pages:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**30, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def out_of_memory(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


@pytest.mark.rotating
@pytest.mark.parametrize("name", NAMES)
def test_an_operator_works_or_says_why_not(name: str) -> None:
    rng = random.Random(name)
    for edge in Op.get(name).spec.edge_cases:
        for _ in range(24):
            mod = program(edge, rng.choice(DTYPES))
            source = spoiled(mod.source, name, rng)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    attempt(source, mod.variables)
                except Exception as error:
                    raise AssertionError(f"{type(error).__name__}: {error}\n{source}") from error


def attempt(source: str, variables: Any) -> None:
    try:
        mod = passlab.parse(source)
    except PasslabError as error:
        refusal = error
    else:
        refusal = None
    if refusal is not None:
        assert refusal.diagnostics[0].message
        assert refusal.diagnostics[0].place is not None, "the error says where"
        return
    main = mod["main"]
    call, ty = main.body, main.checked_type
    assert isinstance(call, Call)
    assert isinstance(ty, FuncType)
    assert isinstance(call.op, Op)
    values = {v.name: v.value for v in variables}
    env = {}
    for param, arg in zip(main.params, ty.arg_types, strict=True):
        shape = tuple(d if isinstance(d, int) else 3 for d in arg.shape)  # type: ignore[attr-defined]
        array = filled(shape, arg.dtype, "ordinary", np.random.default_rng(1))  # type: ignore[attr-defined]
        inputs = values.get(param.name_hint)
        if inputs is not None and np.shape(inputs) == shape:
            array = np.array(inputs).astype(array_dtype(arg.dtype))  # type: ignore[attr-defined]
        env[param.name_hint] = array
    with limits.override(elements=10**6, tensor_bytes=10**7), little_memory():
        try:
            got = Evaluator(mod).run("main", list(env.values()))
        except PasslabError as error:
            refusal = error
    assert not isinstance(refusal, PasslabError) or not out_of_memory(refusal), "a size was not checked before"
    if refusal is not None:
        assert refusal.diagnostics[0].message
        assert refusal.diagnostics[0].place is not None or isinstance(refusal, LimitError)
        return
    if "?" not in source:
        check_type(got, ty.ret_type, str(call.op))


def test_the_operators_left_out_are_the_machines_own() -> None:
    assert set(Op.list_op_names()) - set(NAMES) == set(NO_VALUE)


def test_an_error_of_a_kernel_says_where_in_the_program() -> None:
    mod = passlab.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), int32]) {\n  divide(1, %x)\n}')
    with pytest.raises(RunError, match="division by zero") as caught:
        passlab.relay.create_executor("debug", mod=mod).evaluate()(np.array([1, 0], "int32"))
    assert caught.value.diagnostics[0].place is not None or any(p for _, p in caught.value.diagnostics[0].notes)
