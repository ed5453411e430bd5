"""Triton's compilation, live and without a GPU: its passes, its locations, and what it refuses."""

import importlib
import inspect
import re
from collections import Counter
from importlib.util import find_spec

import pytest

from passlab.dumps.locations import places_of
from passlab.errors import DumpError

pytestmark = pytest.mark.nightly

if find_spec("triton") is None:
    pytest.skip("needs triton (pip install triton, 290 MB), without a GPU", allow_module_level=True)

recorder = importlib.import_module("passlab.recorders.triton")
kernels = importlib.import_module("tests.recorders.triton_kernels")

SOFTMAX = {"signature": "*fp32, *fp32, i32, i32", "constexprs": {"BLOCK": 512}}
MATMUL = {"signature": "*fp16:16, *fp16:16, *fp16:16, i32, i32, i32", "constexprs": {"BM": 64, "BN": 64, "BK": 32}}
CASES = {
    "softmax_rows": SOFTMAX,
    "matmul": MATMUL,
    "add_rows": {"signature": "*fp32, *fp32, i32", "constexprs": {"N": 64}},
}
STAGES = {"cuda:90": ["TTIR", "TTGIR", "LLVM IR", "PTX", "SASS"], "hip:gfx942": ["TTIR", "TTGIR", "LLVM IR", "AMDGCN"]}


@pytest.fixture(scope="module")
def recordings():
    made = {}

    def get(kernel, target="cuda:90"):
        if (kernel, target) not in made:
            made[kernel, target] = recorder.record(getattr(kernels, kernel), target=target, **CASES[kernel])
        return made[kernel, target]

    return get


@pytest.mark.parametrize("target", STAGES)
@pytest.mark.parametrize("kernel", CASES)
def test_passes_stand_under_their_stages(recordings, kernel, target):
    recording = recordings(kernel, target)
    stages = [step for step in recording if step.kind == "stage"]
    assert [step.name for step in stages] == STAGES[target]
    assert {step.verdict for step in recording} <= {"changed", "unchanged", "unknown"}
    passes = [step for step in recording if step.kind != "stage"]
    tops = [step for step in passes if step.parent in {stage.number for stage in stages}]
    assert len(passes) > 150
    assert all(step.parent for step in passes)  # a stage, or a pass that runs others
    assert len(tops) > 150
    for stage in stages[:4]:  # of SASS there are no passes
        assert len(recording.children(stage)) > 5
    # Verdicts of whole programs are those of their texts.
    for step in recording:
        if step.verdict == "unchanged" and step.before_body and step.after_body and step.unit == "builtin.module":
            assert _plain(step.before) == _plain(step.after)


def _plain(text):
    """A program without the names of locations, aliases and metadata."""
    text = re.sub(r"(?m)^[#!]\w+ = .*\n?|^\s*$\n?", "", text)
    return re.sub(r"loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|[#!]\w+", "", text).split()


@pytest.mark.parametrize("kernel", CASES)
def test_locations_of_mlir_are_those_of_triton(recordings, kernel, tmp_path):
    """Triton's own bindings read the text of every MLIR step: each operation has the places of its location."""
    ir = importlib.import_module("triton._C.libtriton").ir
    nvidia = importlib.import_module("triton._C.libtriton").nvidia
    recording = recordings(kernel)
    checked = 0
    for step in recording.steps:
        text = step.after
        if step.language != "mlir" or step.verdict != "changed" or "llvm.mlir.global" in text:
            continue
        path = tmp_path / "step.ttir"
        path.write_text(text)
        context = ir.context()
        ir.load_dialects(context)
        nvidia.load_dialects(context)
        try:
            module = ir.parse_mlir_module(str(path), context)
        except RuntimeError:
            continue  # the bindings do not have all dialects of LLVM
        truth = Counter()

        def note(op, truth=truth):
            if op.get_num_results():
                truth[op.get_name(), places_in(str(op.get_result(0).get_loc()))] += 1

        module.walk(note)
        found = Counter()
        for line, places in zip(text.split("\n"), places_of(text, "mlir"), strict=True):
            match = re.match(r'\s*%[-\w:]+(?:, %[-\w:]+)* = "?([a-z_]\w*(?:\.\w+)+)', line)
            if match:
                found[match[1], frozenset(map(str, places))] += 1
        assert found == truth, step
        checked += len(found)
    assert checked > 20


def places_in(text):
    """The files and lines in Triton's own print of one location, which has no aliases."""
    return frozenset(f"{file}:{line}" for file, line in re.findall(r'"([^"]+)":(\d+)(?::\d+)?', text))


