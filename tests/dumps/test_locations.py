"""The lines of the user's source: every mapping of the text of a compiler against a truth that is made beside it."""

import gzip
import random
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from passlab import dumps
from passlab.dumps.locations import Place, is_same_file, places_of
from passlab.errors import DumpError, FileAccessError, PasslabError
from tests.dumps import corpus
from tests.each import each

FILES = ("/src/a.py", "/src/b.py", "c.mlir", 'd "quoted".c')


LOCATED = Path(__file__).parent / "located" / "triton-stages.tar.gz"  # the stages of two kernels, from a GPU


# ---------------------------------------------------------------- MLIR
class MlirWriter:
    """Random operations with random locations, as MLIR prints them; `truth` has the places of each line."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.aliases = []
        self.lines, self.truth = [], []

    def location(self, depth=0):
        """The text of a location and its places."""
        kind = self.rng.choice(
            ("file", "file", "named", "call", "fused", "unknown", "range") if depth < 4 else ("file",)
        )
        if kind == "file" or kind == "range":
            file, line = self.rng.choice(FILES), self.rng.randint(1, 40)
            name = '"' + file.replace('"', r"\22") + '"'
            if kind == "range":
                return f"{name}:{line}:3 to {line + 2}:9", {Place(file, line + n) for n in range(3)}
            return f"{name}:{line}:{self.rng.randint(1, 80)}", {Place(file, line)}
        if kind == "unknown":
            return "unknown", set()
        parts = [self.use(*self.location(depth + 1)) for _ in range(1 if kind == "named" else 2)]
        places = set().union(*(places for _, places in parts))
        if kind == "named":
            return f'"v):1"({parts[0][0]})', places
        if kind == "call":
            return f"callsite({parts[0][0]} at {parts[1][0]})", places
        data = self.rng.choice(("", '<"x) loc(">', "<#map>"))
        return f"fused{data}[{parts[0][0]}, {parts[1][0]}]", places

    def use(self, text, places):
        """A location as an alias, or as it is."""
        if self.rng.random() < 0.5:
            return text, places
        name = f"#loc{len(self.aliases)}"
        self.aliases.append(f"{name} = loc({text})")
        return name, places

    def line(self, text, places=()):
        self.lines.append(text)
        self.truth.append(set(places))
        return len(self.lines) - 1

    def operation(self, indent, depth):
        pad = "  " * indent
        text, places = self.use(*self.location())
        name = f'%{len(self.lines)} = "test.op"(%a) {{s = "loc(\\"x\\":3) {{"}}'
        if depth > 3 or self.rng.random() < 0.6:
            self.line(f"{pad}{name} : i32 loc({text})", places)
            return
        own = []
        if self.rng.random() < 0.3:  # an operation whose first line opens nothing
            own.append(self.line(f"{pad}scf.index_switch %a"))
            own.append(self.line(f"{pad}case 1 {{"))
        else:
            own.append(self.line(f"{pad}{name} ({{"))
        for _ in range(self.rng.randint(0, 3)):
            self.operation(indent + 1, depth + 1)
        if self.rng.random() < 0.5:
            own.append(self.line(f"{pad}}} else {{"))
            inner, around = self.use(*self.location())
            self.line(f"{pad}^bb0(%b: i32 loc({inner})):  // no predecessors", around)
            self.operation(indent + 1, depth + 1)
        own.append(self.line(f"{pad}}}) : i32 loc({text})"))
        for at in own:
            self.truth[at] |= places

    def program(self):
        head = self.line("module {")
        for _ in range(self.rng.randint(1, 5)):
            self.operation(1, 0)
        text, places = self.location()
        end = self.line(f"}} loc({text})")
        self.truth[head], self.truth[end] = set(places), set(places)
        above = self.rng.randint(0, len(self.aliases))
        text = "\n".join([*self.aliases[:above], *self.lines, *self.aliases[above:]])
        return text, [set()] * above + self.truth + [set()] * (len(self.aliases) - above)


@each("seed", range(60))
def test_operations_of_mlir_have_the_places_of_their_locations(seed):
    text, truth = MlirWriter(seed).program()
    for line, found, expected in zip(text.split("\n"), places_of(text, "mlir"), truth, strict=True):
        assert set(found) == expected, line


# ---------------------------------------------------------------- LLVM
def llvm_program(seed):
    """A function of LLVM with random debug information, and the places of each line."""
    rng = random.Random(seed)
    nodes, scopes, locations = [], [], []

    def node(text):
        nodes.append(text)
        return f"!{len(nodes) - 1}"

    files = []
    for name in ("a.c", "sub/b.h", "/abs/c.h"):
        files.append(
            (node(f'!DIFile(filename: "{name}", directory: "/d(1)")'), name if name[0] == "/" else f"/d(1)/{name}")
        )
    for _ in range(6):
        number, path = rng.choice(files)
        if not scopes or rng.random() < 0.4:
            scopes.append(
                (
                    node(
                        f'distinct !DISubprogram(name: "f, line: 9", scope: {number}, file: {number}, line: {len(nodes) + 1})'
                    ),
                    path,
                    len(nodes),
                )
            )
        elif rng.random() < 0.5:
            around, path, _ = rng.choice(scopes)
            scopes.append((node(f"distinct !DILexicalBlock(scope: {around}, line: 3, column: 5)"), path, 0))
        else:
            around, _, _ = rng.choice(scopes)
            scopes.append((node(f"!DILexicalBlockFile(scope: {around}, file: {number}, discriminator: 2)"), path, 0))
    for _ in range(12):
        scope, path, _ = rng.choice(scopes)
        line = rng.choice((0, rng.randint(1, 60)))
        at, places = rng.choice(locations) if locations and rng.random() < 0.4 else ("", ())
        own = (Place(path, line),) if line else ()
        text = f"line: {line}, column: 4, scope: {scope}{f', inlinedAt: {at}' if at else ''}"
        locations.append((node(f"!DILocation({text})"), (*own, *places)))
    function, path, line = next(one for one in scopes if one[2])
    lines, truth = [f"define void @f() !dbg {function} {{"], [{Place(path, line)}]
    for _ in range(20):
        name, places = rng.choice(locations)
        kind = rng.random()
        if kind < 0.2:
            lines.append("  call void @g(ptr !5)" if kind < 0.1 else "  %x = add i32 1, 2, !tbaa !3")
            truth.append(set())
        elif kind < 0.4:
            lines.append(f"    #dbg_value(i32 %x, !7, !DIExpression(), {name})")
            truth.append(set(places))
        else:
            lines.append(f"  %x = add i32 1, 2, !dbg {name}, !tbaa !3")
            truth.append(set(places))
    lines += ["}", *[f"!{at} = {text}" for at, text in enumerate(nodes)]]
    return "\n".join(lines), truth + [set()] * (len(nodes) + 1)


@each("seed", range(60))
def test_instructions_of_llvm_have_the_places_of_their_scopes_and_calls(seed):
    text, truth = llvm_program(seed)
    for line, found, expected in zip(text.split("\n"), places_of(text, "llvm"), truth, strict=True):
        assert set(found) == expected, line


@pytest.mark.skipif(shutil.which("opt") is None, reason="needs LLVM's opt")
def test_the_lines_that_opt_itself_numbers_are_found(tmp_path):
    """`debugify` gives each instruction the next line: the places of the n-th instruction are line n."""
    body = "\n".join(f"  %x{at + 1} = add i32 %x{at}, {at}" for at in range(30))
    (tmp_path / "a.ll").write_text(f'source_filename = "a.c"\ndefine i32 @f(i32 %x0) {{\n{body}\n  ret i32 %x30\n}}\n')
    command = ["opt", "-S", "-passes=debugify", str(tmp_path / "a.ll"), "-o", "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = [
        places
        for line, places in zip(text.split("\n"), places_of(text, "llvm"), strict=True)
        if re.match(r"\s+(?:%x\d+ = add|ret) ", line)
    ]
    assert [[place.line for place in places] for places in found] == [[at] for at in range(1, 32)]
    assert {Path(place.file).name for places in found for place in places} <= {"a.ll", "a.c"}


# ---------------------------------------------------------------- assembly
@each("seed", range(30))
def test_instructions_have_the_place_of_the_last_loc(seed):
    rng = random.Random(seed)
    lines, truth = ['\t.file\t1 "/src" "a.py"', '\t.file\t2 "/lib/b.py"'], [set(), set()]
    names = {1: "/src/a.py", 2: "/lib/b.py"}
    last, now = {}, set()
    for _ in range(40):
        kind = rng.random()
        if kind < 0.3:
            file, line, column = rng.choice((1, 2, 3)), rng.randint(0, 9), rng.randint(0, 2)  # 3 is not declared
            own = {Place(names[file], line)} if line and file in names else set()
            inlined = rng.choice([*last]) if last and rng.random() < 0.5 else None
            behind = f", function_name $L__info_string0, inlined_at {' '.join(map(str, inlined))}" if inlined else ""
            now = own | (last[inlined] if inlined else set())
            last[file, line, column] = now
            lines.append(f"\t.loc\t{file} {line} {column}{behind} // x.py:{line}:{column}")
            truth.append(now)
        elif kind < 0.5:
            lines.append(rng.choice(("$L__tmp3:", "// %bb.0:", "\t.reg .b32 %r<9>;", "", "\t// begin inline asm")))
            truth.append(set())
        elif kind < 0.55:
            now = set()
            lines.append("}")
            truth.append(now)
        else:
            lines.append(rng.choice(("\tadd.s32 %r1, %r2, 4;", "@%p1 bra $L__BB0_2;", "\tv_add_u32 v1, v2, v3")))
            truth.append(now)
    found = places_of("\n".join(lines), "asm")
    for line, here, expected in zip(lines, found, truth, strict=True):
        assert set(here) == expected, line


# ---------------------------------------------------------------- other languages
OTHERS = {
    "torch": (
        (
            "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        # File: /m/block.py:3 in f, code: return x @ w\n"
            '        mm: "f32[4]" = torch.ops.aten.mm.default(x, x)\n\n        # No stacktrace found for following nodes\n        y = mm + 1'
        ),
        [(), (), ("/m/block.py:3",), ("/m/block.py:3",), (), (), ()],
    ),
    "hlo": (
        (
            'HloModule m\n\nFileNames\n1 "/j.py"\n\nFunctionNames\n1 "f"\n\nFileLocations\n1 {file_name_id=1 function_name_id=1 line=10 column=1}\n'
            "2 {file_name_id=1 function_name_id=1 line=6 column=1}\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n"
            '2 {file_location_id=2 parent_frame_id=2}\n\n%a = f32[] add(x, y), metadata={op_name="f" stack_frame_id=2}\n'
            '%b = f32[] add(x, y), metadata={op_name="f" source_file="/k.py" source_line=7 source_end_line=8}'
        ),
        [()] * 16 + [("/j.py:6", "/j.py:10"), ("/k.py:7",)],
    ),
    "gcc": ("  [t.c:3:5] _1 = a_2(D) + 1;\n  x = 1;\n  [t.c:4:1 discrim 2] return _1;", [("t.c:3",), (), ("t.c:4",)]),
    "rust": ("    _0 = const 1_i32; // scope 0 at src/lib.rs:7:5: 7:9\n    return;", [("src/lib.rs:7",), ()]),
    "mir": (
        (
            "  %1:b32 = ADD %2, 3, debug-location !18; b.py:196:12 @[ b.py:216:16 @[ a.py:8:13 ] ]\n  %2:b32 = MOV 3\n"
            "  RET debug-location !3 :: (load (s32) from %ir.1); a.py:9:0"
        ),
        [("b.py:196", "b.py:216", "a.py:8"), (), ("a.py:9",)],
    ),
    "sass": (
        (
            '\t//## File "/k.py", line 216 inlined at "/k.py", line 8\n\t//## File "/k.py", line 8\n        /*0000*/ LDC R1 ;\n'
            ".L_x_1:\n        /*0010*/ EXIT ;\n\t.section\t.x\n        /*0020*/ NOP ;"
        ),
        [
            ("/k.py:216", "/k.py:8"),
            ("/k.py:216", "/k.py:8"),
            ("/k.py:216", "/k.py:8"),
            (),
            ("/k.py:216", "/k.py:8"),
            (),
            (),
        ],
    ),
}


@pytest.mark.parametrize("language", OTHERS)
def test_other_languages_name_their_places(language):
    text, expected = OTHERS[language]
    assert [tuple(map(str, places)) for places in places_of(text, language)] == expected


def test_the_end_of_a_path_is_that_file():
    assert is_same_file("a.py", "/src/a.py")
    assert is_same_file("/src/a.py", "./src/a.py")
    assert is_same_file("a.py", "a.py")
    assert not is_same_file("a.py", "/src/ba.py")
    assert not is_same_file("/b/a.py", "/c/a.py")
    assert not is_same_file("", "/a")


# ---------------------------------------------------------------- recordings
def recordings(tmp_path):
    yield from (dumps.read(corpus.DATA / path) for path in sorted(corpus.DATA.glob("*.txt*")))
    for path in [*sorted(corpus.DATA.glob("*.tar.gz")), LOCATED]:
        folder = tmp_path / path.name
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
        yield dumps.read(folder)


@pytest.mark.rotating
def test_lines_of_a_place_and_places_of_a_line_are_one_relation(tmp_path):
    """Forwards and backwards, over all stored dumps: a line is among those of a place where the place is among its own."""
    with_locations = 0
    for recording in recordings(tmp_path):
        table = recording.sources()
        with_locations += bool(table)
        forwards = {
            (f"{row['file']}:{row['line']}", line["step"], line["unit"], line["line"])
            for row in table
            for line in recording.lines_of(f"{row['file']}:{row['line']}")
        }
        backwards = {
            (place, step, name, at + 1)
            for name, unit in recording.units.items()
            for step, piece in zip(unit.steps, unit.pieces, strict=True)
            if piece is not None
            for at, places in enumerate(recording.places(name, step))
            for place in places
        }
        assert forwards == backwards, recording.name
    assert with_locations >= 2


SMALL = """\
// -----// IR Dump Before First (first) ('builtin.module' operation) //----- //
#loc1 = loc("/src/k.py":7:3)
module {
  func.func @f(%x: i32) -> i32 {
    %0 = old.op %x : i32 loc(#loc1)
    %1 = keep.op %0 : i32 loc(#loc2)
    return %1 : i32 loc(#loc2)
  } loc(#loc)
} loc(#loc)
#loc = loc("/src/k.py":6:1)
#loc2 = loc(callsite("/lib/n.py":9:1 at "/src/k.py":8:3))
// -----// IR Dump After First (first) ('builtin.module' operation) //----- //
#loc1 = loc("/src/k.py":7:3)
module {
  func.func @f(%x: i32) -> i32 {
    %0 = new.op %x : i32 loc(#loc1)
    %1 = keep.op %0 : i32 loc(#loc2)
    return %1 : i32 loc(#loc2)
  } loc(#loc)
} loc(#loc)
#loc = loc("/src/k.py":6:1)
#loc2 = loc(callsite("/lib/n.py":9:1 at "/src/k.py":8:3))
"""
UNIT = "builtin.module/func.func @f"


def test_a_line_of_the_source_selects_its_lines_and_steps():
    recording = dumps.read_text(SMALL)
    assert recording.lines_of("k.py:7").rows == [
        (0, "input", UNIT, 2, "%0 = old.op %x : i32 loc(#loc1)"),
        (1, "First", UNIT, 2, "%0 = new.op %x : i32 loc(#loc1)"),
    ]
    assert [row["text"][:4] for row in recording.lines_of("k.py:8", step=1)] == ["%1 =", "retu"]
    assert recording.places("f", 1)[2] == ("/lib/n.py:9", "/src/k.py:8")
    assert [step.number for step in recording.steps_of("k.py:7")] == [1]
    assert recording.steps_of("k.py:8") == []
    assert recording.step(1).places == ("/src/k.py:7",)
    assert [row[:2] + row[3:] for row in recording.sources().rows] == [
        ("/lib/n.py", 9, 2, 0),
        ("/src/k.py", 6, 4, 0),
        ("/src/k.py", 7, 1, 1),
        ("/src/k.py", 8, 2, 0),
    ]


def test_source_is_read_only_where_somebody_gives_it(tmp_path):
    path = tmp_path / "k.py"
    path.write_text("\n" * 6 + "the_code()\n")
    recording = dumps.read_text(SMALL.replace("/src/k.py", str(path)))
    assert {row["text"] for row in recording.sources()} == {""}
    recording.add_source(path)
    assert "the_code()" in {row["text"] for row in recording.sources()}
    with pytest.raises(FileAccessError, match="cannot be read"):
        recording.add_source(tmp_path / "none.py")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("k.py", "is not a line of a source file"),
        ("k.py:", "is not a line of a source file"),
        (7, "is not a line of a source file"),
        ("kk.py:7", "did you mean `k.py`"),
    ],
)
def test_a_place_that_is_none_is_explained(place, message):
    with pytest.raises(DumpError, match=message):
        dumps.read_text(SMALL).lines_of(place)


def test_a_dump_without_locations_says_how_to_get_them():
    text = re.sub(r"(?m)^#loc.*\n", "", re.sub(r" loc\(#\w+\)", "", SMALL))
    with pytest.raises(DumpError, match="mlir-print-debuginfo"):
        dumps.read_text(text).lines_of("k.py:7")


# ---------------------------------------------------------------- Triton's folders
def test_the_stages_of_triton_are_read_kernel_by_kernel(tmp_path):
    with tarfile.open(LOCATED) as archive:
        archive.extractall(tmp_path, filter="data")
    recording = dumps.read(tmp_path)
    assert recording.format == "triton"
    names = ["TTIR", "TTGIR", "LLVM IR", "PTX", "SASS"]
    assert [(step.name, step.unit) for step in recording] == [
        (name, kernel) for kernel in ("matmul", "softmax_rows") for name in names
    ]
    texts = {path.suffix: path.read_text() for path in tmp_path.rglob("matmul.*")}
    for step, ending in zip(recording.steps, (".ttir", ".ttgir", ".llir", ".ptx", ".sass"), strict=False):
        assert step.after == texts[ending].strip("\n")
        assert recording.program(step) == step.after
    # Line 20 of the kernels is the product: it is one in each stage.
    found = recording.lines_of("k.py:20")
    assert any("tt.dot" in row["text"] for row in found if row["pass"] == "TTIR")
    assert {row["pass"] for row in found} == {"TTIR", "TTGIR", "LLVM IR", "PTX"}
    # The stages of one kernel are no parts of the other one.
    assert {row["unit"].partition(":")[0] for row in recording.lines_of("k.py:20")} == {"matmul"}


def test_a_cache_of_triton_has_the_program_before_the_first_pass(tmp_path):
    folder = tmp_path / "HASH"
    folder.mkdir()
    (folder / "k.source").write_text("module {\n  tt.func @k() {\n    tt.old\n  }\n}\n")
    (folder / "k.ttir").write_text("module {\n  tt.func @k() {\n    tt.new\n  }\n}\n")
    (folder / "k.cubin").write_bytes(b"\x7fELF\xff\x00")
    (folder / "k.json").write_text('{"target": {"backend": "cuda", "arch": 90}, "num_warps": 4}')
    (folder / "launcher.so").write_bytes(b"\x7fELF\xff")
    recording = dumps.read(tmp_path)
    assert recording.input
    assert "tt.old" in recording.input
    assert [(step.name, step.verdict) for step in recording] == [("TTIR", "changed")]
    assert recording.notes == ["k: k.cubin is a binary, and has no text here", "k: target = cuda:90, num_warps = 4"]
    assert "ELF" not in recording.other_output


STORED = Path(__file__).parents[2] / "notebooks" / "softmax-triton.txt.gz"


def test_a_stored_recording_is_read_as_it_was_saved(tmp_path):
    recording = dumps.read(STORED)
    assert [step.name for step in recording if step.kind == "stage"] == ["TTIR", "TTGIR", "LLVM IR", "PTX", "SASS"]
    recording.save(tmp_path / "again.txt")
    again = dumps.read(tmp_path / "again.txt")
    assert again.table().rows == recording.table().rows
    assert again.sources().rows == recording.sources().rows
    assert [step.parent for step in again] == [step.parent for step in recording]
    assert again.notes == recording.notes


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_recording_raises_no_foreign_error(seed):
    """Cut, mixed and overwritten anywhere; numbers of any length, aliases and metadata that refer to themselves."""
    rng = random.Random(seed)
    whole = gzip.decompress(STORED.read_bytes())
    parts = (
        b"9" * 5000,
        b"loc(",
        b'"',
        b"{",
        b"#loc = loc(#loc)\n",
        b".loc 1 99999999999999999999 1\n",
        b"\xff\xfe",
        b"\x00",
    )
    parts += (b"!9 = !DILocation(line: 3, scope: !9, inlinedAt: !9)\n",)
    for _ in range(12):
        start = rng.randrange(len(whole) - 60_000)
        data = bytearray(whole[: rng.choice((3000, 100_000))] + whole[start : start + rng.randint(100, 60_000)])
        for _ in range(rng.randint(1, 20)):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    del data[at : at + 40]
                case 2:
                    data[at:at] = rng.choice(parts)
                case _:
                    data = data[: at + 1]
        try:
            recording = dumps.read(bytes(data))
            for row in recording.sources():
                recording.lines_of(f"{row['file']}:{row['line']}")
        except PasslabError:
            continue
