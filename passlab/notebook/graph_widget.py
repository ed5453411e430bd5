"""The widget of a dataflow graph, which folds fused functions on request."""

from __future__ import annotations

import traitlets

from passlab.display.views.graph import GraphView
from passlab.notebook.view_widget import ViewWidget


class GraphWidget(ViewWidget):
    """A dataflow graph."""

    place = traitlets.Dict().tag(sync=True)  # what the reader sees of it, for when the page is loaded again
    view: GraphView

    def _answer(self, content: object) -> None:
        if isinstance(content, dict) and isinstance(content.get("fold"), bool):
            self.view = self.view.with_folding(content["fold"])
            self.data = self.view.data()
