"""Diffs that ignore names, blame of lines, and queries over all steps, on runs with known answers."""

import pytest

from passlab.cli import main
from passlab.diffing.text_diff import diff_texts
from passlab.dumps import read
from passlab.dumps.filters import FILTERS, filters_named
from passlab.dumps.language import LLVM, MLIR
from passlab.errors import DumpError
from tests.dumps import corpus, writer

FUNCTION = """define i32 @f(i32 %0) {
  %2 = add i32 %0, 1
  %3 = mul i32 %2, %2
  %4 = sub i32 %3, %0
  ret i32 %4
}"""


def test_renumbering_is_no_change():
    shifted = FUNCTION.replace("%4", "%9").replace("%3", "%8").replace("%2", "%7")
    diff = diff_texts(FUNCTION, shifted, LLVM.syntax)
    assert not diff
    assert diff.summary == "only names"
    assert diff.renamed == {"%2": "%7", "%3": "%8", "%4": "%9"}


def test_an_insertion_shows_one_line():
    changed = "\n".join(
        [
            FUNCTION.split("\n")[0],
            "  %2 = xor i32 %0, -1",
            *FUNCTION.replace("%4", "%5").replace("%3", "%4").replace("%2", "%3").split("\n")[1:],
        ]
    )
    diff = diff_texts(FUNCTION, changed, LLVM.syntax)
    assert {kind: count for kind, count in diff.counts.items() if kind != "same"} == {"added": 1}


def test_another_operand_is_told_from_another_name():
    diff = diff_texts(FUNCTION, FUNCTION.replace("sub i32 %3, %0", "sub i32 %3, %2"), LLVM.syntax)
    assert diff.counts["operands"] == 1
    assert diff.counts["same"] == 5


def test_a_changed_line_has_its_words_marked():
    diff = diff_texts(FUNCTION, FUNCTION.replace("mul i32", "mul nsw i32"), LLVM.syntax)
    row = next(row for row in diff.rows if row.kind == "changed")
    (_, (start, end)) = (diff.words(row)[0], diff.words(row)[1][0])
    assert diff.after[row.right].text[start:end] == "nsw"


def test_each_function_of_a_module_has_names_of_its_own():
    other = FUNCTION.replace("@f", "@g")
    longer = "\n".join(
        [
            "define i32 @f(i32 %0) {",
            "  %2 = xor i32 %0, -1",
            *FUNCTION.replace("%4", "%5").replace("%3", "%4").replace("%2", "%3").split("\n")[1:],
        ]
    )
    for before, after in (
        (f"{FUNCTION}\n\n{other}", f"{longer}\n\n{other}"),
        (f"{other}\n\n{FUNCTION}", f"{other}\n\n{longer}"),
    ):
        diff = diff_texts(before, after, LLVM.syntax)
        assert {kind: count for kind, count in diff.counts.items() if kind != "same"} == {"added": 1}


def test_a_block_is_called_by_one_name_where_it_stands_and_where_one_jumps_to_it():
    before = """define i32 @f(i32 %0) {
  br label %7

7:                                                ; preds = %1
  ret i32 %0
}"""
    diff = diff_texts(before, before.replace("7", "2"), LLVM.syntax)
    assert not diff
    assert diff.renamed == {"%7": "%2"}


# Lines shown over all changed bodies: (bodies, lines added or removed, lines with other operands), as measured for this
# way of aligning lines before there was any code of ours. A plain diff of the texts shows 736 and 884 lines.
TABLE = {"llvm22-list-after": (71, 296, 82), "mlir22-small-modscope": (9, 280, 20)}


@pytest.mark.parametrize("name", TABLE)
def test_a_diff_shows_no_more_lines_than_names_as_noise_leave(name):
    recording = read(corpus.stream(name))
    bodies = shown = operands = 0
    for unit in recording.units.values() if name.startswith("llvm") else ():
        history = recording.history(unit.name) if unit.name else None
        for version in range(1, len(unit.steps) if history is not None else 0):
            texts = ["\n".join([line.text for line in history.lines(at)]) for at in (version - 1, version)]
            if not all(texts):
                continue  # the function came or went
            texts = [text[text.find("define ") :] for text in texts]  # without the comment that names attributes
            counts = diff_texts(*texts, recording.reader().syntax).counts
            bodies, operands = bodies + (texts[0] != texts[1]), operands + counts["operands"]
            shown += counts["added"] + counts["removed"] + 2 * (counts["changed"] + counts["moved"])
    for step in recording.changed[1:] if name.startswith("mlir") else ():
        counts = step.diff().counts
        bodies, operands = bodies + 1, operands + counts["operands"]
        shown += counts["added"] + counts["removed"] + 2 * (counts["changed"] + counts["moved"])
    most = TABLE[name]
    assert bodies >= most[0]
    assert shown <= most[1]
    assert operands <= most[2]


