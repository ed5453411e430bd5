"""Files that are complete or not there. Everything that passlab writes is written here.

No reader, no error and no kill in between leaves half a file: each is written in a temporary folder next to its own
place, which it takes at the end. What a killed writer left there is removed when that file is next written.
A full disk, a missing permission or folder, or a folder at the path end in a `FileAccessError`, and an older file stays
as it was.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from passlab.errors import Diagnostic, FileAccessError, PasslabError

_UNFINISHED = re.compile(r"\.passlab-[\w-]+\.part")  # a folder of files that have not taken their places
_WRITERS = 8  # of one file at once, whose folders are looked for
_PATIENCE = 120.0  # seconds that a writer waits for the others of a folder
_POLL = 0.01  # seconds between two looks
_STAYS = "an older file there is as it was"
_HINTS = {
    errno.ENOSPC: f"the disk is full: free some space and write again; {_STAYS}",
    errno.EDQUOT: f"your quota is used up: free some space and write again; {_STAYS}",
    errno.ENOENT: "create the folder first, or name one that exists",
    errno.ENOTDIR: "a part of the path is a file: name a folder that exists",
    errno.EISDIR: "there is a folder of this name: give the path of a file",
    errno.EACCES: f"you may not write there: choose another folder; {_STAYS}",
    errno.EPERM: f"you may not write there: choose another folder; {_STAYS}",
    errno.EROFS: "the file system is read-only: choose another folder",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def writing_error(path: object, error: OSError) -> FileAccessError:
    """Return the error that says which path cannot be written, why, and what to do."""
    reason = error.strerror or str(error) or type(error).__name__
    hint = _HINTS.get(error.errno or 0, f"nothing was changed: {_STAYS}")
    return FileAccessError(Diagnostic(f"{path} cannot be written: {reason}", hint=hint))


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return a path, with the user's folder for a leading `~`, which no shell has replaced in a notebook.

    Every path that a user gives goes through here. Raises `FileAccessError` for what is not a path, and for a name that
    no file can have.
    """
    name: object = path.__fspath__() if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        hint = "give its name as text, or a pathlib.Path"
        raise FileAccessError(Diagnostic("a file is given by its path", found=type(path).__name__, hint=hint))
    if "\0" in name:
        raise FileAccessError(Diagnostic("the file name contains a NUL byte", found=repr(name)))
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        message = "the name of a file contains half of a character"
        raise FileAccessError(Diagnostic(message, found=ascii(name))) from None
    return Path(os.path.expanduser(name))  # noqa: PTH111 - `Path.expanduser` raises for a name such as `~x`


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path for the block to write; it is renamed to `path` at the end, or removed after an error.

    An older file at `path` stays as it was until then; a link is followed, and the new file has the older one's
    permissions. What is not a plain file, such as `/dev/stdout`, is written in place. Raises `FileAccessError` for what
    the file system refuses.
    """
    with atomic_files(path) as (unfinished,):
        yield unfinished


@contextmanager
def atomic_files(*paths: str | os.PathLike[str]) -> Iterator[tuple[Path, ...]]:
    """Yield temporary paths for the block to write; all are renamed at the end, in order, or none after an error.

    Those that lie in one folder have their final names in a temporary folder there, so that the last may name the
    others. A kill leaves the older files, the new ones, or some without the last.
    Raises `FileAccessError`.
    """
    targets, folders = [checked_path(path) for path in paths], dict[Path, Path]()
    held = ExitStack()
    shown: object = targets[0]
    try:
        finals = [Path(os.path.realpath(target)) for target in targets]
        modes = [_mode(final) for final in finals]
        unfinished = []
        for target, final, mode in zip(targets, finals, modes, strict=True):
            shown = target
            if mode is None or stat.S_ISREG(mode):
                # In the same folder, since a file can be renamed in one step only within a file system.
                if final.parent not in folders:
                    last = [other for other in finals if other.parent == final.parent][-1]
                    folders[final.parent] = held.enter_context(_held_part(last))
                unfinished.append(folders[final.parent] / final.name)
            else:
                unfinished.append(final)
        yield tuple(unfinished)
        moves = []
        for target, one, final, mode in zip(targets, unfinished, finals, modes, strict=True):
            shown = target
            if one is not final and one.exists():
                if mode is not None:
                    one.chmod(stat.S_IMODE(mode))
                moves.append((one, final))
        _take_places(moves)
    except PasslabError:
        raise
    except OSError as error:
        raise writing_error(shown, error) from error
    except MemoryError as error:
        hint = f"free some memory and write again; {_STAYS}"
        message = f"{shown} cannot be written: there is not enough memory"
        raise FileAccessError(Diagnostic(message, hint=hint)) from error
    finally:
        held.close()


def _take_places(moves: list[tuple[Path, Path]]) -> None:
    """Rename files in order; an error leaves all older files, a kill those or the new ones, or the last one missing."""
    renames = moves
    if len(moves) > 1:  # the last names the others, and may not be there with one that is not its own
        olds = [(final, one.with_name(f".passlab-{number}.old")) for number, (one, final) in enumerate(moves)]
        renames = [*((final, old) for final, old in reversed(olds) if final.exists()), *moves]
    done: list[tuple[Path, Path]] = []
    try:
        for source, goal in renames:
            source.replace(goal)
            done.append((source, goal))
    except BaseException:
        if len(done) < len(renames):
            for source, goal in reversed(done):
                goal.replace(source)
        raise


@contextmanager
def _held_part(final: Path) -> Iterator[Path]:
    """Make a folder next to a file for what is to become it, which others see to be in use while this process lives.

    The name of the file gives its name, so that what killed writers left is found without a look through the folder.
    Where the system has no locks, its name is drawn, and nothing is known of other writers.
    """
    stem = hashlib.sha256(os.fsencode(final.name)).hexdigest()[:16]
    numbered = (final.parent / f".passlab-{stem}-{number}.part" for number in itertools.count())
    with ExitStack() as stack:
        try:
            part = next(part for part in numbered if _is_taken(part, stack))
            for later in itertools.islice(numbered, _WRITERS):
                if later.exists():
                    with ExitStack() as left:
                        _is_taken(later, left)
        except (ImportError, _NoLocksError):
            part = final.parent / f".passlab-{os.urandom(8).hex()}.part"
            part.mkdir()
            stack.callback(shutil.rmtree, part, ignore_errors=True)
        yield part


class _NoLocksError(Exception):
    """The file system has no locks."""


def _is_taken(part: Path, stack: ExitStack) -> bool:
    """Make and hold an empty folder until `stack` ends, which removes it; return False if another writer holds it."""
    import fcntl

    part.mkdir(exist_ok=True)
    with ExitStack() as tried:
        try:
            handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW)
            tried.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            tried.callback(fcntl.flock, handle, fcntl.LOCK_UN)  # a process that was forked has it open as well
            if not os.path.samestat(os.fstat(handle), part.stat()):
                return False
        except (BlockingIOError, FileNotFoundError):  # its writer has it, or has just removed it
            return False
        except OSError as error:
            part.rmdir()
            raise _NoLocksError from error
        tried.callback(shutil.rmtree, part, ignore_errors=True)
        for left in part.iterdir():
            left.unlink()
        stack.push(tried.pop_all())
    return True


def _mode(path: Path) -> int | None:
    """Return the mode of a file that may be replaced, or None if the path is free. Raises `OSError` for all others."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return mode


