"""The views of searches for faults: a culprit with its smallest program, a campaign with all that a pass broke."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from passlab.display.diffs import diff_view
from passlab.display.module import module_view
from passlab.display.parts import Code, Embedded, Fold, Part, PartsView, Rows, Sentence
from passlab.errors import counted
from passlab.instrument.statistics import count_module
from passlab.lab.culprit_search import Culprit
from passlab.lab.fuzzing import Campaign

if TYPE_CHECKING:
    import pandas as pd


class CulpritView(PartsView):
    """What broke a program, and how one knows."""

    kind = "culprit"

    def __init__(self, culprit: Culprit) -> None:
        self.culprit = culprit

    @property
    def title(self) -> str:
        """The first sentence."""
        return self.culprit.sentences[0]

    def parts(self) -> Iterable[Part]:
        culprit = self.culprit
        first, *others = culprit.sentences
        yield Sentence(first, "bad" if culprit.found else "good")
        yield from (Sentence(sentence) for sentence in others)
        event = culprit.event
        if event is not None and event.changed:
            yield Fold(f"what {event.id} {event.name} changed", [Embedded(diff_view(event.diff()))])
        if culprit.found:
            size = counted(count_module(culprit.module)[0], "node")
            yield Fold(f"the smallest program that shows it: {size}", [Embedded(module_view(culprit.module))])
            yield Fold("a script that shows it", [Code(culprit.script())], tone="muted", brief=True)
        if len(culprit.table()):
            yield Fold("what was looked at", [Rows(culprit.table())], tone="muted")

    def frame(self) -> pd.DataFrame:
        """Return one row per step that was looked at."""
        return self.culprit.table().frame()


def culprit_view(culprit: Culprit) -> CulpritView:
    """Return the view of a culprit."""
    return CulpritView(culprit)


class CampaignView(PartsView):
    """What a search for programs that a pass breaks came to."""

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
            inside = [Embedded(module_view(failure.module)), Fold("as a test", [Code(failure.test())], brief=True)]
            yield Fold(failure.why.split("\n")[0], inside)
        yield Fold("the programs that were tried", [Rows(self.campaign.sources())], tone="muted")

    def frame(self) -> pd.DataFrame:
        """Return one row per kind of programs that were tried."""
        return self.campaign.sources().frame()


def campaign_view(campaign: Campaign) -> CampaignView:
    """Return the view of a campaign."""
    return CampaignView(campaign)


__all__ = ["CampaignView", "CulpritView", "campaign_view", "culprit_view"]
