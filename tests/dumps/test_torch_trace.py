"""TORCH_TRACE logs, tlparse's folders and TORCH_COMPILE_DEBUG folders of `torch/block.py`, as torch 2.13 wrote them."""

import hashlib
import json
import random
import re
import shutil
import tarfile
from functools import cache
from pathlib import Path

import pytest

from passlab import dumps
from passlab.cli import main
from passlab.dumps.torch.records import _digest
from passlab.errors import PasslabError

STORED = Path(__file__).parent / "torch"
TREE = """\
frame 0
  0/0_1
    captured graph
      2 Dynamo: changed
      3 pre-grad passes: unchanged
      4 joint graph: changed
    forward
      5 forward graph: changed
      6 post-grad passes: changed
      7 output code: changed
    backward
      11 backward graph: changed
      12 before post-grad passes: changed
      13 post-grad passes: unchanged
      14 output code: changed
frame 1
  1/0
    captured graph
      29 Dynamo: changed
      30 pre-grad passes: unchanged
      31 joint graph: changed
    forward
      32 forward graph: changed
      33 post-grad passes: unchanged
      34 output code: changed
    backward
      38 backward graph: changed
      39 post-grad passes: unchanged
      40 output code: changed
frame 2
  2/0
    captured graph
      54 Dynamo: changed
      55 pre-grad passes: unchanged
    inference
      56 inference graph: changed
      57 joint passes: unchanged
      58 post-grad passes: unchanged
      59 output code: changed
  2/1
    captured graph
      68 Dynamo: changed
      69 pre-grad passes: unchanged
    inference
      70 inference graph: changed
      71 joint passes: unchanged
      72 post-grad passes: unchanged
      73 output code: changed"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The stored folder: the log, and the debug files of the same run."""
    path = tmp_path_factory.mktemp("torch")
    with tarfile.open(STORED / "block.tar.gz") as archive:
        archive.extractall(path, filter="data")
    return path


@cache
def log_bytes():
    with tarfile.open(STORED / "block.tar.gz") as archive:
        name = next(one.name for one in archive.getmembers() if one.name.endswith(".log"))
        return archive.extractfile(name).read()


def parse(data):
    """The records of a log, read as simply as possible: kind, payload, digest."""
    records = []
    for line in data.decode().split("\n"):
        if line.startswith("\t"):
            records[-1][1].append(line[1:])
        elif line:
            records.append((json.loads(line[line.index("{") :]), []))
    return [(value, "\n".join(payload) if "has_payload" in value else None) for value, payload in records]


def heads(data):
    """The lines of a log that are neither empty nor lines of a payload."""
    return [line for line in re.split(rb"\r?\n", data) if line.strip() and not line.startswith(b"\t")]


# ---------------------------------------------------------------- the log
def test_every_record_is_read_with_its_payload():
    rec = dumps.read(log_bytes())
    expected = parse(log_bytes())
    assert rec.format == "torch-trace"
    assert len(rec.records) == len(expected)
    assert not [*rec.refusals, *rec.notes]
    for record, (value, payload) in zip(rec.records, expected, strict=True):
        assert (record.kind in value, record.state) == (True, "")
        assert (record.payload is None) == (payload is None)
        if payload is not None:
            assert hashlib.md5(record.payload.data.removesuffix(b"\n")).hexdigest() == value["has_payload"]
            assert record.text == payload.strip("\n")


def test_the_tree_follows_frames_recompilations_and_directions():
    assert dumps.read(log_bytes()).tree() == TREE


def test_everything_that_tlparse_shows_is_a_step_or_a_row():
    rec = dumps.read(log_bytes())
    steps = {(step.phase, step.argument) for step in rec}
    for stage in rec.stages:
        if stage.before is not None:  # the text before a pass belongs to its step
            steps.add((stage.compilation.name, stage.before.name))
    metrics = {(row["compile_id"], row["what"]) for row in rec.metrics()}
    metrics = {(where.partition("_")[0], what) for where, what in metrics}
    products = json.loads((STORED / "block.tlparse.json").read_text())
    missing = {
        (compile_id, name)
        for compile_id, names in products.items()
        for name in names
        if (compile_id, name) not in steps and (compile_id.partition("_")[0], name) not in metrics
    }
    assert not missing


