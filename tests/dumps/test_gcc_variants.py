"""Further kinds of dumps of GCC, and the verdicts that each proves."""

from passlab.dumps import read

GCC = """
;; Function f (f, funcdef_no=0, decl_uid=1, cgraph_uid=1, symbol_order=0)

{remarks}__attribute__((noinline))
int f (int x)
{{
  int _1;

  <bb 2> :
  _1 = x_2(D) {op} 1;
  return _1;

}}


"""


def gcc_folder(tmp_path, *dumps):
    for name, text in dumps:
        (tmp_path / f"a.c.{name}").write_text(text)
    return read(tmp_path)


def test_what_a_pass_of_gcc_tells_of_its_work_is_no_change(tmp_path):
    recording = gcc_folder(
        tmp_path,
        ("020t.ssa", GCC.format(remarks="", op="+")),
        ("021t.ccp1", GCC.format(remarks="Removing basic block 3\n;; 1 loops found\n", op="+")),
        ("022t.fre1", GCC.format(remarks="", op="*")),
    )
    assert [step.verdict for step in recording.steps][1:] == ["unchanged", "changed"]
    assert recording["fre1"].diff().counts["changed"] == 1
    assert "Removing" in recording["ccp1"].other_output


def test_a_pass_of_gcc_behind_interprocedural_ones_is_not_blamed_for_their_work(tmp_path):
    recording = gcc_folder(
        tmp_path,
        ("069t.ssa", GCC.format(remarks="", op="+")),
        ("070i.inline", "Deciding on inlining of small functions.\n"),
        ("071t.fixup_cfg3", GCC.format(remarks="", op="*")),
    )
    assert (recording["fixup_cfg3"].verdict, recording["fixup_cfg3"].since) == ("unknown", 2)


def test_without_the_reports_of_interprocedural_passes_what_they_did_is_no_pass_s_work(tmp_path):
    names = [f"{number:03}t.p{number}" for number in range(20, 32)]
    dumps = [(name, GCC.format(remarks="", op="+")) for name in names]
    recording = gcc_folder(tmp_path, *dumps, ("094t.fixup_cfg3", GCC.format(remarks="", op="*")))
    assert (recording["fixup_cfg3"].verdict, recording["fixup_cfg3"].since) == ("unknown", len(names))


def test_a_few_chosen_passes_of_gcc_blame_nobody(tmp_path):
    dumps = (("040t.fre1", GCC.format(remarks="", op="+")), ("253t.optimized", GCC.format(remarks="", op="*")))
    recording = gcc_folder(tmp_path, *dumps)
    assert (recording["optimized"].verdict, recording["optimized"].since) == ("unknown", 1)
    assert any("chosen passes" in note for note in recording.notes)


SLIM = """
;; Function f (f, funcdef_no=0, decl_uid=1, cgraph_uid=1, symbol_order=0)

{remarks}    1: NOTE_INSN_DELETED
    4: NOTE_INSN_BASIC_BLOCK 2
    2: r84:SI=di:SI
      REG_DEAD di:SI

   11: ax:SI=r84:SI{op}0x1
   12: use ax:SI

"""


def test_slim_dumps_of_gcc_have_functions(tmp_path):
    names = [f"{number}r.p{number}" for number in range(260, 272)]
    dumps = [(name, SLIM.format(remarks="", op="+")) for name in names]
    text = "Trying 2 -> 11:\n    2: r84:SI=di:SI\n   11: ax:SI=r84:SI+0x1\nFailed.\n"
    more = (("280r.combine", SLIM.format(remarks=text, op="+")), ("281r.ree", SLIM.format(remarks="", op="*")))
    recording = gcc_folder(tmp_path, *dumps, *more)
    assert (recording["combine"].verdict, recording["ree"].verdict) == ("unchanged", "changed")
    assert recording.unit_text("ree", "f").count("\n") == 6


def gcc_functions(**bodies):
    """A file with several functions, each a name and an operator."""
    return "".join(
        GCC.format(remarks="", op=op).replace("f (f,", f"{name},").replace("int f (", f"int {name.split()[0]} (")
        for name, op in bodies.items()
    )


def test_each_function_of_a_file_of_gcc_is_a_unit(tmp_path):
    files = [
        ("020t.ssa", {"f (f": "+", "g (g": "+", "h (h": "+"}),
        ("021t.dce", {"f (f": "+", "g (g": "+", "h (h": "*"}),
    ]
    files += [("022t.loop", {"f (f": "+"}), ("023t.dse", {"f (f": "+", "g (g": "+", "h (h": "*"})]  # h has no loop
    recording = gcc_folder(tmp_path, *[(name, gcc_functions(**bodies)) for name, bodies in files])
    assert list(recording.units) == ["f", "g", "h"]
    assert [step.verdict for step in recording.steps][1:] == ["changed", "unchanged", "unchanged"]
    assert recording.blame("h").maker(-4) == "dce"
    assert recording.blame("g").maker(-4) == "input or step 1"


def test_functions_of_one_name_are_told_apart_by_the_name_of_the_linker(tmp_path):
    both = {"A::f (_ZN1A1fEi": "+", "A::f (_ZN1A1fEd": "-", "main (main": "*"}
    names = [f"{number:03}t.p{number}" for number in range(20, 32)]
    recording = gcc_folder(tmp_path, *[(name, gcc_functions(**both)) for name in names])
    assert list(recording.units) == ["A::f (_ZN1A1fEi)", "A::f (_ZN1A1fEd)", "main"]
    assert {step.verdict for step in recording.steps[1:]} == {"unchanged"}
    assert "- 1" in recording.unit_text(3, "_ZN1A1fEd")


def test_the_report_of_an_interprocedural_pass_is_no_program(tmp_path):
    recording = gcc_folder(
        tmp_path,
        ("069t.ssa", gcc_functions(**{"f (f": "+"})),
        ("070i.inline", "Deciding on inlining of small functions.\n"),
        ("071i.pure-const", "f is pure\n"),
        ("072i.comdats", ""),
    )
    assert [step.verdict for step in recording.steps[1:]] == ["unknown"] * 3
    assert "f is pure" in recording["pure-const"].other_output
