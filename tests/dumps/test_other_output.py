"""Other output inside a program that looks like a line of it, or stands in the middle of one, is no change."""

import random

import pytest

from passlab.dumps import assembly, other_output, read, read_text
from passlab.dumps.other_output import differ_in_other_output, strange_lines
from passlab.dumps.source import BytesSource, Excerpt
from tests.dumps import corpus
from tests.dumps.test_extents import NAMES, NOISE, stored
from tests.dumps.test_listed_passes import iree
from tests.dumps.test_variants import torch_lines

# Without those that are a line of some language, or end a program.
STRAY = [
    line for line in NOISE if len(line) > 3 and not line.startswith(("  %", "  ret", "entry", "^", "module", "define"))
]
STRAY = [line for line in STRAY if "\n" not in line and line != "func.func"]


@pytest.mark.parametrize("name", corpus.STREAMS)
def test_no_line_of_a_real_program_is_strange(name):
    for step in read(corpus.stream(name)):
        for text in (step.before_body, step.after_body):
            assert text is None or not strange_lines(text, step.language), step


def excerpt(lines):
    data = "\n".join(lines).encode()
    return Excerpt(BytesSource(data), (0, len(data)), hash(data), "", len(lines))


@pytest.mark.parametrize("seed", range(60))
def test_what_lies_far_apart_is_judged_as_what_lies_near(seed, monkeypatch):
    """Lines of tools, changed instructions and torn lines, in any number and order."""
    rng = random.Random(seed)
    lines = [f"  %{at} = add i32 %0, {at}" for at in range(1, rng.choice((9, 70, 300)))]
    changed = list(lines)
    for _ in range(rng.choice((1, 2, 90))):
        at = rng.randrange(len(changed))
        line = changed[at]
        kinds = ([rng.choice(STRAY), line], [line[:7], rng.choice(STRAY), line[7:]], [line, "", ""])
        changed[at : at + 1] = rng.choice(kinds) if rng.random() < 0.98 else [line + ", 7"]
    texts = excerpt(lines), excerpt(changed)
    found = differ_in_other_output(*texts, "llvm"), differ_in_other_output(*texts[::-1], "llvm")
    monkeypatch.setattr(other_output, "_NEAR", other_output.MOST_LINES)
    assert found == (differ_in_other_output(*texts, "llvm"), differ_in_other_output(*texts[::-1], "llvm"))


@pytest.mark.parametrize("name", ["llvm22-list-both", "llvm22-list-after"])
def test_a_text_that_is_printed_again_is_not_scanned_again(name, monkeypatch):
    seen = []
    scan = assembly.extent_of
    monkeypatch.setattr(assembly, "extent_of", lambda data, *rest: seen.append(data) or scan(data, *rest))
    read(corpus.stream(name))
    assert len(seen) <= len({*seen}) + 1  # a dump may end in such a text


def check_stray_lines(rng, name):
    """Insert lines of tools, without the sign of a comment, between two lines of a program."""
    data, rows, _, inside = stored(name)
    places = [at for at, language in inside if language in ("llvm", "mlir", "mir", "python")]
    if not places:
        return
    at = rng.choice(places)
    lines = "".join([rng.choice(STRAY) + "\n" for _ in range(rng.choice((1, 1, 3)))]).encode()
    steps = read(data[:at] + lines + data[at:]).steps
    assert [(step.name, step.unit) for step in steps] == [row[:2] for row in rows]
    for step, row in zip(steps, rows, strict=True):
        assert step.verdict in ("unknown", row[2]), (name, at, lines, step, row[:4])


@pytest.mark.rotating
@pytest.mark.parametrize("name", NAMES)
def test_stray_lines_inside_a_program_falsify_no_verdict(name):
    rng = random.Random(f"{name} stray")
    for _ in range(8):
        check_stray_lines(rng, name)


LLVM = "define i32 @f(i32 %0) {\n  %2 = add i32 %0, 1\n  ret i32 %2\n}\n"
MLIR = "func.func @f(%arg0: i32) -> i32 {\n  %0 = arith.addi %arg0, %arg0 : i32\n  return %0 : i32\n}\n"
HEADS = {LLVM: "; *** IR Dump {} SROAPass on f ***\n", MLIR: "// -----// IR Dump {} CSE (cse) //----- //\n"}
LINES = ["  Total Execution Time: 0.0012 seconds\n", "      7 instcombine - Number of insts combined\n"]


