"""A program in which nothing is missing is never taken for one that was cut."""

import inspect
import sys

import pytest

from passlab.dumps.consistency import is_consistent

SCRIPT = b'''
from torch._inductor.async_compile import AsyncCompile
import torch._inductor as inductor
empty = torch.empty
import torch
async_compile = AsyncCompile()
kernel = async_compile.cpp("""int main() { return 0; }""")
del async_compile
def call(args):
    first, *others = args
    def inner(x):
        return x + first
    try:
        kernel(first)
    except ValueError as error:
        print(error)
    return [inner(other) for other in others], empty(3), inductor, (lambda y: y)(first)
async def wait(task):
    return await task, call([task])
'''


def test_a_script_is_whole():
    assert is_consistent("", SCRIPT, "python")


@pytest.mark.parametrize("line", [b"    first, *others = args\n", b"kernel = async_compile", b"    def inner(x):\n"])
def test_a_script_without_a_definition_is_not(line):
    start = SCRIPT.index(line)
    end = SCRIPT.index(b"\n", start) + 1
    assert not is_consistent("", SCRIPT[:start] + SCRIPT[end:], "python")


def test_modules_of_the_standard_library_are_whole():
    names = ("ast", "asyncio.tasks", "dataclasses", "json.decoder", "pathlib", "textwrap", "typing", "zipfile")
    for name in names:
        __import__(name)
        assert is_consistent("", inspect.getsource(sys.modules[name]).encode(), "python"), name
