"""Folders of JAX, XLA and IREE: what each stage of a program left is one recording, and every file is in it."""

import random

import pytest

from passlab.dumps import read
from tests.dumps import corpus

HLO = "HloModule jit_{name}\n\nENTRY main {{\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] {op}(p)\n}}\n"
MODULE = "module @{kernel} {{\n  func.func @{kernel}(%arg0: f32) -> f32 {{\n    %0 = {op} %arg0 : f32\n    return %0 : f32\n  }}\n}}\n"
BEGIN = "// -----// IR Dump Before {name}: {name} ('builtin.module' operation: @{kernel}) //----- //\n"
LLVM = "define float @{kernel}(float %x) {{\n  %y = {op} float %x\n  ret float %y\n}}\n"
PASSES = [("First", "old.op"), ("Lower", "old.op"), ("Last", "new.op")]  # with what the program is before each


def write_jax(folder, name, turn):
    number = f"{turn:04}"
    (folder / f"jax_00{number}_{name}.jaxpr.txt").write_text(
        f"{{ lambda ; a:f32[4]. let b:f32[4] = neg{turn} a in (b,) }}\n"
    )
    text = f"module @jit_{name} {{\n  func.func public @main() {{\n    stablehlo.negate{turn}\n    return\n  }}\n}}\n"
    (folder / f"jax_ir{number}_jit_{name}_compile.mlir").write_text(text)


def write_xla(folder, number, name, kernels):
    module = f"module_{number:04}.jit_{name}"
    (folder / f"{module}.before_optimizations.txt").write_text(HLO.format(name=name, op="negate"))
    for at, op in enumerate(("negate", "abs")):
        path = folder / f"{module}.{at:04}.simplify.after_p{at}.before_q.txt"
        path.write_text(HLO.format(name=name, op=op))
    (folder / f"{module}.debug_options").write_text("xla_dump_to: x\n")
    for kernel in kernels:
        log = "".join(
            [BEGIN.format(name=one, kernel=kernel) + MODULE.format(kernel=kernel, op=op) + "\n" for one, op in PASSES]
        )
        files = {
            "-pre-optimization.mlir": MODULE.format(kernel=kernel, op="old.op"),
            ".mlir-passes.log": log,
            "-post-lowering.mlir": MODULE.format(kernel=kernel, op="llvm.op"),
            ".ir-no-opt.ll": LLVM.format(kernel=kernel, op="fneg"),
            ".ir-with-opt.ll": LLVM.format(kernel=kernel, op="freeze"),
        }
        for end, text in files.items():
            (folder / f"{module}.{kernel}{end}").write_text(text)


def phases_of(recording):
    phases = {}
    for step in recording.steps:
        phases.setdefault(step.phase, []).append((step.name, step.verdict))
    return phases


EMITTER = [
    *(("First", "unchanged"), ("Lower", "changed"), ("Last", "changed"), ("MLIR, lowered", "changed")),
    *(("LLVM IR", "changed"), ("LLVM IR, optimized", "changed")),
]


@pytest.mark.parametrize("has_jax", [False, True])
def test_the_kernels_of_a_module_of_xla_follow_its_passes(tmp_path, has_jax):
    for turn, name in enumerate(["step", "step", "loss"]):
        write_xla(tmp_path, 2 * turn, name, [f"fusion.{turn}", "wrapped"] if turn != 1 else [])
        if has_jax:
            (tmp_path / "ir").mkdir(exist_ok=True)
            write_jax(tmp_path / "ir", name, turn)
    recording = read(tmp_path)
    phases = phases_of(recording)
    modules = [f"module_{number:04}.jit_{name}" for number, name in ((0, "step"), (2, "step"), (4, "loss"))]
    kernels = {"fusion.0", "fusion.2", "wrapped"}
    assert [one for one in phases if " " not in one] == modules
    assert {one.partition(" ")[2] for one in phases if " " in one} == kernels
    assert all(steps == EMITTER for one, steps in phases.items() if " " in one)
    stages = [("StableHLO", "changed"), ("HLO", "changed")] if has_jax else []
    assert all(phases[one] == [*stages, ("p0", "unchanged"), ("p1", "changed")] for one in modules)
    assert recording.first(r"fneg").name == "LLVM IR"
    assert recording.first(r"new\.op").name == "Lower"
    assert recording.other_output.count("xla_dump_to") == 3
    if has_jax:  # the functions of one name are told apart by their order
        steps = [step for step in recording.steps if step.name == "StableHLO"]
        assert [("negate0" in one.after, "neg0" in one.before) for one in steps] == [
            (True, True),
            *[(False, False)] * 2,
        ]
        assert "neg1" in steps[1].before
        assert "negate1" in steps[1].after


def test_what_jax_wrote_alone_is_a_recording(tmp_path):
    write_jax(tmp_path, "step", 0)
    write_jax(tmp_path, "<lambda>", 1)
    recording = read(tmp_path)
    assert phases_of(recording) == {"step": [("StableHLO", "changed")], "lambda": [("StableHLO", "changed")]}
    assert "neg0" in recording.input


def test_phases_of_iree_are_followed_by_the_code_of_its_executables(tmp_path):
    (tmp_path / "phases").mkdir()
    for number, name in enumerate(["input", "flow", "vm"], start=1):
        text = f"module @m {{\n  func.func @f() {{\n    {name}.op\n    return\n  }}\n}}\n"
        (tmp_path / "phases" / f"m.{number}.{name}.mlir").write_text(text)
    for end, op in ((".codegen.ll", "fneg"), (".linked.ll", "fneg"), (".optimized.ll", "freeze"), (".s", "")):
        text = LLVM.format(kernel="k", op=op) if op else "\t.text\nk:\n\tretq\n"
        (tmp_path / f"module_m_linked{end}").write_text(text)
    (tmp_path / "module_m_linked.o").write_bytes(b"\x7fELF")
    recording = read(tmp_path)
    assert [(step.name, step.verdict) for step in recording.steps] == [
        *(("1.input", "unknown"), ("2.flow", "changed"), ("3.vm", "changed")),
        *(("LLVM IR, linked", "unchanged"), ("LLVM IR, optimized", "changed"), ("assembly", "changed")),
    ]
    assert recording.first("retq").name == "assembly"


def rows_of(recording):
    """The verdicts of the steps of each name, unit and program, in order."""
    found = {}
    for step in recording.steps:
        found.setdefault((step.phase, step.name, step.unit), []).append(step.verdict)
    return found


@pytest.mark.parametrize("name", ["xla-mlp-grad", "mlir22-small-tree", "rust-pick"])
def test_a_folder_whose_last_file_is_cut_off_has_no_other_verdicts(name, tmp_path):
    """A compiler that is killed, or a full disk, leaves the first files, and a part of the next one."""
    root = corpus.folder(name, tmp_path)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    wanted = rows_of(read(root))
    rng = random.Random(name)
    for _ in range(12):
        last = rng.randrange(2, len(files))
        for path in files[last + 1 :]:
            path.rename(path.with_suffix(".later"))
        whole = files[last].read_bytes()
        files[last].write_bytes(whole[: rng.randrange(len(whole) + 1)])
        for key, verdicts in rows_of(read(root)).items():
            told = [one for one in verdicts if one != "unknown"]
            assert set(told) <= set(wanted.get(key, [])), (files[last].name, key)
        files[last].write_bytes(whole)
        for path in files[last + 1 :]:
            path.with_suffix(".later").rename(path)
