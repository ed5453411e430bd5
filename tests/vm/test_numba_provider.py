"""Kernels that Numba compiles compute what NumPy's do; skipped where Numba is not installed."""

from __future__ import annotations

import math
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import passlab
from passlab.devices import cpu
from passlab.vm import VirtualMachine, compile
from tests.vm.provider_programs import (
    ARITHMETIC,
    CONVOLUTIONS,
    ENDINGS,
    agree,
    check_convolution,
    close_sums,
    convolution,
    run_on,
)


class TestCompiledConvolutions:
    """What Numba compiles: planes of the image, sums in registers, and what follows them."""

    @pytest.fixture(autouse=True)
    def needs_numba(self):
        pytest.importorskip("numba")

    @pytest.mark.parametrize("bound", [True, False])
    @pytest.mark.parametrize("ending", ENDINGS)
    @pytest.mark.parametrize("kind", CONVOLUTIONS)
    def test_a_convolution_and_what_follows_it_agree_with_numpy(self, kind, ending, bound):
        check_convolution("numba", kind, ending, bound)

    @pytest.mark.parametrize("memory", ["naive", "pooled"])
    @pytest.mark.parametrize("ending", ["bias, sum, relu", "twice itself"])
    def test_results_are_written_where_they_are_planned(self, ending, memory):
        check_convolution("numba", "plain", ending, memory_cfg=memory)

    def test_a_weight_that_may_change_is_read_at_every_run(self):
        mod, arrays, x = convolution("plain", "bias")
        vm = VirtualMachine(compile(mod), providers="numba")
        vm.run(x, *arrays.values())
        arrays["w"] *= 2
        close_sums(vm.run(x, *arrays.values()), run_on("numpy", mod, {}, x, *arrays.values()))

    @settings(max_examples=150, deadline=None)
    @given(st.data())
    def test_any_window_gives_the_sums_of_the_definition(self, data):
        """Exact: whole numbers, whose sums are exact in any order."""
        from passlab.infer import infer_module
        from passlab.vm.kernels import numba_convolution

        def draw(low, high, name):
            return data.draw(st.integers(low, high), name)

        groups, inputs, each = draw(1, 3, "groups"), draw(1, 3, "inputs"), draw(1, 11, "outputs")
        kernel = [draw(1, 4, "window") for _ in range(2)]
        strides, dilation = ([draw(1, 3, name) for _ in range(2)] for name in ("strides", "dilation"))
        pads = [draw(0, 3, "padding") for _ in range(4)]
        extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        size = [max(draw(1, 40, "size"), e - a - b) for e, a, b in zip(extent, pads[:2], pads[2:], strict=True)]
        shape, weight = (draw(1, 2, "samples"), groups * inputs, *size), (groups * each, inputs, *kernel)
        call = infer_module(
            passlab.parse(f"""def @main(%x: Tensor[{shape}, float32], %w: Tensor[{weight}, float32]) {{
            nn.conv2d(%x, %w, strides={strides}, padding={pads}, dilation={dilation}, groups={groups},
                      channels={groups * each}, kernel_size={kernel}) }}""")
        )["main"].body
        rng = np.random.default_rng(draw(0, 99, "seed"))
        x, w = (rng.integers(-9, 10, sizes).astype("float32") for sizes in (shape, weight))
        padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
        views = np.lib.stride_tricks.sliding_window_view(padded, extent, (2, 3))
        views = views[:, :, :: strides[0], :: strides[1], :: dilation[0], :: dilation[1]]
        views = views.reshape(shape[0], groups, inputs, *views.shape[2:])
        sums = np.einsum("ngiyxkl,goikl->ngoyx", views, w.reshape(groups, each, inputs, *kernel))
        expected = sums.reshape(shape[0], groups * each, *sums.shape[3:])
        bias, other = rng.integers(-9, 10, groups * each), rng.integers(-9, 10, expected.shape)
        bias, other = bias.astype("float32"), other.astype("float32")
        ended, threads = np.maximum(expected + bias[:, None, None] + other, 0), draw(1, 3, "threads")
        with pytest.MonkeyPatch.context() as patch:  # small pieces, in threads that share them
            patch.setattr(numba_convolution, "loop_threads", lambda: threads)
            patch.setattr(numba_convolution, "PARALLEL_OPERATIONS", 0)
            patch.setattr(numba_convolution, "FEWEST_POSITIONS", 8)
            patch.setattr(numba_convolution, "DATA_BYTES", draw(1, 4000, "bytes"))
            compute, ending = (numba_convolution.convolution(call, relu) for relu in (False, True))
        np.testing.assert_array_equal(compute(x, w), expected)
        np.testing.assert_array_equal(ending(x, w, bias, other), ended)

    @pytest.mark.parametrize("threads", [2, 3])
    @pytest.mark.parametrize(("rows", "units", "inputs"), [(1, 77, 19), (3, 5, 400), (2, 1, 1)])
    def test_products_of_a_few_rows_are_the_definitions(self, rows, units, inputs, threads, rng, monkeypatch):
        """Exact: whole numbers, whose sums are exact in any order."""
        from passlab.vm.kernels import numba_convolution

        monkeypatch.setattr(numba_convolution, "LARGE_WEIGHT", 0)
        monkeypatch.setattr(numba_convolution, "loop_threads", lambda: threads)
        x, w = (rng.integers(-9, 10, shape).astype("float32") for shape in ((rows, inputs), (units, inputs)))
        types = f"%x: Tensor[{x.shape}, float32], %w: Tensor[{w.shape}, float32]"
        mod = passlab.parse(f"def @main({types}) {{ nn.relu(nn.dense(%x, %w) + 3f) }}")
        expected, used = np.maximum(x @ w.T + 3, 0), []
        monkeypatch.setattr(
            numba_convolution,
            "multiply_rows",
            lambda *a, run=numba_convolution.multiply_rows: (used.append(1), run(*a)),
        )
        for memory in (None, "naive"):
            np.testing.assert_array_equal(run_on("numba", mod, {}, x, w, memory_cfg=memory), expected)
            np.testing.assert_array_equal(run_on("numba", mod, {"w": w}, x, memory_cfg=memory), expected)
        assert len(used) >= 4

    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_any_transposed_window_gives_what_numpy_gives(self, data):
        """Exact: whole numbers, whose sums are exact in any order."""
        from passlab.vm.kernels import numba_transposed

        def draw(low, high, name):
            return data.draw(st.integers(low, high), name)

        kernel, strides = ([draw(1, 4, name) for _ in range(2)] for name in ("window", "strides"))
        strides = [min(s, k) for s, k in zip(strides, kernel, strict=True)]
        size = [draw(2, 20, "size") for _ in range(2)]
        pads = [draw(0, k - 1, "padding") for k in kernel] * 2
        shape, weight = (draw(1, 2, "samples"), draw(1, 3, "inputs"), *size), (draw(1, 11, "outputs"), *kernel)
        attrs = f"strides={strides}, padding={pads}, channels={weight[0]}, kernel_size={kernel}"
        attrs += f", output_padding={[draw(0, s - 1, 'output_padding') for s in strides]}"
        rng = np.random.default_rng(draw(0, 99, "seed"))
        x, w = (rng.integers(-9, 10, sizes).astype("float32") for sizes in (shape, (shape[1], *weight)))
        types = f"%x: Tensor[{x.shape}, float32], %w: Tensor[{w.shape}, float32]"
        mod = passlab.parse(f"def @main({types}) {{ nn.conv2d_transpose(%x, %w, {attrs}) }}")
        call = passlab.transform.InferType()(mod)["main"].body
        assume(0 not in call.checked_type.concrete_shape)
        result = numba_transposed.transposed_convolution(call, relu=False)(x, w)
        np.testing.assert_array_equal(result, run_on("numpy", mod, {}, x, w))

    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize(("rows", "inputs", "units"), [(8, 5, 7), (9, 300, 48), (17, 513, 100)])
    def test_products_of_rows_with_a_constant_weight_are_the_definitions(
        self, rows, inputs, units, threads, rng, monkeypatch
    ):
        """Exact: whole numbers, whose sums are exact in any order."""
        from passlab.vm.kernels import numba_convolution

        monkeypatch.setattr(numba_convolution, "loop_threads", lambda: threads)
        monkeypatch.setattr(numba_convolution, "PARALLEL_OPERATIONS", 0)
        shapes = {"x": (rows, inputs), "w": (units, inputs), "b": (units,), "r": (rows, units)}
        x, w, b, r = arrays = [rng.integers(-9, 10, shape).astype("float32") for shape in shapes.values()]
        types = ", ".join(f"%{name}: Tensor[{shape}, float32]" for name, shape in shapes.items())
        mod = passlab.parse(f"def @main({types}) {{ nn.relu(nn.bias_add(nn.dense(%x, %w), %b) + %r) }}")
        expected = np.maximum(x @ w.T + b + r, 0)
        for bound in (("w", "b"), ("w",), ()):
            params = {name: array for name, array in zip(shapes, arrays, strict=True) if name in bound}
            args = [array for name, array in zip(shapes, arrays, strict=True) if name not in bound]
            for memory in (None, "naive"):
                np.testing.assert_array_equal(run_on("numba", mod, params, *args, memory_cfg=memory), expected)

    @pytest.mark.parametrize("memory", [None, "naive"])
    @pytest.mark.parametrize("start", ["nn.dense(%x, %w)", "%x"])
    def test_an_elementwise_end_is_one_loop_over_blocks(self, start, memory, rng):
        from passlab.vm.kernels.numba_elementwise import CompiledTail

        mod = passlab.parse(f"""def @main(%x: Tensor[(256, 640), float32], %w: Tensor[(640, 640), float32],
            %b: Tensor[(640), float32]) {{ %0 = {start}; %1 = concatenate((%0, %0), axis=1);
            %2 = strided_slice(%1, begin=[0, 0], end=[256, 640]); %3 = %2 + %b; %3 * (erf(%3 * 0.7f) + 1f) * 0.5f }}""")
        x = (4 * rng.standard_normal((256, 640))).astype("float32")
        x[0, :5] = np.nan, np.inf, -np.inf, 30, -30
        arrays = [(rng.standard_normal(shape) / 25).astype("float32") for shape in ((640, 640), (640,))]
        params = dict(zip("wb", arrays, strict=True))
        with passlab.transform.PassContext(opt_level=3):
            vm = VirtualMachine(compile(mod, params=params), providers="numba", memory_cfg=memory)
        assert any(isinstance(k._program.tail, CompiledTail) for k in vm.machine.exe.kernels if hasattr(k, "_program"))
        np.testing.assert_allclose(vm.run(x), run_on("numpy", mod, params, x), rtol=1e-5, atol=1e-4)

    def test_the_error_function_is_within_a_few_roundings(self):
        from passlab.vm.kernels import numba_elementwise

        source = f"{numba_elementwise.ERF_SOURCE}def kernel(p0):\n    return erf(p0)\n"
        x = np.concatenate([np.linspace(-5, 5, 20_001), [1e-30, np.inf, -np.inf]]).astype("float32")
        result = numba_elementwise.compiled_loop(source, "float32", 1)(x)
        np.testing.assert_allclose(result, [math.erf(v) for v in x.astype(float)], rtol=5e-7)
        assert np.abs(result).max() == 1
        assert np.isnan(numba_elementwise.compiled_loop(source, "float32", 1)(np.float32("nan")))

    @pytest.mark.parametrize("kind", ["plain", "depthwise"])
    def test_eight_threads_run_one_compiled_convolution(self, kind, monkeypatch):
        from passlab.vm.kernels import numba_convolution

        monkeypatch.setattr(numba_convolution, "loop_threads", lambda: 2)
        monkeypatch.setattr(numba_convolution, "PARALLEL_OPERATIONS", 0)
        mod, arrays, x = convolution(kind, "alone")
        compute = numba_convolution.convolution(passlab.transform.InferType()(mod)["main"].body, relu=False)
        images, arrays["w"] = [np.rint(x) * scale for scale in range(1, 17)], np.rint(3 * arrays["w"])
        with ThreadPoolExecutor(8) as pool:
            results = [*pool.map(lambda image: compute(image, arrays["w"]), images)]
        for image, result in zip(images, results, strict=True):  # exact: sums of whole numbers
            np.testing.assert_array_equal(result, run_on("numpy", mod, arrays, image))

    @pytest.mark.parametrize("size", [(64, 40), (3, 7000)])
    def test_large_images_are_computed_some_rows_at_a_time(self, size, monkeypatch):

        mod = passlab.parse(
            f"""def @main(%x: Tensor[(1, 200, {size[0]}, {size[1]}), float32]) {{
            nn.conv2d(%x, meta[relay.Constant][0]) }}
            """.replace("meta[relay.Constant][0]", 'ones(shape=[9, 200, 1, 1], dtype="float32")')
        )
        x = np.random.default_rng(0).standard_normal((1, 200, *size)).astype("float32")
        mod = passlab.transform.FoldConstant()(passlab.transform.InferType()(mod))
        expected = np.broadcast_to(x.sum(1, dtype="float64", keepdims=True), (1, 9, *size))
        np.testing.assert_allclose(run_on("numba", mod, {}, x), expected, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("threads", [1, 3])
    @pytest.mark.parametrize("step", [1, 2])
    @pytest.mark.parametrize("outputs", [16, 72])
    def test_places_that_lie_a_page_apart_give_the_sums_of_the_definition(self, outputs, step, threads, monkeypatch):
        """Exact: whole numbers. The last block of channels is a vector, or a part of one."""
        from passlab.vm.kernels import numba_convolution

        monkeypatch.setattr(numba_convolution, "loop_threads", lambda: threads)
        rng = np.random.default_rng(outputs)
        x, w = (rng.integers(-2, 3, shape).astype("float32") for shape in ((2, 1024, 13, 11), (outputs, 1024, 1, 1)))
        text = f"""def @main(%x: Tensor[(2, 1024, 13, 11), float32], %w: Tensor[({outputs}, 1024, 1, 1), float32]) {{
            nn.relu(nn.conv2d(%x, %w, strides=[{step}, {step}], channels={outputs}, kernel_size=[1, 1])) }}"""
        expected = np.maximum(np.einsum("ncyx,oc->noyx", x[:, :, ::step, ::step], w[:, :, 0, 0]), 0)
        np.testing.assert_array_equal(run_on("numba", passlab.parse(text), {"w": w}, x), expected)

    def test_what_is_not_a_number_stays_in_its_window(self):
        mod, arrays, x = convolution("plain", "relu")
        x[1, 3, 8, 7], x[0, 0, 0, 0] = np.nan, np.inf
        result, expected = (run_on(p, mod, arrays, x) for p in ("numba", "numpy"))
        np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
        np.testing.assert_array_equal(result[np.isinf(expected)], expected[np.isinf(expected)])


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
            "def @main(%x: Tensor[(9, 9), float32], %y: Tensor[(9, 1), float32]) { %x / sqrt(%y + 1f) }",
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


def test_kept_machine_code_belongs_to_its_instructions():
    """Numba compiles again where the file of the loops changes; the sum in it changes with the instructions."""
    pytest.importorskip("numba")
    from passlab.vm.kernels import (
        numba_blocks,
        numba_copies,
        numba_images,
        numba_loops,
        numba_reductions,
        numba_rows,
        numba_tiles,
    )

    for loops, instructions in (
        (numba_loops, (numba_blocks, numba_rows)),
        (numba_reductions, (numba_blocks, numba_rows)),
        (numba_copies, (numba_blocks, numba_rows)),
        (numba_images, (numba_blocks, numba_rows, numba_tiles, numba_copies)),
    ):
        text = "".join([Path(module.__file__).read_text("utf-8") for module in instructions])
        assert zlib.crc32(text.encode()) == loops.INSTRUCTIONS, f"write this sum into {loops.__name__}"


def test_the_sums_of_a_tile_fit_into_the_registers():
    """Sums that do not fit are written to memory in every turn, which takes twice the time."""
    pytest.importorskip("numba")
    from passlab.vm.kernels.numba_blocks import BLOCK_ROWS, LANES, PANEL, REGISTERS
    from passlab.vm.kernels.numba_tiles import PLACES, WIDE

    weights, number, groups = WIDE // LANES, 1, 2
    assert groups * max(PLACES) * weights + weights + number <= REGISTERS
    assert BLOCK_ROWS * PANEL // LANES + PANEL // LANES + number <= REGISTERS


def test_tiles_for_sixteen_registers_fill_rows_of_any_length():
    """No place is computed twice; tiles for 32 registers are larger, and the last one of a row may overlap."""
    pytest.importorskip("numba")
    from passlab.vm.kernels import numba_channels
    from passlab.vm.kernels.numba_images import _edge_of
    from passlab.vm.kernels.numba_tiles import PLACES

    for width in range(1, 100):
        many, less = numba_channels.groups_of(width)
        edge = _edge_of(width, many, less)
        if numba_channels.REGISTERS == 16:
            assert many in PLACES
            assert less in PLACES
            assert edge % many == 0 == (width - edge) % less
        else:
            assert (many, edge) == (less, width)


class TestCompiledPooling:
    """What Numba compiles of pooling: planes of each channel, maxima or sums in registers."""

    @pytest.fixture(autouse=True)
    def needs_numba(self):
        pytest.importorskip("numba")

    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_any_window_gives_what_numpy_gives(self, data):
        """Maxima are exact, with what is not a number; means of whole numbers are one division."""
        from passlab.vm.kernels import numba_convolution

        def draw(low, high, name):
            return data.draw(st.integers(low, high), name)

        name, kernel = data.draw(st.sampled_from(("max", "avg"))), [draw(1, 4, "window") for _ in range(2)]
        strides, dilation = ([draw(1, 3, name) for _ in range(2)] for name in ("strides", "dilation"))
        pads = [draw(0, k - 1, "padding") for k in kernel * 2]
        size = [draw((k - 1) * d + 1, 70, "size") for k, d in zip(kernel, dilation, strict=True)]
        more = f", count_include_pad={draw(0, 1, 'counts') == 1}" if name == "avg" else ""
        attrs = f"pool_size={kernel}, strides={strides}, dilation={dilation}, padding={pads}{more}"
        attrs += f", ceil_mode={draw(0, 1, 'ceil') == 1}"
        shape = (draw(1, 2, "samples"), draw(1, 5, "channels"), *size)
        mod = passlab.parse(f"def @main(%x: Tensor[{shape}, float32]) {{ nn.{name}_pool2d(%x, {attrs}) }}")
        x = np.random.default_rng(draw(0, 99, "seed")).integers(-9, 10, shape).astype("float32")
        for value in (np.nan, np.inf, -np.inf):
            x[tuple([draw(0, n - 1, "place") for n in shape])] = value
        expected, threads = run_on("numpy", mod, {}, x), draw(1, 3, "threads")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(numba_convolution, "loop_threads", lambda: threads)
            patch.setattr(numba_convolution, "PARALLEL_OPERATIONS", 0)
            for memory in (None, "naive"):
                result = run_on("numba", mod, {}, x, memory_cfg=memory)
                (np.testing.assert_array_equal if name == "max" else close_sums)(result, expected)


class TestChannelsLast:
    """Images stay with their channels last in memory from one compiled kernel to the next."""

    @pytest.fixture(autouse=True)
    def needs_numba(self):
        pytest.importorskip("numba")

    ENDS = (
        "nn.relu({0})",
        "{0} + %b",
        "nn.bias_add({0}, %c)",
        "nn.relu({0} * %b + %b)",
        "nn.relu({0}) + %b",
        "leaky_relu",
        "sigmoid({0})",
    )

    MIDDLES = (
        "{0}",
        "nn.max_pool2d({0}, pool_size=[3, 3], strides=[2, 2])",
        "nn.avg_pool2d({0}, pool_size=[2, 2], padding=[1, 1])",
        "concatenate(({0}, nn.relu({0} + %b)), axis=1)",
    )

    @pytest.mark.parametrize("memory", [None, "naive"])
    @pytest.mark.parametrize("end", ENDS)
    @pytest.mark.parametrize("middle", MIDDLES)
    def test_what_follows_a_convolution_agrees_with_numpy(self, middle, end, memory, rng):
        channels = 48 if "concatenate" in middle else 24
        types = "%x: Tensor[(2, 3, 23, 30), float32], %w: Tensor[(24, 3, 3, 3), float32]"
        middle = middle.replace("%b", "%a")
        form = end.format("%1") if "(" in end or "+" in end else "nn.leaky_relu(%1, alpha=0.1f)"
        mod = passlab.parse(f"""def @main({types}, %a: Tensor[(24, 1, 1), float32],
            %b: Tensor[({channels}, 1, 1), float32], %c: Tensor[({channels}), float32]) {{
            %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]); %1 = {middle.format("%0")}; {form} }}""")
        shapes = {"w": (24, 3, 3, 3), "a": (24, 1, 1), "b": (channels, 1, 1), "c": (channels,)}
        params = {name: rng.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
        x = rng.standard_normal((2, 3, 23, 30)).astype("float32")
        result = run_on("numba", mod, params, x, memory_cfg=memory)
        close_sums(result, run_on("numpy", mod, params, x))

    @pytest.mark.parametrize("memory", [None, "naive"])
    def test_a_scale_behind_a_sum_is_part_of_its_kernel(self, memory, rng):
        types = (
            "%x: Tensor[(1, 8, 9, 9), float32], %y: Tensor[(1, 24, 9, 9), float32], %w: Tensor[(24, 8, 3, 3), float32]"
        )
        mod = passlab.parse(f"""def @main({types}, %a: Tensor[(24, 1, 1), float32]) {{
            %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]) + %y; nn.relu(%0 * %a + %a) }}""")
        shapes = {"w": (24, 8, 3, 3), "a": (24, 1, 1)}
        params = {name: rng.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
        args = [rng.standard_normal(shape).astype("float32") for shape in ((1, 8, 9, 9), (1, 24, 9, 9))]
        with passlab.transform.PassContext(opt_level=3):
            machine = VirtualMachine(compile(mod, params=params), providers="numba", memory_cfg=memory)
        kinds = [type(kernel).__name__ for kernel in machine.machine.exe.kernels]
        assert kinds.count("ScaledKernel") == 1
        close_sums(machine.run(*args), run_on("numpy", mod, params, *args))

    def test_images_are_joined_as_they_lie_in_memory(self, rng):
        from passlab.vm.kernels.numba_channels import is_last

        mod = passlab.parse("""def @main(%x: Tensor[(1, 16, 9, 9), float32], %y: Tensor[(1, 5, 9, 9), float32],
            %b: Tensor[(21, 1, 1), float32]) { nn.relu(concatenate((%x, %y), axis=1) + %b) }""")
        x, y, b = (rng.standard_normal(shape).astype("float32") for shape in ((1, 16, 9, 9), (1, 5, 9, 9), (21, 1, 1)))
        turned = [a.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2) for a in (x, y)]
        vm = VirtualMachine(compile(mod), providers="numba")
        expected = np.maximum(np.concatenate((x, y), 1) + b, 0)
        (kernel,) = vm.machine.exe.kernels
        for args in ((x, y), turned, (x, turned[1])):
            result = kernel.value(*args, b)
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(vm.run(*args, b), expected)
            assert is_last(result) == (args[1] is turned[1])

    def test_a_picture_of_three_channels_is_turned(self, rng):
        from passlab.vm.kernels.numba_channels import last

        for shape in ((1, 3, 1, 5), (2, 3, 5, 9), (1, 3, 4, 4), (2, 5, 9, 8), (1, 1, 3, 3)):
            x = rng.standard_normal(shape).astype("float32")
            np.testing.assert_array_equal(last(x), x.transpose(0, 2, 3, 1))

    def test_memory_of_results_is_used_again_when_no_array_looks_at_it(self):
        from passlab.vm.kernels.reused_memory import aligned

        first = aligned((2, 3, 50))
        view, address = first[1:], first.__array_interface__["data"][0]
        assert address % 64 == 0
        del first
        second = aligned((2, 3, 50))
        assert not np.may_share_memory(view, second)
        del view
        assert aligned((300,)).__array_interface__["data"][0] == address
