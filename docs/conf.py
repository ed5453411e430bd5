"""How Sphinx builds the manual: Markdown in, a static site out, nothing fetched while it builds or is read."""

from importlib.metadata import version as installed_version

project = "passlab"
author = "The passlab authors"
release = version = installed_version("passlab")

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["images"]

html_theme = "furo"
html_title = f"passlab {release}"
html_show_sourcelink = False
html_copy_source = False
