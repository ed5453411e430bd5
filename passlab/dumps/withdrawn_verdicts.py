"""Doubts: verdicts that are withdrawn after a whole dump is read, because of what it leaves out or mixes."""

from __future__ import annotations

import re

from passlab.dumps.banner import MODULE, UNIT
from passlab.dumps.step import Step
from passlab.dumps.verdicts import CUT_OFF


def share_of_unchanged(steps: list[Step]) -> tuple[int, int]:
    """Return how many steps with a text have an exact verdict or a range, and how many of these changed nothing."""
    seen = [step for step in steps if step.after_body is not None and (step.is_exact or step.since < step.number)]
    return len(seen), sum(step.verdict == "unchanged" for step in seen)


def is_only_changes(steps: list[Step]) -> bool:
    """Whether a dump contains only passes that changed something.

    A few may have equal texts before and after: MLIR compares operations, not texts.
    """
    seen, unchanged = share_of_unchanged(steps)
    return seen >= 4 and unchanged * 20 <= seen  # at most one in twenty


def doubt_mixed(steps: list[Step], is_mixed: bool) -> bool:
    """Withdraw the verdicts from texts where the output of several compilers is mixed; return whether it is.

    Bodies that are cut off, other than the last one, are the sign of lines of another compiler between theirs.
    """
    cut = sum(step.note == CUT_OFF for step in steps[:-1])
    if not is_mixed and not (cut >= 3 and cut * 50 >= len(steps)):  # at least one in fifty
        return False
    doubt_texts(steps, "the output of several compilers is mixed here")
    return True


def doubt_texts(steps: list[Step], note: str) -> None:
    """Withdraw the verdicts that rest on texts."""
    for step in steps:
        if step.verdict in ("changed", "unchanged") and not step.status:
            step.verdict, step.note = "unknown", note


def doubt_repeated(steps: list[Step]) -> None:
    """Withdraw the verdict "changed" up to a pass that printed what its function was already.

    A compiler that prints only changes does not: these passes are of a run that printed all, and its end is missing.
    """
    last = 0
    texts: dict[tuple[str, str], int] = {}
    for step in steps:
        if step.after_body is None or step.scope not in (UNIT, MODULE) or step.language != "llvm":
            continue
        key = step.phase, "" if step.scope == MODULE else step.unit
        if texts.get(key) == step.digest and step.verdict == "changed":
            last = step.number
        texts[key] = step.digest
    doubt_texts(steps[:last], "the dump has the same text twice, so it does not hold changes alone")


_LEFT_OUT = re.compile(rb"(?m)\{\.\.\.\}(?: loc\([^\n]*)?$")
_SAMPLE = 20  # steps that show whether regions are left out


def doubt_left_out(steps: list[Step]) -> bool:
    """Withdraw verdicts where MLIR left out the regions (`--mlir-print-skip-regions`); return whether it did.

    What differs before and after a pass has changed all the same.
    """
    texts = [step.after_body or step.before_body for step in steps[:_SAMPLE]]
    if not any(text is not None and _LEFT_OUT.search(text.data) for text in texts):
        return False
    doubtful = [step for step in steps if not (step.verdict == "changed" and step.before_body is not None)]
    doubt_texts(doubtful, "the regions of the program are not in the dump")
    return True


def doubt_equal_texts(steps: list[Step]) -> None:
    """Withdraw the verdict "unchanged" where a dump may contain only passes that changed something."""
    seen, unchanged = share_of_unchanged(steps)
    if not unchanged or unchanged * 5 > seen:  # more than one in five: all passes are in it
        return
    for step in steps:
        if step.verdict == "unchanged" and not step.status:
            step.verdict, step.note = "unknown", "the text is the same; the dump may name only passes that changed it"
