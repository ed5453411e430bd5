"""Programs that several tests of views look at: a small network, and one whose every name is hostile."""

from __future__ import annotations

from html.parser import HTMLParser

import passlab
from passlab import relay
from passlab.ir.module import IRModule

HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(2)> ' & </td> \u202e\x00 javascript:alert(3)"

NETWORK = """
def @main(%x: Tensor[(1, 8), float32], %w: Tensor[(4, 8), float32], %b: Tensor[(4), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  %1 = nn.bias_add(%0, %b);
  %2 = nn.relu(%1);
  nn.softmax(%2)
}
"""


def network() -> IRModule:
    return passlab.parse(NETWORK)


def hostile() -> IRModule:
    x = relay.var(HOSTILE, shape=(2, 2))
    function = relay.Function([x], relay.nn.relu(relay.add(x, relay.const(1.0))))
    mod = passlab.IRModule()
    mod[HOSTILE] = function.with_attr("Composite", HOSTILE)
    return passlab.transform.InferType()(mod)


class Reader(HTMLParser):
    """Reads markup as a browser would: the elements and attributes in it, and the text between them."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.text = ""
        self.pieces: list[str] = []
        self.feed(markup)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        self.pieces.append(data)