@pytest.mark.parametrize("target", STAGES)
@pytest.mark.parametrize("kernel", CASES)
def test_each_line_of_python_is_found_at_each_stage(recordings, kernel, target):
    """What LLVM writes behind each instruction of PTX and machine code, as a comment, is what its `.loc` says."""
    recording = recordings(kernel, target)
    lines, first = inspect.getsourcelines(getattr(kernels, kernel).fn)
    code = {first + at for at, line in enumerate(lines) if "=" in line or "tl.store" in line}
    for stage in STAGES[target]:
        step = next(step for step in recording if step.name == stage)
        seen = {int(place.rpartition(":")[2]) for place in _own(recording, step)}
        assert seen <= set(range(first, first + len(lines))) | {inspect.getsourcelines(kernels.twice.fn)[1] + 2}
        missing = code - seen
        # A line may be folded away, never one that loads, computes or stores.
        assert not [at for at in missing if re.search(r"tl\.(store|load|dot|exp|max|sum)", lines[at - first])], (
            stage,
            missing,
        )
    asm = next(step for step in recording if step.name in ("PTX", "AMDGCN"))
    text = asm.after
    for line, places in zip(text.split("\n"), places_of(text, "asm"), strict=True):
        comment = re.search(r"\.loc\t.*(?://|;) (\S+):(\d+):\d+", line)
        if comment and int(comment[2]):
            assert places[0].file.endswith("/" + comment[1])
            assert places[0].line == int(comment[2])


def _own(recording, step):
    """The lines of the file with the kernels from which the lines of a step come."""
    for name in recording.units_at(step):
        for places in recording.places(name, step):
            yield from (place for place in places if "triton_kernels.py:" in place)


def test_machine_code_and_ir_come_from_the_same_lines(recordings):
    recording = recordings("matmul")
    stages = {step.name: set(_own(recording, step)) for step in recording if step.kind == "stage"}
    assert len(stages["PTX"]) > 8
    assert stages["SASS"] <= stages["PTX"] <= stages["LLVM IR"]


def test_source_and_targets(recordings):
    recording = recordings("softmax_rows")
    codes = {row["text"] for row in recording.sources()}
    assert "e = tl.exp(v)" in codes
    assert "target = cuda:90" in recording.notes
    assert recorder.record(
        kernels.add_rows, {"x": "*fp32", "out": "*fp32", "n": "i32"}, "cuda:sm_80", constexprs={"N": 64}
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((kernels.plain, "*fp32"), "put `@triton.jit` above"),
        ((3, "*fp32"), "an int is not a Triton kernel"),
        ((kernels.softmax_rows, "*fp32, *fp32, i32, i32"), "`BLOCK` is tl.constexpr and has no value"),
        ((kernels.softmax_rows, "*fp32, *fp32"), "the signature has 2 types"),
        ((kernels.softmax_rows, "*fp32, *fp32, i32, int"), "`int`, for `n`, is not a Triton type"),
        ((kernels.softmax_rows, {"outt": "*fp32"}), "did you mean `out`"),
        ((kernels.softmax_rows, {"out": "*fp32"}), "no type for `x`"),
        ((kernels.softmax_rows, 4), "an int is not a signature"),
    ],
)
def test_what_is_no_kernel_or_signature_is_explained(arguments, message):
    given = {} if "has no value" in message else {"BLOCK": 512}
    with pytest.raises(DumpError, match=re.escape(message)):
        recorder.record(*arguments, "cuda:90", constexprs=given)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("cuda", "is not a Triton target"),
        ("cud:90", "did you mean `cuda`"),
        ("hip:90:1", "is not a Triton target"),
        (7, "takes no target"),
    ],
)
def test_what_is_no_target_is_explained(target, message):
    with pytest.raises(DumpError, match=message):
        recorder.record(kernels.softmax_rows, SOFTMAX["signature"], target, constexprs={"BLOCK": 512})


@pytest.mark.parametrize("kernel", ["bad_name", "bad_shapes", "bad_call"])
def test_a_kernel_that_does_not_compile_is_shown_with_its_line(kernel):
    function = getattr(kernels, kernel)
    lines, first = inspect.getsourcelines(function.fn)
    wrong = next(at for at, line in enumerate(lines) if "# wrong" in line)
    with pytest.raises(DumpError) as caught:
        recorder.record(function, "*fp32", "cuda:90")
    place = caught.value.diagnostics[0].place
    assert place is not None
    if kernel != "bad_call":  # that calls another function, where the error is
        assert place.line == first + wrong, str(caught.value)
    assert "Triton does not compile" in str(caught.value)


def test_a_pass_that_fails_is_the_last_step_with_its_place():
    recording = recorder.record(kernels.too_large, "*fp32", "cuda:90", options={"ptx_options": "--no-such-option"})
    assert recording.failed is not None
    assert recording.failed.name == "SASS"
    assert len(recording) > 100
    assert "no-such-option" in recording.failed.note or "ptxas" in recording.failed.note


def test_a_crash_of_the_compiler_ends_no_session(monkeypatch):
    def crash(*_):
        import os

        os.abort()

    monkeypatch.setattr(recorder, "_watch_llvm", crash)
    with pytest.raises(DumpError, match="crashed \\(SIGABRT\\)"):
        recorder.record(kernels.add_rows, "*fp32, *fp32, i32", "cuda:90", constexprs={"N": 64})


def test_nothing_of_the_session_changes(capfd):
    import os

    before = dict(os.environ)
    recorder.record(kernels.add_rows, "*fp32, *fp32, i32", "cuda:90", constexprs={"N": 64})
    assert dict(os.environ) == before
    assert capfd.readouterr() == ("", "")
