"""What Tab offers inside cells and on lines."""

from __future__ import annotations

from types import ModuleType

import passlab
from passlab.notebook.completion import candidates
from passlab.notebook.pipelines import pass_of


def names(text: str, before: str | None = None, **namespace: object) -> list[str]:
    return [name for name, _ in candidates(text, text if before is None else before, namespace)[0]]


def test_operators_in_a_cell():
    assert "nn.relu" in names("%%relay net\nnn.re")


def test_attributes_inside_a_call():
    assert "strides=" in names("%%relay net\nnn.conv2d(%x, %w, str")


def test_variables_and_functions_of_the_cell():
    assert names("%%relay net\ndef @main(%data: float32) { exp(%da") == ["%data"]
    assert names("%%relay net\ndef @helper() { 1 }\ndef @main() { @he") == ["@helper"]


def test_passes_by_name():
    assert names("%passes net Fuse") == ["FuseOps"]


def test_passes_of_the_notebook_and_of_its_modules_with_their_options():
    @passlab.transform.function_pass(opt_level=0)
    class Mine:
        def __init__(self, often=1):
            self.often = often

        def transform_function(self, func, mod, ctx):
            return func

    @passlab.transform.function_pass(opt_level=0)
    def mine_too(func, mod, ctx):
        return func

    module = ModuleType("own")
    module.inlined, Mine.__module__ = mine_too, "__main__"
    space = {"Mine": Mine, "mine_too": mine_too, "own": module, "net": passlab.parse("def @main() { 1f }")}
    for magic in ("passes", "culprit", "bisect"):
        assert names(f"%{magic} net Mi", **space) == ["Mine"]
        assert names(f"%{magic} net mine", **space) == ["mine_too"]
        assert names(f"%{magic} net own.", **space) == ["own.inlined"]
        assert names(f"%{magic} net Mine(", **space) == ["often="]
    assert pass_of("own.inlined, Mine(often=3)", space).as_text() == "Sequential(mine_too, Mine)"


def test_options_inside_a_pass():
    assert names("%passes net FoldConstant, FuseOps(fuse") == ["fuse_opt_level="]
    assert "desired_layouts=" in names("%%passes net\nInferType\nConvertLayout(")
    assert names("%passes net Nothing(fuse") == []


def test_programs_as_the_first_word():
    from passlab.ir.module import IRModule

    assert names("%passes n", net=IRModule(), number=3) == ["net"]


def test_nothing_outside_our_cells():
    assert names("prin") == []


def test_vm_completes_programs_options_breakpoints_and_arrays():
    import numpy as np

    from passlab.relay import parse

    space = {"net": parse("def @main(%x: float32) { exp(%x) }"), "image": np.zeros(3), "other": 3}
    assert names("%vm ne", **space) == ["net"]
    assert names("%vm net --br", **space) == ["--break"]
    assert names("%vm net --break ex", **space) == ["exp"]
    assert "nn.dense" in names("%vm compiled --break nn.den", **space)
    assert names("%vm net --break @ma", **space) == ["@main"]
    assert names("%vm net --args im", **space) == ["image"]
    assert names("%vm net --executor gr", **space) == ["graph"]
    assert names("%vm net --break nan,ex", **space) == ["exp"]
    assert names("%vm net --entry ma", **space) == ["main"]
    assert "nn.conv2d" not in names("%vm net --break nn.", **space)


def test_blame_completes_recordings_its_option_and_passes():
    from passlab.lab.recordings.recording import record
    from passlab.relay import parse

    net = parse("def @main(%x: Tensor[(2), float32]) { nn.relu(exp(%x)) }")
    space = {"rec": record(net, "InferType, FuseOps"), "ref": net, "_12": record(net, "InferType")}
    assert names("%blame re", **space) == ["rec"]
    assert names("%blame rec --", **space) == ["--step"]
    assert names("%blame rec --step Fu", **space) == ["FuseOps"]
