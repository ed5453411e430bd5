"""Kernels of PyTorch and oneDNN compute what NumPy's do; skipped where PyTorch is not installed."""

from __future__ import annotations

import numpy as np
import pytest

import passlab
from passlab.devices import cuda
from passlab.errors import RunError
from passlab.ir.expr import Call
from passlab.ir.walk import post_order
from passlab.vm import VirtualMachine, compile
from passlab.vm.report import VirtualMachineProfiler
from tests.vm.programs import PROGRAMS
from tests.vm.provider_programs import (
    ARITHMETIC,
    CONVOLUTIONS,
    ENDINGS,
    IMAGE,
    NET,
    agree,
    check_convolution,
    close_sums,
    convolution,
    net_arguments,
    run_on,
)

MIXED = """
def @main(%x: Tensor[(4), float32], %i: Tensor[(2), int32], %s: Tensor[(2), int32], %u: Tensor[(3), uint16]) {
  (sigmoid(%x), unravel_index(%i, %s), %u + %u)
}
"""


@pytest.mark.nightly
class TestTorch:
    @pytest.fixture(autouse=True)
    def needs_torch(self, monkeypatch):
        pytest.importorskip("torch")
        from passlab.vm.kernels import torch_provider

        monkeypatch.setattr(torch_provider, "SMALL", 0)  # small kernels would be NumPy's

    @pytest.mark.parametrize(("target", "providers"), [("llvm", "torch"), ("cuda", {"cuda": "torch"})])
    @pytest.mark.parametrize("name", PROGRAMS)
    def test_programs_give_the_same(self, name, target, providers, rng):
        text, make = PROGRAMS[name]
        agree(text, make(rng), target, providers)

    @pytest.mark.parametrize("threads", [1, 2])
    @pytest.mark.parametrize("memory", [None, "naive", "pooled"])
    @pytest.mark.parametrize(("target", "providers"), [("llvm", "torch"), ("cuda", {"cuda": "torch"})])
    def test_a_network_gives_the_same(self, target, providers, memory, threads, rng, monkeypatch):
        import torch

        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        vm = agree(NET, net_arguments(rng), target, providers, memory_cfg=memory)
        elsewhere = [op for k in vm.machine.exe.kernels for op in getattr(k, "on_numpy", [])]
        # A product of one row is as fast on one thread of NumPy.
        assert elsewhere == (["nn.dense"] if target == "llvm" and threads == 1 else [])

    @pytest.mark.parametrize(
        ("threads", "units", "kind"), [(1, 999, "Kernel"), (2, 999, "TorchKernel"), (2, 9, "Kernel")]
    )
    def test_threads_of_numpy_do_not_stand_in_the_way_of_pytorchs(self, threads, units, kind, rng, monkeypatch):
        import torch

        from passlab.vm.kernels import torch_provider

        monkeypatch.setattr(torch_provider, "SMALL", 1 << 13)
        monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
        text = f"def @main(%x: Tensor[(1, 99), float32], %w: Tensor[({units}, 99), float32]) {{ nn.dense(%x, %w) }}"
        args = [rng.random((1, 99), "float32"), rng.random((units, 99), "float32")]
        (kernel,) = agree(text, args, "llvm", "torch").machine.exe.kernels
        assert type(kernel).__name__ == kind

    def test_arrays_lie_on_the_device_and_leave_it_as_numpy(self, rng):
        import torch

        seen = []
        vm = agree(ARITHMETIC, [rng.random((4, 5), "float32"), rng.random(5, "float32")], "cuda", {"cuda": "torch"})
        vm.machine.start(0, [vm.providers[1].to_device(np.ones(s, "float32")) for s in ((4, 5), (5,))])
        vm.machine.run_observed(lambda i, registers, s: seen.extend(type(r) for r in registers))
        assert torch.Tensor in seen

    def test_each_kernel_says_where_it_runs_and_why(self):
        exe = compile(passlab.parse(MIXED), "cuda")
        assert [row[3:] for row in exe.placement({"cuda": "torch"}).rows] == [
            ("torch on cpu", ""),
            ("numpy", "the table of PyTorch's operators has no `unravel_index`"),
            ("numpy", "PyTorch computes `add` of uint16 otherwise, or not at all"),
        ]
        with pytest.raises(RunError, match="there is no provider of kernels `tensorflow`"):
            exe.placement("tensorflow")

    @pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
    def test_recurrent_layers_and_regions_stay_on_the_device(self, rng, mode):
        gates = {"lstm": 4, "gru": 3, "rnn_tanh": 1}[mode]
        text = f"""def @main(%x: Tensor[(5, 2, 3), float32], %w: Tensor[(2, {4 * gates}, 3), float32],
            %r: Tensor[(2, {4 * gates}, 4), float32], %rois: Tensor[(2, 5), float32]) {{
              %0 = contrib.recurrent(%x, %w, %r, (), mode="{mode}", direction="bidirectional");
              contrib.roi_align(%0.0, %rois, pooled_size=[2, 2], spatial_scale=1f)
            }}"""
        exe = compile(passlab.parse(text), "cuda")
        assert {row[3:] for row in exe.placement({"cuda": "torch"}).rows} == {("torch on cpu", "")}
        rois = np.array([[0, 0, 0, 2, 2], [4, 0, 1, 1, 4]], "float32")
        arrays = [rng.random(s, "float32") for s in ((5, 2, 3), (2, 4 * gates, 3), (2, 4 * gates, 4))]
        agree(text, [*arrays, rois], "cuda", {"cuda": "torch"})

    def test_a_profile_runs_on_the_device_and_says_where(self, rng):
        vm = VirtualMachineProfiler(compile(passlab.parse(NET), "cuda"), providers={"cuda": "torch"})
        report = vm.profile(*net_arguments(rng))
        rows = [row for row in report.rows() if row["Name"].startswith("fused_")]
        assert {row["Runs on"] for row in rows} == {"torch on cpu"}
        (shapes,) = (row["Argument Shapes"] for row in rows if "conv2d" in row["Name"])
        assert shapes.startswith("float32[1, 3, 8, 8], float32[4, 3, 3, 3]")

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


