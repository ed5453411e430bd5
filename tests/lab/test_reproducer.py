"""Reproducer notebooks show the fault in another process, and fail once the pass is fixed."""

from __future__ import annotations

import ast
import json
from math import tau as whole_turn

import nbformat
import numpy as np
import pytest

import passlab
from passlab import lab, relay, transform
from passlab.errors import MissingPackageError, PassError
from passlab.infer import infer_module
from passlab.ir.expr import Call
from passlab.ir.walk import rewrite
from passlab.lab.reducer.python_source import function_source, pass_source

NET = """
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  let %h = nn.relu(nn.dense(%x, %w));
  let %d = %h - 0.5f;
  nn.softmax(tanh(%d) + %h)
}
"""
WRONG = "subtract"


def is_wrong(node):
    return isinstance(node, Call) and node.op.name == WRONG


@transform.function_pass(opt_level=0)
def swap(func, mod, ctx):
    """Swap what is subtracted."""

    def rule(before, node):
        return relay.subtract(node.args[1], node.args[0]) if is_wrong(node) else node

    return rewrite(func, rule, only=(Call,))


@transform.module_pass(opt_level=0)
class Turns:
    """Adds something to the result of @main."""

    def __init__(self, by=1.0):
        self.by = by

    def transform_module(self, mod, ctx):
        main = mod["main"]
        mod["main"] = main.with_fields(body=relay.add(main.body, relay.const(self.by * whole_turn)), ret_type=None)
        return mod


def mentions_tanh(mod):
    return " tanh(" in mod.astext()


@pytest.fixture
def net():
    return passlab.parse(NET)


def cells(path):
    """The cells of a notebook, which is valid."""
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    return [(cell.cell_type, cell.source) for cell in book.cells]


def run(path, **replaced):
    """Run a notebook in an empty namespace, with other values for some of its names."""
    space = {}
    for kind, source in cells(path):
        if kind == "code" and source.startswith("%%relay net\n"):
            space["net"] = passlab.parse(source.partition("\n")[2])
        elif kind == "code":
            exec(source.replace("%load_ext passlab\n", ""), space)
        space |= {name: value for name, value in replaced.items() if name in space}
    return space


# ---------------------------------------------------------------- a bisection
def test_it_shows_the_fault_again_and_fails_once_the_pass_is_mended(net, tmp_path):
    bisection = lab.bisect(net, [transform.InferType(), swap, transform.FoldConstant()])
    path = bisection.notebook(tmp_path / "swap.ipynb")
    assert path == tmp_path / "swap.ipynb"
    again = run(path)["bisection"]
    assert (again.event.name, again.why) == ("swap", bisection.why)
    mended = transform.function_pass(lambda func, mod, ctx: func, opt_level=0, name="swap")
    with pytest.raises(AssertionError, match="no pass breaks the program any more"):
        run(path, swap=mended)


def test_what_a_pass_uses_goes_along(net, tmp_path):
    lab.bisect(net, [swap]).notebook(tmp_path / "swap.ipynb")
    definition = cells(tmp_path / "swap.ipynb")[2][1]
    for line in (
        "from passlab import relay",
        "from passlab.ir.expr import Call",
        "WRONG = 'subtract'",
        "def is_wrong(node):",
    ):
        assert line in definition
    assert definition.index("WRONG =") < definition.index("def is_wrong") < definition.index("def swap")


def test_the_smallest_program_is_shown_with_the_pass(net, tmp_path):
    small = lab.bisect(net, [swap]).reduce()
    run(small.notebook(tmp_path / "small.ipynb"))
    (program,) = [source for _, source in cells(tmp_path / "small.ipynb") if source.startswith("%%relay")]
    assert passlab.structural_equal(infer_module(passlab.parse(program.partition("\n")[2])), small.module)


def test_standard_passes_stand_there_by_name_with_their_options(net, tmp_path):
    bisection = lab.bisect(
        net,
        "InferType, FastMath, FuseOps(fuse_opt_level=0)",
        mentions_tanh,
        opt_level=4,
        config={"relay.FuseOps.max_depth": 9},
    )
    bisection.notebook(tmp_path / "fast.ipynb")
    code = [source for kind, source in cells(tmp_path / "fast.ipynb") if kind == "code"]
    (asked,) = [source for source in code if source.startswith("bisection =")]
    assert asked.splitlines()[0] == (
        "bisection = lab.bisect(net, ['FastMath'], opt_level=4, good=mentions_tanh, config={'relay.FuseOps.max_depth': 9})"
    )
    assert run(tmp_path / "fast.ipynb")["bisection"].event.name == "FastMath"


