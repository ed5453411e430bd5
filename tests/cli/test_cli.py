"""The command line: programs and pipelines in, programs, results, reports and verdicts out."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import passlab
from passlab import limits, transform
from passlab.cli import main
from passlab.lab.recordings.recording import Recording

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) { add(%x, multiply(2f, 3f)) }
"""


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.relay"
    path.write_text(NET)
    return str(path)


def test_opt_prints_the_program_a_pipeline_leaves(net, capsys):
    assert main(["opt", net, "FoldConstant"]) == 0
    out, err = capsys.readouterr()
    assert "add(%x, 6f" in out
    assert err == ""
    passlab.assert_structural_equal(passlab.parse(out), transform.FoldConstant()(passlab.parse(NET)))


def test_a_misspelt_pass_is_not_disabled_in_silence(net, capsys):
    assert main(["opt", str(net), "FuseOps", "--disable", "FuseOp"]) == 1
    assert "did you mean `FuseOps` or `DefuseOps`?" in capsys.readouterr().err


def test_arguments_that_are_no_arrays_are_told_how_to_write_some(net, capsys):
    assert main(["run", str(net), "--args", str(net)]) == 1
    assert "numpy.savez" in capsys.readouterr().err


def test_a_reader_who_has_seen_enough_is_no_error():
    script = f"{sys.executable} -m passlab passes | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")


def test_opt_takes_a_pipeline_from_a_file_and_writes_to_one(net, tmp_path, capsys):
    (tmp_path / "p.passes").write_text("InferType  # types first\nFoldConstant(fold_qnn=True)\n")
    assert main(["opt", net, f"@{tmp_path / 'p.passes'}", "-o", str(tmp_path / "out.relay")]) == 0
    assert capsys.readouterr().out == ""
    assert "6f" in (tmp_path / "out.relay").read_text()


def test_opt_reads_standard_input(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO(NET))
    assert main(["opt", "-", "InferType"]) == 0
    assert "multiply(2f /* ty=float32 */" in capsys.readouterr().out


def test_opt_says_steps_and_times_and_prints_and_dumps_and_verifies(net, tmp_path, capsys):
    more = ["--steps", "--time", "--verify", "--print-after", "FoldConstant", "--dump", str(tmp_path / "dump")]
    assert main(["opt", net, "InferType, FoldConstant", *more]) == 0
    err = capsys.readouterr().err
    assert "2 of 2 passes ran" in err
    assert "sequential: " in err
    assert "After Running Pass: FoldConstant" in err
    assert max(path.name for path in (tmp_path / "dump").iterdir()).endswith("_sequential.relay")


@pytest.mark.parametrize("option", [["--disable", "FoldConstant"], ["-O", "1"], ["--limit", "0"]])
def test_opt_leaves_out_what_it_is_told(net, capsys, option):
    assert main(["opt", net, "FoldConstant", *option]) == 0
    assert "multiply" in capsys.readouterr().out


