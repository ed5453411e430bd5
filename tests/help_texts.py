"""What the help of a command or magic has to say of each of its arguments."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator


def unsaid(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the arguments without help, and those whose help does not say their default: `(default 60)`."""
    for action in parser._actions:
        said = re.search(r"\(default (\S+)\)", action.help or "")
        if not action.help:
            yield f"{action.dest} has no help"
        elif "(default: " in action.help or action.default in (None, False, True, "", 0, [], argparse.SUPPRESS):
            continue  # said in words, or nothing to say
        elif said is None or type(action.default)(said[1]) != action.default:
            yield f"{action.dest} is {action.default!r} by default, and its help is `{action.help}`"