@contextmanager
def held_folder(folder: Path, shared: bool = False) -> Iterator[bool]:
    """Keep other writers of a folder out during the block, or only let readers in with `shared`; a kill ends it.

    Yield False where the system has no such locks, as Windows and some file systems of networks. Raises
    `FileAccessError` if another process or thread keeps the folder for two minutes.
    """
    with ExitStack() as stack:
        try:
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            is_held = _locked(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, folder)
            if is_held:  # told, since a process that was forked meanwhile has the file open as well
                stack.callback(fcntl.flock, handle, fcntl.LOCK_UN)
        except FileAccessError:
            raise
        except (ImportError, OSError):
            is_held = False
        yield is_held


def _locked(handle: int, kind: int, folder: Path) -> bool:
    """Lock a file, and return whether the system does that. Raises `FileAccessError` if that takes too long."""
    import fcntl

    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(_POLL)
    hint = "wait until it is done, or choose another folder"
    raise FileAccessError(Diagnostic(f"another process or thread is writing into {folder}", hint=hint))


def unfinished_in(folder: Path) -> list[Path]:
    """Return the folders in a folder in which files are written until they take their places."""
    return [path for path in folder.iterdir() if _UNFINISHED.fullmatch(path.name)]


def write_bytes(path: str | os.PathLike[str], data: bytes | bytearray | memoryview) -> None:
    """Write bytes to a file, atomically. Raises `FileAccessError`."""
    with atomic_file(path) as unfinished:
        unfinished.write_bytes(data)


def write_text(path: str | os.PathLike[str], text: str, errors: str = "strict") -> None:
    """Write text to a file in UTF-8, atomically. Raises `FileAccessError`, also for text that UTF-8 cannot hold.

    `errors="backslashreplace"` writes its number for such a character, `errors="surrogateescape"` the byte that it
    stood for when it was read.
    """
    try:
        data = text.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        character = f"the character {error.start + 1:,} is half of a pair (U+{ord(text[error.start]):04X})"
        message = f"{Path(path)} cannot be written as UTF-8"
        raise FileAccessError(Diagnostic(message, found=character, hint="rename what has it in its name")) from error
    write_bytes(path, data)


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Create a folder and those above it, unless they exist; return its path. Raises `FileAccessError`."""
    folder = checked_path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "a file has this name: choose another folder" if isinstance(error, FileExistsError) else None
        finding = Diagnostic(f"the folder {folder} cannot be created: {error.strerror}", hint=hint)
        raise FileAccessError(finding) from error
    return folder


def made_folder(path: Path) -> bool:
    """Create a folder, and return whether it was not there. Raises `FileAccessError`."""
    try:
        path.mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise writing_error(path, error) from error
    return True


def remove_file(path: str | os.PathLike[str]) -> None:
    """Remove a file; one that does not exist is not an error. Raises `FileAccessError`."""
    try:
        with contextlib.suppress(FileNotFoundError):
            Path(path).unlink()
    except OSError as error:
        raise FileAccessError(Diagnostic(f"{path} cannot be removed: {error.strerror}")) from error
