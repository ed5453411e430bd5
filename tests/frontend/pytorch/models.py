"""Models in PyTorch, with the arguments they are exported with: `python -m tests.frontend.pytorch.models` stores them.

A stored case is a program in the neutral form, arguments, and what PyTorch makes of them, so that the reader is tested
where torch is not installed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from passlab.frontend.pytorch.entries import entries
from passlab.frontend.pytorch.program import Program, to_data
from passlab.frontend.pytorch.torch_program import program_of

PROGRAMS = Path(__file__).parent / "programs"
CASES: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]], dict[str, Any]]] = {}


def case(name: str, *arguments: Any, **export: Any) -> Callable[[Any], Any]:
    """Enter a class or a function into the cases. Arguments are shapes of floats, or tensors as they are."""

    def entered(model: Any) -> Any:
        made = model if isinstance(model, type) else (lambda: Plain(model))
        CASES[name] = (made, lambda: tuple(_argument(a) for a in arguments), export)
        return model

    return entered


class Plain(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def _argument(given: Any) -> Any:
    if isinstance(given, tuple):
        return torch.randn(given) if all(isinstance(part, int) for part in given) else tuple(map(_argument, given))
    return given


def ints(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(3))


BATCH = torch.export.Dim("batch", min=2, max=64)
ROWS = torch.export.Dim("rows", min=3, max=64)


@case("mlp", (2, 8), dynamic_shapes=({0: BATCH},))
class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4), nn.Softmax(dim=-1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@case("cnn", (2, 3, 12, 12), dynamic_shapes=({0: BATCH},))
class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3, stride=2, padding="valid"), nn.LeakyReLU(0.1), nn.AdaptiveAvgPool2d(1),
        )  # fmt: skip
        self.head = nn.Linear(6, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.flatten(self.features(x), 1))


@case("resnet_block", (1, 4, 8, 8))
class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(4, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(8)
        self.down = nn.Sequential(nn.Conv2d(4, 8, 1, stride=2, bias=False), nn.BatchNorm2d(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += self.down(x)
        return F.relu(y)


@case("inverted_residual", (1, 4, 8, 8))
class Inverted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(4, 12, 1), nn.Hardswish(), nn.Conv2d(12, 12, 3, padding=2, dilation=2, groups=12), nn.ReLU6(),
            nn.Conv2d(12, 4, 1),
        )  # fmt: skip
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 2, 1), nn.SiLU(), nn.Conv2d(2, 4, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layers(x)
        return x + y * F.hardsigmoid(self.squeeze(y))


@case("attention", (2, 5, 8), dynamic_shapes=({0: BATCH, 1: ROWS},))
class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, rows, width = x.shape
        parts = self.qkv(x).view(batch, rows, 3, 2, 4).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        scores = (q @ k.transpose(-2, -1)) * 0.5
        mixed = torch.softmax(scores, -1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, rows, width))


@case("causal_attention", (1, 2, 5, 4), (1, 2, 5, 4), (1, 2, 5, 4))
def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@case("transformer_layer", (2, 4, 8))
class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


@case("rnn_cell", (3, 4), (3, 6))
class Cell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(4, 6)
        self.gru = nn.GRUCell(4, 6)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.cell(x, state), self.gru(x, state)


@case("language_model", ints(10, 2, 5))
class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(10, 8)
        self.places = nn.Parameter(torch.randn(1, 16, 8))
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 10, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places[:, : tokens.shape[1]]
        return F.log_softmax(self.head(self.norm(x)), dim=-1)


@case("norms", (2, 6, 4, 4))
class Norms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.GroupNorm(3, 6), nn.InstanceNorm2d(6, affine=True), nn.LayerNorm([6, 4, 4]), nn.BatchNorm2d(6)]
        )
        self.rms = nn.RMSNorm(4)

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [layer(x) for layer in self.layers] + [self.rms(x), F.normalize(x, dim=1)]


@case("poolings", (1, 3, 9, 9))
def poolings(x: torch.Tensor) -> dict[str, torch.Tensor]:
    top, places = F.max_pool2d(x, 3, stride=2, padding=1, return_indices=True)
    return {
        "max": top, "places": places,
        "ceil": F.max_pool2d(x, 2, ceil_mode=True),
        "mean": F.avg_pool2d(x, 3, stride=2, padding=1),
        "inside": F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        "adaptive": F.adaptive_avg_pool2d(x, (4, 5)), "adaptive_max": F.adaptive_max_pool2d(x, (3, 2)),
        "line": F.max_pool1d(x[0], 3), "line_mean": F.avg_pool1d(x[0], 2),
    }  # fmt: skip


@case("pads", (1, 2, 4, 5))
def pads(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.pad(x, (1, 2, 0, 3), value=2.5), F.pad(x, (2, 1, 1, 1), mode="reflect"),
        F.pad(x, (1, 1, 2, 0), mode="replicate"), F.pad(x, (-1, 1)),
    )  # fmt: skip


@case("interpolate", (1, 2, 4, 6))
def interpolate(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.interpolate(x, scale_factor=2, mode="nearest"), F.interpolate(x, size=(7, 5), mode="bilinear"),
        F.interpolate(x, size=(8, 3), mode="bilinear", align_corners=True), F.interpolate(x, size=(6, 9), mode="bicubic"),
        F.interpolate(x, scale_factor=(1.5, 2.3), mode="bilinear"), F.interpolate(x[0], size=9, mode="linear"),
        F.interpolate(x, size=(3, 5), mode="nearest"),
    )  # fmt: skip


@case("joined_and_parted", (4, 6), (4, 2))
def joined(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a, b = torch.split(torch.cat([x, y], 1), [3, 5], 1)
    c = torch.chunk(x, 4, dim=1)
    return a, b, c[-1], torch.stack([y, y * 2], 1), torch.unbind(y, 1)[1], torch.tensor_split(x, 4, 1)[0]


@case("gathered", (4, 5), ints(4, 3, 5), ints(4, 6))
def gathered(x: torch.Tensor, rows: torch.Tensor, line: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.gather(x, 0, rows), torch.index_select(x, 0, line), x[line], x[:, line], x[line, line - 4],
        x.unsqueeze(0)[:, line, line], x[line[:, None], torch.tensor([0, 2])], torch.take_along_dim(x, rows, 0),
        x[..., -1], x[1], x[1:, ::2], torch.take(x, line),
    )  # fmt: skip


@case("scattered", (4, 5), ints(4, 3, 5), (3, 5))
def scattered(x: torch.Tensor, rows: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.clone()
    y[1:3, ::2] = 7
    y[:, 0] = values[0, 0]
    z = x.clone()
    z[torch.tensor([0, 2])] = values[:2]
    w = x.clone()
    w[w > 0] = 0
    return (
        x.scatter_add(0, rows, values), torch.zeros(4, 5).scatter(0, rows[:1], 1.5), y, z, w,
        x.index_add(0, torch.tensor([0, 0, 3]), values), x.scatter_reduce(0, rows, values, "amax"),
        torch.zeros(5, 4).index_put((rows[0], rows[1]), values[0], accumulate=True),
    )  # fmt: skip


@case("masks", (3, 4), (3, 4))
def masks(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    mask = (x > y) & ~torch.isnan(x) | (y >= 2.0)
    return torch.where(mask, x, y), x.masked_fill(mask, -1e9), torch.where(x < 0, 0.0, x), mask.any(1), mask.all(), mask


@case("sequences", (3, 5))
def sequences(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    top, places = torch.topk(x, 2, dim=1)
    ordered, order = torch.sort(x, dim=0, descending=True)
    return (
        torch.cumsum(x, 1), torch.cumprod(x, 0), top, places, ordered, order, torch.argsort(x, dim=1),
        torch.argmax(x, 1), torch.argmin(x), torch.argmax(x, 0, keepdim=True), x.max(1).values, x.min(0).indices,
    )  # fmt: skip


@case("activations", (3, 4))
def activations(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.hardswish(x), F.mish(x), F.softplus(x), F.elu(x),
        F.selu(x), F.celu(x, 0.7), F.logsigmoid(x), F.hardtanh(x), F.relu6(x), F.threshold(x, 0.1, 5.0), F.glu(x, 1),
        F.softsign(x), F.prelu(x, torch.tensor([0.25])), F.tanhshrink(x), F.softmin(x, 0), F.leaky_relu(x, 0.2),
    )  # fmt: skip


@case("products", (2, 3, 4), (2, 4, 5), (4, 4))
def products(a: torch.Tensor, b: torch.Tensor, m: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.einsum("bij,bjk->bik", a, b), torch.einsum("bij,kj", a, m), torch.bmm(a, b), a @ m, m @ b, m @ m[0],
        torch.addmm(m[0], m, m, beta=0.5, alpha=2), torch.baddbmm(torch.ones(2, 1, 5), a, b), torch.outer(m[0], m[1]),
        m[0] @ m[1], torch.addmm(m[0], m, m),
    )  # fmt: skip


@case("convolutions", (2, 4, 9), (1, 2, 4, 5, 4))
class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Conv1d(4, 6, 3, padding="same", groups=2)
        self.line_up = nn.ConvTranspose1d(4, 3, 4, stride=2, padding=1)
        self.volume = nn.Conv3d(2, 3, (1, 3, 2), stride=(1, 2, 1), padding=(0, 1, 1))
        self.volume_up = nn.ConvTranspose3d(2, 2, 2, stride=2)
        self.up = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)

    def forward(self, line: torch.Tensor, volume: torch.Tensor) -> tuple[torch.Tensor, ...]:
        image = line.reshape(2, 4, 3, 3)
        return self.line(line), self.line_up(line), self.volume(volume), self.volume_up(volume), self.up(image)


@case("super_resolution", (1, 3, 4, 4))
class SuperResolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = F.pixel_shuffle(self.conv(x), 2)
        return y, F.channel_shuffle(F.pixel_unshuffle(y, 2), 4)


@case("dynamic_shapes", (3, 4, 6), dynamic_shapes=(({0: BATCH, 1: ROWS},),))
def dynamic(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    batch, rows, width = x.shape
    return (
        x.reshape(batch * rows, width), x.flatten(1), x.view(batch, -1), x.mean(1), x[:, -1], x[:, : rows - 1],
        torch.zeros(batch, 2) + x[:, 0, :2], x.transpose(0, 1).reshape(rows, batch * width),
        x.new_ones(batch, rows).cumsum(1), torch.arange(rows) + x.sum((0, 2)).long() * 0, x.var(1),
        x.unsqueeze(1).expand(batch, 2, rows, width),
    )  # fmt: skip


@case("buffers", (2, 3))
class Buffers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("shift", torch.tensor(0.5), persistent=False)
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x * self.scale + self.shift + torch.tensor([[1.0], [2.0]])


@case("several_outputs", ((2, 3), (2, 3)), kwargs={"extra": (3,), "flag": True})
def several(pair: Any, *, extra: torch.Tensor, flag: bool) -> dict[str, Any]:
    a, b = pair
    return {"sum": a + b if flag else a - b, "nested": (a * extra, [b, None]), "count": a.shape[0]}


@case("integers", ints(20, 3, 4), ints(5, 3, 4).to(torch.int32) + 1)
def integers(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        a + b, a - 2 * b, a // b, (-a) // b, a % b, torch.fmod(-a, b), torch.div(-a, b, rounding_mode="trunc"), a / b,
        a & b, a | 3, a ^ b, ~a, a << 2, b >> 1, a.float() * 0.5, a.sum(), a.prod(1), a.clamp(2, 9), a.abs(), -a, a == b,
        a.to(torch.uint8), (a > 3).sum(0), a.max(), a**2, torch.bitwise_and(a > 2, b > 2), a + 1.5, a.bool(),
    )  # fmt: skip


@case("movements", (2, 3, 4))
def movements(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x.expand(5, 2, 3, 4), x[:, :1].expand(-1, 6, 4), x.permute(2, 0, 1), x.view(6, 4), x.reshape(-1, 2), x.squeeze(),
        x.unsqueeze(1).squeeze(1), x[:, 1:3, ::2], x.select(1, -1), x.flip(0, 2), x.roll(1, 2), x.roll((1, 2), (0, 1)),
        x.roll(3), x.repeat(2, 1, 1, 2), x.repeat_interleave(2, 1), x.tile(2), x.tril(1), x.triu(), x[0].t(),
        x.diagonal(0, 1, 2), torch.diagonal(x, -1), x.movedim(0, 2), x.unfold(2, 2, 1), torch.rot90(x[0]),
        x.as_strided((2, 2), (1, 3), 1), x.narrow(2, 1, 2), x.unflatten(2, (2, -1)), *torch.meshgrid(x[0, 0], x[0, :, 0]),
    )  # fmt: skip


@case("reductions", (2, 3, 4))
def reductions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x.sum(), x.sum((0, 2)), x.mean(-1, keepdim=True), x.mean(), x.amax(1), x.amin((0, 1)), x.max(), x.min(),
        x.prod(), x.prod(2), x.var(), x.var(1, unbiased=False), x.std((0, 1)), x.norm(), x.norm(1, 1), x.logsumexp(2),
        torch.var_mean(x, 2)[0], torch.linalg.vector_norm(x, 3, dim=1), torch.cdist(x, x), x.std(1, keepdim=True),
        torch.aminmax(x)[1], x.abs().max(1)[1],
    )  # fmt: skip


@case("functions", (3, 4))
def functions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.abs() + 0.1
    return (
        x.clamp(-0.5, 0.5), x.clamp(min=0.1), x.clamp(max=y), x**2, y**0.5, y**x, 2**x, x**3, y.rsqrt(), x.erf(), x.exp(),
        y.log(), y.log2(), y.log10(), y.log1p(), x.expm1(), x.sin(), x.cos(), x.tan(), x.sinh(), x.cosh(), x.tanh(),
        x.atan(), torch.asin(x.tanh()), torch.acos(x.tanh()), x.asinh(), (y + 1).acosh(), torch.atanh(x.tanh()),
        torch.atan2(x, x.flip(0)), x.round(), x.floor(), x.ceil(), x.trunc(), x.sign(), x.reciprocal(), y.sqrt(),
        torch.remainder(x, 0.7), torch.fmod(x, 0.7), x.sigmoid(), 1 - x, torch.maximum(x, y), torch.minimum(x, y),
        torch.nan_to_num(x / 0), torch.lerp(x, y, 0.3), torch.addcmul(x, y, y, value=0.5), torch.hypot(x, y), x.frac(),
        (x * 10).round(decimals=1), x.isinf(), x.isfinite(), torch.logaddexp(x, y), torch.special.expit(x), x // 0.3,
    )  # fmt: skip


@case("grid_sample", (1, 2, 4, 4), (1, 3, 3, 2))
def grid(x: torch.Tensor, points: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.grid_sample(x, points, align_corners=False),
        F.grid_sample(x, points, mode="nearest", padding_mode="border", align_corners=True),
    )


@case("creations", (2, 3))
def creations(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.zeros(2, 3) + x, torch.ones_like(x), torch.full((2,), 7), torch.arange(1, 9, 3), torch.eye(3),
        torch.linspace(0, 1, 5), x.new_full((1,), 2.5), torch.full_like(x, 3), torch.arange(0, 1, 0.25),
        torch.tril_indices(3, 3), F.one_hot(torch.arange(3), 4), x.new_zeros(2).fill_(1),
    )  # fmt: skip


@case("half_precision", torch.randn(2, 4, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16))
class Half(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3).to(torch.bfloat16)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.layer(x).float(), (x * 2).to(torch.float16)


@case("value_dependent", (3, 4), ints(2, 3, 4).bool())
def value_dependent(x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.nonzero(mask), torch.masked_select(x, mask)


@case("grouped_query_attention", (1, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), ints(2, 1, 1, 3, 5).bool())
def grouped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask | (torch.arange(5) == 0), scale=0.3, enable_gqa=True)


# ------------------------------------------------------------ storing
def exported(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the ExportedProgram of a case, with its arguments."""
    torch.manual_seed(0)
    made, arguments, export = CASES[name]
    model = made().eval()
    for buffer in model.buffers():  # statistics that are no identity
        if buffer.is_floating_point() and buffer.dim() == 1:
            buffer.uniform_(0.5, 1.5)
    args, export = arguments(), dict(export)
    kwargs = {key: _argument(value) for key, value in export.pop("kwargs", {}).items()}
    return torch.export.export(model, args, kwargs, **export), args, kwargs


