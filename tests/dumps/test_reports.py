"""Remarks, times and statistics of compilers, joined to the steps that they speak of."""

import json
import random

import pytest

from passlab.dumps import read, read_text
from passlab.dumps.reports import Reports, read_report
from passlab.errors import DumpError, PasslabError

DUMP = """*** IR Dump After InlinerPass on (sum) ***
define i32 @sum(ptr %a) {
  ret i32 1
}
x.c:9:1: remark: loop not vectorized [-Rpass-missed=loop-vectorize]
*** IR Dump After LoopVectorizePass on sum ***
define i32 @sum(ptr %a) {
  ret i32 2
}
*** IR Dump After InlinerPass on (main) omitted because no change ***
*** IR Dump After SROAPass on main ***
define i32 @main() {
  ret i32 3
}
*** IR Dump After SROAPass on main ***
define i32 @main() {
  ret i32 4
}
"""
REMARKS = """--- !Passed
Pass:            inline
Name:            Inlined
DebugLoc:        { File: 'it''s a ''long'' path, with commas/x.c',
                   Line: 2, Column: 70 }
Function:        sum
Args:
  - String:          ''''
  - Callee:          sq
    DebugLoc:        { File: x.c, Line: 1, Column: 0 }
  - String:          ''' inlined into '''
  - Caller:          "su\\x6D"
  - String:          ''''
...
--- !Missed
Pass:            sroa
Name:            Nothing
Function:        main
Args:
  - String:          two runs
...
"""
TRACE = {
    "traceEvents": [
        {"ph": "X", "ts": 20, "dur": 3000, "name": "SROAPass", "args": {"detail": "main"}},
        {"ph": "X", "ts": 5, "dur": 1000, "name": "SROAPass", "args": {"detail": "main"}},
        {"ph": "X", "ts": 1, "dur": 7, "name": "InlinerPass", "args": {"detail": "(other)"}},
        {"ph": "M", "name": "process_name"},
    ]
}
TABLES = """===-------------------------------------------------------------------------===
                          Pass execution timing report
===-------------------------------------------------------------------------===
  Total Execution Time: 0.0047 seconds (0.0098 wall clock)

   ---User Time---   --System Time--   --User+System--   ---Wall Time---  --- Name ---
   0.0001 (  3.4%)   0.0001 (  3.4%)   0.0002 (  3.4%)   0.0053 ( 54.0%)  LoopVectorizePass
   0.0002 ( 15.7%)   0.0005 ( 15.7%)   0.0007 ( 15.7%)   0.0007 (  7.4%)  SROAPass #2
   0.0003 (100.0%)   0.0006 (100.0%)   0.0009 (100.0%)   0.0060 (100.0%)  Total

===-------------------------------------------------------------------------===
                          ... Statistics Collected ...
===-------------------------------------------------------------------------===

      7 instcombine - Number of insts combined
"""


@pytest.fixture
def recording():
    return read(DUMP.encode())


def test_a_printed_remark_belongs_to_the_step_that_printed_it(recording):
    (remark,) = recording.reports.remarks
    assert (remark.kind, remark.pass_name, remark.place, remark.first, remark.last) == (
        *("Missed", "loop-vectorize", "x.c:9:1"),
        *(2, 2),
    )
    assert recording.frame()["remarks"].tolist() == [0, 1, 0, 0, 0]
    assert "missed at x.c:9:1: loop not vectorized" in recording.text()


def test_remarks_of_a_file_find_their_steps_or_have_a_range(recording, tmp_path):
    path = tmp_path / "x.opt.yaml"
    path.write_text(REMARKS)
    passed, missed = recording.join(path).remarks
    assert passed.file == "it's a 'long' path, with commas/x.c"
    assert (passed.line, passed.column) == (2, 70)
    assert passed.text == "'sq' inlined into 'sum'"
    assert (passed.first, passed.last) == (1, 1)
    assert (missed.first, missed.last) == (4, 5)
    assert recording.remarks_of(5) == [missed]
    assert "remarks" in recording.tables


def test_a_trace_times_the_steps_whose_runs_it_has_all(recording, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(TRACE))
    recording.join(path)
    assert [step.seconds for step in recording.steps] == [None, None, None, 0.001, 0.003]
    assert recording.frame()["seconds"].tolist()[3:] == [0.001, 0.003]


def test_tables_in_a_dump_are_read_with_it(tmp_path):
    recording = read((DUMP + TABLES).encode())
    assert [step.seconds for step in recording.steps] == [None, 0.0053, None, None, 0.0007]
    assert recording.reports.statistics == [("instcombine", "Number of insts combined", 7)]
    assert [step.verdict for step in recording.steps] == [step.verdict for step in read(DUMP.encode()).steps]


def test_statistics_stand_at_every_run_of_their_pass():
    counted = TABLES.replace(
        "7 instcombine - Number of insts combined", "7 sroa - Number of allocas\n      2 sroa - Splits"
    )
    frame = read((DUMP + counted).encode()).frame()
    said = "7 Number of allocas; 2 Splits"
    assert frame["statistics"].tolist() == ["", "", "", said, said]


