"""`follow`: a dump that arrives through a pipe, shown while the compiler runs.

A thread copies the pipe to a file. The main thread reads that file again and again, prints the steps that are new, and
gives them to the page, which asks for them. Reading takes at most a tenth of the time. Nothing leaves this computer:
the server listens on 127.0.0.1 alone, and answers only to an address that is hard to guess. At the end the browser
keeps the page, so that it can be loaded again after the server has gone.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile
import threading
import time
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qs, urlsplit

from passlab.display.pages.page import document
from passlab.display.views.text_recording import VERDICTS, text_recording_view
from passlab.dumps import TextRecording, read
from passlab.errors import PasslabError, visible

BLOCK = 65536  # bytes of the pipe that are copied at once
INTERVAL = 0.3  # seconds between two looks at the file, at least
SHARE = 10  # of the time that reading may take: one in ten
PATIENCE = 20.0  # seconds that an answer waits for news
LINGER = 5.0  # seconds that the server waits at the end for a page that it has shown
KEEP = """const page = self.registration.scope;
self.addEventListener("install", (event) => event.waitUntil(caches.open(page).then((cache) => cache.add(page))));
self.addEventListener("fetch", (event) => event.respondWith(
  fetch(event.request).catch(async () => (await caches.match(page)) ?? Response.error())));
"""
KEPT = 2.0  # seconds that the server waits for the browser to fetch what it keeps
INTERRUPTED = "the pipe was not read to its end: passlab was interrupted"


class Pipe:
    """A pipe, copied to a file while it is open."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self.path = path
        self.ended = threading.Event()
        self.trouble = ""
        self._stream, self._file = stream, path.open("wb")
        threading.Thread(target=self._copy, daemon=True).start()

    def _copy(self) -> None:
        take = getattr(self._stream, "read1", self._stream.read)
        try:
            while block := take(BLOCK):
                self._file.write(block)
                self._file.flush()
        except (OSError, ValueError) as error:
            self.trouble = f"the pipe broke: {error}"
        finally:
            self._file.close()
            self.ended.set()


class News:
    """The newest recording, as a page and as its data; each has a number."""

    def __init__(self) -> None:
        self.version, self.ended, self.shown = 0, False, 0  # `shown` is the newest one that a page has
        self.is_kept = False  # whether a browser has the last page as a whole
        self.changed = threading.Condition()
        self._recording: TextRecording | None = None
        self._data: tuple[int, Any] = (0, None)

    def put(self, recording: TextRecording, ended: bool) -> None:
        """Make a recording the newest one."""
        with self.changed:
            self.version, self.ended, self._recording = self.version + 1, ended, recording
            self.changed.notify_all()

    def page(self) -> str:
        """Return the page as it is now; it waits for the first recording."""
        with self.changed:
            self.changed.wait_for(lambda: self._recording is not None)
            assert self._recording is not None
            self.is_kept = self.ended and self.shown == self.version
            self.shown = self.version
            return document(text_recording_view(self._recording), live=self.version)

    def after(self, version: int) -> dict[str, Any]:
        """Return the data of a newer recording than that with a number; none if none comes for a while."""
        with self.changed:
            self.changed.wait_for(lambda: self.version > version or self.ended, PATIENCE)
            self.shown = self.version
            if self.version <= version or self._recording is None:
                return {"version": version, "ended": self.ended}
            if self._data[0] != self.version:
                self._data = (self.version, text_recording_view(self._recording).data())
            return {"version": self.version, "ended": self.ended, "data": self._data[1]}


def serve(news: News) -> tuple[ThreadingHTTPServer, str]:
    """Start a server of a page on this computer; return it and the address of the page."""
    path = f"/{secrets.token_urlsafe(16)}/"
    known = (path, path + "data", path + "keep.js")

    class Handler(BaseHTTPRequestHandler):
        """Answers for one page and its data."""

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            host = self.headers.get("Host", "")
            if host != f"127.0.0.1:{self.server.server_port}" or asked.path not in known:  # type: ignore[attr-defined]
                self.send_error(404)
                return
            if asked.path == path + "keep.js":
                self._answer(KEEP, "text/javascript")
                return
            if asked.path == path:
                self._answer(news.page(), "text/html")
                return
            since = parse_qs(asked.query).get("since", ["0"])[0]
            self._answer(json.dumps(news.after(int(since) if since.isdecimal() else 0)), "application/json")

        def _answer(self, text: str, kind: str) -> None:
            data = text.encode("utf-8", "backslashreplace")
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            """Say nothing: the terminal shows the steps."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}{path}"


def follow(stream: IO[bytes], out: Path | None = None, form: str | None = None, in_browser: bool = True) -> int:
    """Show a dump while it arrives, on the terminal and in the browser; return the exit status.

    At the end of the pipe, the page and the terminal have all steps, and `out` is written; after an interrupt they have
    those so far, and the status is 130. A pipe that breaks ends there. Raises `DumpError` for text that is not a dump.
    """
    handle, name = tempfile.mkstemp(suffix=".dump")
    os.close(handle)
    path, news = Path(name), News()
    server, address = serve(news)
    print(f"the page: {address}", file=sys.stderr, flush=True)
    if in_browser:
        webbrowser.open(address)
    try:
        recording, was_interrupted = _watch(Pipe(stream, path), news, form)
        if out is not None:
            recording.to_html(out)
        print(f"{out}: {recording.summary()}" if out is not None else recording.summary(), flush=True)
        _linger(news)
    except PasslabError:
        print(f"what arrived is in {path}", file=sys.stderr)
        raise
    finally:
        server.shutdown()
        server.server_close()
    path.unlink()
    return 130 if was_interrupted else 0


def _watch(pipe: Pipe, news: News, form: str | None) -> tuple[TextRecording, bool]:
    """Read the file that a pipe fills, to the end of the pipe; return the recording, and whether it was interrupted."""
    seen, printed, pause = -1, 0, INTERVAL
    was_interrupted = False
    while True:
        try:
            ended = pipe.ended.wait(pause)
        except KeyboardInterrupt:
            ended = was_interrupted = True
        size = pipe.path.stat().st_size
        if size == seen and not ended:
            continue
        began = time.monotonic()
        recording = read(pipe.path, form)
        recording.name = "standard input"
        recording.notes += [INTERRUPTED] if was_interrupted else [pipe.trouble] if pipe.trouble else []
        if recording.steps or ended:
            news.put(recording, ended)
        printed = _print_steps(recording, printed, ended)
        seen, pause = size, max(INTERVAL, SHARE * (time.monotonic() - began))
        if ended:
            return recording, was_interrupted


def _print_steps(recording: TextRecording, printed: int, ended: bool) -> int:
    """Print the steps that are new, but for the last one, which may grow; return how many are printed."""
    ready = len(recording.steps) if ended else len(recording.steps) - 1
    for step in recording.steps[printed:ready]:
        sign = VERDICTS[step.verdict][0]
        print(visible(f"{step.number:>5} {sign} {step.name} on {step.unit}: {step.verdict}"), flush=True)
    return max(printed, ready)


def _linger(news: News) -> None:
    """Wait a little for a page that has not got the last recording yet, and for its browser, which keeps it."""
    end = time.monotonic() + LINGER
    while news.shown < news.version and time.monotonic() < end:
        time.sleep(0.05)
    end = time.monotonic() + KEPT
    while not news.is_kept and time.monotonic() < end:
        time.sleep(0.05)
