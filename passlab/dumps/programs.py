"""Several programs in one dump, one after another: each is put together by itself, and their steps follow one another.

Two runs of a compiler in one stream have functions of the same names that have nothing to do with each other.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from passlab.dumps.assembly import Assembly
from passlab.dumps.banner import Banner, Scan
from passlab.dumps.evidence import Traits
from passlab.dumps.language import Language


def assemble(scan: Scan, traits: Traits, language: Language) -> Assembly:
    """Return the steps of a dump; one that has several programs names each in the phases of its headings."""
    runs = [(phase, list(banners)) for phase, banners in groupby(scan.banners, key=lambda banner: banner.phase)]
    if len(runs) < 2:
        whole = Assembly(scan, traits, language)
        whole.run()
        return whole
    joined = Assembly(scan, replace(traits, chains=True), language)
    for phase, banners in runs:
        joined.append(_one(banners, traits, language), phase)
    return joined


def _one(banners: list[Banner], traits: Traits, language: Language) -> Assembly:
    part = Assembly(Scan(banners), replace(traits, chains=False), language)
    part.run()
    return part
