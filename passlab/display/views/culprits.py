"""The views of searches for faults: a culprit with its smallest program, a campaign with its failures.

The file begins with the views of a bisection (the pass that broke a program) and of a reduction (the smallest program).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path

from passlab.atomic_file import checked_path, write_text
from passlab.display.nodes import number_of
from passlab.display.pages.page import static_document
from passlab.display.protocol.recordings import RecordingData
from passlab.display.rows import Rows
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.view_parts import Code, Embedded, Fold, HtmlOnly, Part, Sentence
from passlab.display.views.diffs import diff_view
from passlab.display.views.module import module_view
from passlab.display.views.recording import RecordingView, recording_view
from passlab.errors import counted, visible
from passlab.instrument.statistics import count_module
from passlab.lab.culprits.bisection import Bisection
from passlab.lab.culprits.culprit_search import Culprit
from passlab.lab.fuzzer.fuzzing import Campaign
from passlab.lab.recordings.recording import Recording
from passlab.lab.recordings.recording import record as recorded
from passlab.lab.reducer.reduction import Reduction
from passlab.table import Table


class VerdictView(RecordingView):
    """The verdict of a search above the recording that it examined, which opens at the culprit.

    A button selects the first wrong node, in all views of the notebook.
    """

    def __init__(self, recording: Recording, bisection: Bisection | None) -> None:
        super().__init__(recording)
        self.bisection = bisection

    @cached_property
    def start(self) -> int:
        """The number of the pass that broke the program; if none did, the start of the recording."""
        event = None if self.bisection is None else self.bisection.event
        return self.events.index(event) if event in self.events else super().start

    def twin(self) -> RecordingView:
        return self

    def sentences(self) -> Sequence[str]:
        """The result of the search, the most important sentence first, and what it examined last."""
        raise NotImplementedError

    def folds(self) -> list[tuple[str, str]]:
        """The folds below the sentences: a name, and a program or a script."""
        return []

    def data(self, only_start: bool = False, also: Collection[int] = ()) -> RecordingData:
        """Return the data of the widget: the data of the recording, with the verdict on it and on its steps."""
        data = super().data(only_start, also)
        verdicts = () if self.bisection is None else self.bisection.verdicts
        verdict_of = {verdict.event.id: (verdict.good, visible(verdict.why)) for verdict in verdicts}
        for step in data["steps"]:
            if step["id"] in verdict_of:
                step["verdict"] = verdict_of[step["id"]]
        data["verdict"] = {
            "broken": self.is_found,
            "sentences": [visible(sentence) for sentence in self.sentences()],
            "folds": [(visible(name), text) for name, text in self.folds()],
            "nodes": self._wrong_nodes(),
        }
        data["title"] = visible(recording_view(self.recording).title)
        return data

    @property
    def is_found(self) -> bool:
        """Whether something is wrong."""
        return self.bisection is not None and self.bisection.found

    def _wrong_nodes(self) -> list[int]:
        """The first node whose value went wrong, where that is known."""
        check = None if self.bisection is None else self.bisection.check
        wrong = None if check is None else check.node
        return [] if wrong is None else [number_of(wrong.old if wrong.removed else wrong.node)]


class BisectionView(VerdictView):
    """The pass that broke a program: a sentence, the programs that were tested, and what the pass changed."""

    kind = "bisection"
    bisection: Bisection

    def __init__(self, bisection: Bisection) -> None:
        super().__init__(bisection.recording, bisection)

    @cached_property
    def title(self) -> str:
        """Which pass it was, or that none was."""
        return self.bisection.summary()

    def sentences(self) -> Sequence[str]:
        bisection = self.bisection
        if not bisection.found:
            return [bisection.summary().removesuffix(f": {bisection.looked_at}"), f"examined: {bisection.looked_at}"]
        head = bisection.summary().removesuffix(f": {bisection.why}")
        return [line for line in (head, bisection.why, f"examined: {bisection.looked_at}") if line]

    def parts(self) -> Iterable[Part]:
        event = self.bisection.event
        tone = "bad" if self.is_found else "" if self.bisection.stopped else "good"
        yield Sentence(self.title, tone)
        if self.is_found:
            yield Sentence(f"examined: {self.bisection.looked_at}", "muted")
        if self.bisection.verdicts:
            yield Rows(self._verdicts())
        if event is not None and event.changed:
            yield Fold(f"what {event.id} {event.name} changed", [Embedded(diff_view(event.diff()))], opened=True)

    def _verdicts(self) -> Table:
        """The programs that were tested, without the reason that the sentence gives already."""
        event, table = self.bisection.event, self.bisection.table()
        shown = None if event is None else event.id
        return Table(table.columns, [(*row[:-1], "" if row[0] == shown else row[-1]) for row in table.rows])

    def source(self) -> HasFrame:
        """Return one row per tested program."""
        return self.bisection


class ReductionView(View):
    """A reduced program, and how much smaller it is."""

    kind = "reduction"

    def __init__(self, reduction: Reduction) -> None:
        self.reduction = reduction

    @property
    def title(self) -> str:
        """How much smaller the program became."""
        return self.reduction.summary()

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title, "good")
        yield Embedded(module_view(self.reduction.module))
        yield HtmlOnly(Fold("what was cut", [Rows(self.reduction.table())], tone="muted"))

    def source(self) -> HasFrame:
        """Return one row per part that was cut."""
        return self.reduction


@checked_view(Bisection, hint="lab.bisect(mod, passes) returns one")
def bisection_view(bisection: Bisection) -> BisectionView:
    """Return the view of a bisection.

    >>> @transform.function_pass(opt_level=0)
    ... def forgets(func, mod, ctx):
    ...     return relay.Function(func.params, relay.abs(func.body))
    >>> found = lab.bisect(passlab.parse("def @main(%x: float32) { %x * 2f }"), [forgets])
    >>> type(display.bisection_view(found)).__name__
    'BisectionView'
    """
    return BisectionView(bisection)


@checked_view(Reduction, hint="lab.reduce(mod, predicate) returns one")
def reduction_view(reduction: Reduction) -> ReductionView:
    """Return the view of a reduction.

    >>> mod = passlab.parse("def @main(%x: float32) { tanh(exp(%x)) }")
    >>> small = lab.reduce(mod, lambda candidate: "exp" in candidate.astext())
    >>> print(display.reduction_view(small).text().splitlines()[0])
    from 6 nodes in 1 function to 4 nodes in 1 function in 11 tries
    """
    return ReductionView(reduction)


class CulpritView(VerdictView):
    """The culprit that broke a program, with the evidence."""

    kind = "culprit"

    def __init__(self, culprit: Culprit) -> None:
        recording = recorded(culprit.program, []) if culprit.recording is None else culprit.recording
        super().__init__(recording, culprit.bisection)
        self.culprit = culprit

    @cached_property
    def title(self) -> str:
        """The first sentence."""
        return self.culprit.sentences[0]

    @property
    def is_found(self) -> bool:
        """Whether a pass, an executor or a kernel is wrong."""
        return self.culprit.found

    def sentences(self) -> Sequence[str]:
        """Those of the culprit; how values differ is said once, by the sentence about the operator."""
        first, *others = self.culprit.sentences
        why = "" if self.bisection is None else self.bisection.why
        repeats = self.culprit.node is not None and any(str(self.culprit.node.finding) in line for line in others)
        return [first.removesuffix(f": {why}.") if why and repeats else first, *others]

    def folds(self) -> list[tuple[str, str]]:
        if not self.culprit.found:
            return []
        program = self.culprit.module.astext(show_meta_data=False)
        return [(self._smallest(), program), ("a script that shows it", self.culprit.script())]

    def _smallest(self) -> str:
        size = counted(count_module(self.culprit.module)[0], "node")
        return f"the smallest program that shows it: {size}"

    def parts(self) -> Iterable[Part]:
        culprit = self.culprit
        first, *others = culprit.sentences
        yield Sentence(first, "bad" if culprit.found else "good")
        yield from (Sentence(sentence) for sentence in others)
        event = culprit.event
        if event is not None and event.changed:
            yield Fold(f"what {event.id} {event.name} changed", [Embedded(diff_view(event.diff()))])
        if culprit.found:
            yield Fold(self._smallest(), [Embedded(module_view(culprit.module))])
            yield HtmlOnly(Fold("a script that shows it", [Code(culprit.script())], tone="muted"))
        if len(culprit.table()):
            yield Fold("what was examined", [Rows(culprit.table())], tone="muted")

    def source(self) -> HasFrame:
        """Return one row per step that was examined."""
        return self.culprit.table()


@checked_view(Culprit, hint="lab.culprit(mod, passes) returns one")
def culprit_view(culprit: Culprit) -> CulpritView:
    """Return the view of a culprit."""
    return CulpritView(culprit)


class CampaignView(View):
    """The result of a search for programs that a pass breaks."""

    kind = "campaign"

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign

    @property
    def title(self) -> str:
        """Whether the pass broke a program."""
        return self.campaign.summary()

    def parts(self) -> Iterable[Part]:
        yield Sentence(self.title, "bad" if self.campaign.found else "good")
        for failure in self.campaign.failures:
            inside = [Embedded(module_view(failure.module)), HtmlOnly(Fold("as a test", [Code(failure.test())]))]
            yield Fold(failure.why.split("\n")[0], inside)
        yield Fold("the programs that were tried", [Rows(self.campaign.sources())], tone="muted")

    def source(self) -> HasFrame:
        """Return one row per kind of programs that were tried."""
        return self.campaign.sources()


class CampaignReport(View):
    """The results of all runs of a campaign, as a complete page."""

    kind = "campaign"

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign

    @property
    def title(self) -> str:
        """The totals of all runs."""
        return self.campaign.totals()

    def parts(self) -> Iterable[Part]:
        campaign = self.campaign
        yield Sentence(self.title, "bad" if campaign.records else "good")
        for record in campaign.records:
            inside = [Code(record.program), HtmlOnly(Fold("as a test", [Code(record.test)]))]
            yield Fold(f"program {record.number:,}: {record.why.splitlines()[0]}", inside)
        yield Fold("the programs that were tried", [Rows(campaign.sources())], tone="muted")
        if campaign.left_out:
            rows = list(campaign.left_out.items())
            yield Fold("programs of the last run that were not compared", [Rows(Table(("why", "programs"), rows))])


def write_campaign(campaign: Campaign, directory: str | PathLike[str]) -> Path:
    """Write the report of a campaign, `report.html`, into its directory and return the path. Raises `FileAccessError`.

    The page needs no script, not even to unfold failures.
    """
    view, path = CampaignReport(campaign), checked_path(directory) / "report.html"
    title = f"Programs that {campaign.pass_.as_text()} breaks"
    write_text(path, static_document(title, view.html()), "backslashreplace")
    return path


@checked_view(Campaign, hint="lab.fuzz(pass_) returns one")
def campaign_view(campaign: Campaign) -> CampaignView:
    """Return the view of a campaign."""
    return CampaignView(campaign)
