"""How Sphinx builds the manual: Markdown in, a static site out, nothing fetched while it builds or is read."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import passlab  # noqa: E402 - the one of this checkout

project = "passlab"
author = "The passlab authors"
release = version = passlab.__version__

extensions = ["myst_parser", "relay_pages"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["images"]

html_theme = "furo"
html_static_path = ["static"]
html_js_files = [("filter.js", {"defer": "defer"})]
html_title = f"passlab {release}"
html_show_sourcelink = False
html_copy_source = False