def flat(value: Any) -> list[Any]:
    """Return the tensors of arguments and results in PyTorch's order; numbers are tensors of no dimension."""
    leaves = torch.utils._pytree.tree_leaves(value)
    return [leaf if isinstance(leaf, torch.Tensor) else torch.tensor(leaf) for leaf in leaves if leaf is not None]


def array(tensor: Any) -> np.ndarray[Any, Any]:
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.float().numpy().astype(ml_dtypes.bfloat16)
    return tensor.detach().numpy()


def stored(name: str) -> dict[str, Any]:
    """Return a case as data."""
    program, args, kwargs = exported(name)
    data = to_data(program_of(program, frozenset(entries())))
    module = program.module()
    results = [array(t) for t in flat(module(*args, **kwargs))]
    if len(data["results"]) > len(results):  # what is written into buffers comes behind
        results += [array(dict(module.named_buffers())["count"])]
    inputs = [array(leaf) for leaf in flat((args, kwargs)) if leaf.dtype != torch.bool or leaf.dim()]
    kept = {f"input{at}": value for at, value in enumerate(inputs)}
    kept |= {f"result{at}": value for at, value in enumerate(results)}
    return {
        "program": data,
        "arrays": to_data(Program("", (), (), (), kept))["weights"],
    }


def main(names: list[str]) -> None:
    for name in names or CASES:
        print(name, flush=True)
        text = json.dumps(stored(name), separators=(",", ":"), sort_keys=True)
        (PROGRAMS / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