@pytest.mark.parametrize("name", ["llvm22-list-both", "mlir22-small-after", "iree-small-change"])
def test_a_diff_holds_every_line_of_both_texts_once(name):
    recording = read(corpus.stream(name))
    for step in recording.changed[:60]:
        diff = step.diff()
        left = sorted(row.left for row in diff.rows if row.left is not None)
        right = sorted(row.right for row in diff.rows if row.right is not None)
        assert left == list(range(len(diff.before)))
        assert right == list(range(len(diff.after)))


def test_fewer_lines_than_a_plain_diff_on_a_real_dump():
    recording = read(corpus.stream("llvm22-list-after"))
    shown = operands = 0
    for name, unit in recording.units.items():
        history = recording.history(name)
        for version in range(1, len(unit.steps) if name else 0):
            counts = history.diff(version).counts
            shown += counts["added"] + counts["removed"] + 2 * counts["changed"] + 2 * counts["moved"]
            operands += counts["operands"]
    assert shown < 350
    assert operands < 100


@pytest.mark.parametrize("seed", range(5))
def test_blame_names_the_step_that_wrote_each_line(seed):
    steps = writer.run(seed)
    recording = read(writer.llvm_dump(steps, "both").encode())
    for name in steps[-1][3].functions:
        blame = recording.blame(name)
        for number, line in enumerate(blame.lines):
            origin = blame.origins[number]
            comment = line.text.partition("; ")[2]
            if not comment or origin.step == 0:
                continue
            here, before = (list(recording.unit_text(at, name).split("\n")) for at in (origin.step, origin.since - 1))
            shapes = [text.split(" = ")[-1].split(" ")[0] + text.partition("; ")[2] for text in here]
            assert line.text.split(" = ")[-1].split(" ")[0] + comment in shapes
            assert here != before


def test_occurrences_and_bisection_agree_with_a_search_of_every_step():
    recording = read(corpus.stream("llvm22-list-both"))
    holds = ["alloca" in recording.program(number) for number in range(len(recording.steps) + 1)]
    last = max(number for number, held in enumerate(holds) if held)
    assert recording.last("alloca").number == last
    assert recording.bisect(r"\balloca\b").step.number == last + 1
    assert recording.bisect(["sh", "-c", 'grep -q alloca "$0"']).step.number == last + 1


def test_operations_are_counted_from_the_text_of_each_step():
    recording = read(corpus.stream("llvm22-list-changed"))
    table = recording.operations("alloca", "load")
    for row in table:
        text = recording.program(row["step"])
        assert row["alloca"] == text.count("= alloca ")


def test_filters_leave_out_what_they_name():
    text = (
        '  %1 = load i32, ptr %p, !tbaa !9, !dbg !12\n!9 = !{!1}\nattributes #0 = { nounwind }\n#map = affine_map<(d0) -> (d0)>\n  %c = dense<"0x'
        + "AB" * 40
        + '">'
    )
    assert "!dbg" not in FILTERS["debug info"](text.split("\n")[0])
    assert FILTERS["metadata"]("!9 = !{!1}") is None
    assert FILTERS["attributes"]("attributes #0 = { nounwind }") is None
    assert FILTERS["aliases"]("#map = affine_map<(d0) -> (d0)>") is None
    assert len(FILTERS["blobs"](text.split("\n")[-1])) < 60
    assert not diff_texts("  ret void, !dbg !1", "  ret void, !dbg !2", LLVM.syntax, filters_named(["debug info"]))
    with pytest.raises(DumpError, match="no filter"):
        filters_named(["debug"])


def test_questions_about_what_is_not_there_are_answered_in_words():
    recording = read(corpus.stream("mlir22-small-after"))
    for ask in (
        lambda: recording["Canonicalizerr"],
        lambda: recording.blame("g"),
        lambda: recording.find("("),
        lambda: read(b"", "llvmm"),
        lambda: read("/nowhere"),
    ):
        with pytest.raises(DumpError):
            ask()


