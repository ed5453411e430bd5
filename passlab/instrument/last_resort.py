"""`LastResort`: a process that ends although some C code in it never comes back.

A `Deadline` stops Python code, and calls that wait. Code that computes in C hears nothing, and nothing in Python can
end it; a command must end all the same. So some time after its seconds are up, the process says where it is, and ends.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from pathlib import Path

SPARE = 10.0  # seconds, at least, that a search may take beyond its time to put its answer together
STATUS = 1  # of the process: something is at fault


class LastResort:
    """Ends the process where a block takes `seconds` and half as long again; never for None.

    Where the C code lets other threads run, the process says what is at fault; where not, `faulthandler` ends it.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._timer: threading.Timer | None = None

    def __enter__(self) -> LastResort:
        if self.seconds is None:
            return self
        spare = max(SPARE, self.seconds / 2)
        self._timer = threading.Timer(self.seconds + spare, _end, (threading.get_ident(), self.seconds + spare))
        self._timer.daemon = True
        self._timer.start()
        if sys.stderr is sys.__stderr__:
            faulthandler.dump_traceback_later(self.seconds + 2 * spare, exit=True)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            if sys.stderr is sys.__stderr__:
                faulthandler.cancel_dump_traceback_later()


def _end(thread: int, seconds: float) -> None:
    frame = sys._current_frames().get(thread)
    place = ""
    if frame is not None:
        code = frame.f_code
        place = f" in `{code.co_name}`, {Path(code.co_filename).name}, line {frame.f_lineno}"
    sys.stderr.write(
        f"error: a call in C has not come back after {seconds:g} s{place}\n"
        "help: nothing in Python can stop such code; leave out the pass that makes the call, or mend it\n"
    )
    sys.stderr.flush()
    os._exit(STATUS)
