"""`tvm.contrib.download`: files that programs fetch. An existing file is not fetched again.

Test data is stored in the folder `TEST_DATA_ROOT_PATH`, by default `~/.tvm_test_data`, as in TVM.
"""

from __future__ import annotations

import os
import shutil
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from passlab.atomic_file import atomic_file, make_folder
from passlab.errors import Diagnostic, RunError

SECONDS = 60.0  # without a response from the server


def download(url: str, path: str | Path, overwrite: bool = False, size_compare: bool = False, retries: int = 3) -> None:
    """Fetch a file by http or https into `path`. Raises `RunError` if that fails."""
    target = Path(path)
    if target.is_file() and not overwrite:
        return
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise RunError(Diagnostic("only http and https are fetched", found=url))
    make_folder(target.parent)
    for left in range(max(retries, 1) - 1, -1, -1):
        try:
            with (
                urllib.request.build_opener().open(url, timeout=SECONDS) as answer,
                atomic_file(target) as unfinished,
                unfinished.open("wb") as file,
            ):
                shutil.copyfileobj(answer, file)
            return
        except (OSError, urllib.error.URLError) as error:
            if left == 0:
                hint = f"put the file at {target} yourself"
                raise RunError(Diagnostic(f"{url} cannot be fetched: {error}", hint=hint)) from error


def download_testdata(url: str, relpath: str, module: str | list[str] | None = None, overwrite: bool = False) -> str:
    """Return the path of a file of test data, fetching it if it does not exist. Raises `RunError`."""
    root = Path(os.environ.get("TEST_DATA_ROOT_PATH") or Path.home() / ".tvm_test_data")
    folders = [module] if isinstance(module, str) else list(module or ())
    path = root.joinpath(*folders, relpath)
    if not path.resolve().is_relative_to(root.resolve()):
        raise RunError(Diagnostic("test data lies in its folder", found=str(path), expected=f"below {root}"))
    download(url, path, overwrite)
    return str(path)


def __getattr__(name: str) -> Path:
    if name == "TEST_DATA_ROOT_PATH":
        return Path(os.environ.get("TEST_DATA_ROOT_PATH") or Path.home() / ".tvm_test_data")
    raise AttributeError(name)