@pytest.mark.nightly
class TestOneDnn:
    """What PyTorch has oneDNN compute: weights kept in its order, and what follows a product in one go."""

    @pytest.fixture(autouse=True)
    def needs_torch(self, monkeypatch):
        pytest.importorskip("torch")
        from passlab.vm.kernels import torch_provider

        monkeypatch.setattr(torch_provider, "SMALL", 0)

    @pytest.mark.parametrize("bound", [True, False])
    @pytest.mark.parametrize("ending", ENDINGS)
    @pytest.mark.parametrize("kind", CONVOLUTIONS)
    def test_a_convolution_and_what_follows_it_agree_with_numpy(self, kind, ending, bound):
        check_convolution("torch", kind, ending, bound)

    @pytest.mark.parametrize("memory", ["naive", "pooled"])
    def test_results_are_written_where_they_are_planned(self, memory):
        check_convolution("torch", "plain", "bias, sum, relu", memory_cfg=memory)

    @pytest.mark.parametrize(
        ("end", "parts"),
        [("%0", 1), ("nn.relu(%0)", 1), ("nn.relu(%0 + %b)", 1), ("%0 + %b + %r", 1), ("nn.relu(%0 + %b + %r)", 1),
         ("tanh(%0 + %b)", 2), ("nn.relu(nn.relu(%0))", 2), ("%0 + %b + %r + %r", 2)],
    )  # fmt: skip
    def test_products_of_matrices_agree_with_numpy_and_take_what_follows(self, end, parts, rng):
        from passlab.vm.kernels.torch_provider import fuse, users_in

        text = f"""def @main(%x: Tensor[(9, 33), float32], %w: Tensor[(17, 33), float32], %b: Tensor[(17), float32],
            %r: Tensor[(9, 17), float32]) {{ %0 = nn.dense(%x, %w); {end} }}"""
        arrays = [rng.standard_normal(s).astype("float32") for s in ((9, 33), (17, 33), (17,), (9, 17))]
        params = dict(zip("wbr", arrays[1:], strict=True))
        mod = passlab.parse(text)
        close_sums(run_on("torch", mod, params, arrays[0]), run_on("numpy", mod, params, arrays[0]))
        main = passlab.transform.InferType()(mod)["main"]
        calls = [node for node in post_order(main.body) if isinstance(node, Call)]
        taken = fuse(calls[0], users_in(main))
        assert len([call for call in calls if call not in taken.inside]) == parts

    def test_a_weight_that_may_change_is_read_at_every_run(self):
        mod, arrays, x = convolution("plain", "bias")
        vm = VirtualMachine(compile(mod), providers="torch")
        vm.run(x, *arrays.values())
        arrays["w"] *= 2
        arrays["b"] += 1
        close_sums(vm.run(x, *arrays.values()), run_on("numpy", mod, {}, x, *arrays.values()))

    def test_what_is_remembered_of_an_array_goes_with_it(self):
        pytest.importorskip("torch")
        from passlab.vm.kernels.torch_provider import FrozenCache

        results = []
        remember = FrozenCache(lambda array: results.append(1) or array.sum())
        array = np.ones(3)
        assert [remember(array), remember(array), len(results)] == [3, 3, 2]  # it may be written to
        array.flags.writeable = False
        assert [remember(array), remember(array), len(results), len(remember.entries)] == [3, 3, 3, 1]
        assert remember(array[:2]) == 2  # a part of an array may belong to one that is written to
        del array
        assert not remember.entries

    def test_what_is_not_a_number_stays_in_its_window(self):
        mod, arrays, x = convolution("plain", "alone")
        x[1, 3, 8, 7], x[0, 0, 0, 0] = np.nan, np.inf
        result, expected = (run_on(p, mod, arrays, x) for p in ("torch", "numpy"))
        np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
        np.testing.assert_array_equal(result[np.isinf(expected)], expected[np.isinf(expected)])

    def test_the_padding_of_a_maximum_is_the_least_number(self):
        mod = passlab.parse(f"""def @main(%x: {IMAGE}) {{
            nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]) }}""")
        x = np.full((2, 6, 9, 8), -np.inf, "float32")
        x[0, 0, 8, 7], x[1, 1, 4, 4] = np.nan, 3
        np.testing.assert_array_equal(run_on("torch", mod, {}, x), run_on("numpy", mod, {}, x))