def test_a_graph_never_follows_one_of_another_compilation():
    rec = dumps.read(log_bytes())
    for stage, step in zip(rec.stages, rec.steps, strict=True):
        for record in (stage.before, stage.after):
            if record is not None and step.kind == "graph":
                assert str(record.compile_id.whole) == step.unit.partition(" ")[0].partition("_")[0]
    for name, unit in rec.units.items():
        assert {rec.step(number).unit for number in unit.steps} == {name}


def test_a_pass_has_the_two_texts_of_the_log():
    rec = dumps.read(log_bytes())
    step = rec.step(6)
    texts = {(r.name, str(r.compile_id)): r for r in reversed(rec.records)}  # of the forward graph, which came first
    assert step.before == texts["before_post_grad_graph", "0/0_1"].text
    assert step.after == texts["inductor_post_grad_graph", "0/0_1"].text
    assert step.verdict == "changed"
    assert "torch.ops.aten.addmm.default" in step.after
    assert "torch.ops.aten.mm.default" in step.before
    assert "torch.ops.aten.mm.default" not in step.after
    assert rec.first("aten.addmm").number == 6
    assert rec.program(6) == step.after
    assert rec.unit_text(6, "0/0 forward") == step.after  # the attempt may be left out
    assert "addmm" in str(step.diff())


def test_graph_breaks_and_recompilations_are_tables_with_places():
    rec = dumps.read(log_bytes())
    (broken,) = rec.graph_breaks()
    assert broken["compile_id"] == "0/0"
    assert broken["place"] == "/src/block.py:12"
    assert broken["detail"] == "Call to `torch._dynamo.graph_break()`"
    assert broken["hint"] == "Remove the `torch._dynamo.graph_break()` call."
    (again,) = rec.recompilations()
    assert (again["compile_id"], again["version"], again["why"]) == ("2/1", "2/0", "scale == 2")
    assert again["user_code"] == "return (z * scale + 1).sum(1)"
    assert again["place"].endswith("src/block.py:22")
    text = rec.text()
    assert "2/0: scale == 2" in text
    assert "/src/block.py:12: Call to `torch._dynamo.graph_break()`" in text


def test_guards_have_kind_source_and_place():
    rec = dumps.read(log_bytes())
    counts = {row["compile_id"]: row["value"] for row in rec.metrics() if row["metric"] == "guard_count"}
    assert counts
    rows = list(rec.guards("2/0"))
    tensor = next(row for row in rows if row["kind"] == "TENSOR_MATCH" and row["source"] == "L['x']")
    assert "size=[4, 8]" in tensor["guard"]
    assert tensor["place"].endswith("block.py:21")
    assert any(row["guard"].startswith("L['scale'] == 2") for row in rows)
    assert {row["compile_id"] for row in rows} == {"2/0"}
    with pytest.raises(PasslabError, match="no compilation `9/9`"):
        rec.guards("9/9")


def test_compilations_say_how_they_ended():
    rec = dumps.read(log_bytes())
    rows = [(row["compile_id"], row["status"], row["function"], row["place"]) for row in rec.compilations()]
    assert rows == [
        ("0/0", "restarted", "forward", "/src/block.py:10"),
        ("0/0_1", "compiled after a restart", "forward", "/src/block.py:10"),
        ("1/0", "compiled", "torch_dynamo_resume_in_forward_at_12", "/src/block.py:12"),
        ("2/0", "compiled", "scaled", "/src/block.py:19"),
        ("2/1", "compiled", "scaled", "/src/block.py:19"),
    ]


