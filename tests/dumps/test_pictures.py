"""The folder of LLVM's `-print-changed=dot-cfg`: passes and verdicts, without texts."""

import shutil
import subprocess

import pytest

from passlab.dumps import read

# The shape of the list as LLVM 22 writes it: a change of one function, of two, and passes that left all as it was.
LIST = """<!doctype html><html><head><title>passes.html</title></head>
<body><button type="button" class="collapsible">0. Initial IR (by function)</button>
<div class="content">
  <p>
  <a href="diff_0_0.pdf" target="_blank">0.0. Initial IR</a><br/>
  </p>
</div><br/>
  <a href="diff_1.pdf" target="_blank">1. Pass SROAPass on f</a><br/>
    </p></div>
  <a>2. Pass RequireAnalysisPass&lt;A, Function&gt; on f omitted because no change</a><br/>
  <a href="diff_3_0.pdf" target="_blank">3.0. Pass GlobalOptPass on [module]</a><br/>
  <a href="diff_3_1.pdf" target="_blank">3.1. Pass GlobalOptPass on [module]</a><br/>
    </p></div>
  <a>4. LoopDeletionPass invalidated</a><br/>
  <a>5. Pass GVNPass on f filtered out</a><br/>
  <a>6. PassManager&lt;Function&gt; on f ignored</a><br/>
"""


def test_names_units_and_verdicts_are_those_of_the_list(tmp_path):
    (tmp_path / "passes.html").write_text(LIST)
    (tmp_path / "diff_1.pdf").write_bytes(b"%PDF-1.5")
    recording = read(tmp_path)
    assert [(step.name, step.unit, step.verdict) for step in recording.steps] == [
        ("SROAPass", "f", "changed"),
        ("RequireAnalysisPass<A, Function>", "f", "unchanged"),
        ("GlobalOptPass", "[module]", "changed"),
        ("LoopDeletionPass", "", "invalidated"),
        ("GVNPass", "f", "filtered"),
    ]
    assert recording[1].note == "drawn in diff_1.pdf"
    assert recording["GlobalOptPass"].note == "drawn in diff_3_0.pdf, diff_3_1.pdf"
    assert recording[1].before == recording[1].after == recording[1].command == ""
    assert "%PDF" not in recording.other_output
    assert recording.to_html(tmp_path / "page.html") is None


def test_the_verdicts_are_those_that_the_same_run_prints(tmp_path):
    opt = next((path for name in ("opt-22", "opt-19", "opt") if (path := shutil.which(name))), None)
    if opt is None or shutil.which("dot") is None:
        pytest.skip("needs opt and graphviz")
    program = tmp_path / "f.ll"
    program.write_text(
        "define i32 @f(i32 %x) {\n  %p = alloca i32\n  store i32 %x, ptr %p\n  %y = load i32, ptr %p\n"
        "  %z = add i32 %y, 0\n  ret i32 %z\n}\n"
    )
    pipeline = "-passes=sroa,early-cse,gvn,simplifycfg"
    command = [opt, pipeline, str(program), "-S", "-o", "/dev/null"]
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    drawn = subprocess.run(
        [*command, "-print-changed=dot-cfg", f"-dot-cfg-dir={pictures}"], capture_output=True, check=False
    )
    if drawn.returncode:
        pytest.skip("this version of opt crashes when it draws")
    printed = subprocess.run([*command, "-print-changed"], capture_output=True, check=True)
    expected = [(s.name, s.unit, s.verdict) for s in read(printed.stderr).steps]
    assert [(s.name, s.unit, s.verdict) for s in read(pictures).steps] == expected
