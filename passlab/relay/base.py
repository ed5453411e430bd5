"""Places in texts and the text of programs, under the name that Relay keeps them at."""

from passlab.relay.constructors import SourceName, Span
from passlab.text.printer import astext
from passlab.text.printer import pretty as pretty_print

__all__ = ["SourceName", "Span", "astext", "pretty_print"]
