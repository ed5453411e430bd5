"""`tvm.contrib.utils`: temporary folders that are removed with their object; and parameters in files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from passlab.atomic_file import make_folder, write_bytes
from passlab.executor.param_dict import load_param_dict, save_param_dict
from passlab.vm.files.disk import read_bytes


class TempDirectory:
    """A folder for the files of one program: `temp.relpath("lib.tar")` is a path in it."""

    def __init__(self, custom_path: str | None = None, keep_for_debug: bool = False) -> None:
        self._folder: Any = None
        if custom_path is not None:
            make_folder(custom_path)
            self.temp_dir = custom_path
        elif keep_for_debug:
            self.temp_dir = tempfile.mkdtemp()
        else:
            self._folder = tempfile.TemporaryDirectory()
            self.temp_dir = self._folder.name

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.temp_dir)

    def remove(self) -> None:
        """Remove the folder and its contents."""
        if self._folder is not None:
            self._folder.cleanup()

    def relpath(self, name: str) -> str:
        """Return the path of a file in the folder."""
        return str(self.path / name)

    def listdir(self) -> list[str]:
        """Return the names of the files in the folder."""
        return [entry.name for entry in self.path.iterdir()]

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __del__(self) -> None:
        self.remove()


def tempdir(custom_path: str | None = None, keep_for_debug: bool = False) -> TempDirectory:
    """Return a new folder, which is removed with the object unless `keep_for_debug` is set."""
    return TempDirectory(custom_path, keep_for_debug)


def save_param_dict_to_file(params: Any, path: str) -> None:
    """Write parameters to a file."""
    write_bytes(path, save_param_dict(params))


def load_param_dict_from_file(path: str) -> dict[str, Any]:
    """Return the parameters of a file."""
    return load_param_dict(read_bytes(path, "the parameters"))
