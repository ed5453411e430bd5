"""Verdicts: what a dump proves about each pass, and what it leaves open.

The rules, in order: a verdict of the compiler in the banner; then the comparison of before and after, and of
consecutive whole programs. Last comes the comparison with the latest text of the unit, where no pass without text can
have changed it. Everything else is "unknown", with the range of steps that may have made the change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from passlab.dumps import mlir
from passlab.dumps.banner import DIFF, FRAGMENT, MODULE, NONE, UNIT, Banner
from passlab.dumps.language import HEAD, LANGUAGES
from passlab.dumps.llvm import PART, without_flags
from passlab.dumps.other_output import differ_in_other_output
from passlab.dumps.source import Excerpt
from passlab.dumps.step import Step, Unit
from passlab.dumps.tvm_passes import LEAVES, judge_nested

if TYPE_CHECKING:
    from passlab.dumps.assembly import Assembly, Body


@dataclass(frozen=True)
class Traits:
    """How much the dumps of one format prove.

    `says_changes`: every pass is in the dump with its verdict. `closed`: a pass changes nothing outside its operation.
    `pairs_only`: only before and after together prove something. `assumes_first`: the first verdict is assumed instead
    of left open. `chains`: several programs follow one another. `nested`: any pass may wrap others, and its text comes
    after theirs. `wraps`: some passes, known by name, do. `partial`: another pass, which is not in the dump, may have
    made a change; `listed`: any pass may be missing, so that equal texts prove nothing either. `unordered`: the dump
    orders the passes on one operation alone. `snapshots`: its steps are moments of a program, and no passes.
    """

    says_changes: bool = False
    closed: bool = False
    pairs_only: bool = False
    assumes_first: bool = False
    chains: bool = False
    nested: bool = False
    wraps: bool = False
    starts_unchanged: bool = False
    partial: bool = False
    listed: bool = False
    unordered: bool = False
    snapshots: bool = False


# Passes that only read the program, or whose rare changes show in it.
_ONLY_LOOKS = re.compile(
    r"Verif(?:ier|y)|Require(?:Analysis)?Pass|RequireAnalysisPass|InvalidateAnalysis|Printer|^Print|ForceFunctionAttrs|"
    r"Annotation2Metadata|MemProfRemoveInfo|PipelinePass$|Pipeline$|NoOp|^nop$|Dump|ModuleSummary|NameAnonGlobal"
)
# Passes of MLIR, IREE and TVM that run other passes.
_WRAPS = re.compile(
    r"PipelineAdaptor|FixedPointIterator|^Inliner(?:Pass)?$|Pipeline(?:Pass)?$|^Composite|TranslateTargets|"
    r"DynamicPipeline|ExecutableTarget|ExecutableVariants|^(?:Configure|Translate|Serialize|Link|Preprocess)\w*Executables?(?:Pass)?$"
)
_ONLY_RUNS = re.compile("PipelineAdaptor|FixedPoint")
_ON_ITSELF = re.compile(r"ExecutableTarget|All\w*Executables")  # they run passes on their own unit
# The depth of operations in IREE's programs; the outermost module is 0, and modules inside a variant have functions.
_DEPTHS = {"hal.executable": 1, "hal.executable.variant": 2, "builtin.module": 3, "vm.module": 3}
_FUNCTION = 4
_INLINER = re.compile(r"Inliner(?:Pass)?\Z")
_CALL = re.compile(rb"\bcall\b[^\n@]*@")
_LOCATIONS = re.compile(r"(?i)debug|location|DIScope")  # passes that change locations, which the texts do not show
ELSEWHERE = "it ran on another program, which the pass around it made for itself"
EMPTY, FAR = 8, 16  # lines of an empty module; steps after which an outer program is not expected again
_NOTHING = re.compile(rb"^\s+pass\s*$", re.MULTILINE)
_AFTER_IPA = "fixup_cfg3"  # the first pass of GCC after the interprocedural ones, whether those are dumped or not


FIRST_TEXT = "the first text of this graph that is here"
OTHER_PASS = "it may be the work of a pass that is not in the dump"
BACK = "the text is as it was: perhaps a pass that is not in the dump changed it, and this one changed it back"
IN_LINES = "the texts differ in lines that are perhaps other output"
NO_PROGRAM = "no program stands below the headings of this pass"
AROUND = "it only runs other passes, which are not seen to change this: a pass around it may have"
CUT_OFF = "cut off here: the program below this heading does not end"
TORN = "lines of the dump are missing between this text and the one before"


def judge(step: Step, body: Body | None, before_body: Body | None, assembly: Assembly, is_torn: bool = False) -> None:
    """Set the verdict and the range of a step; called before its texts enter the state of the program.

    `is_torn` says that lines of the dump are missing between the begin of the pass and its end.
    """
    traits = assembly.traits
    step.since = step.number
    after = body.piece if body is not None else None
    before = before_body.piece if before_body is not None else None
    is_cut = any(one is not None and one.whole is False for one in (body, before_body))
    if is_cut:
        step.note = CUT_OFF
    if step.status:
        step.verdict = step.status
    elif is_cut:
        step.verdict = "unknown"
    elif step.scope == DIFF or (traits.says_changes and after is not None and before is None):
        step.verdict = "changed"
    elif after is not None and (is_torn or (before is None and _is_torn(step, assembly))):
        step.verdict, step.note = "unknown", TORN
    elif before is not None and after is not None and not (before.size or after.size):
        step.verdict, step.note = "unknown", NO_PROGRAM
    elif before is not None and after is not None:
        step.verdict = "unchanged" if before.digest == after.digest else "changed"
    elif after is None or step.scope == FRAGMENT or traits.pairs_only:
        step.verdict = "unknown"
    elif traits.snapshots:
        _judge_snapshot(step, assembly)
    elif step.ambiguous:
        _judge_ambiguous(step, assembly)
    elif step.scope == MODULE and _last_program(assembly, step) is not None:
        _judge_program(step, assembly)
    else:
        _judge_units(step, assembly)
    if traits.wraps and step.note in (CUT_OFF, TORN) and _WRAPS.search(step.name):
        _judge_wrapper(step, assembly)  # the first change inside it may be its own all the same
    if traits.listed and before is None and not step.status:
        _open_listed(step)
    if step.verdict == "unchanged" and step.scope == UNIT and step.kind == "module" and step.language == "llvm":
        step.verdict, step.note = "unknown", step.note or PART
    if traits.starts_unchanged and step.name == "pipeline-start" and step.verdict == "changed":
        step.since = step.number - 1
        step.note = "no pass: what ran between the step before and this pipeline changed the program"
    if body is not None and not step.status and not traits.says_changes:
        doubt_end(step, body, before_body, assembly)
        if step.verdict == "changed" and step.scope != DIFF:
            doubt_strange(step, _compared(step, body.piece, before, assembly))


def _open_listed(step: Step) -> None:
    """Withdraw a verdict that takes two texts for those before and after one pass, in a list of chosen passes."""
    if step.verdict == "changed" or (step.verdict == "unknown" and step.since < step.number):
        step.note = step.note or OTHER_PASS
    elif step.verdict == "unchanged":
        step.note = step.note or BACK
    if step.verdict in ("changed", "unchanged"):
        step.verdict, step.since = "unknown", min(step.since, max(step.number - 1, 0))


def doubt_strange(step: Step, pairs: list[tuple[Excerpt, Excerpt]]) -> None:
    """Withdraw the verdict "changed" where the texts that were compared differ in other output alone."""
    differing = [(old, new) for old, new in pairs if old.digest != new.digest]
    if differing and all(
        differ_in_other_output(old, new, step.language, new is step.after_body) for old, new in differing
    ):
        step.verdict, step.note = "unknown", IN_LINES


def _compared(step: Step, after: Excerpt, before: Excerpt | None, assembly: Assembly) -> list[tuple[Excerpt, Excerpt]]:
    """Return the texts that a verdict compared: of the program, or of each of the units of a step."""
    last = _last_program(assembly, step) if before is None and step.scope == MODULE else None
    reference = before or (last.after_body if isinstance(last, Step) else None)
    if reference is None and isinstance(last, int) and assembly.input is not None:
        reference = assembly.input.piece
    if reference is not None:
        return [(reference, after)]
    units = [(assembly.units.get(name), piece) for name, piece in zip(step.names, step.pieces, strict=True)]
    return [(unit.last, piece) for unit, piece in units if unit is not None and unit.last is not None]


def doubt_end(step: Step, body: Body, before_body: Body | None, assembly: Assembly) -> None:
    """Withdraw a verdict on a program that only the end of the dump ends, where a cut may be all that changed it."""
    if body.whole is not None:
        return
    after, before = body.piece, before_body.piece if before_body is not None else None
    pairs = _compared(step, after, before, assembly)
    if len(pairs) == 1 and pairs[0][1] is after:
        is_cut = _is_begin(after, pairs[0][0])
    elif step.verdict == "changed":
        is_cut = all(old.digest == piece.digest or _is_begin(piece, old) for old, piece in pairs)
    else:
        text = after.data
        is_cut = step.language == "llvm" and not (text.endswith(b"\n") and _defines_all(text))
    if is_cut and step.verdict != "unknown":
        step.verdict, step.note = "unknown", step.note or "this may be cut off: the dump ends here"


def _is_torn(step: Step, assembly: Assembly) -> bool:
    """Whether lines of the dump are missing between the text of a step and the texts that it is compared with."""
    torn = assembly.gaps.torn
    if torn < 0:
        return False
    last = _last_program(assembly, step) if step.scope == MODULE else None
    if last is not None:
        return not isinstance(last, Step) or last.number <= torn
    names = {name for name in step.names if not name.endswith(HEAD)}
    if step.scope == MODULE:
        names |= {name for name, unit in assembly.units.items() if unit.alive and not name.endswith(HEAD)}
    elif step.kind == "scc":
        names |= {name for name in step.unit[1:-1].split(", ") if name in assembly.units}
    return any(name not in assembly.units or assembly.units[name].last_seen <= torn for name in names)


def is_hidden(step: Step, is_live: bool) -> bool:
    """Whether LLVM ran a pass and left out what it did, as the user asked (`-filter-passes`, `-filter-print-funcs`)."""
    return step.status == "filtered" and not step.note and not is_live and step.language in ("llvm", "mir")


def note_gap(step: Step, assembly: Assembly) -> None:
    """Say where a step before may have changed the program of a step, and the dump does not show how."""
    assembly.gaps.visit(step)
    gap = assembly.gaps.before(step, assembly.units)
    is_silent = step.after_body is None and step.verdict in ("unchanged", "filtered", "ignored")
    if not gap or not (is_silent or (step.verdict == "changed" and step.before_body is None)):
        return
    step.gap = gap
    shown = "the program here: a step before" if is_silent else "the program before: another step"
    step.note = "; ".join(filter(None, (step.note, f"the dump does not show {shown} may have changed it")))


def _is_begin(text: Excerpt, whole: Excerpt) -> bool:
    """Whether a text is the begin of another one, but for its last line where that is not ended."""
    data, other = text.data, whole.data.strip()
    seen = data if data.endswith(b"\n") else data[: data.rfind(b"\n") + 1]
    return data.strip() != other and other.startswith(seen.strip())


_REFERENCE = re.compile(rb"(?<![\w%@#!])[#!]\d+\b")
_DEFINITION = re.compile(rb"(?m)^(?:attributes )?([#!]\d+) = [^\n]*")


def _defines_all(text: bytes) -> bool:
    """Whether a program of LLVM defines the attributes and metadata that it uses."""
    return set(_REFERENCE.findall(text)) <= set(_DEFINITION.findall(text))


def _last_program(assembly: Assembly, step: Step) -> Step | int | None:
    """Return the step before, where its text is a whole program, or the digest of the input; None without either."""
    for at in range(len(assembly.steps) - 2, -1, -1):
        other = assembly.steps[at]
        if (assembly.traits.chains and other.phase != step.phase) or (other.ambiguous and assembly.traits.nested):
            continue
        if other.status == "filtered":
            continue
        if other.scope in (NONE, FRAGMENT):
            return None
        return other if other.scope == MODULE and other.after_body is not None else None
    if assembly.input is not None and not assembly.traits.chains:
        return assembly.input.numbers
    return None


def _judge_program(step: Step, assembly: Assembly) -> None:
    last = _last_program(assembly, step)
    digest = last.digest if isinstance(last, Step) else last
    if assembly.traits.unordered and not (isinstance(last, Step) and last.unit == step.unit and digest == step.digest):
        step.verdict, step.note = "unknown", "the files do not say which pass ran before this one"
        return
    if assembly.traits.nested and digest != step.digest and _on_another_program(step, last, assembly):
        return
    if digest != step.digest and not _is_alike(step, last):
        step.verdict = "changed"
        if assembly.traits.partial:
            step.verdict, step.since = "unknown", last.number if isinstance(last, Step) else 0
        elif assembly.traits.wraps and _INLINER.match(step.name):
            _judge_wrapper(step, assembly)
        elif assembly.traits.wraps and isinstance(last, Step) and _ONLY_RUNS.search(step.name):
            step.verdict, step.since, step.note = "unknown", last.number, step.note or AROUND
        elif isinstance(last, Step) and is_elsewhere(step, last):
            step.verdict = "unchanged"
            step.note = step.note or "the program changed elsewhere since the step before: by what ran in between"
        return
    if assembly.traits.nested and not (LEAVES.fullmatch(step.name) or step.number == 1):
        quiet = all(other.verdict == "unchanged" for other in _earlier(assembly))
        step.verdict = "unchanged" if quiet else "unknown"
        if not quiet:
            step.note = (
                step.note or "the text is as it was a step before: nothing changed, or all of it inside this pass"
            )
        return
    step.verdict = "unchanged"
    if assembly.traits.wraps and _WRAPS.search(step.name):
        _judge_wrapper(step, assembly)


def _earlier(assembly: Assembly) -> Iterable[Step]:
    """The steps before the last one, without a copy, which each step of a long dump would pay."""
    return islice(assembly.steps, len(assembly.steps) - 1)


def _judge_snapshot(step: Step, assembly: Assembly) -> None:
    """Compare a snapshot with the one before of the same program: what changed, changed between these two."""
    last = _last_program(assembly, step)
    if not isinstance(last, Step):
        step.verdict, step.note = "ignored", FIRST_TEXT
    elif [piece.digest for piece in last.pieces] == [piece.digest for piece in step.pieces]:
        step.verdict = "unchanged"
    else:
        step.verdict, step.note = "changed", f"between the snapshot of step {last.number} and this one"


def _on_another_program(step: Step, last: Step | int | None, assembly: Assembly) -> bool:
    """Whether a pass of TVM ran on a temporary program of an outer pass; marks the steps on such programs."""
    if not isinstance(last, Step) or step.after_body is None:
        return False
    if step.after_body.lines < EMPTY and _NOTHING.search(step.after_body.data):
        step.verdict, step.ambiguous, step.note = "unknown", True, ELSEWHERE
        return True
    # Steps count from 1: index `number - 1` is this one, and `number - 2` the last, which differs.
    for at in range(step.number - 3, max(step.number - 3 - FAR, -1), -1):
        if assembly.steps[at].digest == step.digest and assembly.steps[at].names == step.names:
            for other in assembly.steps[at + 1 : step.number - 1]:
                other.verdict, other.ambiguous, other.note = "unknown", True, other.note or ELSEWHERE
            for name in step.names:
                if name in assembly.units:
                    assembly.units[name].forget(at + 1)
            step.verdict = "unchanged" if LEAVES.fullmatch(step.name) else "unknown"
            return True
    return False


def _is_alike(step: Step, last: Step | int | None) -> bool:
    """Whether two programs of MLIR differ only in names of aliases and counters of drivers."""
    if not isinstance(last, Step) or step.language != "mlir" or _LOCATIONS.search(step.name):
        return False
    return _have_equal_parts(zip(step.names, step.pieces, strict=True), zip(last.names, last.pieces, strict=True))


def are_alike(body: Body, other: Body, pass_name: str) -> bool:
    """Whether two programs of MLIR differ only in names of aliases and counters of drivers, or in locations.

    A pass whose work is locations has changed these.
    """
    if _LOCATIONS.search(pass_name):
        return False
    one, two = (zip(b.names, [piece.digest for piece in b.pieces], strict=True) for b in (body, other))
    return _have_equal_parts(one, two)


def _have_equal_parts(one: Iterable[tuple[str, Any]], other: Iterable[tuple[str, Any]]) -> bool:
    """Whether two programs have the same named parts, and any, apart from what stands above and below operations."""
    parts, others = ([part for part in parts if not part[0].endswith(HEAD)] for parts in (one, other))
    return bool(parts) and parts == others


def may_run_inside(banner: Banner, around: Banner) -> bool:
    """Whether a pass on a part of a program follows one on the whole that runs others."""
    return not banner.unit.startswith("builtin.module") and (
        around.unit.startswith("builtin.module") and _WRAPS.search(around.name) is not None
    )


def judge_runner(step: Step, is_whole: bool) -> None:
    """Withdraw the verdict of a pass that runs others, where the next text may be one of a pass inside it."""
    is_inliner = _INLINER.match(step.name) and step.unit.startswith("builtin.module") and is_whole
    runs_others = _WRAPS.search(step.name) and not step.name.endswith("Pipeline")  # Triton's pipelines loops
    if runs_others and not is_inliner and step.after_body is not None:
        step.verdict, step.note = "unknown", "it runs other passes, and the dump does not say where it ends"


def judge_inside(steps: list[Step], units: Mapping[str, Unit]) -> None:
    """Set the verdicts of passes that another pass ran, in a dump of whole programs before each.

    Between two of them the outer pass changes the program as well, such as the inliner, which replaces calls.
    """
    first = next((at for at, step in enumerate(steps) if step.unit.startswith("builtin.module")), 0)
    for step in steps[:first]:
        if step.verdict == "changed":  # the pass around it may have begun before the dump
            step.verdict, step.note = "unknown", "it may be the work of a pass around it, which is not in the dump"
    for step in steps:
        judge_runner(step, is_whole=True)
        if not step.parent or step.verdict != "changed":
            continue
        op, sign, symbol = step.unit.partition(" @")
        named = re.escape(op) + (
            rf' @"?{re.escape(symbol)}"?' if sign else r"(?: #\d+)?"
        )  # those without one are numbered
        own = re.compile(rf"/{named}(?P<inside>/.*)?\Z")
        found = [(match, units[name]) for name in units if (match := own.search(name)) and not name.endswith(HEAD)]
        pairs = [(unit.at(step.number - 1), unit.at(step.number)) for _, unit in found]
        roots = sum(match["inside"] is None for match, _ in found)
        changed = [(old, new) for old, new in pairs if old is not new]
        if roots == 1 and not changed:
            step.verdict = "unchanged"
            step.note = f"the program changed elsewhere, by the pass around it (step {step.parent})"
        elif roots != 1 or any(old is None or new is None or _calls(new) < _calls(old) for old, new in changed):
            step.verdict, step.since = "unknown", step.parent
            step.note = "it may be the work of the pass around it"


def is_elsewhere(step: Step, last: Body | Step) -> bool:
    """Whether a pass left its own functions unchanged, so that others made the difference in the program.

    LLVM's pass managers remove functions that are no longer called, mostly after the last pass on a group of functions.
    """
    if step.kind not in ("function", "loop", "scc") or step.after_body is None:
        return False
    before = last.after_body if isinstance(last, Step) else last.piece
    if before is None:
        return False
    pieces, earlier = (dict(zip(one.names, one.pieces, strict=True)) for one in (step, last))
    for unit in step.unit.rpartition(" in function ")[2].removeprefix("(").removesuffix(")").split(", "):
        if unit not in pieces or unit not in earlier or pieces[unit].digest != earlier[unit].digest:
            return False
        here, there = (_unit_text(one, step.language, unit) for one in (step.after_body, before))
        if not here or here != there:
            return False
    return True


def _unit_text(program: Excerpt, language: str, unit: str) -> bytes:
    """Return the text of a unit of a program with the attributes and metadata that it uses, numbered from 0."""
    data = program.data
    found = next((data[cuts[0] : cuts[1]] for name, cuts, _ in LANGUAGES[language].parts(data) if name == unit), b"")
    definitions = {match[1]: match[0] for match in _DEFINITION.finditer(data)}
    numbers: dict[bytes, bytes] = {}
    texts = [found]
    for text in texts:  # grows: a definition may use others
        texts += [definitions.get(one, b"") for one in dict.fromkeys(_REFERENCE.findall(text)) if one not in numbers]
        for one in _REFERENCE.findall(text):
            numbers.setdefault(one, b"%c%d" % (one[:1], len(numbers)))
    return b"\n".join(_REFERENCE.sub(lambda match: numbers[match[0]], text) for text in texts) if found else b""


def _judge_wrapper(step: Step, assembly: Assembly) -> None:
    """Set the verdict of a pass that ran others, of which a dump of afters does not say which passes they are.

    Passes such as the inliner also change the program themselves before the inner passes run, so the first change among
    these may be theirs.
    """
    inside = children_of(step, assembly.steps)
    only_runs = _ONLY_RUNS.search(step.name) is not None
    quiet = all(child.verdict == "unchanged" for child in inside)
    if step.verdict == "unchanged" and not (only_runs and quiet):
        step.verdict = "unknown"
        step.since = inside[0].number if inside else step.number
        step.note = (
            step.note or "the text is as it was a step before: nothing changed, or all of it in passes inside this one"
        )
    elif only_runs and step.verdict == "changed" and not any(child.verdict == "changed" for child in inside):
        step.verdict, step.since = "unknown", step.number - 1
        step.note = step.note or AROUND
    inlines = _INLINER.match(step.name) is not None
    for child in inside if inlines else inside[:1]:
        if not only_runs and child.verdict == "changed" and _may_be_inlining(child, step, assembly):
            child.verdict, child.since = "unknown", min(child.since, child.number - 1)
            child.note = child.note or f"it may be the work of {step.name} around it"
            for unit in [assembly.units[name] for name in child.names if name in assembly.units]:
                unit.since = [
                    min(at, child.since) if one == child.number else at
                    for one, at in zip(unit.steps, unit.since, strict=True)
                ]


def _may_be_inlining(child: Step, step: Step, assembly: Assembly) -> bool:
    """Whether the change of a pass inside the inliner may be a call that the inliner inlined just before."""
    if not _INLINER.match(step.name):
        return True
    for name in child.names:
        unit = assembly.units.get(name)
        old, new = (unit.at(child.number - 1), unit.at(child.number)) if unit is not None else (None, None)
        if old is None or (old is not new and (new is None or _calls(new) < _calls(old))):
            return True
    return False


def _calls(piece: Excerpt) -> int:
    return len(_CALL.findall(piece.data))


def children_of(step: Step, steps: list[Step]) -> list[Step]:
    """Return the steps before a pass that ran inside it, judged by their units and names."""
    listed = set(re.findall(r"[\w-]+", step.options.partition("pipeline=")[2]))
    if _INLINER.match(step.name):
        listed = listed or {"canonicalize"}
    inside: list[Step] = []
    for at in range(step.number - 2, -1, -1):
        other = steps[at]
        is_child = _is_inside(other, step) if not _INLINER.match(step.name) else other.argument in listed
        if not (is_child or (listed and other.argument in listed)):
            break
        if inside and step.scope == MODULE and not listed and _depth(other) < _depth(inside[0]):
            break  # an adaptor runs its passes on one kind of operation
        inside.append(other)
    return inside[::-1]


def _is_inside(other: Step, step: Step) -> bool:
    """Whether the unit of one step is nested in the unit of another."""
    if step.scope == MODULE and other.scope == MODULE:
        around = 0 if step.unit.startswith("builtin.module") else _depth(step)
        if not around and other.unit.startswith("builtin.module"):
            return False
        return _depth(other) > around or (other.unit == step.unit and _ON_ITSELF.search(step.name) is not None)
    if other.unit == step.unit and not (other.names and step.names and other.names[0] != step.names[0]):
        return False
    if step.scope == MODULE or other.scope == MODULE or not step.names or not other.names:
        return not other.unit.startswith("builtin.module")
    return other.ambiguous or other.names[0].startswith(step.names[0] + "/")


def _depth(step: Step) -> int:
    return _DEPTHS.get(step.unit.partition(" @")[0], _FUNCTION)


def _judge_units(step: Step, assembly: Assembly) -> None:
    """Compare the units of a body with their latest texts, and set the verdict of the step."""
    if not step.names:
        step.verdict = "unknown"
        return
    if step.language == "mlir" and step.names == (step.unit,) and assembly.saw_program and _is_declaration(step):
        _judge_declaration(step, assembly)
        return
    changed, unseen, since = _compare_units(step, assembly)
    if assembly.traits.partial and changed:
        since = min(since, max(step.number - 1, 1))  # a pass that is not in the dump may have made what is new here
    step.since = since
    first = assembly.input is None and not any(other.after_body is not None for other in _earlier(assembly))
    wrapper = _INLINER.match if first or unseen else _WRAPS.search
    if unseen and step.language == "mir" and step.unit in assembly.units and not assembly.traits.partial:
        step.verdict, step.since = "changed", step.number  # machine code, made of the program of the function
    elif first or unseen:
        step.verdict, step.since = "unknown", min(since, 1 if assembly.steps else 0)
    elif changed:
        step.verdict = "changed" if since == step.number else "unknown"
        if step.language == "mir" and _only_flags(step, assembly.units):
            step.verdict = "unknown"
            flags = "only flags and debug values differ, which analyses that print nothing set and take out as well"
            step.note = step.note or flags
        elif step.language == "mlir" and _only_spelling(step, assembly):
            step.verdict = "unknown"
            step.note = step.note or "only names and places differ, which are spelled otherwise in a larger program"
    elif assembly.traits.nested or (assembly.traits.closed and _LOCATIONS.search(step.name)):
        step.verdict = "unknown"
        return
    else:
        step.verdict = "unchanged"
    if assembly.traits.wraps and wrapper(step.name):
        _judge_wrapper(step, assembly)


def _compare_units(step: Step, assembly: Assembly) -> tuple[bool, bool, int]:
    """Return whether units changed, whether there are no texts to compare with, and since which step they may have."""
    units, since = assembly.units, step.number
    changed = unseen = False
    for name, piece in zip(step.names, step.pieces, strict=True):
        if name.endswith(HEAD):
            continue
        unit = units.get(name)
        last = unit.last if unit is not None else None
        if last is piece:
            continue
        if unit is None or last is None:
            unseen = unseen or unit is None
            changed = changed or unit is not None or assembly.saw_program
            continue
        if last.digest != piece.digest:
            changed = True
            since = min(since, _first_suspect(name, unit, step, assembly))
    if step.kind == "scc" and any(name not in step.names and name in units for name in step.unit[1:-1].split(", ")):
        changed = True  # the pass split the group of functions
    if step.scope == MODULE:
        present = set(step.names)
        alive = [(n, unit) for n, unit in units.items() if unit.alive and "(machine" not in n and not n.endswith(HEAD)]
        for unit in [unit for name, unit in alive if name not in present]:
            changed = True
            since = min(since, _first_suspect(unit.name, unit, step, assembly))
    return (
        changed,
        unseen and (sum(not name.endswith(HEAD) for name in step.names) == 1 or not assembly.saw_program),
        since,
    )


def _only_flags(step: Step, units: Mapping[str, Unit]) -> bool:
    """Whether machine code differs from its latest text only in the flags of its heading."""
    pairs = [(units[name].last, piece) for name, piece in zip(step.names, step.pieces, strict=True) if name in units]
    return all(
        last is not None and (last.digest == piece.digest or without_flags(last.data) == without_flags(piece.data))
        for last, piece in pairs
    )


def _only_spelling(step: Step, assembly: Assembly) -> bool:
    """Whether a text differs from one that was printed in a larger or smaller program, in its spelling alone."""
    for name, piece in zip(step.names, step.pieces, strict=True):
        unit = assembly.units.get(name)
        if name.endswith(HEAD) or (unit is not None and unit.last is not None and unit.last.digest == piece.digest):
            continue
        if unit is None or unit.last is None:
            return False
        printed = assembly.steps[unit.last_seen - 1].names if 0 < unit.last_seen < step.number else ()
        if printed[:1] == step.names[:1]:
            return False  # both were printed in the same operation
        if not mlir.are_alike(unit.last.data, piece.data):
            return False
    return True


SEVERAL = "several operations of the program have this name; the dump does not say which of them this is"


def _judge_ambiguous(step: Step, assembly: Assembly) -> None:
    """Set the verdict where several operations have the name of the unit: unchanged for the text of the step before."""
    step.note = step.note or SEVERAL
    last = assembly.steps[-2] if len(assembly.steps) > 1 else None
    same = last is not None and last.unit == step.unit and last.digest == step.digest
    in_order = not assembly.traits.assumes_first  # files of a tree are ordered by operation, as far as that is known
    step.verdict = "unchanged" if same and in_order else "unknown"


def retract(name: str, steps: list[Step]) -> None:
    """Withdraw the verdicts on an operation after a program with several operations of its name."""
    for last, step in zip([None, *steps], steps, strict=False):  # each with the one before
        if not step.names or step.names[0] != name:
            continue
        step.ambiguous, step.since, step.note = True, step.number, step.note or SEVERAL
        same = last is not None and last.unit == step.unit and last.digest == step.digest
        if step.before_body is None and not step.status and not (same and step.verdict == "unchanged"):
            step.verdict = "unknown"


def _first_suspect(name: str, unit: Unit, step: Step, assembly: Assembly) -> int:
    """Return the first step since a unit was last seen that may have changed it."""
    if assembly.traits.partial:
        return max(unit.last_seen, 0)  # the passes in between are not in the dump
    if assembly.traits.closed:  # GCC's interprocedural passes change programs and print none
        reports = (n for n in range(max(unit.last_seen, 0) + 1, step.number) if assembly.steps[n - 1].kind == "ipa")
        applied = step.number - 1 if step.name == _AFTER_IPA and step.kind == "tree" else step.number
        return next(reports, applied)
    function = name.removesuffix(" (machine code)")
    for number in range(max(unit.last_seen, 0) + 1, step.number):
        other = assembly.steps[number - 1]
        if other.verdict in ("unchanged", "filtered", "ignored") and other.status and not is_hidden(other, False):
            continue
        if name and other.kind == "function" and other.unit != function and len(other.names) <= 1:
            continue  # a function pass on another function
        if other.kind == "loop" and name:
            owner = other.unit.rpartition(" in function ")[2]
            if " in function " in other.unit and owner != function:
                continue
        return number
    return step.number


def settle(steps: list[Step], traits: Traits, units: Mapping[str, Unit], is_torn: bool) -> None:
    """Set the verdicts that need the whole dump, from which lines may be missing: the verdicts of first passes."""
    first = next((step for step in steps if step.after_body is not None and step.scope != FRAGMENT), None)
    if traits.assumes_first and first is not None and first.verdict == "unknown" and first.note != CUT_OFF:
        quiet = first.assumed or _ONLY_LOOKS.search(first.name) or _is_declaration(first)
        first.since = min(first.since, first.number)
        if quiet or first.kind == "module" or first.unit.startswith("builtin.module"):  # not of one inside another
            first.verdict, first.assumed = ("unchanged" if quiet else "changed"), True
            what = "what the program was before this pass is not in the dump: the verdict is assumed"
            first.note = first.note or what
    if traits.nested:
        judge_nested(steps, any(step.before_body is not None for step in steps), {""} if is_torn else set())
    if traits.starts_unchanged:
        for step in steps:
            if step.verdict == "unknown" and step.name == "pipeline-start" and step.note != CUT_OFF:
                step.verdict = "unchanged"


_EMPTY_REGION = re.compile(r'^( *)"([^\n]*)\(\{\n\1\}\)([^\n]*)', re.MULTILINE)  # as the generic form prints it


def _is_declaration(step: Step) -> bool:
    """Whether a pass ran on a function without a body."""
    name = step.unit.partition(" @")[2]
    if not name or step.after_body is None:
        return False
    text = step.after_body.text
    if any(f'sym_name = "{name}"' in match[2] + match[3] for match in _EMPTY_REGION.finditer(text)):
        return True
    if any(one.endswith(f"@{name}") for one in step.names if one != step.unit):
        return False
    is_one = step.scope == MODULE or not re.search(r"(?m)\{$", text)
    return is_one and re.search(rf"(?m)^.*@{re.escape(name)}\(.*(?<!\{{)$", text) is not None


def _judge_declaration(step: Step, assembly: Assembly) -> None:
    """Set the verdict of a pass on a function without a body, which is a line of the program around it."""
    line = step.after_body.text.strip() if step.after_body is not None else ""
    last = assembly.units[step.unit].last if step.unit in assembly.units else None
    texts = [last] if last is not None else [unit.last for unit in assembly.units.values() if unit.last is not None]
    is_there = any(line in map(str.strip, piece.text.split("\n")) for piece in texts)
    step.verdict = "unchanged" if is_there else "unknown" if last is None else "changed"
