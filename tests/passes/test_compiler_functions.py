"""Functions for other compilers: moved out under their names, marked as taken, and taken back."""

from __future__ import annotations

import pytest

from passlab import transform
from passlab.errors import PassError, PassValueError
from passlab.infer import infer_module
from passlab.ir import IRModule
from passlab.ir.equal import assert_structural_equal
from passlab.text.parser import parse
from passlab.transform import (
    InlineCompilerFunctionsBoundTo,
    MarkCompilerFunctionsAsExtern,
    OutlineCompilerFunctionsWithExistingGlobalSymbols,
)

T = "Tensor[(2), float32]"


def typed(text: str) -> IRModule:
    return infer_module(parse(text))


def literal(name: str, body: str = "exp(%p)", compiler: str = "toy") -> str:
    return f'fn (%p: {T}, Compiler="{compiler}", global_symbol="{name}") -> {T} {{ {body} }}'


def outlined(body: str, compiler: str = "toy") -> IRModule:
    mod = typed(f"def @main(%x: {T}) {{ {body} }}")
    return infer_module(OutlineCompilerFunctionsWithExistingGlobalSymbols(compiler)(mod))


def check(mod: IRModule, *texts: str) -> None:
    assert_structural_equal(mod, typed("\n".join(texts)))


def function(name: str, body: str = "exp(%p)", attrs: str = 'Compiler="toy", global_symbol="{0}"') -> str:
    return f"def @{name}(%p: {T}, {attrs.format(name)}) -> {T} {{ {body} }}"


def test_what_a_let_binds_is_named_directly():
    result = outlined(f"let %f = {literal('a')}; let %y = %f(%x); %f(%y)")
    check(result, f"def @main(%x: {T}) {{ let %y = @a(%x); @a(%y) }}", function("a"))


def test_equal_functions_of_one_name_become_one():
    result = outlined(f"add({literal('a')}(%x), {literal('a')}(%x))")
    check(result, f"def @main(%x: {T}) {{ add(@a(%x), @a(%x)) }}", function("a"))


def test_different_functions_of_one_name_are_refused():
    with pytest.raises(PassError, match="two functions for `toy` are called `a`"):
        outlined(f"add({literal('a')}(%x), {literal('a', 'tanh(%p)')}(%x))")


def test_functions_for_others_stay_and_so_do_those_that_need_something_around_them():
    body = f"add({literal('a', compiler='other')}(%x), {literal('b', 'add(%p, %x)')}(%x))"
    check(outlined(body), f"def @main(%x: {T}) {{ {body} }}")
    assert "def @a" in outlined(body, "").astext()


def test_what_is_marked_is_left_alone_by_function_passes():
    mod = typed(f"def @main(%x: {T}) {{ @a(%x) }}\n{function('a', 'exp(exp(%p))')}")
    result = MarkCompilerFunctionsAsExtern()(mod)
    assert dict(result["a"].attrs.items()) == {"Extern": 1}
    assert transform.FastMath()(infer_module(result))["a"].body is result["a"].body


def test_functions_are_taken_back_by_variable_or_name():
    mod = typed(f"def @main(%x: {T}) {{ @a(@b(%x)) }}\n{function('a')}\n{function('b', 'tanh(%p)')}")
    result = InlineCompilerFunctionsBoundTo([mod.get_global_var("a"), "b"])(mod)
    check(infer_module(result), f"def @main(%x: {T}) {{ exp(tanh(%x)) }}")
    with pytest.raises(PassValueError, match="no function @c"):
        InlineCompilerFunctionsBoundTo(["c"])(mod)


def test_a_function_that_calls_itself_cannot_be_taken_back():
    mod = typed(f"def @main(%x: {T}) {{ @a(%x) }}\n{function('a', '@a(%p)')}")
    assert InlineCompilerFunctionsBoundTo(["a"])(mod) is mod


def test_a_function_that_is_also_a_value_stays():
    mod = typed(f"def @main(%x: {T}) {{ (@a(%x), @a) }}\n{function('a')}")
    result = InlineCompilerFunctionsBoundTo(["a"])(mod)
    check(infer_module(result), f"def @main(%x: {T}) {{ (exp(%x), @a) }}", function("a"))
