"""Files from elsewhere: every reader of one file gets every hostile file, runs nothing of it and refuses it by a diagnostic.

Dumps have readers of their own. `tests/faults/test_damaged_files.py` damages files that were right.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import passlab
from passlab import ir, lab, limits
from passlab.cli import main as command
from passlab.errors import PasslabError
from passlab.executor import load_module
from passlab.executor.param_dict import load_param_dict
from passlab.frontend import from_onnx, from_pytorch
from passlab.lab import Fork, Trace
from passlab.lab.recordings.recording import Recording
from passlab.vm import Executable, KernelLibrary
from passlab.vm.files.constant_files import load_constants
from passlab.vm.files.disk import read_bytes
from passlab.vm.files.loading import kernel_functions
from tests.faults.damaged_files import FORMATS, SMALL

pytestmark = pytest.mark.rotating

EVIL = (
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "socket.connect", "pickle.find_class",
    "os.remove", "os.rename", "shutil.rmtree",
)  # fmt: skip


# ---------------------------------------------------------------- readers
def a_recording(path):
    folder = path.with_name("read.rec")
    FORMATS["recording"].whole(path.parent)  # saves a whole one beside it
    (path.parent / "whole.rec").rename(folder)
    (folder / "recording.json").unlink()
    path.rename(folder / "recording.json")
    return Recording.load(folder)


def a_campaign(path):
    folder = path.with_name("campaign")
    folder.mkdir()
    path.rename(folder / "campaign.json")
    return lab.fuzz("FoldConstant", programs=1, seconds=None, directory=folder)


def by_command(*arguments):
    def read(path):
        code = command([str(path) if part == "FILE" else part for part in arguments])
        if code:
            raise PasslabError(passlab.errors.Diagnostic(f"the command ends with {code}"))

    return read


READERS: dict[str, Callable[[Path], object]] = {
    "library": load_module,
    "trace": Trace.load,
    "fork": Fork.load,
    "recording": a_recording,
    "folder as a recording": Recording.load,
    "campaign": a_campaign,
    "constants": load_constants,
    "kernels": lambda path: kernel_functions(KernelLibrary.load(path).text),
    "executable": lambda path: Executable.load_exec(read_bytes(path, "the file")),
    "parameters": lambda path: load_param_dict(read_bytes(path, "the file")),
    "program": lambda path: passlab.parse(read_bytes(path, "the file").decode("utf-8", "surrogateescape")),
    "JSON": lambda path: ir.load_json(read_bytes(path, "the file").decode("utf-8", "surrogateescape")),
    "ONNX": from_onnx,
    "ONNX to simplify": lab.simplify,
    "PyTorch": from_pytorch,
    "passlab opt": by_command("opt", "FILE", "FoldConstant"),
    "passlab run": by_command("run", "FILE"),
}  # fmt: skip


EMPTY = ("library", "kernels", "program", "passlab opt")  # a text without a definition is a program without one


# ---------------------------------------------------------------- files
class Touches:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return os.system, (f"touch {self.path}",)


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def objects(marker: Path) -> bytes:
    out = io.BytesIO()
    np.save(out, np.array([Touches(marker)], dtype=object), allow_pickle=True)
    return out.getvalue()


def members_replaced(whole: bytes, data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(whole)) as old:
        return zipped(**dict.fromkeys(old.namelist(), data))


CODE = "__import__('os').system('touch {marker}')\n"
HOSTILE: dict[str, Callable[[Path, Path], bytes]] = {
    "a pickle": lambda marker, folder: pickle.dumps(Touches(marker)),
    "an array of objects": lambda marker, folder: objects(marker),
    "arrays of objects": lambda marker, folder: zipped(**{"x.npy": objects(marker), "arrays.npz": objects(marker)}),
    "an archive of torch": lambda marker, folder: zipped(
        **{"archive/data.pkl": pickle.dumps(Touches(marker)), "archive/version": b"3", "archive/byteorder": b"little"}
    ),
    "a trace of pickles": lambda marker, folder: members_replaced(
        FORMATS["trace"].whole(folder), pickle.dumps(Touches(marker))
    ),
    "a fork of pickles": lambda marker, folder: members_replaced(
        FORMATS["fork"].whole(folder), pickle.dumps(Touches(marker))
    ),
    "Python": lambda marker, folder: CODE.format(marker=marker).encode(),
    "JSON with Python": lambda marker, folder: json.dumps(
        {"py/reduce": [{"py/function": "os.system"}, [f"touch {marker}"]], "format": CODE.format(marker=marker)}
    ).encode(),
    "an archive that leaves its folder": lambda marker, folder: zipped(
        **{f"../{marker.name}": b"1", str(marker): b"1"}
    ),
    "an archive that unpacks to a gigabyte": lambda marker, folder: zipped(
        **{f"{i}": bytes(1 << 26) for i in range(16)}
    ),
    "lists in lists": lambda marker, folder: b"[" * 200_000,
    "dictionaries in dictionaries": lambda marker, folder: b'{"a":' * 200_000,
    "a number of a million digits": lambda marker, folder: b"1" * 1_000_000,
    "zeros": lambda marker, folder: bytes(100_000),
    "ones": lambda marker, folder: b"\xff" * 100_000,
    "nothing": lambda marker, folder: b"",
    "one line of 4 MB": lambda marker, folder: b"(" * 4_000_000,
    "surrogates": lambda marker, folder: b"\xed\xa0\x80" * 1000,
}


@contextmanager
def watched() -> Iterator[list[str]]:
    """Collect what a reader does that no reader may do."""
    seen: list[str] = []
    _WATCHERS.append(seen)
    try:
        yield seen
    finally:
        _WATCHERS.remove(seen)


_WATCHERS: list[list[str]] = []


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if _WATCHERS and event.startswith(EVIL):
        _WATCHERS[-1].append(f"{event}{arguments}")


sys.addaudithook(_hear)


def outcome(reader: str, path: Path) -> str:
    with limits.override(**SMALL), watched() as seen:
        try:
            READERS[reader](path)
            said = "read"
        except PasslabError as error:
            said = str(error)
            assert said.strip()
    assert not [event for event in seen if str(path.parent) not in event or "marker" in event]
    return said


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The marker that no reader may make, and the hostile files."""
    folder = tmp_path_factory.mktemp("hostile")
    marker = folder / "marker"
    return marker, {kind: make(marker, folder) for kind, make in HOSTILE.items()}


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_runs_a_hostile_file(reader, tmp_path, files, subtests):
    marker, contents = files
    for number, (kind, data) in enumerate(contents.items()):
        with subtests.test(file=kind):
            folder = tmp_path / str(number)
            folder.mkdir()
            path = folder / "file"
            path.write_bytes(data)
            said = outcome(reader, path)
            assert said != "read" or (kind == "nothing" and reader in EMPTY)
            assert not marker.exists()
            assert "Traceback" not in said


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", ["a folder", "missing", "a broken link", "a link to itself", "a name with a zero"])
def test_what_is_no_file_is_refused(reader, kind, tmp_path):
    path = tmp_path / "file"
    if kind == "a folder":
        path.mkdir()
    elif kind == "a broken link":
        path.symlink_to(tmp_path / "nothing")
    elif kind == "a link to itself":
        path.symlink_to(path)
    elif kind == "a name with a zero":
        path = tmp_path / "a\0b"
    if reader == "recording" and kind in ("missing", "a name with a zero"):
        pytest.skip("the test itself moves the file")
    if reader == "campaign":
        pytest.skip("a folder without the file begins a campaign")
    assert outcome(reader, path) != "read"


@pytest.mark.parametrize(
    "reader", [name for name in READERS if name not in ("recording", "campaign", "program", "JSON")]
)
def test_a_tilde_is_the_folder_of_the_user(reader, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "file").write_bytes(b"%")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    whole, short = (outcome(reader, path) for path in (tmp_path / "file", Path("~/file")))
    assert short.replace("~", str(tmp_path)) == whole != "read"


def test_the_hostile_files_are_hostile(tmp_path):
    """Read the way that no reader may read them, they run."""
    marker = tmp_path / "marker"
    code = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))"
    (tmp_path / "file").write_bytes(HOSTILE["a pickle"](marker, tmp_path))
    subprocess.run([sys.executable, "-c", code, tmp_path / "file"], check=True)
    assert marker.exists()