def test_the_command_line_reads_diffs_blames_and_writes_pages(tmp_path, capsys):
    path = tmp_path / "dump.txt"
    path.write_bytes(corpus.stream("llvm22-list-both"))
    for arguments, shown in (
        ([], "72 changed"),
        (["--step", "SROAPass"], "sroa"),
        (["--unit", "mean"], "InlinerPass"),
        (["--find", "alloca"], "after step"),
    ):
        assert main(["dump", str(path), *arguments]) == 0
        assert shown in capsys.readouterr().out
    assert main(["dump", str(path), "-o", str(tmp_path / "r.html")]) == 0
    page = (tmp_path / "r.html").read_text()
    assert "<script" in page
    assert main(["dump", str(path), "-o", str(tmp_path / "s.html"), "--static"]) == 0
    assert "<script" not in (tmp_path / "s.html").read_text()
    assert main(["dump", str(tmp_path / "no")]) == 1


def test_a_pass_is_shown_where_it_ran_on_the_function_named(tmp_path, capsys):
    """Of several runs, the one on that function is meant, and not the first one in the dump."""
    path = tmp_path / "dump.txt"
    body = "define i32 @{0}(i32 %x) {{\n  %{1} = add i32 %x, {2}\n  ret i32 %{1}\n}}\n"
    path.write_text(
        "".join(
            f"*** IR Dump Before Twice on {name} ***\n{body.format(name, 'a', 0)}"
            f"*** IR Dump After Twice on {name} ***\n{body.format(name, 'a', added)}"
            for name, added in (("one", 5), ("two", 7))
        )
    )
    assert main(["dump", str(path), "--step", "Twice", "--unit", "two"]) == 0
    said = capsys.readouterr().out
    assert "Twice on two" in said
    assert "add i32 %x, 7" in said


def test_what_was_misspelt_or_is_not_there_is_said(tmp_path, capsys):
    path = tmp_path / "dump.txt"
    path.write_bytes(corpus.stream("llvm22-list-both"))
    assert main(["dump", str(path), "--hide", "metdata"]) == 1
    assert "did you mean `metadata`" in capsys.readouterr().err
    assert main(["dump", str(path), "--find", "x float>"]) == 0
    assert "no program has a line with `x float>`" in capsys.readouterr().err


def test_hostile_names_are_text_in_pages(tmp_path):
    data = (
        "; *** IR Dump After <script>alert(1)</script> on f ***\ndefine void @f() {\n  ; </script><img src=x onerror=alert(1)>\n}\n"
        * 2
    )
    recording = read(data.encode())
    recording.to_html(tmp_path / "r.html")
    recording.to_html(tmp_path / "s.html", static=True)
    for name in ("r.html", "s.html"):
        text = (tmp_path / name).read_text()
        assert "<script>alert" not in text
        assert "<img src=x" not in text


def test_a_line_of_mlir_is_read_by_its_operation():
    assert MLIR.syntax.operation_of("    %0:2 = scf.for %i = %c0 to %n") == "scf.for"
    assert LLVM.syntax.operation_of("  %3 = tail call i32 @f()") == "call"


# ---------------------------------------------------------------- verdicts and diffs
def two_programs(mode):
    """The passes of two programs, which differ, in one stream."""
    return "".join([writer.llvm_dump(writer.run(seed, 30), mode, f"m{seed}.ll") for seed in (1, 2)]).encode()


MADE = {f"two programs, {mode}": (lambda mode=mode: two_programs(mode)) for mode in ("both", "after", "module")}


@pytest.mark.parametrize("name", [*corpus.STREAMS, *MADE])
def test_a_pass_that_changed_nothing_has_an_empty_diff_and_one_that_did_has_not(name):
    rec = read(MADE[name]() if name in MADE else corpus.stream(name))
    decided = [step for step in rec.steps if step.after_body is not None and step.verdict in ("changed", "unchanged")]
    assert decided
    for step in decided:
        kinds = {kind for kind, count in step.diff().counts.items() if count} - {"same"}
        if step.verdict == "unchanged":
            assert not kinds, step
        elif rec.steps[0].before_body is not None:  # the dump has the texts that the verdict rests on
            assert kinds, step
