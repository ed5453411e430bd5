"""Several programs in one dump: each is assembled by itself, and their steps follow one another.

Two runs of a compiler in one stream may have unrelated functions with equal names.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from passlab.dumps.assembly import Assembly
from passlab.dumps.banner import Banner, Scan
from passlab.dumps.evidence import Traits
from passlab.dumps.language import Language


def assemble(scan: Scan, traits: Traits, language: Language) -> Assembly:
    """Return the assembly of a dump, whose programs differ by the phases of their banners."""
    runs = [(phase, list(banners)) for phase, banners in groupby(scan.banners, key=lambda banner: banner.phase)]
    if len(runs) < 2:
        whole = Assembly(scan, traits, language)
        whole.run()
        return whole
    combined = Assembly(scan, replace(traits, chains=True), language)
    for phase, banners in runs:
        combined.append(_assemble_one(banners, traits, language), phase)
    return combined


def _assemble_one(banners: list[Banner], traits: Traits, language: Language) -> Assembly:
    part = Assembly(Scan(banners), replace(traits, chains=False), language)
    part.run()
    return part