def test_events_give_steps_their_times():
    rec = dumps.read(log_bytes())
    begun = sum(json.loads(r.text)["ph"] == "B" for r in rec.records if r.kind == "chromium_event")
    assert len(rec.events()) == begun
    passes = next(e for e in rec._events if e.name == "_recursive_post_grad_passes")
    assert rec.step(6).seconds == passes.seconds > 0


def test_stacks_name_files():
    rec = dumps.read(log_bytes())
    start = next(record for record in rec.records if record.kind == "dynamo_start")
    stack = rec.stack(start)
    assert str(stack[0]) == "/src/block.py:16 in <module>"
    assert stack[-1].function == "forward"
    broken = next(record for record in rec.records if record.name == "dynamo_graph_break_reason")
    assert "/src/block.py:12 in forward" in [str(one) for one in rec.stack(broken)]


# ---------------------------------------------------------------- provenance
def mappings():
    """The node mappings of each forward and inference graph, as Inductor wrote them."""
    records = parse(log_bytes())
    named = [
        (value, json.loads(payload))
        for value, payload in records
        if value.get("artifact", {}).get("name") == "inductor_provenance_tracking_node_mappings"
    ]
    found = {}
    for value, mapping in named:
        key = f"{value['frame_id']}/{value['frame_compile_id']}"
        if key not in found and mapping["cppCodeToPost"]:
            found[key] = mapping
    return found


def test_nodes_kernels_and_lines_are_one_selection():
    rec = dumps.read(log_bytes())
    assert set(mappings()) == {"0/0", "1/0", "2/0", "2/1"}
    for key, mapping in mappings().items():
        unit = f"{key} {'inference' if key.startswith('2') else 'forward'}"
        joins = rec.provenance(unit)
        code = rec.steps[-1].recording.where("output code", unit=rec._unit(unit).name)[0].after.split("\n")
        for kernel, nodes in mapping["cppCodeToPost"].items():
            chosen = joins.of(kernel)
            assert set(chosen.nodes) == set(nodes)
            assert kernel in chosen.kernels
            assert chosen.sources
            assert chosen.places
            bare = kernel.partition(":")[0]
            calls = [n for n, line in enumerate(code, 1) if re.match(rf"\s+{re.escape(bare)}\(", line)]
            assert calls
            assert set(calls) <= set(chosen.code)
            for line in calls:
                assert kernel in joins.line(line).kernels
        for source, nodes in mapping["preToPost"].items():
            assert set(nodes) <= set(joins.of(source).nodes)
            for node in nodes:
                assert source in joins.of(node).sources
                assert set(joins.of(node).kernels) == set(mapping["postToCppCode"].get(node, ()))


def test_a_line_of_the_program_selects_its_lines_in_every_stage():
    rec = dumps.read(log_bytes())
    assert str(rec.provenance("0/0 forward").of("relu")) == (
        "source nodes: h\nnodes: relu\nkernels: cpp_fused_relu_threshold_backward_0:2\n"
        "lines of code: 33-60, 91\nuser code: /src/block.py:11 in forward"
    )
    rows = [(row["pass"], row["unit"], row["text"].partition(" ")[0]) for row in rec.lines_of("block.py:22")]
    assert ("output code", "2/0 inference", "cpp_fused_add_mul_sum_0") in rows
    assert {("Dynamo", "2/0", "add:"), ("post-grad passes", "2/1 inference", "mul:")} <= set(rows)
    assert {unit.partition(" ")[0] for _, unit, _ in rows} == {"2/0", "2/1"}
    for row in rec.lines_of("block.py:22"):
        assert rec.step(row["step"]).after.split("\n")[row["line"] - 1].strip() == row["text"]
    assert not rec.provenance("2/0 inference").of("nothing")
    with pytest.raises(PasslabError, match="no unit"):
        rec.provenance("7/7 forward")


