"""Executables as bytes: what is saved is what is loaded, the bytes are reproducible, and bad bytes end in an error."""

from __future__ import annotations

import pickle
import random
from copy import copy

import numpy as np
import pytest

import passlab
from passlab import limits
from passlab.errors import PasslabError, RunError, VerifyError
from passlab.vm import Executable, VirtualMachine, compile
from passlab.vm.files.saving import KernelLibrary
from tests.vm.programs import PROGRAMS, same


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loaded_executable_is_the_saved_one(name, rng):
    text, make = PROGRAMS[name]
    exe = compile(passlab.parse(text))
    data, lib = exe.save()
    loaded = Executable.load_exec(data, lib)
    assert pickle.loads(pickle.dumps(loaded)).save() == (data, lib)
    assert copy(loaded).functions is loaded.functions
    assert loaded.bytecode == exe.bytecode
    assert loaded.stats == exe.stats
    assert loaded.save() == (data, lib)
    args = make(rng)
    assert same(VirtualMachine(loaded).run(*args), VirtualMachine(exe).run(*args))


def test_compiling_twice_gives_the_same_bytes():
    text = PROGRAMS["adt"][0]
    assert compile(passlab.parse(text)).save() == compile(passlab.parse(text)).save()


def test_a_library_goes_through_a_file(tmp_path):
    data, lib = compile(passlab.parse(PROGRAMS["dense"][0])).save()
    lib.export_library(tmp_path / "lib.relay")
    assert Executable.load_exec(data, KernelLibrary.load(tmp_path / "lib.relay")).save() == (data, lib)


def test_a_loaded_executable_checks_its_inputs():
    data, lib = compile(passlab.parse(PROGRAMS["dense"][0])).save()
    with pytest.raises(RunError, match="%w"):
        VirtualMachine(Executable.load_exec(data, lib)).run(np.zeros((2, 8), "float32"), np.zeros((4, 9), "float32"))


def test_the_library_must_be_its_own():
    data, _ = compile(passlab.parse(PROGRAMS["dense"][0])).save()
    _, other = compile(passlab.parse(PROGRAMS["loop"][0])).save()
    for lib in (other, None, ""):
        with pytest.raises(VerifyError, match="library"):
            Executable.load_exec(data, lib)


@pytest.mark.parametrize("bad", [None, 3, [1]])
def test_what_is_no_bytes_is_a_type_error(bad):
    with pytest.raises(TypeError, match="bytecode"):
        Executable.load_exec(bad)
    with pytest.raises(TypeError, match="library"):
        Executable.load_exec(b"", 3)


def test_every_cut_is_refused():
    data, lib = compile(passlab.parse(PROGRAMS["dense"][0])).save()
    for end in range(len(data)):
        with pytest.raises(VerifyError, match="section"):
            Executable.load_exec(data[:end], lib)
    with pytest.raises(VerifyError, match="left over"):
        Executable.load_exec(data + b"\0", lib)


def resealed(data: bytes) -> bytes:
    """The bytes with the checksums of sections and instructions made right again, as far as the frames still hold."""
    import struct
    import zlib

    at = 8 + 8 + int.from_bytes(data[8:16], "little")
    out = bytearray(data)
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        if at + 12 + size > len(data):
            break
        out[at + 8 + size : at + 12 + size] = struct.pack("<I", zlib.crc32(data[at + 8 : at + 8 + size]))
        at += 12 + size
    return bytes(out)


def damaged(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place = rng.randrange(len(out))
        kind = rng.randrange(4)
        if kind == 0:
            out[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[place] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif kind == 2:
            out[place : place + 8] = rng.choice((b"\xff" * 8, b"\0" * 8, (2**40).to_bytes(8, "little")))
        else:
            del out[place : place + rng.choice((1, 8))]
    return bytes(out)


def hold(name: str, count: int, seed: int, monkeypatch) -> None:
    """Load damaged files, in half of them with checksums repaired so that the checks behind are reached; run the rest."""
    import passlab.vm.files.loading as loading

    monkeypatch.setattr(loading, "checksum", lambda fields: loading_sum(fields))
    text, make = PROGRAMS[name]
    data, lib = compile(passlab.parse(text)).save()
    rng = random.Random(seed)
    refused = 0
    for _ in range(count):
        try:
            result = damaged(data, rng)
            exe = Executable.load_exec(resealed(result) if rng.random() < 0.5 else result, lib)
            with limits.override(instructions=2000, frames=50, tensor_bytes=10**7):
                VirtualMachine(exe).run(*make(np.random.default_rng(0)))
        except PasslabError:
            refused += 1
    assert refused > count // 2


class _Any(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


def loading_sum(fields: list[int]) -> int:
    return _Any(0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_damaged_files_are_refused_or_run(name, monkeypatch):
    hold(name, 600, 1, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_damaged_files_are_refused_or_run(name, monkeypatch):
    hold(name, 10_000, 2, monkeypatch)


NET = "def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) { nn.dense(%x, %w) }"


def test_large_constants_can_live_elsewhere(tmp_path, rng):
    w, x = rng.random((4, 8), "float32"), rng.random((2, 8), "float32")
    exe = compile(passlab.parse(NET), params={"w": w})
    expected = VirtualMachine(exe).run(x)
    exe.move_late_bound_consts(str(tmp_path / "consts"), 100)
    assert list(exe.late_bound.values()) == ["const_0"]
    with pytest.raises(RunError, match="const_0"):
        VirtualMachine(exe)
    loaded = Executable.load_exec(*exe.save())
    with pytest.raises(RunError, match="has no `const_0`"):
        loaded.load_late_bound_consts_from_map({})
    with pytest.raises(RunError, match="does not need"):
        loaded.load_late_bound_consts_from_map({"const_0": w, "more": w})
    loaded.load_late_bound_consts(str(tmp_path / "consts"))
    np.testing.assert_array_equal(VirtualMachine(loaded).run(x), expected)


def test_damaged_constants_are_refused(tmp_path, rng):
    exe = compile(passlab.parse(NET), params={"w": rng.random((4, 8), "float32")})
    exe.move_late_bound_consts(str(tmp_path / "consts"), 100)
    data = (tmp_path / "consts").read_bytes()
    for bad in (b"", data[:-1], data[:40], b"x" + data[1:]):
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(VerifyError, match="constants"):
            exe.load_late_bound_consts(str(tmp_path / "bad"))
    with pytest.raises(RunError, match="could not be read"):
        exe.load_late_bound_consts(str(tmp_path / "none"))


def test_late_constants_are_arrays(rng):
    exe = compile(passlab.parse(NET), params={"w": rng.random((4, 8), "float32")})
    x = rng.random((2, 8), "float32")
    expected = VirtualMachine(exe).run(x)
    late = exe.get_late_bound_consts(1)
    for bad in (None, "x", [object()], (1, 2), lambda: 1):
        with pytest.raises(RunError, match="const_"):
            exe.load_late_bound_consts_from_map({**late, "const_0": bad})
    exe.load_late_bound_consts_from_map({n: a.astype(a.dtype.newbyteorder(">")) for n, a in late.items()})
    np.testing.assert_array_equal(VirtualMachine(exe).run(x), expected)