def test_opt_requires_and_configures(net, capsys):
    setting = ["--config", "relay.FuseOps.max_depth=1", "--config", "testing.immutable_module=true"]
    assert main(["opt", net, "FoldConstant", "-O", "0", "--require", "FoldConstant", *setting]) == 0
    assert "6f" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["FoldConstnat"], "did you mean"),
        (["FuseOps(fuse_level=2)"], "fuse_level"),
        (["InferType", "--config", "relay.FuseOps.depth=1"], "Invalid config option"),
        (["InferType", "--config", "nothing"], "KEY=VALUE"),
    ],
)
def test_what_is_wrong_with_a_pipeline_is_said_without_a_traceback(net, capsys, arguments, message):
    assert main(["opt", net, *arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_program_that_does_not_parse_and_a_file_that_is_not_there(tmp_path, capsys):
    (tmp_path / "bad.relay").write_text("def @main( {")
    assert main(["opt", str(tmp_path / "bad.relay"), "InferType"]) == 1
    assert "bad.relay:1" in capsys.readouterr().err
    assert main(["opt", str(tmp_path / "none.relay"), "InferType"]) == 1
    assert "No such file" in capsys.readouterr().err


def test_run_evaluates_on_random_or_given_arguments(net, tmp_path, capsys):
    np.savez(tmp_path / "args.npz", x=np.array([1, 2], "float32"))
    assert main(["run", net, "--args", str(tmp_path / "args.npz")]) == 0
    assert capsys.readouterr().out == "[7. 8.]\n"
    assert main(["run", net, "--random", "1"]) == 0
    first = capsys.readouterr().out
    assert main(["run", net, "--random", "1", "--executor", "vm"]) == 0
    assert capsys.readouterr().out == first


def test_run_names_the_argument_that_is_missing(net, tmp_path, capsys):
    np.savez(tmp_path / "args.npz", y=np.zeros(2))
    assert main(["run", net, "--args", str(tmp_path / "args.npz")]) == 1
    assert "has no array `x`" in capsys.readouterr().err
    (tmp_path / "text.npz").write_text("no arrays")
    assert main(["run", net, "--args", str(tmp_path / "text.npz")]) == 1
    assert "is not an .npz file" in capsys.readouterr().err


def test_arrays_of_damaged_files_are_refused(net, tmp_path, capsys):
    path = tmp_path / "args.npz"
    np.savez_compressed(path, x=np.array([1, 2], "float32"))
    whole = path.read_bytes()
    for i in range(0, len(whole), 3):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x55]) + whole[i + 1 :])
        assert main(["run", net, "--args", str(path)]) in (0, 1)  # and no foreign error
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert main(["run", net, "--args", str(path)]) == 1
    capsys.readouterr()
    path.write_bytes(whole)
    with limits.override(tensor_bytes=100):
        assert main(["run", net, "--args", str(path)]) == 1
    assert "`tensor_bytes`" in capsys.readouterr().err


def test_report_writes_a_page_or_a_folder(net, tmp_path, capsys):
    assert main(["report", net, "FoldConstant", str(tmp_path / "report.html")]) == 0
    assert "1 of 1 passes ran" in capsys.readouterr().out
    assert "FoldConstant" in (tmp_path / "report.html").read_text()
    assert main(["report", net, "FoldConstant", str(tmp_path / "kept")]) == 0
    assert Recording.load(tmp_path / "kept")["FoldConstant"].changed


def test_bisect_names_the_pass_that_breaks_a_program(net, capsys):
    @transform.function_pass(opt_level=0)
    def Wrong(func, mod, ctx):
        return passlab.parse(NET.replace("3f", "4f"))["main"]

    transform.register_pass(Wrong)
    try:
        assert main(["bisect", net, "InferType, Wrong, FoldConstant"]) == 1
    finally:
        transform.unregister_pass("Wrong")
    assert capsys.readouterr().out.startswith("step 2, Wrong: ")
    assert main(["bisect", net, "InferType, FoldConstant"]) == 0
    assert capsys.readouterr().out == "every pass kept its contract\n"


def test_bisect_names_a_pass_that_raises_and_reduces_the_program(net, capsys):
    @transform.function_pass(opt_level=0)
    def Refuses(func, mod, ctx):
        if any(getattr(n, "name", "") == "multiply" for n in passlab.ir.walk.post_order(func)):
            raise RuntimeError("multiply is not supported")
        return func

    transform.register_pass(Refuses)
    try:
        assert main(["bisect", net, "InferType, Refuses", "--reduce"]) == 1
    finally:
        transform.unregister_pass("Refuses")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "step 2, Refuses: RuntimeError: multiply is not supported"
    assert lines[1].endswith("tries")
    assert "multiply(" in "".join(lines[2:])
    assert "add(" not in "".join(lines[2:])


def test_passes_lists_them(capsys):
    assert main(["passes"]) == 0
    assert "FuseOps" in capsys.readouterr().out


def test_an_interrupt_is_said_and_has_its_own_status(monkeypatch, net, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("passlab.cli.record", interrupted)
    assert main(["opt", net, "InferType"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_it_runs_as_a_module(net):
    done = subprocess.run(
        [sys.executable, "-m", "passlab", "opt", net, "FoldConstant"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "6f" in done.stdout