# ---------------------------------------------------------------- folders
def test_debug_files_join_the_graph_with_their_code(stored):
    rec = dumps.read(stored)
    names = [step.name for step in rec if step.unit == "0/0_1 forward" and step.kind == "graph"]
    assert names == ["forward graph", "post-grad passes", "lowering", "fusion", "output code"]
    assert {step.phase for step in rec} == {"-/-", "0/0", "0/0_1", "1/0", "2/0", "2/1"}
    fusion = next(step for step in rec if step.name == "fusion" and step.unit == "0/0_1 forward")
    folder = next(stored.rglob("model__0_forward_*"))
    assert fusion.before == (folder / "ir_pre_fusion.txt").read_text().strip("\n")
    assert fusion.after == (folder / "ir_post_fusion.txt").read_text().strip("\n")


def test_debug_files_alone_are_graphs_by_model(stored):
    rec = dumps.read(stored / "debug")
    assert {step.unit for step in rec} == {
        *("model__0 forward", "model__0 backward", "model__1 forward", "model__1 backward"),
        *("model__2 inference", "model__3 inference"),
    }
    files = {path.name for path in (stored / "debug").rglob("*") if path.stat().st_size}
    shown = {r.place.rpartition("/")[2] for r in rec.records}
    assert {name for name in files if not name.startswith("model__") and name != "torchinductor"} == shown


def test_a_folder_of_tlparse_reads_like_its_log(stored, tmp_path):
    log = dumps.read(log_bytes())
    (tmp_path / "raw.log").write_bytes(log_bytes())
    products = json.loads((STORED / "block.tlparse.json").read_text())
    found = {}
    for record in log.records:
        if record.payload is not None and record.kind != "chromium_event":
            found.setdefault((str(record.compile_id) or "-/-", record.name), []).append(record)
    number = 0
    for compile_id, names in products.items():
        frame = compile_id.replace("/", "_") if "_" in compile_id else compile_id.replace("/", "_") + "_0"
        for name in names:
            if (compile_id, name) in found:
                path = tmp_path / f"-_{frame}" / f"{name}_{number}.txt"
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(found[compile_id, name].pop(0).payload.data)
            number += 1
    (tmp_path / "compile_directory.json").write_text("{}")
    assert dumps.read(tmp_path).tree() == TREE
    (tmp_path / "raw.log").unlink()
    bare = [re.sub(r"\d+ ", "", line) for line in TREE.split("\n")]
    assert [re.sub(r"\d+ ", "", line) for line in dumps.read(tmp_path).tree().split("\n")] == bare


def test_logs_of_several_ranks_are_apart(tmp_path):
    for rank in (0, 1):
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_bytes(log_bytes())
    rec = dumps.read(tmp_path)
    assert len(rec.records) == 2 * len(parse(log_bytes()))
    assert "rank 0 0/0_1 forward" in rec.units
    assert "rank 1 0/0_1 forward" in rec.units
    assert len(rec.graph_breaks()) == 2


def test_a_reset_of_torch_begins_the_frames_anew():
    once, twice = dumps.read(log_bytes()), dumps.read(log_bytes() * 2)
    assert len(twice.records) == 2 * len(once.records)
    graphs = [step.unit for step in once if step.kind == "graph"]
    assert [step.unit for step in twice if step.kind == "graph" and "again" not in step.unit] == graphs
    again = [step.unit.replace(" (again)", "") for step in twice if step.kind == "graph" and "again" in step.unit]
    assert again == graphs
    verdicts = [step.verdict for step in once if step.kind == "graph"]
    assert [step.verdict for step in twice if step.kind == "graph" and "again" in step.unit] == verdicts
    assert [row["compile_id"] for row in twice.recompilations()] == ["2/1", "2/1 (again)"]


