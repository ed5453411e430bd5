"""Networks and layers in PyTorch."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.frontend.pytorch.cases import BATCH, ROWS, case, ints


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
            nn.Conv2d(3, 4, 3, padding=1),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3, stride=2, padding="valid"),
            nn.LeakyReLU(0.1),
            nn.AdaptiveAvgPool2d(1),
        )
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
            nn.Conv2d(4, 12, 1),
            nn.Hardswish(),
            nn.Conv2d(12, 12, 3, padding=2, dilation=2, groups=12),
            nn.ReLU6(),
            nn.Conv2d(12, 4, 1),
        )
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


@case("recurrent", (5, 2, 3))
class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4, 2, bidirectional=True)
        self.gru = nn.GRU(8, 3, bias=False)
        self.rnn = nn.RNN(3, 2, 2, nonlinearity="relu", batch_first=True)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x, (h, c) = self.lstm(x)
        x, g = self.gru(x)
        return *self.rnn(x), h, c, g


@case("projected_states", (4, 2, 3))
class ProjectedStates(nn.LSTM):
    def __init__(self) -> None:
        super().__init__(3, 4, proj_size=2)
