"""Source locations and program text, at the address where Relay has them."""

from passlab.relay.constructors import SourceName, Span
from passlab.text.printer import astext
from passlab.text.printer import pretty as pretty_print

__all__ = ["SourceName", "Span", "astext", "pretty_print"]
