"""`tvm.rpc` without a network: every machine is this one, so a session is a folder that receives files.

`LocalSession()`, and `connect` to a `Server` of the same process, return such a session. `connect` to any other address
raises an error: no other machine can be reached.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from passlab.atomic_file import write_bytes
from passlab.compat import functions
from passlab.devices import Device, cpu, device
from passlab.errors import Diagnostic, RunError
from passlab.executor import load_module

_servers: dict[tuple[str, int], Server] = {}
_FIRST_PORT = 9090


class LocalSession:
    """A session whose machine is this process: files are copied to its folder, and loaded from there."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="passlab_rpc_"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def upload(self, data: Any, target: str | None = None) -> None:
        """Copy a file, or write bytes, into the folder of the session."""
        if isinstance(data, (bytes, bytearray)):
            write_bytes(self._path(target or "data"), data)
            return
        shutil.copyfile(data, self._path(target or Path(data).name))

    def download(self, path: str) -> bytearray:
        """Return the bytes of a file of the session. Raises `RunError` if there is no such file."""
        file = self._path(path)
        if not file.is_file():
            raise RunError(Diagnostic(f"the session has no file `{path}`", hint="`upload` sends one"))
        return bytearray(file.read_bytes())

    def load_module(self, path: str) -> Any:
        """Return the library of a file of the session."""
        return load_module(str(self._path(path)))

    def remove(self, path: str) -> None:
        """Remove a file of the session."""
        self._path(path).unlink(missing_ok=True)

    def get_function(self, name: str) -> Callable[..., Any] | None:
        """Return a function that was registered here."""
        return functions.get_global_func(name)

    def _path(self, name: str) -> Path:
        return self._folder / Path(name).name

    def device(self, dev_type: str, dev_id: int = 0) -> Device:
        """Return a device, which stands for this CPU."""
        return device(dev_type, dev_id)

    context = device

    def cpu(self, dev_id: int = 0) -> Device:
        """Return this CPU."""
        return cpu(dev_id)

    def cl(self, dev_id: int = 0) -> Device:
        """Return this CPU in place of an OpenCL device."""
        return device("opencl", dev_id)

    def cuda(self, dev_id: int = 0) -> Device:
        """Return this CPU in place of a CUDA device."""
        return device("cuda", dev_id)

    gpu = cuda


class Server:
    """An address that sessions of this process connect to. Nothing listens on it."""

    def __init__(self, host: str = "127.0.0.1", port: int = _FIRST_PORT, port_end: int = 9199, **_: Any) -> None:
        self.host = host
        self.port = next((p for p in range(port, port_end + 1) if (host, p) not in _servers), port)
        _servers[host, self.port] = self

    def terminate(self) -> None:
        """Release the address."""
        _servers.pop((self.host, self.port), None)


def connect(url: str, port: int, key: str = "", session_timeout: int = 0, *_: Any, **__: Any) -> LocalSession:
    """Return a session with a server of this process. Raises `RunError` for any other address."""
    if (url, int(port)) not in _servers:
        hint = "every device is this CPU: `rpc.LocalSession()`, or run the program without the session"
        raise RunError(Diagnostic(f"no server of this process is at {url}:{port}", hint=hint))
    return LocalSession()