def test_a_graph_from_a_cache_is_compared_by_its_nodes():
    """A cache hit has the graph after the passes alone, as an earlier process printed it: without strides."""
    ids = '"frame_id": 0, "frame_compile_id": 0, "attempt": 0'

    def record(kind, payload):
        digest = hashlib.md5(payload.encode()).hexdigest()
        lines = payload.replace("\n", "\n\t")
        return (
            f'V0101 10:00:00.000000 7 torch/a.py:1] {{"{kind}": {{}}, {ids}, "has_payload": "{digest}"}}\n\t{lines}\n'
        )

    graph = (
        "class GraphModule(torch.nn.Module):\n"
        '    def forward(self, arg0_1: "f32[4][1]cpu"):\n'
        '        sin: "f32[4][1]cpu" = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None\n'
        "        return (sin,)"
    )
    cached = graph.replace("[1]cpu", "").replace(";  arg0_1 = None", "").replace("GraphModule", "<lambda>")
    for after, verdict in ((cached, "unchanged"), (cached.replace("sin.default", "cos.default"), "changed")):
        rec = dumps.read_text(record("aot_inference_graph", graph) + record("inductor_post_grad_graph", after))
        assert [(step.name, step.verdict) for step in rec] == [
            ("inference graph", "changed"),
            ("post-grad passes", verdict),
        ]


def test_passes_on_graphs_inside_a_graph_and_passes_that_fail():
    """What a live recorder adds to a log: two records per pass, and the number of the module that it ran on."""

    def record(name, payload, graph=None):
        digest = hashlib.md5(payload.encode()).hexdigest()
        about = json.dumps({"name": name} | ({"graph": graph} if graph else {}))
        head = f'{{"artifact": {about}, "frame_id": 0, "frame_compile_id": 0, "has_payload": "{digest}"}}'
        lines = payload.replace("\n", "\n\t")
        return f"V0101 10:00:00.000000 7 a.py:1] {head}\n\t{lines}\n"

    def graph(parameter, operation):
        head = f"class GraphModule(torch.nn.Module):\n    def forward(self, {parameter}):\n"
        return f"{head}        a = torch.ops.aten.{operation}({parameter})\n        return (a,)"

    inner, outer = graph("t", "cos"), graph("x", "sin")
    log = record("before_pre_grad_graph", outer)
    log += record("before_p", inner, 1) + record("after_p", inner, 1)
    log += record("before_p", outer, 2) + record("after_p", graph("x", "tan"), 2)
    log += record("before_q", graph("x", "tan"), 2) + record("failed_q", "ValueError: no\nmore", 2)
    rec = dumps.read_text(log)
    assert [(step.unit, step.name, step.verdict, step.note.partition(":")[0]) for step in rec] == [
        ("0/0", "input", "ignored", "the first text of this graph that is here"),
        ("0/0", "p", "changed", ""),
        ("0/0", "q", "failed", "ValueError"),
        ("0/0", "pre-grad passes", "unknown", "the pass began, and the graph after it is not in the log"),
        ("0/0 subgraph", "input", "ignored", "the first text of this graph that is here"),
        ("0/0 subgraph", "p", "unchanged", ""),
    ]
    assert rec.failed.before == graph("x", "tan")


# ---------------------------------------------------------------- doors
def test_the_command_line_and_pages_show_tables(stored, tmp_path, capsys):
    assert main(["dump", str(stored), "--table", "recompilations"]) == 0
    assert "scale == 2" in capsys.readouterr().out
    assert main(["dump", str(stored), "--table", "guard"]) != 0
    assert "did you mean `guards`?" in capsys.readouterr().err
    rec = dumps.read(stored)
    for name, table in rec.tables.items():
        assert len(table()) > 0, name
    page = tmp_path / "page.html"
    rec.to_html(page, static=True)
    assert "torch._dynamo.graph_break()" in page.read_text()
    assert "Graph breaks" in rec.text()
    assert "1.0" not in rec.text().partition("Compilations:")[2].partition("Graph breaks:")[0]  # no times