@pytest.mark.parametrize("program", HEADS)
@pytest.mark.parametrize("line", [*LINES, "[licm] visiting loop 3\n"])
def test_a_line_between_two_lines_is_doubted(program, line):
    heads = [HEADS[program].format(when) for when in ("Before", "After")]
    at = program.index("\n") + 1
    steps = read_text(heads[0] + program + heads[1] + program[:at] + line + program[at:]).steps
    assert [step.verdict for step in steps] in (["unknown"], ["unchanged"])
    real = program.replace("add", "mul")
    assert read_text(heads[0] + program + heads[1] + real[:at] + line + real[at:])[1].verdict == "changed"


@pytest.mark.parametrize("program", HEADS)
def test_a_line_in_the_middle_of_another_is_doubted(program):
    heads = [HEADS[program].format(when) for when in ("Before", "After")]
    begin = program.index("\n") + 1
    for at in range(begin + 8, program.index("\n", begin) - 2):
        torn = program[:at] + "[licm] visiting loop 3\n" + program[at:]
        assert read_text(heads[0] + program + heads[1] + torn)[1].verdict == "unknown", torn


def test_a_line_that_moved_is_a_change():
    rows = ["define i32 @f(i32 %a) {", "  %x = add i32 %a, 1", "  %y = mul i32 %a, 2", "  ret i32 %a", "}"]
    heads = [HEADS[LLVM].format(when) for when in ("Before", "After")]
    moved = [rows[0], rows[2], rows[1], *rows[3:]]
    assert read_text("\n".join([heads[0], *rows, heads[1], *moved]))[1].verdict == "changed"


def test_a_pass_inside_another_whose_text_is_torn_may_not_have_made_the_change():
    data = iree()
    at = data.index(b"\n", data.index(b"After InlinerPass")) + 1
    inside = at - len(data[:at].rsplit(b"// -----// IR Dump After CanonicalizerPass", 1)[1])
    begin = data.index(b"\n", inside) + 1
    torn = read(data[:begin] + b"^bb0:\n}\n" + data[begin:])
    assert [step.name for step in torn.steps[9:11]] == ["CanonicalizerPass", "InlinerPass"]
    assert torn[10].verdict == read(data)[10].verdict == "unknown"


def test_a_graph_of_torch_that_is_cut_off_is_not_compared():
    """The arguments that tell forward from backward may be gone."""
    graph = ["===== Forward graph 0 =====", "class M(torch.nn.Module):", "    def forward(self, x):"]
    whole = torch_lines("aot_graphs", "0/0", *graph, "        add = x + x", "        return (add,)")
    whole += torch_lines("aot_graphs", "0/0", "===== Backward graph 0 =====", *graph[1:])
    for end in ("", "V1122 02:59:17.58"):
        assert [step.verdict for step in read_text(whole + end)] == ["ignored", "unknown"]


def graphs_of_torch():
    """The snapshots of two compilations, each as the artifact, the graph, and its lines."""
    for graph in ("0/0", "1/0"):
        for artifact, title in (("aot_graphs", "%s graph 0"), ("post_grad_graphs", "AFTER POST GRAD")):
            for side, given in (("Forward", "x"), ("Backward", "x, tangents_1")):
                head = ["class M(torch.nn.Module):", f"    def forward(self, {given}):"]
                named = title.replace("%s", side)
                yield (
                    artifact,
                    graph,
                    [f"===== {named} =====", *head, f"        a = {title[:1]}({side})", "        return a"],
                )
        for side, given in (("forward", "x"), ("backward", "tangents_1")):
            head = [f"# AOT ID: ['0_{side}']", "import torch", "kernel = cpp(", "    return x;", "def call(args):"]
            yield "output_code", graph, ["Output code: ", *head, f"    {given} = args", "    return (buf0,)"]


@pytest.mark.parametrize("marker", ["", "[truncated]\n"])
def test_a_snapshot_of_torch_without_its_end_is_compared_with_none(marker):
    shots = [*graphs_of_torch()]
    texts = [torch_lines(artifact, graph, *lines) for artifact, graph, lines in shots]
    rows = [(step.name, step.phase, step.verdict) for step in read_text("".join(texts)).steps]
    assert {verdict for _, _, verdict in rows} == {"ignored", "changed"}
    for at, (artifact, graph, lines) in enumerate(shots):
        for end in range(2, len(lines)):
            cut = torch_lines(artifact, graph, *lines[:end]) + marker
            found = read_text("".join([*texts[:at], cut, *texts[at + 1 :]])).steps
            assert [step.name for step in found] == [name for name, _, _ in rows]
            assert found[at].verdict == "unknown"
            assert all(step.verdict in ("unknown", row[2]) for step, row in zip(found, rows, strict=True)), (at, end)
            assert artifact != "output_code" or found[at].phase == rows[at][1]


