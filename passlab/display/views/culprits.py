"""The views of searches for faults: a culprit with its smallest program, a campaign with its failures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path

from passlab.display.pages.page import static_document
from passlab.display.parts import Code, Embedded, Fold, HtmlOnly, Part, Sentence
from passlab.display.rows import Rows
from passlab.display.view import HasFrame, View, checked_view
from passlab.display.views.diffs import diff_view
from passlab.display.views.module import module_view
from passlab.display.views.searches import VerdictView
from passlab.errors import Diagnostic, FileAccessError, counted
from passlab.instrument.statistics import count_module
from passlab.lab.culprits.culprit_search import Culprit
from passlab.lab.fuzzer.fuzzing import Campaign
from passlab.lab.recordings.recording import record as recorded
from passlab.table import Table


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
    view, path = CampaignReport(campaign), Path(directory) / "report.html"
    try:
        title = f"Programs that {campaign.pass_.as_text()} breaks"
        path.write_text(static_document(title, view.html()), encoding="utf-8")
    except OSError as error:
        raise FileAccessError(Diagnostic(f"{path} cannot be written: {error.strerror}")) from error
    return path


@checked_view(Campaign, hint="lab.fuzz(pass_) returns one")
def campaign_view(campaign: Campaign) -> CampaignView:
    """Return the view of a campaign."""
    return CampaignView(campaign)
