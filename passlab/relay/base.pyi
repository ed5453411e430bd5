"""Source locations and program text, at the address where Relay has them."""

from passlab.relay.constructors import SourceName as SourceName
from passlab.relay.constructors import Span as Span
from passlab.text.printer import astext as astext
from passlab.text.printer import pretty as pretty_print

__all__ = ["SourceName", "Span", "astext", "pretty_print"]
