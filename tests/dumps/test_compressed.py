"""Dumps that gzip compressed, damaged ones and ones that unpack to too much included."""

import bz2
import errno
import gzip
import io
import lzma
import tempfile

import pytest

from passlab import limits
from passlab.dumps import read, read_text, reading
from passlab.errors import DumpError, LimitError
from tests.dumps import writer


@pytest.fixture
def temporary_files(tmp_path, monkeypatch):
    """The folder of temporary files, empty at first."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_damaged_file_is_refused_or_read_as_the_whole_one(tmp_path, temporary_files):
    packed = gzip.compress(writer.llvm_dump(writer.run(1), "quiet").encode(), mtime=0)
    path = tmp_path / "passes.txt.gz"
    path.write_bytes(packed)
    whole = read(path).text()
    refused = 0
    damaged = [packed[:i] + bytes([packed[i] ^ 0x55]) + packed[i + 1 :] for i in range(2, len(packed), 5)]
    for data in damaged:
        path.write_bytes(data)
        try:
            recording = read(path)
            if not any("cut off" in note for note in recording.notes):
                assert recording.text() == whole
        except DumpError:
            refused += 1
    assert refused > 0.9 * len(damaged)
    assert list(temporary_files.iterdir()) == []


def test_a_file_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path, temporary_files):
    text = writer.llvm_dump(writer.run(1), "both").encode()
    packed = gzip.compress(text, mtime=0)
    path = tmp_path / "passes.txt.gz"
    whole = [(step.name, step.unit, step.verdict) for step in read(text).steps]
    most = 0
    for length in range(len(packed) // 4, len(packed), 25):
        path.write_bytes(packed[:length])
        recording = read(path)
        assert any("cut off" in note for note in recording.notes)
        shown = [(step.name, step.unit, step.verdict) for step in recording.steps if step.verdict != "unknown"]
        assert shown == whole[: len(shown)]
        most = max(most, len(shown))
    assert most > len(whole) * 0.8
    path.write_bytes(packed[:12])
    with pytest.raises(DumpError, match="before its content begins"):
        read(path)
    assert list(temporary_files.iterdir()) == []


def test_a_file_is_unpacked_no_further_than_a_dump_may_be_long(tmp_path, temporary_files):
    path = tmp_path / "long.txt.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(64):
            file.write(b"a line\n" * (1 << 17))
    read_bytes = 0

    class Stream(gzip.GzipFile):
        def read(self, size=-1):
            nonlocal read_bytes
            data = super().read(size)
            read_bytes += len(data)
            return data

    with limits.override(dump_bytes=1 << 20):
        with pytest.raises(LimitError, match="dump_bytes"):
            read(path)
        with Stream(path) as stream, pytest.raises(LimitError, match="dump_bytes"):
            read(stream)
    assert read_bytes < 16 << 20
    assert list(temporary_files.iterdir()) == []


def test_more_headings_than_passes_may_have_are_refused_while_they_are_found() -> None:
    """A megabyte of gzip can hold millions of headings: the limit holds before any of them is put together."""
    text = "// -----// IR Dump Before CSE //----- //\n" * 140_000
    with limits.override(dump_steps=10_000), pytest.raises(LimitError, match="dump_steps"):
        read_text(text)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_files_streams_and_bytes_are_unpacked(pack, tmp_path, temporary_files):
    text = writer.llvm_dump(writer.run(1), "both").encode()
    packed = pack(text) + pack(b"the end\n")  # programs append to such files
    (tmp_path / "dump").write_bytes(packed)
    wanted = [(step.name, step.verdict) for step in read(text)]
    for given in (tmp_path / "dump", packed, io.BytesIO(packed)):
        recording = read(given)
        assert [(step.name, step.verdict) for step in recording] == wanted
        assert "the end" in recording.other_output


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_any_compressed_file_that_is_cut_off_or_damaged_is_refused_or_read_as_far_as_it_goes(pack):
    text = writer.llvm_dump(writer.run(1), "both").encode()
    packed = pack(text)
    for length in range(1, len(packed), 211):
        for data in (packed[:length], packed[:length] + b"x" + packed[length + 1 :]):
            try:
                recording = read(data)
            except DumpError:
                continue
            assert all(step.verdict in ("changed", "unchanged", "unknown") for step in recording)


@pytest.mark.parametrize(("magic", "tool"), [(b"\x28\xb5\x2f\xfd", "zstd -d"), (b"PK\x03\x04", "unzip")])
def test_what_other_programs_compressed_is_named(magic, tool):
    with pytest.raises(DumpError, match="is compressed") as error:
        read(magic + bytes(100))
    assert tool in error.value.diagnostics[0].hint


@pytest.mark.parametrize("pack", [io.BytesIO, gzip.compress, lambda text: text.replace(b"\n", b"\r\n")])
def test_a_full_disk_is_said_once_with_a_cure(pack, temporary_files, monkeypatch):
    given = pack(writer.llvm_dump(writer.run(1), "both").encode())
    written = tempfile.NamedTemporaryFile

    def full(*args, **options):
        file = written(*args, **options)

        def write(data):
            raise OSError(errno.ENOSPC, "No space left on device")

        file.write = write
        return file

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    with pytest.raises(DumpError) as error:
        read(given)
    (said,) = error.value.diagnostics
    assert said.message.count("cannot be") == 1
    assert "No space left" in said.message
    assert "TMPDIR" in said.hint
    assert list(temporary_files.iterdir()) == []


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "dump").write_text("text")
    monkeypatch.setattr(reading, "open_file", refuse)
    for given in (tmp_path / "dump", tmp_path):
        with pytest.raises(DumpError, match=r"cannot be read: .*Permission denied"):
            read(given)