# ---------------------------------------------------------------- damage that leaves the lines
def damaged(rng, data):
    """A dump in which a console or a disk changed white space, or bytes into ones that are not of a text."""
    kind = rng.choice(("returns", "blanks", "empty lines", "zeros"))
    if kind == "zeros":
        at = rng.randrange(len(data))
        return data[:at] + b"\0" * rng.choice((1, 4, 4096)) + data[at + rng.choice((0, 1, 4)) :]
    start, end = sorted(data.rfind(b"\n", 0, rng.randrange(len(data))) + 1 for _ in range(2))
    new = {"returns": b"\r\n", "blanks": b"  \n", "empty lines": b"\n\n"}[kind]
    return data[:start] + data[start:end].replace(b"\n", new) + data[end:]


@pytest.mark.rotating
@pytest.mark.parametrize("name", NAMES)
def test_damage_that_leaves_the_lines_falsifies_no_verdict(name):
    rng = random.Random(f"{name} damage")
    data, rows, _, _ = stored(name)
    for _ in range(6):
        steps = read(damaged(rng, data)).steps
        ends = [row[:2] for row in rows]
        same = [(step.name, step.unit) for step in steps] == ends
        for step, row in zip(steps, rows, strict=same):
            if (step.name, step.unit) != row[:2]:
                break  # a heading is damaged
            assert step.verdict in ("unknown", row[2]), (name, step, row[:4], step.note)


@pytest.mark.parametrize("program", HEADS)
def test_white_space_and_bytes_of_no_text_are_no_change(program):
    heads = [HEADS[program].format(when) for when in ("Before", "After")]
    at = program.index("add")
    for other in (
        program.replace("\n", "  \n"),
        program.replace("\n", "\n\n"),
        program.replace("\n", "\r\n", 2),
        f"{program[:at]}\0\0{program[at:]}",
        f"{program[:at]}\0{program[at + 1 :]}",
    ):
        (step,) = read_text(heads[0] + program + heads[1] + other)
        assert step.verdict in ("unknown", "unchanged"), other
        real = other.replace("ret", "br").replace("return", "yield")
        assert read_text(heads[0] + program + heads[1] + real)[1].verdict == "changed"


@pytest.mark.parametrize("program", HEADS)
def test_a_line_behind_other_output_is_no_change(program):
    heads = [HEADS[program].format(when) for when in ("Before", "After")]
    at = program.index("\n") + 1
    glued = program[:at] + "    nested detail: x=3" + program[at:]
    assert read_text(heads[0] + program + heads[1] + glued)[1].verdict == "unknown"


def test_a_program_indented_by_tabs_is_whole():
    for program in HEADS:
        heads = [HEADS[program].format(when) for when in ("Before", "After")]
        tabs = program.replace("\n  ", "\n\t")
        changed = tabs.replace("\tret", "\t%9 = add i32 %2, %2\n\tret").replace(
            "\treturn", "\t%9 = x.y %0 : i32\n\treturn"
        )
        assert read_text(heads[0] + program + heads[1] + tabs)[1].verdict in ("unknown", "unchanged")
        assert read_text(heads[0] + tabs + heads[1] + changed)[1].verdict != "unchanged"


def test_an_instruction_behind_the_end_of_a_block_is_of_another_program():
    torn = LLVM.replace("  ret", "  br label %9\n  ret")
    heads = [HEADS[LLVM].format(when) for when in ("Before", "After")]
    assert read_text(heads[0] + LLVM + heads[1] + torn)[1].verdict == "unknown"


def test_a_heading_that_says_what_a_pass_did_does_not_hide_its_texts():
    """The output of two compilers, one of which prints what each pass did."""
    heads = [HEADS[LLVM].format(when) for when in ("Before", "After")]
    said = "*** IR Dump After GVNPass on g omitted because no change ***\n"
    assert [step.verdict for step in read_text(said + heads[0] + LLVM + heads[1] + LLVM)] == ["unchanged"] * 2