# ---------------------------------------------------------------- damage
@pytest.mark.rotating
def test_a_cut_at_any_byte_says_cut_off_and_changes_nothing_before():
    data = log_bytes()
    whole = dumps.read(data)
    draw = random.Random(1)
    for _ in range(60):
        cut = draw.randrange(1, len(data))
        rec = dumps.read(data[:cut], "torch-trace")
        assert len(rec.records) + len(rec.refusals) == len(heads(data[:cut]))
        complete = [record for record in rec.records if not record.state]
        for record, same in zip(complete, whole.records, strict=False):
            assert (record.name, record.compile_id, record.text) == (same.name, same.compile_id, same.text)
        assert len(complete) >= len(rec.records) - 1
        between = b"\n" in data[cut - 1 : cut + 1] and not data[cut:].lstrip(b"\n").startswith(b"\t")
        says = [*(r.state for r in rec.records), *(r.cause for r in rec.refusals)]
        assert between or "cut off here" in says
        rec.text()


@pytest.mark.rotating
def test_other_lines_between_and_inside_records_change_nothing():
    data = log_bytes()
    whole = dumps.read(data)
    lines = data.split(b"\n")
    draw = random.Random(2)
    for line in (
        b"my own debug line",
        b"[W1128 warning.cpp:12] Warning: something (function operator())",
        b"{}",
        b"V1",
    ):
        for _ in range(12):
            at = draw.randrange(1, len(lines))
            rec = dumps.read(b"\n".join([*lines[:at], line, *lines[at:]]))
            assert [r.cause for r in rec.refusals]
            assert len(rec.refusals) == 1
            assert line.decode() in rec.other_output
            assert [r.text for r in rec.records] == [r.text for r in whole.records]
            assert [(s.unit, s.name, s.verdict) for s in rec] == [(s.unit, s.name, s.verdict) for s in whole]


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(3))
def test_damaged_logs_lose_no_line_and_raise_nothing_foreign(seed):
    draw = random.Random(seed)
    data = log_bytes()
    begin = draw.randrange(0, len(data) // 2)
    for _ in range(25):
        damaged = bytearray(data[begin : begin + 120_000])
        for _ in range(draw.choice((1, 5, 50))):
            at = draw.randrange(len(damaged))
            damaged[at : at + draw.choice((0, 1, 1, 40))] = draw.choice(
                (
                    b"",
                    b"\n",
                    b"\t",
                    b"{",
                    b"\xff",
                    b"\x00",
                    b'"',
                    bytes(damaged[at : at + 60]),
                    b"9" * 5000,
                    b"[" * 3000,
                )
            )
        rec = dumps.read(bytes(damaged), "torch-trace")
        loose = bytes(damaged).lstrip(b"\r\n").startswith(b"\t")
        assert len(rec.records) + len(rec.refusals) == len(heads(bytes(damaged))) + loose
        for table in (
            "compilations",
            "graph_breaks",
            "recompilations",
            "guards",
            "metrics",
            "shapes",
            "tensors",
            "events",
        ):
            str(getattr(rec, table)())
        rec.text(), rec.tree(), str(rec.record_table())
        for step in rec:
            assert isinstance(step.before + step.after, str)


def test_a_changed_payload_is_not_whole():
    data = log_bytes().replace(b"torch.ops.aten.mm.default(", b"torch.ops.aten.mm.fake(", 1)
    rec = dumps.read(data)
    broken = [record for record in rec.records if record.state]
    assert [record.state for record in broken] == ["its text is not what its checksum says"]
    assert any("checksum" in note for note in rec.notes)
    assert {step.verdict for step in rec if "mm.fake" in step.after} == {"unknown"}


def test_a_recording_outlives_its_log(stored, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(stored, copy)
    rec = dumps.read(copy)
    rec.detach()
    texts = [step.after for step in rec]
    shutil.rmtree(copy)
    assert [step.after for step in rec] == texts
    assert rec.records[0].text
    assert rec.guards("0/0")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_digest_of_a_payload_is_the_same_with_the_line_ends_of_windows(end):
    payload = end.join([b"\tdef f(x):", b"\t    return x", b""])
    assert _digest(payload) == hashlib.md5(b"def f(x):\n    return x").hexdigest()