def test_remarks_are_at_the_lines_of_the_source_under_the_name_that_the_programs_have_for_it(tmp_path):
    located = (
        "*** IR Dump After SROAPass on [module] ***\n; ModuleID = 'x'\ndefine i32 @f() {\n  ret i32 1, !dbg !4\n}\n"
        '!1 = !DIFile(filename: "src/x.c", directory: "/home/a")\n!3 = distinct !DISubprogram(name: "f", file: !1)\n'
        "!4 = !DILocation(line: 2, column: 3, scope: !3)\n"
        "src/x.c:2:3: remark: two things [-Rpass=sroa]\nsrc/x.c:7:1: remark: one thing [-Rpass-missed=sroa]\n"
    )
    recording = read(located.encode())
    assert [(row[0], row[1], row[-1]) for row in recording.sources().rows] == [
        ("/home/a/src/x.c", 2, 1),
        ("/home/a/src/x.c", 7, 1),
    ]
    assert "lines of the source" not in recording.text()
    recording.add_source("x.c", "\nint f(void) { return 1; }\n")
    text = recording.text().partition("Remarks at the lines of the source:")[2]
    assert "/home/a/src/x.c:2  int f(void) { return 1; }  # passed: two things" in text
    assert "/home/a/src/x.c:7  # missed: one thing" in text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"RMRK\x01\x02", "as a bitstream"),
        (b'{"traceEvents": [', "is damaged"),
        (b'{"a": "b"}', "no statistics"),
        (b"hello\n", "no report about passes"),
        (b"[" * 100_000, "is damaged"),
    ],
)
def test_a_file_without_a_report_is_an_error_with_a_cure(tmp_path, data, said):
    path = tmp_path / "report"
    path.write_bytes(data)
    with pytest.raises(DumpError, match=said):
        read_report(path)
    with pytest.raises(DumpError, match="there is no file"):
        read_report(tmp_path / "nothing")


def test_yaml_that_expands_or_makes_objects_is_text(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(
        'a: &a ["lol"]\nb: &b [*a,*a,*a]\n--- !Passed\nPass: !!python/object/apply:os.system ["true"]\nName: *b\n'
        "Function: f\nArgs:\n  - String: *b\n...\n"
    )
    (remark,) = read_report(path).remarks
    assert remark.pass_name == '!!python/object/apply:os.system ["true"]'
    assert remark.text == "*b"


def test_damaged_reports_raise_no_foreign_error(tmp_path):
    """Cuts, and bytes that changed, in files that compilers wrote; many more by night in a folder of one's own."""
    rng, refused = random.Random(4), 0
    path = tmp_path / "report"
    for original in (REMARKS, json.dumps(TRACE), TABLES, DUMP + TABLES):
        for _ in range(150):
            data = bytearray(original.encode())
            for _ in range(rng.randint(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            path.write_bytes(data[: rng.randint(0, len(data))])
            recording = read(DUMP.encode())
            try:
                assert isinstance(recording.join(path), Reports)
            except PasslabError:
                refused += 1
            assert all(step.seconds is None or step.seconds >= 0 for step in recording.steps)
            recording.text()
    assert refused


LOOP = "; Preheader:\n  br label %b\n\n; Loop:\nb:                                                ; preds = %b, %a\n  br label %b\n"
HOISTED = """--- !Passed
Pass:            {}
Name:            Hoisted
DebugLoc:        {{ File: x.c, Line: 3, Column: 5 }}
Function:        {}
Args:
  - String:          'hoisting '
...
"""


@pytest.mark.parametrize("unit", ["Loop at depth 1 containing: %b<header><exiting>", "<unnamed loop>"])
def test_remarks_on_a_loop_that_does_not_name_its_function_join_the_loops_of_it(unit, tmp_path):
    """As LLVM 14 to 18 write the unit of a pass on a loop: it follows the passes that prepare the function."""
    f = "define void @{}() {{\n  ret void\n}}\n"
    parts = []
    for name in "fg":
        parts += [("LoopSimplifyPass", name, f.format(name)), ("LICMPass", unit, LOOP)]
    dump = "".join([f"*** IR Dump {when} {p} on {u} ***\n{t}\n" for p, u, t in parts for when in ("Before", "After")])
    rec = read_text(dump)
    remarks = tmp_path / "x.opt.yaml"
    remarks.write_text(HOISTED.format("licm", "g") + HOISTED.format("licm", "f") + HOISTED.format("licm", "h"))
    rec.join(remarks)
    assert [(one.first, one.last) for one in rec.reports.remarks] == [(4, 4), (2, 2), (0, 0)]


def test_remarks_of_the_register_allocator_join_its_pass(tmp_path):
    code = "# Machine code for function f: NoPHIs\nbb.0:\n  RET 0\n\n# End machine code for function f.\n"
    name = "Greedy Register Allocator (greedy)"
    rec = read_text("".join([f"# *** IR Dump {when} {name} ***:\n{code}\n" for when in ("Before", "After")]))
    (tmp_path / "x.opt.yaml").write_text(HOISTED.format("regalloc", "f"))
    rec.join(tmp_path / "x.opt.yaml")
    assert [one.first for one in rec.reports.remarks] == [1]
