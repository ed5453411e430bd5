"""`LastResort`: ends the process where C code in it does not return.

A `Deadline` stops Python code and blocking calls. A computation in C cannot be interrupted from Python, but a command
must end all the same: some time after its limit, the process reports where it is, and exits.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
from pathlib import Path

SPARE = 10.0  # seconds, at least, that a search may take beyond its limit to finish its answer
STATUS = 1  # the exit status of the process


class LastResort:
    """Ends the process where a block takes half as long again as `seconds`; never for None.

    Where the C code releases the interpreter lock, a message says where it is; else `faulthandler` ends the process.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._timer: threading.Timer | None = None

    def __enter__(self) -> LastResort:
        if self.seconds is None:
            return self
        spare = max(SPARE, self.seconds / 2)
        limit = self.seconds + spare
        self._timer = threading.Timer(limit, _exit_process, (threading.get_ident(), limit))
        self._timer.daemon = True
        self._timer.start()
        # Replaced streams, as in notebooks, have no file descriptor for `faulthandler`.
        if sys.stderr is sys.__stderr__:
            faulthandler.dump_traceback_later(self.seconds + 2 * spare, exit=True)
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            if sys.stderr is sys.__stderr__:
                faulthandler.cancel_dump_traceback_later()


def _exit_process(thread: int, seconds: float) -> None:
    frame = sys._current_frames().get(thread)
    location = ""
    if frame is not None:
        code = frame.f_code
        location = f" in `{code.co_name}`, {Path(code.co_filename).name}, line {frame.f_lineno}"
    sys.stderr.write(
        f"error: a call in C has not returned after {seconds:g} s{location}\n"
        "help: nothing in Python can stop such code; leave out the pass that makes the call, or fix it\n"
    )
    sys.stderr.flush()
    os._exit(STATUS)  # not `sys.exit`, which would end only this thread
