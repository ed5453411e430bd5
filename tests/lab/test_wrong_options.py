"""Whatever is given for a parameter of a public function, the answer is a result or a `PasslabError`."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import passlab
from passlab import analysis, dumps, frontend, instrument, lab, relay, testing, transform
from passlab.errors import PasslabError

pytestmark = pytest.mark.rotating

NET = passlab.parse("def @main(%x: Tensor[(2), float32]) { add(nn.relu(%x), multiply(2f, add(2f, 3f))) }")
FUSED = passlab.record(NET, "FoldConstant, FuseOps")
X = np.array([1.0, 2.0], "float32")
CONSTANT = passlab.parse("def @main() { add(2f, 3f) }")
# A call of each function that is right; its arguments are replaced one by one.
CALLS = {
    passlab.parse: {"source": "def @main(%x: int32) { %x }"},
    passlab.parse_expr: {"source": "add(1, 2)"},
    passlab.record: {"mod": NET, "passes": "FoldConstant"},
    passlab.structural_equal: {"lhs": NET, "rhs": NET},
    passlab.structural_hash: {"node": NET},
    passlab.assert_structural_equal: {"lhs": NET, "rhs": NET},
    passlab.IRModule.from_expr: {"expr": NET["main"]},
    passlab.IRModule: {"functions": {"main": NET["main"]}},
    lab.bisect: {"program": NET, "passes": "FoldConstant"},
    lab.compare: {"a": FUSED, "b": FUSED},
    lab.compare_executors: {"mod": CONSTANT},
    lab.culprit: {"program": NET, "pipeline": "FoldConstant", "executors": ("debug",)},
    lab.diff: {"before": NET, "after": FUSED.output},
    lab.fuzz: {"pass_": "FoldConstant", "programs": 1, "seconds": 0.2},
    lab.orders: {"mod": NET, "passes": "FoldConstant, FuseOps", "most": 3},
    lab.prospects: {"mod": NET, "passes": "FoldConstant"},
    lab.reduce: {"mod": NET, "predicate": lambda mod: "relu" in str(mod)},
    lab.simplify: {"model": NET},
    lab.validate: {"recording": FUSED},
    lab.watch: {"program": NET, "args": X},
    lab.watch_solver: {"program": NET},
    lab.what_if: {"mod": NET, "pipeline": "FoldConstant"},
    lab.rewrites_of: {"event": FUSED[1]},
    lab.why_not: {"event": FUSED[1], "node": NET["main"].body},
    lab.record_compilation: {"mod": NET},
    relay.build: {"ir_mod": NET},
    relay.vm.compile: {"mod": NET},
    relay.create_executor: {"mod": NET},
    relay.var: {"name_hint": "x"},
    relay.const: {"value": 1.0},
    transform.PassContext: {},
    transform.Sequential: {"passes": [transform.FoldConstant()]},
    transform.get_pass: {"name": "FoldConstant"},
    transform.parse_pipeline: {"text": "FoldConstant, FuseOps"},
    transform.function_pass: {"pass_func": lambda func, mod, ctx: func, "opt_level": 0},
    transform.module_pass: {"pass_func": lambda mod, ctx: mod, "opt_level": 0},
    instrument.DumpIR: {"dump_dir": "no-such-folder"},
    instrument.PassLimit: {"limit": 1},
    instrument.PrintIRAfter: {},
    instrument.PrintIRBefore: {},
    instrument.Validate: {},
    instrument.VerifyInstrument: {},
    dumps.read_text: {"text": "nothing"},
    dumps.read: {"path_or_stream": "no-such-file"},
    frontend.from_onnx: {"model": "no-such-file.onnx"},
    testing.create_workload: {"net": NET["main"]},
    analysis.free_vars: {"expr": NET["main"]},
    analysis.detect_feature: {"a": NET["main"]},
    relay.build_module.bind_params_by_name: {"func": NET["main"], "params": {"x": X}},
    FUSED.__getitem__: {"key": 1},
    FUSED.all: {"name": "FuseOps"},
    FUSED.biography: {"node": NET["main"].body},
    FUSED.blame: {},
    FUSED.diff: {},
    FUSED.first: {"predicate": lambda mod: True},
    FUSED.follow: {"node": NET["main"].body},
    FUSED.save: {"directory": "recording"},
    FUSED.to_html: {"path": "page.html"},
    FUSED.when: {"predicate": lambda mod: True},
    FUSED.where: {"op": "add"},
    lab.Recording.load: {"directory": "nothing"},
    FUSED.what_if.insert: {"added": "FoldConstant", "at": 1},
    FUSED.what_if.move: {"which": "FuseOps", "to": 1},
    FUSED.what_if.repeat: {"which": "FuseOps"},
    FUSED.what_if.rewrite: {"passes": [1]},
    FUSED.what_if.without: {"which": "FuseOps"},
}
HOSTILE = (object(), -1, 1.5, float("nan"), "nonsense", "", b"\0", [object()], {"nonsense": object()}, 10**30, None, ())
HOSTILE += (np.ones((2, 3)), "\ud800", "a\0b", {1}, 1j, NET, FUSED, passlab)  # type: ignore[assignment]


def parameters(function):
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind in kinds]


def name_of(function):
    return getattr(function, "__qualname__", str(function))


@pytest.mark.parametrize("function", CALLS, ids=name_of)
def test_a_wrong_argument_is_refused_in_words(function, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some values are names of files to write
    complaints = []
    right = dict(CALLS[function])
    extra = (right.pop("args"),) if "args" in right else ()
    for name in parameters(function):
        for value in HOSTILE:
            try:
                if extra:
                    function(
                        right["program"] if name != "program" else value,
                        *extra,
                        **({} if name == "program" else {name: value}),
                    )
                else:
                    function(**{**right, name: value})
            except PasslabError:
                continue
            except Exception as error:  # noqa: BLE001 - what is looked for
                complaints.append(f"{name}={value!r}: {type(error).__name__}: {error}"[:200])
    assert not complaints, "\n" + "\n".join(complaints)


def test_every_function_of_the_lab_is_asked():
    functions = {value for name in dir(lab) if inspect.isfunction(value := getattr(lab, name))}
    assert functions <= set(CALLS)


def test_a_misspelled_parameter_is_named_with_the_right_one():
    with pytest.raises(PasslabError, match="`fuzz` has no parameter `second`"):
        lab.fuzz("FoldConstant", second=3)
    with pytest.raises(PasslabError, match="did you mean `seconds`"):
        lab.fuzz("FoldConstant", second=3)
