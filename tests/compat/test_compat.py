"""`import tvm` finds passlab: addresses, results with `.numpy()`, errors for what is missing, and the way back."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import passlab
import passlab.compat
from passlab.compat import CompatError, addresses
from passlab.compat.finder import AbsentModule, AbsentName, Overlay
from passlab.errors import PasslabError

NAMES = (Path(__file__).parent / "tvm_names.txt").read_text(encoding="utf-8").split()
X = np.array([1.0, 2.0, 3.0], "float32")


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_every_address_is_a_module_with_all_its_names() -> None:
    for address in addresses.MODULES:
        module = importlib.import_module(address)
        assert sys.modules[address] is module
        for name in module._names if isinstance(module, Overlay) else ():
            assert getattr(module, name) is not None


def can_be_imported(name: str) -> bool:
    module, _, rest = name.partition(":")
    try:
        value = importlib.import_module(module)
        for part in rest.split("."):
            value = getattr(value, part)
    except (AttributeError, ImportError):
        return False
    return not isinstance(value, (AbsentName, AbsentModule))


def test_names_of_tvm_are_found() -> None:
    assert [name for name in NAMES if not can_be_imported(name)] == []


def test_classes_are_the_same_objects() -> None:
    import tvm
    from tvm import relay
    from tvm.relay.expr import Call

    assert tvm.IRModule is passlab.IRModule
    assert Call is relay.Call is passlab.relay.Call
    assert tvm.relay.testing.resnet is passlab.testing.resnet
    assert issubclass(PasslabError, tvm.error.TVMError)
    assert tvm.target.Target is passlab.Target


@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
def test_results_have_the_methods_of_arrays(kind: str) -> None:
    import tvm
    from tvm import relay

    x = relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([x + relay.const(1.0), relay.sum(x)])))
    sums, total = relay.create_executor(kind, mod, tvm.cpu(), "llvm").evaluate()(tvm.nd.array(X))
    assert sums.numpy().tolist() == [2, 3, 4]
    assert (total.asnumpy().shape, float(total.numpy())) == ((), 6.0)
    assert type(sums.numpy()) is np.ndarray


def test_constants_and_values_of_data_types_have_them_too() -> None:
    from tvm import relay
    from tvm.relay.prelude import Prelude

    assert relay.const(X).data.numpy().tolist() == X.tolist()
    prelude = Prelude()
    result = relay.create_executor("debug", prelude.mod).evaluate(prelude.Cons(relay.const(3), prelude.Nil()))
    assert int(result.fields[0].numpy()) == 3


def test_the_machine_and_the_graph_give_arrays() -> None:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor
    from tvm.runtime.vm import VirtualMachine

    x = relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    machine = VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())
    np.testing.assert_allclose(machine.invoke("main", X).numpy(), np.exp(X), rtol=1e-6)
    module = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](tvm.cpu()))
    module.run(x=tvm.nd.array(X))
    out = module.get_output(0, tvm.nd.empty((3,)))
    np.testing.assert_allclose(out.numpy(), np.exp(X), rtol=1e-6)


def test_arrays_copy() -> None:
    import tvm

    source = X.copy()
    array = tvm.nd.array(source, tvm.cpu())
    source[0] = 9
    assert array.numpy()[0] == 1
    assert tvm.nd.array([1.5, 2.5]).dtype == "float32"
    target = tvm.nd.empty((3,))
    assert array.copyto(target) is target
    assert target.numpy().tolist() == X.tolist()
    assert array.copyto(tvm.cpu()).copyfrom(X * 2).numpy()[2] == 6
    copy = array.numpy()
    copy[:] = 0
    assert array.numpy()[0] == 1


@pytest.mark.rotating
@pytest.mark.parametrize(
    ("statement", "use", "hint"),
    [
        ("from tvm import autotvm", "autotvm.task.create('conv')", "nothing to tune"),
        ("import tvm.auto_scheduler.measure", "tvm.auto_scheduler.measure.Builder()", "nothing to tune"),
        ("from tvm.topi import nn", "nn.conv2d_alter_layout(None)", "NumPy"),
        ("from tvm.topi.cuda.conv3d_winograd import tile_size", "tile_size(3)", "NumPy"),
        ("from tvm.contrib import pipeline_executor", "pipeline_executor.build([])", "one after the other"),
        ("import tvm.relax", "tvm.relax.transform.Fuse()", "another language"),
        ("from tvm.script import tir as T", "T.prim_func(print)", "TVMScript is not read"),
        ("from tvm import te", "te.compute((3,), print)", "NumPy"),
        ("from tvm import tir", "class Mine(tir.PrimFunc): pass", "NumPy"),
        (
            "from tvm.relay.op.contrib import cutlass",
            "for row in cutlass.pattern_table: pass",
            "register_pattern_table",
        ),
        ("from tvm.relay.op import register_compute", "register_compute('relu')(print)", "add_kernel"),
        ("import tvm", "tvm.build(None)", "relay.build"),
    ],
)
def test_what_is_missing_can_be_imported_and_says_what_to_use(statement: str, use: str, hint: str) -> None:
    names: dict[str, object] = {}
    exec(statement, names)
    with pytest.raises(AttributeError, match="passlab has no `tvm") as caught:
        exec(use, names)
    assert isinstance(caught.value, PasslabError)
    assert hint in str(caught.value)


def test_modules_that_are_not_tvms_are_not_found() -> None:
    with pytest.raises(ImportError, match=r"passlab has no `tvm\.contrib\.nowhere`") as caught:
        import tvm.contrib.nowhere  # noqa: F401
    assert isinstance(caught.value, PasslabError)


def test_nothing_is_an_instance_of_what_is_missing() -> None:
    from tvm import tir

    assert not isinstance(3, (tir.Stmt, tir.expr.PrimExprWithOp))
    assert isinstance(3, (tir.Stmt, tir.IntImm))


def test_missing_names_are_attribute_errors() -> None:
    import tvm

    assert not hasattr(tvm, "no_such_module")
    assert not hasattr(tvm.relay, "no_such_operator")


def test_functions_are_found_by_name() -> None:
    import tvm

    assert tvm.get_global_func("relay._transform.FoldConstant") is passlab.transform.FoldConstant
    assert tvm.get_global_func("nothing.here", allow_missing=True) is None
    with pytest.raises(PasslabError, match=r"there is no function `nothing\.here`"):
        tvm.get_global_func("nothing.here")

    @tvm.register_func("compat.test.double", override=True)
    def double(value: int) -> int:
        return 2 * value

    assert tvm.get_global_func("compat.test.double")(4) == 8
    with pytest.raises(PasslabError, match="registered already"):
        tvm.register_func("compat.test.double", double)
    tvm._ffi.registry.remove_global_func("compat.test.double")


def test_numbers_and_dimensions() -> None:
    import tvm
    from tvm import relay, te, tir

    assert isinstance(3, tir.IntImm)
    assert not isinstance(True, tir.IntImm)
    assert (tir.IntImm("int64", 3).value, tir.const(0.5).dtype, tir.const(2).dtype) == (3, "float32", "int32")
    n = te.size_var("n")
    ty = relay.TensorType((n, tir.Any(), tir.IntImm("int32", 4)))
    assert ty.shape[0] is n
    assert ty.shape[2] == 4
    assert tvm.runtime.convert([1, [2, 3]]) == (1, (2, 3))
    assert (te.max_value("int8"), te.min_value("int8")) == (127, -128)


def test_targets() -> None:
    import tvm

    target = tvm.target.Target("llvm -mcpu=native -device=arm_cpu", host="c")
    assert (target.kind, target.attrs["mcpu"], target.host.kind) == ("llvm", "native", "c")
    assert tvm.target.Target({"kind": "cuda", "host": "llvm"}).host == tvm.target.Target("llvm")
    assert tvm.target.Target(target) == target
    with target, tvm.target.cuda() as inner:
        assert tvm.target.Target.current() is inner
    with pytest.raises(PasslabError, match="no target is current"):
        tvm.target.Target.current(allow_none=False)


@pytest.mark.nightly
def test_a_script_and_a_notebook_are_ways_in(tmp_path: Path) -> None:
    script = tmp_path / "old.py"
    script.write_text("import sys, neighbour, tvm; print(tvm.__version__, sys.argv[1:], __name__)", encoding="utf-8")
    (tmp_path / "neighbour.py").write_text("", encoding="utf-8")
    command = [sys.executable, "-m", "passlab.compat", str(script), "--flag"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split(maxsplit=1)[1].strip() == "['--flag'] __main__"
    missing = subprocess.run([*command[:3], "nowhere.py"], capture_output=True, text=True, check=False)
    assert (missing.returncode, missing.stderr) == (2, "error: there is no file nowhere.py\n")
    code = (
        "from IPython.testing.globalipapp import start_ipython\n"
        "shell = start_ipython()\n"
        "shell.run_line_magic('load_ext', 'passlab.compat')\n"
        "import tvm; print(tvm.relay.nn.relu)"
    )
    assert "<operator nn.relu" in run(code).stdout


def test_it_stays_away_from_a_real_tvm(tmp_path: Path) -> None:
    (tmp_path / "tvm.py").write_text("", encoding="utf-8")
    result = run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tvm, passlab.compat")
    assert "a real `tvm` is imported already" in result.stderr


def test_uninstalled_nothing_is_left() -> None:
    from passlab import relay
    from passlab.ir.expr import Constant

    import_tvm = importlib.import_module("tvm")
    assert import_tvm.relay is not None
    passlab.compat.uninstall()
    assert not passlab.compat.is_installed()
    assert "tvm" not in sys.modules
    assert type(Constant(X).data) is np.ndarray
    x = relay.var("x", shape=(3,))
    result = relay.create_executor("vm", passlab.IRModule.from_expr(relay.Function([x], x + x))).evaluate()(X)
    assert type(result) is np.ndarray


def test_it_is_only_there_when_asked_for() -> None:
    result = run(
        "import passlab, passlab.relay, passlab.notebook, passlab.cli, sys; print('tvm' in sys.modules)\nimport tvm"
    )
    assert result.stdout.strip() == "False"
    assert "No module named 'tvm'" in result.stderr


def test_an_installation_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    passlab.compat.uninstall()
    monkeypatch.setitem(sys.modules, "tvm", type(sys)("tvm"))
    with pytest.raises(CompatError, match="a real `tvm`"):
        passlab.compat.install()
    assert not passlab.compat.is_installed()


LEFT_AS_IT_WAS = """
import importlib, pathlib, sys, passlab
root = pathlib.Path(passlab.__file__).parent
files = [file.relative_to(root.parent).with_suffix("") for file in sorted(root.rglob("*.py"))]
names = [".".join(f.parts).removesuffix(".__init__") for f in files if f.name != "__main__"]
def load(names):
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:  # of another package
            assert not (error.name or "").startswith("passlab"), error
load([name for name in names if not name.startswith("passlab.compat")])
assert "passlab.compat" not in sys.modules
def state():
    owners = [m for n, m in sys.modules.items() if n.startswith("passlab.") and not n.startswith("passlab.compat")]
    owners += [c for m in owners for c in vars(m).values() if isinstance(c, type) and c.__module__ == m.__name__]
    plain = lambda name: not (name.startswith(("__", "_abc")) or name in sys.modules)
    return {(str(o), n): id(v) for o in owners for n, v in list(vars(o).items()) if plain(n)}
before = state()
load([name for name in names if name.startswith("passlab.compat")])
import passlab.compat
assert passlab.compat.is_installed()
assert state() != before
passlab.compat.uninstall()
after = state()
print(*sorted(key for key in before if after.get(key) != before[key]), sep="\\n")
"""


def test_passlab_is_as_it_was_once_compat_is_taken_back() -> None:
    ran = subprocess.run([sys.executable, "-c", LEFT_AS_IT_WAS], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert not ran.stdout.strip()
