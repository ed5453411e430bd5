"""Programs that run on several providers of kernels, and how their results are compared."""

from __future__ import annotations

import numpy as np

import passlab
from passlab.vm import VirtualMachine, compile

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


IMAGE = "Tensor[(2, 6, 9, 8), float32]"
CONVOLUTIONS = {  # what follows -> the attributes, shape of the weight, channels of the result
    "plain": ("nn.conv2d", "padding=[1, 1], kernel_size=[3, 3], channels=4", (4, 6, 3, 3)),
    "uneven": ("nn.conv2d", "padding=[1, 0, 2, 1], strides=[2, 1], kernel_size=[3, 2], channels=5", (5, 6, 3, 2)),
    "dilated": ("nn.conv2d", "padding=[2, 2], dilation=[2, 2], kernel_size=[3, 3], channels=4", (4, 6, 3, 3)),
    "groups": ("nn.conv2d", "groups=3, kernel_size=[1, 1], channels=9", (9, 2, 1, 1)),
    "depthwise": ("nn.conv2d", "padding=[1, 1], groups=6, kernel_size=[3, 3], channels=12", (12, 1, 3, 3)),
    "multiplied": ("nn.conv2d", "groups=6, kernel_size=[3, 3], channels=12", (6, 2, 3, 3)),
    "transposed": ("nn.conv2d_transpose", "strides=[2, 2], output_padding=[1, 0], kernel_size=[3, 3], channels=4",
                   (6, 4, 3, 3)),
    "shrunk": ("nn.conv2d_transpose", "strides=[2, 3], padding=[1, 1], kernel_size=[4, 4], channels=4", (6, 4, 4, 4)),
}  # fmt: skip
ENDINGS = {
    "alone": "%0",
    "relu": "nn.relu(%0)",
    "bias": "add(%0, %b)",
    "bias, relu": "nn.relu(nn.bias_add(%0, squeeze(%b)))",
    "bias, sum, relu": "nn.relu(add(add(%0, %b), %r))",
    "sum the other way": "nn.relu(add(%r, %0))",
    "sum, then bias": "add(add(%0, %r), %b)",
    "twice itself": "add(%0, %0)",
    "used twice": "(add(%0, %b), nn.relu(%0))",
}


def convolution(kind, ending):
    """Return a program on data alone, its weight, bias and residual constants, and those."""
    rng = np.random.default_rng(1)
    operator, attrs, shape = CONVOLUTIONS[kind]
    text = f"def @main(%x: {IMAGE}, %w: Tensor[{shape}, float32]) {{ {operator}(%x, %w, {attrs}) }}"
    size = passlab.transform.InferType()(passlab.parse(text))["main"].ret_type.concrete_shape
    types = {"w": shape, "b": (size[1], 1, 1), "r": size}
    parameters = ", ".join(f"%{name}: Tensor[{sizes}, float32]" for name, sizes in types.items())
    text = f"def @main(%x: {IMAGE}, {parameters}) {{ %0 = {operator}(%x, %w, {attrs}); {ENDINGS[ending]} }}"
    arrays = {name: rng.standard_normal(sizes).astype("float32") for name, sizes in types.items()}
    return passlab.parse(text), arrays, rng.standard_normal((2, 6, 9, 8)).astype("float32")


def run_on(provider, mod, params, *args, **options):
    with passlab.transform.PassContext(opt_level=3):
        return VirtualMachine(compile(mod, params=params), providers=provider, **options).run(*args)


def check_convolution(provider, kind, ending, bound=True, **options):
    mod, arrays, x = convolution(kind, ending)
    params, args = (arrays, [x]) if bound else ({}, [x, *arrays.values()])
    close_sums(run_on(provider, mod, params, *args, **options), run_on("numpy", mod, params, *args))


def close_sums(a, b):
    for x, y in zip(a if isinstance(a, tuple) else (a,), b if isinstance(b, tuple) else (b,), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)
