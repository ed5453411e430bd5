"""What was built, as one file: what is loaded is what was saved, bytes are reproducible, and bad bytes end in an error."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import passlab
from passlab import limits, relay
from passlab.errors import PasslabError, RunError, RunTypeError, VerifyError
from passlab.executor import AOTExecutorFactory, GraphExecutorFactory, load_module
from passlab.executor.factories import read_library
from passlab.vm import Executable, KernelLibrary, VirtualMachine
from passlab.vm.files.library_file import pack, unpack
from tests.vm.programs import PROGRAMS, same
from tests.vm.test_devices import two_devices
from tests.vm.test_files import damaged

NET = """
def @bias(%x: Tensor[(2, 4), float32]) -> Tensor[(2, 4), float32] { %x + 1.5f }
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32], %n: bfloat16) {
  %0 = nn.relu(@bias(nn.dense(%x, %w))); (sum(%0, axis=[1]), reshape(%0, newshape=[8]), %n + %n)
}
"""
W = np.arange(32, dtype="float32").reshape(4, 8) - 16
X = np.ones((2, 8), "float32")
N = np.ones((), relay.create_executor().evaluate(relay.cast(relay.const(1.0), "bfloat16")).dtype)


def built(kind: str, **more):
    return relay.build(passlab.parse(NET), executor=relay.backend.Executor(kind), params={"w": W}, **more)


def results(factory) -> list[np.ndarray]:
    module = factory["default"](passlab.cpu())
    module.run(x=X, n=N)
    return [module.get_output(i) for i in range(module.get_num_outputs())]


@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_a_loaded_library_is_the_saved_one(kind, tmp_path):
    saved = built(kind)
    saved.export_library(tmp_path / "net.lib")
    loaded = passlab.runtime.load_module(str(tmp_path / "net.lib"))
    assert type(loaded) is type(saved)
    assert loaded.file() == saved.file() == built(kind).file()
    for got, expected in zip(results(loaded), results(saved), strict=True):
        assert same(got, expected)
    assert loaded.libmod_name == "default"
    assert (loaded.get_executor_config() is None) == (kind == "aot")


def test_a_loaded_graph_has_all_that_was_built(tmp_path):
    built("graph", mod_name="mine").export_library(tmp_path / "net.lib", fcompile=None, workspace_dir=tmp_path)
    loaded = load_module(tmp_path / "net.lib")
    saved = built("graph", mod_name="mine")
    assert loaded["get_graph_json"]() == saved.get_graph_json() == loaded.get_executor_config()
    assert loaded.get_lib() == saved.get_lib()
    assert list(loaded["get_graph_params"]()) == ["p0"]
    debug = loaded["debug_create"]("mine", passlab.cpu())
    debug.run(x=X, n=N)
    np.testing.assert_array_equal(debug.debug_get_output("p0"), W)
    bare = loaded["remove_params"]()
    with pytest.raises(RunError, match="not set: p0"):
        bare["mine"](passlab.cpu()).run(x=X, n=N)


def test_inputs_keep_the_names_that_text_had_to_change(tmp_path):
    """Names in a text are told apart over all its functions; those of inputs are what callers know."""
    mod = passlab.parse(
        "def @a(%x: int32) -> int32 { if (%x == 0) { 0 } else { @a(%x - 1) } } def @main(%x: int32) { @a(%x) }"
    )
    relay.build(mod, executor="aot").export_library(tmp_path / "net.lib")
    module = load_module(tmp_path / "net.lib")["default"]()
    module.run(x=np.int32(3))
    assert int(module.get_output(0)) == 0


def test_inputs_that_are_tuples_keep_their_fields(tmp_path):
    text = "def @main(%t: ((float32, (Tensor[(2), float32],)), ()), %u: ()) { (%t.0.1.0 * %t.0.0, %t, %u) }"
    relay.build(passlab.parse(text)).export_library(tmp_path / "net.lib")
    loaded = load_module(tmp_path / "net.lib")
    assert loaded.file() == relay.build(passlab.parse(text)).file()
    module = loaded.module()
    module.run(t=((np.float32(2), (np.float32([1, 3]),)), ()), u=())
    np.testing.assert_array_equal(module.get_output(0), np.float32([2, 6]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_ahead_of_time_and_executables_go_through_files(name, tmp_path, rng):
    text, make = PROGRAMS[name]
    args = make(rng)
    exe = relay.vm.compile(passlab.parse(text))
    exe.mod.export_library(tmp_path / "exe.lib")
    loaded = load_module(tmp_path / "exe.lib")
    assert isinstance(loaded, Executable)
    assert loaded.save() == exe.save()
    expected = VirtualMachine(exe).run(*args)
    assert same(VirtualMachine(loaded, passlab.cpu()).run(*args), expected)
    relay.build(passlab.parse(text), executor="aot").export_library(tmp_path / "net.lib")
    module = load_module(tmp_path / "net.lib").module()
    for number, value in enumerate(args):
        module.set_input(number, value)
    module.run()
    got = tuple(module.get_output(i) for i in range(module.get_num_outputs()))
    assert same(got, expected if isinstance(expected, tuple) else (expected,))


def test_devices_go_through_a_file(tmp_path, rng):
    mod, expected = two_devices(passlab.cuda(0))
    relay.build(mod).export_library(tmp_path / "net.lib")
    loaded = load_module(tmp_path / "net.lib")
    assert loaded.graph_json == relay.build(mod).graph_json
    x, y = rng.random(2, "float32"), rng.random(2, "float32")
    module = loaded.module()
    module.run(x=x, y=y)
    np.testing.assert_allclose(module.get_output(0), expected(x, y), rtol=1e-6)


def test_kernels_alone_are_text(tmp_path):
    code, lib = relay.vm.compile(passlab.parse(NET)).save()
    lib.export_library(tmp_path / "lib.relay")
    loaded = load_module(tmp_path / "lib.relay")
    assert isinstance(loaded, KernelLibrary)
    assert loaded.get_source() == lib.text
    assert Executable.load_exec(code, loaded).save() == (code, lib)


@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_every_cut_is_refused(kind):
    data = built(kind).file()
    for end in [*range(0, len(data), 7), len(data) - 1]:
        with pytest.raises(VerifyError):
            read_library(data[:end])
    with pytest.raises(VerifyError):
        read_library(data + b"\0")


def resealed(kind: str, parts: list[bytes], rng: random.Random) -> bytes:
    """The file of parts of which one is damaged, with checksums that say nothing of it."""
    at = rng.randrange(len(parts))
    parts[at] = damaged(parts[at], rng) if len(parts[at]) > 64 else parts[at][1:] + bytes([rng.randrange(256)])
    return pack(kind, parts)


def hold(kind: str, count: int, seed: int) -> None:
    """Load damaged files, in half of them with the checksums made right again, and run what can be loaded."""
    data = built(kind).file()
    rng = random.Random(seed)
    refused = 0
    for _ in range(count):
        try:
            if rng.random() < 0.5:
                read = read_library(damaged(data, rng))
            else:
                name, parts = unpack(data)
                read = read_library(resealed(name, parts, rng))
            assert isinstance(read, GraphExecutorFactory | AOTExecutorFactory)
            with limits.override(tensor_bytes=10**7, live_bytes=10**7):
                module = read.module()
                for number in range(module.get_num_inputs()):
                    if module.get_input(number) is None:
                        module.set_input(number, [X, N][number] if number < 2 else 0)
                module.run()
        except PasslabError:
            refused += 1
    assert refused > count // 2


@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_damaged_files_are_refused_or_run(kind):
    hold(kind, 300, 1)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_many_damaged_files_are_refused_or_run(kind):
    hold(kind, 10_000, 2)


def with_part(kind: str, number: int, part: bytes) -> bytes:
    name, parts = unpack(built(kind).file())
    parts[number] = part
    return pack(name, parts)


def test_a_graph_and_its_kernels_must_fit():
    _, parts = unpack(built("graph").file())
    swapped = parts[1].replace(b"float32", b"float64")
    with pytest.raises(VerifyError, match="differ from the inputs of its kernel"):
        read_library(with_part("graph", 1, swapped))
    with pytest.raises(VerifyError, match="no kernel"):
        read_library(with_part("graph", 2, b""))
    with pytest.raises(VerifyError, match="no input for the parameter `q`"):
        read_library(with_part("graph", 3, relay.save_param_dict({"q": W})))
    with pytest.raises(VerifyError, match="does not fit"):
        read_library(with_part("graph", 3, relay.save_param_dict({"p0": W[1:]})))
    with pytest.raises(VerifyError, match="not text"):
        read_library(with_part("graph", 0, b"\xff"))


def test_a_program_is_relay_and_nothing_else():
    with pytest.raises(VerifyError, match="not well-formed"):
        read_library(with_part("aot", 2, b"import os"))
    with pytest.raises(VerifyError, match="no function `main`"):
        read_library(with_part("aot", 2, b"def @f() { 1 }"))
    with pytest.raises(VerifyError, match="3 inputs are named"):
        read_library(with_part("aot", 1, struct.pack("<Q", 3) + 3 * (struct.pack("<Q", 1) + b"x")))
    with pytest.raises(VerifyError, match="numbered"):
        read_library(with_part("aot", 3, relay.save_param_dict({"7": W})))


def test_what_is_no_library_is_told(tmp_path):
    path = tmp_path / "x.lib"
    path.write_bytes(b"\x7fELF\xff\xfe")
    with pytest.raises(VerifyError, match="not text"):
        load_module(path)
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(VerifyError, match="not a library of passlab"):
        load_module(path)
    path.write_bytes(pack("poem", (b"",)))
    with pytest.raises(VerifyError, match="kind 'poem' with 1 parts"):
        load_module(path)
    old = pack("graph", ()).replace(b"passlab-library 1", b"passlab-library 9")
    with pytest.raises(VerifyError, match="version"):
        read_library(old)
    for bad in (None, 3, b"x.lib", ["x.lib"]):
        with pytest.raises(RunTypeError, match="name of a file"):
            load_module(bad)
        with pytest.raises(RunTypeError, match="name of a file"):
            built("graph").export_library(bad)
    for missing in (tmp_path / "none.lib", tmp_path, "\0"):
        with pytest.raises(RunError):
            load_module(missing)
    with pytest.raises(RunError, match="could not be written"):
        built("graph").export_library(tmp_path / "no" / "net.lib")


def test_the_format_is_the_documented_one():
    data = pack("graph", (b"ab", b""))
    head = b"PLIB\r\n\x1a\n"
    assert data[:8] == head
    version, kind = b"passlab-library 1", b"graph"
    parts = b"".join(struct.pack("<Q", len(p)) + p + struct.pack("<I", zlib.crc32(p)) for p in (b"ab", b""))
    assert data[8:] == struct.pack("<Q", len(version)) + version + struct.pack("<Q", len(kind)) + kind + parts


@pytest.mark.skipif(not Path("/dev/zero").is_char_device(), reason="the system has no /dev/zero")
def test_a_device_without_an_end_is_no_library():
    with pytest.raises(RunError, match="/dev/zero is a device"):
        load_module("/dev/zero")
