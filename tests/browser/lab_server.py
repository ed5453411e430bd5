"""JupyterLab and Notebook 7 of a test process: one server on a free port, whose settings, history and files lie in one folder.

A server takes three seconds to start, so that the tests of a process share it: `LabServer` is the right to use it for a
while. At the end of each use its files and kernels are removed and its settings are what they were. It knows nothing of
the page; `lab_page` drives that.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60
# What would ask a person something, or fetch something, on the first start.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}
# JupyterLab skips the cells outside the viewport, and scrolls late, at moments that no test can wait for: a cell that was
# just shown is hidden again. Tests draw every cell, but for those that ask for one of JupyterLab's ways to skip them.
TRACKER = "@jupyterlab/notebook-extension/tracker"
_EXPOSED = (
    "--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly", "--JupyterNotebookApp.expose_app_in_browser=True",
)  # fmt: skip
# Two seconds less: tests/nbval_without_grammars.py says of what.
_WITHOUT_GRAMMARS = (
    "import sys; sys.modules['rfc3987_syntax'] = None; from jupyterlab.labapp import main; sys.exit(main())"
)


class LabServer:
    """The server of this process, for as long as the `with` statement lasts. `folder` is what its file browser shows.

    `windowing` is JupyterLab's `windowingMode`: "none" draws every cell, "full" takes those outside the viewport out of the
    page, "contentVisibility", its default, leaves their drawing to the browser. `application` is "jupyterlab" or
    "notebook": Notebook 7 shows one notebook a page with the parts of JupyterLab. Uses may nest: the inner one leaves the
    files and kernels of the outer one alone.
    """

    def __init__(
        self, windowing: str = "none", application: str = "jupyterlab", process: ServerProcess | None = None
    ) -> None:
        self.application = application
        self._windowing = windowing
        self._process = ServerProcess.running() if process is None else process
        self.folder = self._process.folder
        self.port = self._process.port
        self.url = self._process.url

    def notebook_url(self, name: str) -> str:
        """The address of a notebook of the folder."""
        return self.url(f"lab/tree/{name}?reset" if self.application == "jupyterlab" else f"notebooks/{name}")

    def write_notebook(self, name: str, cells: Iterable[NotebookNode]) -> None:
        """Put a notebook of Python with these cells into the folder."""
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(cells=list(cells), metadata={"kernelspec": kernel})
        nbformat.write(notebook, self.folder / name)

    def __enter__(self) -> LabServer:
        self._files = set(self.folder.iterdir())
        self._sessions = self._process.sessions()
        self._settings = self._process.settings()
        self._process.set_settings(settings_with(self._windowing))
        return self

    def __exit__(self, *_: object) -> None:
        """End the kernels, remove the files and take back the settings of this use."""
        for session in self._process.sessions() - self._sessions:
            self._process.end_session(session)
        for entry in set(self.folder.iterdir()) - self._files:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        self._process.set_settings(self._settings)


def settings_with(windowing: str) -> dict[str, str]:
    """The text of each file of settings, by its path below the folder of settings."""
    return {
        f"{plugin}.jupyterlab-settings": json.dumps(values)
        for plugin, values in {**SETTINGS, TRACKER: {"windowingMode": windowing}}.items()
    }


class ServerProcess:
    """A running server with files of its own in a temporary folder.

    `installed` is the Python of an environment in which passlab is installed: page and kernels then know nothing of this
    checkout. "" is the Python of the tests.
    """

    _running: ClassVar[ServerProcess | None] = None

    @classmethod
    def running(cls) -> ServerProcess:
        """The server of this process, started by the first that asks."""
        if cls._running is None:
            cls._running = cls(Path(tempfile.mkdtemp(prefix="passlab-lab-")))
            cls._running.wait_until_ready()
        return cls._running

    @classmethod
    def stop_running(cls) -> None:
        """Stop the server of this process, if there is one."""
        if cls._running is not None:
            cls._running.stop()
            cls._running = None

    def __init__(self, home: Path, installed: str = "") -> None:
        self._home = home
        self._installed = installed
        self.folder = home / "files"
        self.folder.mkdir(parents=True)
        if not installed:
            shutil.copytree(ROOT / "extension/dist", home / "share/labextensions/passlab")
        self._token = secrets.token_hex(16)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.set_settings(settings_with("none"))
        self._log_path = home / "server.log"
        self._log = self._log_path.open("wb")
        self._process = subprocess.Popen(
            self._command(), env=_environment(home, installed), stdout=self._log, stderr=subprocess.STDOUT
        )

    def _command(self) -> list[str]:
        root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        start = ["-m", "jupyterlab"] if self._installed else ["-c", _WITHOUT_GRAMMARS]
        return [
            self._installed or sys.executable, *start, "--no-browser", *root, f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0",
            "--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={self._token}", f"--ServerApp.root_dir={self.folder}",
            *_EXPOSED,
        ]  # fmt: skip

    def url(self, path: str) -> str:
        """The address of a page or of the interface for programs."""
        return f"http://127.0.0.1:{self.port}/{path}{'&' if '?' in path else '?'}token={self._token}"

    def wait_until_ready(self) -> None:
        """Return when the server answers; raise with its log when it does not."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            try:
                with urllib.request.urlopen(self.url("api/status"), timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        raise AssertionError(
            f"JupyterLab did not start:\n{self._log_path.read_text(encoding='utf-8', errors='replace')}"
        )

    def sessions(self) -> set[str]:
        """The sessions that are open: a notebook with its kernel each."""
        with urllib.request.urlopen(self.url("api/sessions"), timeout=20) as answer:
            return {session["id"] for session in json.load(answer)}

    def end_session(self, session: str) -> None:
        """End a session and its kernel, unless the page has just ended it itself."""
        try:
            with urllib.request.urlopen(
                urllib.request.Request(self.url(f"api/sessions/{session}"), method="DELETE"), timeout=20
            ):
                pass
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise

    def settings(self) -> dict[str, str]:
        """The text of each file of settings, by its path below their folder: those written by a page, too."""
        folder = self._home / "settings"
        return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in _files_below(folder)}

    def set_settings(self, texts: Mapping[str, str]) -> None:
        """Have these settings and no others."""
        folder = self._home / "settings"
        for file in _files_below(folder):
            file.unlink()
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")

    def stop(self) -> None:
        """Stop the server, which stops its kernels, and remove its files."""
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        shutil.rmtree(self._home, ignore_errors=True)


def stop_server() -> None:
    """Stop the server of this process, if a test has started it."""
    ServerProcess.stop_running()


def _files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _environment(home: Path, installed: str) -> dict[str, str]:
    """Nothing of the user's own Jupyter is read or written; kernels and the page have the passlab of this checkout.

    An environment with an installed passlab borrows JupyterLab's page from the environment of the tests.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON"))}
    path = os.pathsep.join([str(ROOT), *filter(None, [own.pop("PYTHONPATH", None)])])
    lent = Path(sys.prefix, "share/jupyter")
    return {
        **own,
        **({"JUPYTERLAB_DIR": str(lent / "lab")} if installed else {"PYTHONPATH": path}),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_PATH": str(lent if installed else home / "share"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
    }
