"""How Sphinx builds the manual: Markdown in, a static site out, nothing fetched while it builds or is read."""

import shutil
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import passlab  # noqa: E402 - the one of this checkout

# MyST reads notebooks from the folder of its sources: the lessons are copied there, and git ignores the copies.
LESSONS = Path(__file__).parent / "lessons"
for lesson in LESSONS.glob("*.ipynb"):
    lesson.unlink()
for lesson in (Path(__file__).parents[1] / "notebooks").glob("*.ipynb"):
    shutil.copy(lesson, LESSONS)

project = "passlab"
author = "The passlab authors"
copyright = "the passlab authors"
release = version = passlab.__version__

extensions = ["myst_nb", "relay_pages", "reference_pages", "redirects"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["images"]
smartquotes_action = "qe"  # no dashes: `--reduce` in the help of a magic is an option

# The lessons are shown as they are stored: nothing is executed while the manual builds.
nb_execution_mode = "off"
nb_mime_priority_overrides = [("html", "text/html", 1), ("html", "text/plain", 2)]
# A diagnostic in a lesson is no Python traceback, and Pygments says so.
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "misc.highlighting_failure"]

html_theme = "furo"
html_static_path = ["static"]
html_js_files = [("filter.js", {"defer": "defer"}), ("copy.js", {"defer": "defer"}), ("search.js", {"defer": "defer"})]
html_css_files = ["manual.css"]
html_title = f"passlab {release}"
html_show_sourcelink = False
html_copy_source = False
html_search_scorer = str(Path(__file__).parent / "search_scorer.js")
