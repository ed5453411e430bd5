"""Nobody's memory moves: writing into arguments or results after a run changes nothing else, on all executors."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import passlab
from passlab import relay

KINDS = ("debug", "graph", "vm", "aot")
X = "%x: Tensor[(2, 3), float32]"
VIEWS = {
    "itself": "%x",
    "twice": "(%x, %x)",
    "nested": "(%x, (%x, reshape(%x, newshape=[3, 2])))",
    "reshape": "reshape(%x, newshape=[-1])",
    "transpose": "transpose(%x)",
    "squeeze": "squeeze(expand_dims(%x, axis=0))",
    "slice": "strided_slice(%x, begin=[0], end=[1], strides=[1])",
    "split": "split(%x, indices_or_sections=3, axis=1)",
    "same cast": 'cast(%x, dtype="float32")',
    "broadcast": "broadcast_to(%x, shape=[4, 2, 3])",
    "copy": "copy(%x)",
    "computed": "let %y = %x + 1f; (%y, reshape(%y, newshape=[6]), %y)",
    "take": "take(%x, 1, axis=0)",
    "branch": "if (max(%x) > -100f) { %x } else { %x + 1f }",
    "constant": "let %c = full(2f, shape=[3]); (%c, %x)",
    "no change": "nn.dropout(%x).0",
}


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def copies(value):
    return [leaf.copy() for leaf in leaves(value)]


def scribble(arrays):
    for array in arrays:
        if array.flags.writeable:
            array[...] = -99


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", VIEWS)
def test_arguments_and_results_belong_to_the_caller(kind, name):
    if kind == "graph" and name == "branch":
        pytest.skip("a graph has no control flow")
    run = relay.create_executor(kind, passlab.parse(f"def @main({X}) {{ {VIEWS[name]} }}")).evaluate()
    x = np.arange(6, dtype="float32").reshape(2, 3)
    first = run(x)
    expected = copies(first)
    again = run(x.copy())
    for result, other in zip(leaves(again), expected, strict=True):
        np.testing.assert_array_equal(result, other)
    x[...] = 77
    for result, other in zip(leaves(first), expected, strict=True):
        np.testing.assert_array_equal(result, other)
    outputs = leaves(first)
    for number, output in enumerate(outputs):  # each result alone
        scribble([output])
        for result, other in zip(outputs[number + 1 :], expected[number + 1 :], strict=True):
            np.testing.assert_array_equal(result, other)
    for result, other in zip(leaves(run(np.arange(6, dtype="float32").reshape(2, 3))), expected, strict=True):
        np.testing.assert_array_equal(result, other)


@pytest.mark.parametrize("kind", ["graph", "vm", "aot"])
def test_an_input_that_was_set_is_a_copy(kind):
    mod = passlab.parse(f"def @main({X}) {{ (%x, %x * 2f) }}")
    x = np.ones((2, 3), "float32")
    if kind == "vm":
        machine = relay.vm.VirtualMachine(relay.vm.compile(mod))
        machine.set_input("main", x)
        x[...] = 5
        first = machine.invoke("main")
        scribble(leaves(first))
        results = machine.invoke("main")
    else:
        module = relay.build(mod, executor=kind).module()
        module.set_input("x", x)
        x[...] = 5
        module.run()
        scribble([module.get_output(0), module.get_output(1)])
        module.run()
        results = module.get_output(0), module.get_output(1)
    np.testing.assert_array_equal(results[0], np.ones((2, 3)))
    np.testing.assert_array_equal(results[1], np.full((2, 3), 2))


@pytest.mark.parametrize("kind", ["debug", "vm", "aot"])
def test_a_function_keeps_what_it_captured(kind):
    run = relay.create_executor(kind, passlab.parse(f"def @main({X}) {{ fn () {{ %x }} }}")).evaluate()
    x = np.ones((2, 3), "float32")
    function = run(x)
    x[...] = 5
    scribble([function()])
    np.testing.assert_array_equal(function(), np.ones((2, 3)))


@pytest.mark.parametrize("kind", ["debug", "vm", "aot"])
def test_data_values_and_cells_are_the_callers_own(kind):
    data = f"type Box {{ Box(Tensor[(2, 3), float32]) }} def @main({X}) {{ (Box(%x), %x) }}"
    x = np.ones((2, 3), "float32")
    box, result = relay.create_executor(kind, passlab.parse(data)).evaluate()(x)
    x[...] = 5
    scribble([result])
    np.testing.assert_array_equal(box.fields[0], np.ones((2, 3)))
    if kind != "vm":
        x = np.ones((2, 3), "float32")
        cell = relay.create_executor(kind, passlab.parse(f"def @main({X}) {{ ref(%x) }}")).evaluate()(x)
        x[...] = 5
        np.testing.assert_array_equal(cell.value, np.ones((2, 3)))


@pytest.mark.parametrize("kind", KINDS)
def test_one_function_is_called_from_eight_threads(kind):
    text = f"def @main({X}) {{ let %y = reshape(exp(%x) + %x, newshape=[3, 2]); (%y, sum(%y)) }}"
    run = relay.create_executor(kind, passlab.parse(text)).evaluate()

    def work(seed):
        for number in range(25):
            x = np.full((2, 3), (seed * 25 + number) / 100, "float32")
            y, total = run(x)
            expected = (np.exp(x) + x).reshape(3, 2)
            np.testing.assert_allclose(y, expected, rtol=1e-6)
            np.testing.assert_allclose(total, expected.sum(), rtol=1e-5)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


FRESH = """
import random, sys
import numpy as np, passlab
from passlab import relay
kinds = ["debug", "graph", "vm", "aot"]
random.Random(int(sys.argv[1])).shuffle(kinds)
nets = [("cast(%x, dtype='int4')", [1, 2, -8]), ("cast(%x, dtype='uint4')", [1, 2, 8]),
        ("cast(%x, dtype='bfloat16')", [1, 2, -8]), ("cast(%x, dtype='float8_e4m3fn')", [1, 2, -8]),
        ("cast(cast(%x, dtype='int4') + cast(%x, dtype='int4'), dtype='int32')", [2, 4, 0])]
for kind in kinds:
    for body, expected in nets:
        net = passlab.parse("def @main(%x: Tensor[(3), float32]) { " + body.replace("'", chr(34)) + " }")
        x = np.array([1, 2, 8 if "uint" in body else -8], "float32")
        result = relay.create_executor(kind, net).evaluate()(x)
        assert [float(v) for v in result] == expected, (kind, body, result)
print("same everywhere")
"""


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(3))
def test_executors_do_not_depend_on_each_other_in_a_fresh_process(seed):
    done = subprocess.run([sys.executable, "-c", FRESH, str(seed)], capture_output=True, text=True, check=False)
    assert done.stdout == "same everywhere\n", done.stderr[-2000:]
