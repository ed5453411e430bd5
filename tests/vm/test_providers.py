"""Kernels of other packages compute what NumPy's do. Each part is skipped where its package is not installed."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab.devices import cpu, cuda
from passlab.errors import RunError
from passlab.vm import VirtualMachine, compile
from tests.vm.programs import PROGRAMS

NET = """
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %d: Tensor[(5, 64), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 0, 1, 2], channels=4, kernel_size=[3, 3]);
  %1 = nn.max_pool2d(nn.relu(%0), pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %2 = nn.dense(nn.batch_flatten(%1), %d);
  (nn.softmax(%2), mean(%0, axis=[1], keepdims=True, exclude=True), cumsum(%2, axis=1))
}
"""
ARITHMETIC = """
def @main(%x: Tensor[(4, 5), float32], %y: Tensor[(5), float32]) {
  nn.relu(%x * %y + 2f) * (%x - 3f) / maximum(abs(%y), 0.5f)
}
"""


def net_arguments(rng):
    shapes = ((1, 3, 8, 8), (4, 3, 3, 3), (5, 64))
    return [rng.random(s, "float32") - 0.5 for s in shapes]


def close(a, b):
    if isinstance(a, tuple):
        assert isinstance(b, tuple)
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            close(x, y)
    else:
        assert isinstance(a, np.ndarray)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def agree(text, args, target, providers, **options):
    mod = passlab.parse(text)
    vm = VirtualMachine(compile(mod, target), providers=providers, **options)
    close(vm.run(*args), VirtualMachine(compile(mod)).run(*args))
    return vm


class TestTorch:
    @pytest.fixture(autouse=True)
    def needs_torch(self):
        pytest.importorskip("torch")

    @pytest.mark.parametrize(("target", "providers"), [("llvm", "torch"), ("cuda", {"cuda": "torch"})])
    @pytest.mark.parametrize("name", PROGRAMS)
    def test_programs_give_the_same(self, name, target, providers, rng):
        text, make = PROGRAMS[name]
        agree(text, make(rng), target, providers)

    @pytest.mark.parametrize("memory", [None, "naive", "pooled"])
    @pytest.mark.parametrize(("target", "providers"), [("llvm", "torch"), ("cuda", {"cuda": "torch"})])
    def test_a_network_gives_the_same(self, target, providers, memory, rng):
        vm = agree(NET, net_arguments(rng), target, providers, memory_cfg=memory)
        elsewhere = [op for k in vm.machine.exe.kernels for op in getattr(k, "on_numpy", [])]
        assert elsewhere == ["cumsum"]  # the one that is not exactly PyTorch's

    def test_arrays_lie_on_the_device_and_leave_it_as_numpy(self, rng):
        import torch

        seen = []
        vm = agree(ARITHMETIC, [rng.random((4, 5), "float32"), rng.random(5, "float32")], "cuda", {"cuda": "torch"})
        vm.machine.start(0, [vm.providers[1].to_device(np.ones(s, "float32")) for s in ((4, 5), (5,))])
        vm.machine.observed_run(lambda i, registers, s: seen.extend(type(r) for r in registers))
        assert torch.Tensor in seen

    def test_dtypes_that_pytorch_lacks_stay_with_numpy(self):
        import ml_dtypes

        mod = passlab.parse("def @main(%x: Tensor[(2), bfloat16]) { %x + %x }")
        x = np.array([1, 2], ml_dtypes.bfloat16)
        for providers in ("torch", {"cuda": "torch"}):
            vm = VirtualMachine(compile(mod, "cuda" if isinstance(providers, dict) else None), providers=providers)
            result = vm.run(x)
            assert result.dtype == x.dtype
            assert result.tolist() == [2, 4]

    def test_read_only_and_reversed_arrays_are_taken_as_they_are(self, rng):
        x = rng.random((4, 5), "float32")[::-1]
        y = rng.random(5, "float32")
        y.flags.writeable = False
        agree(ARITHMETIC, [x, y], "llvm", "torch")

    def test_an_operator_that_fails_is_told_with_its_place(self):
        text = "def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(?, 3), float32]) { nn.dense(%x, %y) }"
        vm = VirtualMachine(compile(passlab.parse(text)), providers="torch")
        kernel = next(k for k in vm.machine.exe.kernels if hasattr(k, "on_numpy"))
        with pytest.raises(RunError, match=r"`nn\.dense` failed on PyTorch") as caught:
            kernel.value(np.ones((2, 3), "float32"), np.ones((2, 4), "float32"))
        assert "nn.dense(%x, %y)" in str(caught.value)

    def test_a_storage_holds_what_fits(self):
        from passlab.vm.kernels.torch_provider import TorchProvider

        storage = TorchProvider(cuda()).storage(16, 1)
        assert tuple(storage.tensor(8, (2,), np.dtype("float32")).shape) == (2,)
        with pytest.raises(RunError, match="does not fit a storage of 16 bytes at 8"):
            storage.tensor(8, (3,), np.dtype("float32"))


class TestNumba:
    @pytest.fixture(autouse=True)
    def needs_numba(self):
        pytest.importorskip("numba")

    def kernel(self, text):
        vm = VirtualMachine(compile(passlab.parse(text)), providers="numba")
        (kernel,) = vm.machine.exe.kernels
        return vm, kernel

    @pytest.mark.parametrize("memory", [None, "naive"])
    def test_a_fused_group_is_one_loop(self, memory, rng):
        vm = agree(
            ARITHMETIC, [rng.random((4, 5), "float32"), rng.random(5, "float32")], "llvm", "numba", memory_cfg=memory
        )
        (kernel,) = vm.machine.exe.kernels
        assert kernel.source.startswith("import numpy as np\n")
        assert "np.float32(p0 * p1)" in kernel.source

    @pytest.mark.parametrize(
        "text",
        [
            "def @main(%x: Tensor[(3), float32]) { exp(%x + 1f) }",
            "def @main(%x: Tensor[(3), int32]) { %x * 2 + 1 }",
            "def @main(%x: Tensor[(3), float32]) { abs(%x) }",
        ],
    )
    def test_what_numpy_does_as_well_stays_with_numpy(self, text):
        assert not hasattr(self.kernel(text)[1], "source")

    def test_it_computes_on_cpus_alone(self):
        from passlab.vm.kernels.numba_provider import NumbaProvider

        assert NumbaProvider(cpu(1)).native

    @pytest.mark.parametrize("times", [1, 2])
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize(
        ("size", "window", "attrs"),
        [
            (14, (3, 3), "padding=[1, 1, 1, 1]"),
            (15, (3, 3), "strides=[2, 2], padding=[1, 0, 1, 2]"),
            (112, (3, 3), "padding=[1, 1, 1, 1]"),
            (12, (5, 4), "strides=[3, 1], dilation=[1, 2], padding=[2, 3, 2, 3]"),
        ],
    )
    def test_depthwise_windows_agree_with_numpy(self, size, window, attrs, dtype, times, rng):
        shape = f"Tensor[(2, 6, {size}, {size}), {dtype}]"
        weight = f"Tensor[({6 * times}, 1, {window[0]}, {window[1]}), {dtype}]"
        text = f"""def @main(%x: {shape}, %w: {weight}) {{
            nn.relu(nn.conv2d(%x, %w, {attrs}, groups=6, channels={6 * times}, kernel_size=[{window[0]}, {window[1]}]))
        }}"""
        args = [rng.standard_normal((2, 6, size, size)), rng.standard_normal((6 * times, 1, *window))]
        args = [a.astype(dtype) for a in args]
        vm, _ = self.kernel(text)
        expected = VirtualMachine(compile(passlab.parse(text))).run(*args)
        np.testing.assert_allclose(vm.run(*args), expected, rtol=1e-5, atol=1e-5)

    def test_what_is_not_a_number_stays_in_its_window(self, rng):
        text = """def @main(%x: Tensor[(1, 2, 8, 8), float32], %w: Tensor[(2, 1, 3, 3), float32]) {
            nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=2, channels=2, kernel_size=[3, 3]) }"""
        x = rng.random((1, 2, 8, 8), "float32")
        x[0, 1, 3, 7] = np.nan
        result = self.kernel(text)[0].run(x, rng.random((2, 1, 3, 3), "float32"))
        assert np.argwhere(np.isnan(result))[:, 1:].tolist() == [[1, y, c] for y in (2, 3, 4) for c in (6, 7)]
