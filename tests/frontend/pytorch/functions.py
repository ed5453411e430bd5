"""Operators of PyTorch, many in one model."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontend.pytorch.cases import BATCH, HEIGHT, ROWS, case, ints


@case("poolings", (1, 3, 9, 9))
def poolings(x: torch.Tensor) -> dict[str, torch.Tensor]:
    top, places = F.max_pool2d(x, 3, stride=2, padding=1, return_indices=True)
    return {
        "max": top,
        "places": places,
        "ceil": F.max_pool2d(x, 2, ceil_mode=True),
        "mean": F.avg_pool2d(x, 3, stride=2, padding=1),
        "inside": F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        "adaptive": F.adaptive_avg_pool2d(x, (4, 5)),
        "adaptive_max": F.adaptive_max_pool2d(x, (3, 2)),
        "line": F.max_pool1d(x[0], 3),
        "line_mean": F.avg_pool1d(x[0], 2),
    }


@case("pads", (1, 2, 4, 5))
def pads(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.pad(x, (1, 2, 0, 3), value=2.5),
        F.pad(x, (2, 1, 1, 1), mode="reflect"),
        F.pad(x, (1, 1, 2, 0), mode="replicate"),
        F.pad(x, (-1, 1)),
    )


@case("interpolate", (1, 2, 4, 6))
def interpolate(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.interpolate(x, scale_factor=2, mode="nearest"),
        F.interpolate(x, size=(7, 5), mode="bilinear"),
        F.interpolate(x, size=(8, 3), mode="bilinear", align_corners=True),
        F.interpolate(x, size=(6, 9), mode="bicubic"),
        F.interpolate(x, scale_factor=(1.5, 2.3), mode="bilinear"),
        F.interpolate(x[0], size=9, mode="linear"),
        F.interpolate(x, size=(3, 5), mode="nearest"),
    )


@case("joined_and_parted", (4, 6), (4, 2))
def joined(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    a, b = torch.split(torch.cat([x, y], 1), [3, 5], 1)
    c = torch.chunk(x, 4, dim=1)
    return a, b, c[-1], torch.stack([y, y * 2], 1), torch.unbind(y, 1)[1], torch.tensor_split(x, 4, 1)[0]


@case("gathered", (4, 5), ints(4, 3, 5), ints(4, 6))
def gathered(x: torch.Tensor, rows: torch.Tensor, line: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.gather(x, 0, rows),
        torch.index_select(x, 0, line),
        x[line],
        x[:, line],
        x[line, line - 4],
        x.unsqueeze(0)[:, line, line],
        x[line[:, None], torch.tensor([0, 2])],
        torch.take_along_dim(x, rows, 0),
        x[..., -1],
        x[1],
        x[1:, ::2],
        torch.take(x, line),
    )


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
        x.scatter_add(0, rows, values),
        torch.zeros(4, 5).scatter(0, rows[:1], 1.5),
        y,
        z,
        w,
        x.index_add(0, torch.tensor([0, 0, 3]), values),
        x.scatter_reduce(0, rows, values, "amax"),
        torch.zeros(5, 4).index_put((rows[0], rows[1]), values[0], accumulate=True),
    )


@case("masks", (3, 4), (3, 4))
def masks(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    mask = (x > y) & ~torch.isnan(x) | (y >= 2.0)
    return torch.where(mask, x, y), x.masked_fill(mask, -1e9), torch.where(x < 0, 0.0, x), mask.any(1), mask.all(), mask


@case("sequences", (3, 5))
def sequences(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    top, places = torch.topk(x, 2, dim=1)
    ordered, order = torch.sort(x, dim=0, descending=True)
    return (
        torch.cumsum(x, 1),
        torch.cumprod(x, 0),
        top,
        places,
        ordered,
        order,
        torch.argsort(x, dim=1),
        torch.argmax(x, 1),
        torch.argmin(x),
        torch.argmax(x, 0, keepdim=True),
        x.max(1).values,
        x.min(0).indices,
    )


@case("activations", (3, 4))
def activations(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.gelu(x),
        F.gelu(x, approximate="tanh"),
        F.silu(x),
        F.hardswish(x),
        F.mish(x),
        F.softplus(x),
        F.elu(x),
        F.selu(x),
        F.celu(x, 0.7),
        F.logsigmoid(x),
        F.hardtanh(x),
        F.relu6(x),
        F.threshold(x, 0.1, 5.0),
        F.glu(x, 1),
        F.softsign(x),
        F.prelu(x, torch.tensor([0.25])),
        F.tanhshrink(x),
        F.softmin(x, 0),
        F.leaky_relu(x, 0.2),
    )


@case("products", (2, 3, 4), (2, 4, 5), (4, 4))
def products(a: torch.Tensor, b: torch.Tensor, m: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.einsum("bij,bjk->bik", a, b),
        torch.einsum("bij,kj", a, m),
        torch.bmm(a, b),
        a @ m,
        m @ b,
        m @ m[0],
        torch.addmm(m[0], m, m, beta=0.5, alpha=2),
        torch.baddbmm(torch.ones(2, 1, 5), a, b),
        torch.outer(m[0], m[1]),
        m[0] @ m[1],
        torch.addmm(m[0], m, m),
    )


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
        x.reshape(batch * rows, width),
        x.flatten(1),
        x.view(batch, -1),
        x.mean(1),
        x[:, -1],
        x[:, : rows - 1],
        torch.zeros(batch, 2) + x[:, 0, :2],
        x.transpose(0, 1).reshape(rows, batch * width),
        x.new_ones(batch, rows).cumsum(1),
        torch.arange(rows) + x.sum((0, 2)).long() * 0,
        x.var(1),
        x.unsqueeze(1).expand(batch, 2, rows, width),
    )


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
        a + b,
        a - 2 * b,
        a // b,
        (-a) // b,
        a % b,
        torch.fmod(-a, b),
        torch.div(-a, b, rounding_mode="trunc"),
        a / b,
        a & b,
        a | 3,
        a ^ b,
        ~a,
        a << 2,
        b >> 1,
        a.float() * 0.5,
        a.sum(),
        a.prod(1),
        a.clamp(2, 9),
        a.abs(),
        -a,
        a == b,
        a.to(torch.uint8),
        (a > 3).sum(0),
        a.max(),
        a**2,
        torch.bitwise_and(a > 2, b > 2),
        a + 1.5,
        a.bool(),
    )


@case("movements", (2, 3, 4))
def movements(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x.expand(5, 2, 3, 4),
        x[:, :1].expand(-1, 6, 4),
        x.permute(2, 0, 1),
        x.view(6, 4),
        x.reshape(-1, 2),
        x.squeeze(),
        x.unsqueeze(1).squeeze(1),
        x[:, 1:3, ::2],
        x.select(1, -1),
        x.flip(0, 2),
        x.roll(1, 2),
        x.roll((1, 2), (0, 1)),
        x.roll(3),
        x.repeat(2, 1, 1, 2),
        x.repeat_interleave(2, 1),
        x.tile(2),
        x.tril(1),
        x.triu(),
        x[0].t(),
        x.diagonal(0, 1, 2),
        torch.diagonal(x, -1),
        x.movedim(0, 2),
        x.unfold(2, 2, 1),
        torch.rot90(x[0]),
        x.as_strided((2, 2), (1, 3), 1),
        x.narrow(2, 1, 2),
        x.unflatten(2, (2, -1)),
        *torch.meshgrid(x[0, 0], x[0, :, 0]),
    )


@case("reductions", (2, 3, 4))
def reductions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x.sum(),
        x.sum((0, 2)),
        x.mean(-1, keepdim=True),
        x.mean(),
        x.amax(1),
        x.amin((0, 1)),
        x.max(),
        x.min(),
        x.prod(),
        x.prod(2),
        x.var(),
        x.var(1, unbiased=False),
        x.std((0, 1)),
        x.norm(),
        x.norm(1, 1),
        x.logsumexp(2),
        torch.var_mean(x, 2)[0],
        torch.linalg.vector_norm(x, 3, dim=1),
        torch.cdist(x, x),
        x.std(1, keepdim=True),
        torch.aminmax(x)[1],
        x.abs().max(1)[1],
    )


@case("functions", (3, 4))
def functions(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x.abs() + 0.1
    return (
        x.clamp(-0.5, 0.5),
        x.clamp(min=0.1),
        x.clamp(max=y),
        x**2,
        y**0.5,
        y**x,
        2**x,
        x**3,
        y.rsqrt(),
        x.erf(),
        x.exp(),
        y.log(),
        y.log2(),
        y.log10(),
        y.log1p(),
        x.expm1(),
        x.sin(),
        x.cos(),
        x.tan(),
        x.sinh(),
        x.cosh(),
        x.tanh(),
        x.atan(),
        torch.asin(x.tanh()),
        torch.acos(x.tanh()),
        x.asinh(),
        (y + 1).acosh(),
        torch.atanh(x.tanh()),
        torch.atan2(x, x.flip(0)),
        x.round(),
        x.floor(),
        x.ceil(),
        x.trunc(),
        x.sign(),
        x.reciprocal(),
        y.sqrt(),
        torch.remainder(x, 0.7),
        torch.fmod(x, 0.7),
        x.sigmoid(),
        1 - x,
        torch.maximum(x, y),
        torch.minimum(x, y),
        torch.nan_to_num(x / 0),
        torch.lerp(x, y, 0.3),
        torch.addcmul(x, y, y, value=0.5),
        torch.hypot(x, y),
        x.frac(),
        (x * 10).round(decimals=1),
        x.isinf(),
        x.isfinite(),
        torch.logaddexp(x, y),
        torch.special.expit(x),
        x // 0.3,
    )


@case("grid_sample", (1, 2, 4, 4), (1, 3, 3, 2))
def grid(x: torch.Tensor, points: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.grid_sample(x, points, align_corners=False),
        F.grid_sample(x, points, mode="nearest", padding_mode="border", align_corners=True),
    )


@case("creations", (2, 3))
def creations(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        torch.zeros(2, 3) + x,
        torch.ones_like(x),
        torch.full((2,), 7),
        torch.arange(1, 9, 3),
        torch.eye(3),
        torch.linspace(0, 1, 5),
        x.new_full((1,), 2.5),
        torch.full_like(x, 3),
        torch.arange(0, 1, 0.25),
        torch.tril_indices(3, 3),
        F.one_hot(torch.arange(3), 4),
        x.new_zeros(2).fill_(1),
    )


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


@case("folded", (2, 12, 6), (4, 12))
def folded(x: torch.Tensor, one: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.fold(x, (3, 4), (2, 2), stride=(1, 1)),
        F.fold(x[:, :8, :4], (5, 5), (2, 2), dilation=(2, 3), padding=(0, 1), stride=(2, 3)),
        F.fold(one, (4, 7), (2, 2), padding=(0, 1), stride=(1, 2))[0, :2],
    )


@case("bags", (7, 3), torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 2, 2, 5]), (6,), ints(7, 3, 4))
def bags(
    table: torch.Tensor, places: torch.Tensor, starts: torch.Tensor, weights: torch.Tensor, rows: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    return (
        F.embedding_bag(places, table, starts, mode="sum"),
        F.embedding_bag(places, table, starts, mode="mean"),
        F.embedding_bag(places, table, starts, mode="max"),
        F.embedding_bag(places, table, starts, mode="sum", per_sample_weights=weights),
        F.embedding_bag(places, table, starts, mode="mean", padding_idx=4),
        F.embedding_bag(places, table, starts, mode="sum", include_last_offset=True),
        F.embedding_bag(rows, table),
    )


@case("masked_scatter_and_pdist", (3, 4), ints(2, 3, 4).bool(), (14,), ints(2, 4).bool())
def masked_scatter_and_pdist(
    x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor, row: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    distances = [F.pdist(x, p) for p in (0.0, 1.0, 2.0, 3.5, float("inf"))]
    return x.masked_scatter(mask, source), x.masked_scatter(row, source), *distances


@case("histograms", (3, 7), torch.arange(12).remainder(5).float(), torch.full((4,), 2.5))
def histograms(x: torch.Tensor, experts: torch.Tensor, same: torch.Tensor) -> tuple[torch.Tensor, ...]:
    edges = torch.cat([x.reshape(-1), torch.tensor([-1.0, 1.0, 0.5, -0.5, 2.0])])
    return (
        torch.histc(experts, bins=5, min=0, max=4),
        torch.histc(edges, bins=8, min=-1, max=1),
        torch.histc(x, bins=6),
        torch.histc(same, bins=3),
    )


@case("experts", (9, 8), (3, 8, 16), torch.tensor([2, 2, 9], dtype=torch.int32))
def experts(rows: torch.Tensor, matrices: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    return torch._grouped_mm(rows.bfloat16(), matrices.bfloat16(), ends)


@case("open_images", (3, 2, 4, 6), (3, 2, 9, 8), dynamic_shapes=(({0: BATCH, 2: ROWS}, {0: BATCH, 2: HEIGHT}),))
def open_images(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.interpolate(x, scale_factor=2, mode="bilinear"),
        F.interpolate(x, scale_factor=1.5),
        F.interpolate(x, scale_factor=(2.0, 1.0), mode="bicubic"),
        F.interpolate(x, size=y.shape[2:], mode="bilinear", align_corners=True),
        F.interpolate(x[:, :, :, 0], scale_factor=2.5, mode="linear"),
        F.pad(x, (2, 1, 1, 3), mode="circular"),
    )


@case("open_parts", (5, 6), dynamic_shapes=(({0: ROWS, 1: HEIGHT},),))
def open_parts(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    written = x.clone()
    written[:, 1:3] = 0.0
    written[1:] *= 2
    written[:, 1:] = x[:, :-1]
    places = torch.meshgrid(torch.arange(x.shape[0]), torch.arange(x.shape[1]), indexing="ij")
    return written, torch.roll(x, 1, 0) + torch.roll(x, -1, 1), torch.stack(places)


@case("open_batch", (3, 2, 8, 6), dynamic_shapes=(({0: BATCH},),))
def open_batch(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return F.adaptive_avg_pool2d(x, (2, 3)), F.adaptive_avg_pool2d(x, (3, 4))


@case("kth_values", (3, 5), dynamic_shapes=(({0: BATCH},),))
def kth_values(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    value, place = torch.kthvalue(x, 2, 1)
    return value, place, torch.kthvalue(x, 4, -1, keepdim=True)[0]


@case("medians", (4, 6), dynamic_shapes=(({0: BATCH, 1: ROWS},),))
def medians(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    holes = torch.where(x > 1.0, float("nan"), x)
    whole = torch.median((x * 8).to(torch.int32), 0)[0]
    values, places = torch.median(x, 1)
    row = torch.median(holes, 1, keepdim=True)[0]
    return values, places, row, torch.nanmedian(holes, 0)[0], torch.median(x), torch.nanmedian(holes), whole


@case(
    "open_bags",
    (7, 3),
    torch.tensor([1, 2, 4, 5, 4, 3]),
    torch.tensor([0, 2, 2, 6]),
    dynamic_shapes=((None, {0: ROWS}, {0: HEIGHT}),),
)
def open_bags(table: torch.Tensor, places: torch.Tensor, starts: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        F.embedding_bag(places, table, starts, mode="sum"),
        F.embedding_bag(places, table, starts, mode="max"),
        F.embedding_bag(places, table, starts, mode="mean", include_last_offset=True),
    )


@case("open_heads", (3, 6, 8), dynamic_shapes=(({0: BATCH, 1: ROWS},),))
def open_heads(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    heads = x.view(x.shape[0], -1, 2, 4).transpose(1, 2)
    mixed = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True).transpose(1, 2)
    return mixed.reshape(x.shape[0], x.shape[1], 8), x[0].repeat(x.shape[0], 2)


ANY = torch.export.Dim.AUTO


@case("open_windows", (3, 2, 4, 5), (3, 5), (3,), dynamic_shapes=(({0: ANY, 2: ANY, 3: ANY}, {0: ANY}, {0: ANY}),))
def open_windows(x: torch.Tensor, y: torch.Tensor, column: torch.Tensor) -> tuple[torch.Tensor, ...]:
    size, flat = (x.shape[2], x.shape[3]), x.reshape(x.shape[0], -1)
    halves = F.interpolate(x, scale_factor=2)
    return (
        F.fold(F.unfold(x, 2), size, 2),
        F.fold(F.unfold(x, (2, 1), (1, 2), (1, 0), 2), size, (2, 1), (1, 2), (1, 0), 2),
        F.fold(x.reshape(x.shape[0], 2, -1)[:, :, :5].repeat(1, 2, 1), (2, 5), (2, 1), stride=(2, 1))[..., :4],
        flat.unfold(1, 3, 2),
        torch.select_scatter(flat, column, 1, 2),
        torch.select_scatter(flat, column, 1, -1),
        torch.slice_scatter(flat, y, 1, 1, 10, 2),
        torch.slice_scatter(flat, y, 1, -9, -4),
        flat.roll(3, 1),
        flat.roll((-2, 30), (0, 1)),
        x.diagonal(1, 2, 3),
        x.diagonal(-1, 3, 2),
        F.pixel_unshuffle(halves, 2),
        F.scaled_dot_product_attention(x, x, x),
    )


@case("open_splits", (3, 6), (3, 6), dynamic_shapes=(({0: ANY}, {0: ANY}),))
def open_splits(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    first, second = torch.cat([x, y]).chunk(2)
    return first - second
