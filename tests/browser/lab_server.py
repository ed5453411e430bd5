"""A JupyterLab of its own: a server on a free port whose settings, kernels' history and files lie in one folder.

It knows nothing of the page; `lab_page` drives that.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path

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
_APPLICATIONS = {
    "jupyterlab": ["--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly"],
    "notebook": ["--JupyterNotebookApp.expose_app_in_browser=True"],
}


class LabServer:
    """A running server. `folder` is what its file browser shows; use it as a context manager to stop it.

    `windowing` is JupyterLab's `windowingMode`: "none" draws every cell, "full" takes those outside the viewport out of the
    page, "contentVisibility", its default, leaves their drawing to the browser. `application` is "jupyterlab" or
    "notebook": Notebook 7 shows one notebook a page with the parts of JupyterLab.
    """

    def __init__(self, home: Path, windowing: str = "none", application: str = "jupyterlab") -> None:
        self.application = application
        self.folder = home / "files"
        self.folder.mkdir(parents=True)
        shutil.copytree(ROOT / "extension/dist", home / "share/labextensions/passlab")
        self.token = secrets.token_hex(16)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        for plugin, values in {**SETTINGS, TRACKER: {"windowingMode": windowing}}.items():
            file = home / "settings" / f"{plugin}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values), encoding="utf-8")
        self._log_path = home / "server.log"
        self._log = self._log_path.open("wb")
        self._process = subprocess.Popen(
            self._command(), env=_environment(home), stdout=self._log, stderr=subprocess.STDOUT
        )

    def _command(self) -> list[str]:
        root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        return [
            sys.executable, "-m", self.application, "--no-browser", *root, f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0",
            "--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.folder}",
            *_APPLICATIONS[self.application],
        ]  # fmt: skip

    def notebook_url(self, name: str) -> str:
        """The address of a notebook of the folder."""
        return self.url(f"lab/tree/{name}?reset" if self.application == "jupyterlab" else f"notebooks/{name}")

    def write_notebook(self, name: str, cells: Iterable[NotebookNode]) -> None:
        """Put a notebook of Python with these cells into the folder."""
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(cells=list(cells), metadata={"kernelspec": kernel})
        nbformat.write(notebook, self.folder / name)

    def url(self, path: str) -> str:
        """The address of a page or of the interface for programs."""
        return f"http://127.0.0.1:{self.port}/{path}{'&' if '?' in path else '?'}token={self.token}"

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

    def __enter__(self) -> LabServer:
        self.wait_until_ready()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server, which stops its kernels."""
        self._process.terminate()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


def _environment(home: Path) -> dict[str, str]:
    """Nothing of the user's own Jupyter is read or written; kernels and the page have the passlab of this checkout."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "IPYTHON"))}
    path = os.pathsep.join([str(ROOT), *filter(None, [own.get("PYTHONPATH")])])
    return {
        **own,
        "PYTHONPATH": path,
        "JUPYTER_PREFER_ENV_PATH": "1",
        "JUPYTER_PATH": str(home / "share"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": str(home / "ipython"),
    }