def test_classes_of_passes_and_given_inputs_are_written(net, tmp_path):
    x, w = np.full((2, 3), np.float32(0.1)), np.full((4, 3), np.float32(-0.0))
    for inputs in ([x, w], {"x": x, "w": w}):
        bisection = lab.bisect(net, [Turns(by=0.25)], inputs=inputs)
        space = run(bisection.notebook(tmp_path / "turns.ipynb"))
        results = list(space["inputs"].values() if isinstance(inputs, dict) else space["inputs"])
        assert [a.tobytes() for a in results] == [x.tobytes(), w.tobytes()]
        assert (
            "from math import tau as whole_turn" in cells(tmp_path / "turns.ipynb")[2][1]
            or bisection.event.name == "Turns"
        )


def test_a_pass_that_raises_is_shown_raising(net, tmp_path):
    bisection = lab.bisect(net, [refuse])
    assert cells(bisection.notebook(tmp_path / "r.ipynb"))[0][1].startswith("# refuse fails\n")
    assert isinstance(run(tmp_path / "r.ipynb")["bisection"].error, RuntimeError)


@transform.module_pass(opt_level=0)
def refuse(mod, ctx):
    raise RuntimeError("tanh is not supported")


def test_what_has_no_source_is_left_to_be_filled_in(net, tmp_path):
    space = {}
    exec("def typed(func):\n    return func.with_fields(body=negative(func.body), ret_type=None)", vars(relay), space)

    @transform.function_pass(opt_level=0, name="with a, variable")
    def closed(func, mod, ctx):
        return space["typed"](func)

    lab.bisect(net, [closed]).notebook(tmp_path / "c.ipynb")
    assert cells(tmp_path / "c.ipynb")[2][1] == (
        "# Define the pass `with a, variable` here: "
        "passlab cannot write the function `typed`, whose source is not available."
    )
    with pytest.raises(NameError, match="with_a__variable"):
        run(tmp_path / "c.ipynb")


def test_without_a_guilty_pass_there_is_nothing_to_show(net, tmp_path):
    with pytest.raises(PassError, match="nothing to reproduce"):
        lab.bisect(net, "InferType").notebook(tmp_path / "n.ipynb")
    assert not (tmp_path / "n.ipynb").exists()


def test_without_nbformat_the_error_says_what_to_install(net, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "nbformat", None)
    with pytest.raises(MissingPackageError, match=r"pip install nbformat"):
        lab.bisect(net, [swap]).notebook(tmp_path / "n.ipynb")


def test_hostile_names_are_text_in_every_cell(net, tmp_path):
    name = "<img src=x onerror=alert(1)>\n# big\n``` [a](javascript:b)\u202e"

    @transform.function_pass(opt_level=0, name=name)
    def odd(func, mod, ctx):
        return func.with_fields(body=relay.negative(func.body), ret_type=None)

    lab.bisect(net, [odd]).notebook(tmp_path / "h.ipynb")
    _, text = cells(tmp_path / "h.ipynb")[0]
    head, _, rest = text.partition("\n\n")
    assert not set("<>`[]()\n\u202e") & set(head)
    assert all(line.startswith("    ") for line in rest.splitlines())
    json.loads((tmp_path / "h.ipynb").read_text())


# ---------------------------------------------------------------- a reduction by a predicate
def test_a_predicate_goes_along(net, tmp_path):
    small = lab.reduce(net, mentions_tanh)
    run(small.notebook(tmp_path / "p.ipynb"))
    with pytest.raises(AssertionError, match="no longer shows it"):
        run(tmp_path / "p.ipynb", net=passlab.parse("def @main(%x: float32) { %x }"))


def test_a_lambda_gets_a_name(net, tmp_path):
    small = lab.reduce(net, lambda mod: "tanh(" in mod.astext(), tries=50)
    run(small.notebook(tmp_path / "l.ipynb"))
    definition = cells(tmp_path / "l.ipynb")[2][1]
    assert ast.unparse(ast.parse(definition)) == "shows = lambda mod: 'tanh(' in mod.astext()"


@passlab.transform.function_pass(opt_level=0)
class Scale:
    """A pass of a user with an option."""

    def __init__(self, by: int = 2) -> None:
        self.by = by

    def transform_function(self, function: object, mod: object, ctx: object) -> object:
        return function


@pytest.mark.parametrize("text", ["Scale(by=3)", "Scale(by=5)", "Scale"])
def test_the_source_of_a_users_pass_has_its_options(text: str) -> None:
    source = pass_source(Scale(by=3), text)
    assert source.expression == (text if "(" in text else "Scale(by=3)")
    assert "def __init__(self, by: int = 2)" in source.definition


def test_local_functions_that_read_each_other_are_written_together():
    def is_even(n):
        return n == 0 or is_odd(n - 1)

    def is_odd(n):
        return n != 0 and is_even(n - 1)

    def is_third(n):
        return is_even(n) and n == 2

    for function, expected in ((is_even, [0, 2]), (is_third, [2])):
        source = function_source(function, "holds")
        space = {}
        exec(source.definition, space)
        assert [n for n in range(4) if eval(source.expression, space)(n)] == expected
