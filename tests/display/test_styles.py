"""A class has its rules in one style sheet, so no widget changes the looks of another's elements."""

from __future__ import annotations

import re
from collections import defaultdict

from passlab.display.pages.scripts import STYLES, WEB

# In passlab.css, a rule for what has the focus lists the first three, and one for what fills a window the others.
SHARED = {"pl-scroll", "pl-link", "pl-track", "pl-graph", "pl-list", "pl-timing-rows"}
RULE = re.compile(r"(?:^|[}\n,]) *\.(pl-[a-z0-9-]+) *(?=[,{])")


def test_a_class_has_its_rules_in_one_style_sheet():
    sheets: dict[str, set[str]] = defaultdict(set)
    for name in STYLES:
        for rule in RULE.findall((WEB / f"{name}.css").read_text(encoding="utf-8")):
            sheets[rule].add(name)
    assert len(sheets) > 300
    assert {rule: names for rule, names in sheets.items() if len(names) > 1 and rule not in SHARED} == {}
