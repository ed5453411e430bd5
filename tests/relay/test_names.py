"""`passlab` and `relay` by name: everything listed is there, loads on first use, and misspelt names are explained."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import passlab
from passlab import relay
from passlab.errors import PasslabError
from passlab.ir import Op


@pytest.mark.parametrize("package", ["passlab", "passlab.relay"])
def test_every_listed_name_is_there(package: str) -> None:
    module = sys.modules[package]
    missing = []
    for name in module._NAMES:
        try:
            getattr(module, name)
        except AttributeError as error:
            missing.append(str(error))
        except ModuleNotFoundError as error:
            assert str(error.name).startswith("passlab.")  # noqa: PT017 - a room that this checkout does not have
    assert not missing
    assert set(module._NAMES) <= set(dir(module))


def test_every_operator_is_a_function_under_its_name() -> None:
    for name in Op.list_op_names():
        where: object = relay.op
        for part in name.split("."):
            where = getattr(where, part)
        assert where is Op.get(name).spec.builder
        if "." not in name:
            assert getattr(relay, name) is Op.get(name).spec.builder
            assert name in dir(relay)


def test_rooms_of_operators_are_modules() -> None:
    from passlab.relay.nn import dense
    from passlab.relay.op import nn

    assert nn is relay.nn
    assert dense is relay.nn.dense is relay.op.nn.dense
    assert "dense" in dir(relay.nn)


def test_quantized_operators_stand_in_both_their_rooms() -> None:
    assert relay.qnn.conv2d is relay.qnn.op.conv2d is Op.get("qnn.conv2d").spec.builder
    assert {"conv2d", "quantize", "requantize_config"} <= set(dir(relay.qnn)) & set(dir(relay.qnn.op))
    assert "CanonicalizeOps" in dir(relay.qnn.transform)


def test_other_rooms_are_found_at_relays_addresses() -> None:
    import passlab.transform
    from passlab.relay.transform import PassContext

    assert PassContext is passlab.transform.PassContext
    assert relay.transform.Sequential is passlab.transform.Sequential
    assert "PassContext" in dir(relay.transform)
    assert isinstance(relay.Any(), relay.ty.Any)


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: passlab.trnsform, "transform"),
        (lambda: relay.reshpe, "reshape"),
        (lambda: relay.nn.dens, "dense"),
        (lambda: relay.TensorTyp, "TensorType"),
        (lambda: relay.transform.PassContxt, "PassContext"),
    ],
)
def test_misspelt_names_are_explained(ask: object, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"did you mean `{meant}`") as caught:
        ask()  # type: ignore[operator]
    assert isinstance(caught.value, PasslabError)


def test_hasattr_answers() -> None:
    assert not hasattr(relay, "no_such_thing")
    assert not hasattr(passlab, "__wrapped__")


def test_import_loads_nothing() -> None:
    code = "import sys, passlab; print(sorted(m for m in sys.modules if m.partition('.')[0] in ('numpy', 'pandas', 'IPython', 'passlab')))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['passlab', 'passlab.lazy']"


def test_the_table_of_operators() -> None:
    table = relay.op.list()
    assert table.column("operator") == Op.list_op_names()
    assert relay.op.get("add") is Op.get("add")
    assert "add" in str(table)


def test_a_published_example_reads_unchanged() -> None:
    x = relay.var("x", relay.TensorType((1, 3), "float32"))
    f = relay.Function([x], relay.add(x, relay.const(np.ones((1, 3), "float32"))))
    mod = passlab.IRModule.from_expr(f)
    assert mod["main"] is f
    assert f.body.op is relay.op.get("add")


@pytest.mark.parametrize(
    ("room", "names"),
    [
        ("dataflow_pattern", {"is_op", "wildcard", "rewrite", "DFPatternCallback"}),
        ("expr_functor", {"ExprMutator", "ExprVisitor"}),
        ("transform", {"FoldConstant", "gradient"}),
    ],
)
def test_rooms_at_relays_addresses_give_all_their_names(room: str, names: set[str]) -> None:
    table: dict[str, object] = {}
    exec(f"from passlab.relay.{room} import *", table)
    assert names <= table.keys()


def test_a_package_at_two_addresses_is_one_module() -> None:
    code = (
        "import passlab.relay.testing.resnet as a, passlab.testing.resnet as b, passlab.testing, passlab.relay.testing\n"
        "from passlab.relay.testing.temp_op_attr import TempOpAttr as A\n"
        "from passlab.testing.temp_op_attr import TempOpAttr as B\n"
        "print(a is b, A is B, passlab.testing is passlab.relay.testing)\n"
        "try: import passlab.relay.testing.nothing\n"
        "except ModuleNotFoundError as error: print(error.name)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["True", "True", "True", "passlab.relay.testing.nothing"]


@pytest.mark.parametrize("name", ["const", "Constant", "Expr"])
def test_files_of_operators_have_the_names_that_relays_import(name: str) -> None:
    assert getattr(relay.nn, name) is getattr(relay.op.nn, name) is getattr(relay.expr, name, getattr(relay, name))


def test_the_standard_library_comes_typed() -> None:
    prelude = relay.Prelude()
    assert str(prelude.mod[prelude.length].checked_type) == "fn [A](List[A]) -> int32"
    for name in ("core.rly", "gradient.rly", "nat.rly", "prelude.rly"):
        mod = passlab.IRModule()
        mod.import_from_std(name)
        assert passlab.infer.infer_module(mod) is mod


def test_the_text_of_an_error_is_its_argument() -> None:
    with pytest.raises(PasslabError) as caught:
        relay.op.get("nn.rleu")
    assert caught.value.args == (str(caught.value),)
    assert "nn.rleu" in caught.value.args[0]


@pytest.mark.rotating
@pytest.mark.parametrize("room", ["annotation", "image", "nn", "random", "vision"])
@pytest.mark.parametrize("first", ["passlab.relay.op.{0}", "tvm.relay.op.{0}"])
def test_a_room_of_operators_is_one_module_whichever_address_is_imported_first(room: str, first: str) -> None:
    program = f"""
import importlib, passlab.compat
passlab.compat.install()
importlib.import_module("{first.format(room)}")
passlab.compat.uninstall()
from passlab import relay
assert relay.op.{room} is relay.{room} is importlib.import_module("passlab.relay.op.{room}")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
