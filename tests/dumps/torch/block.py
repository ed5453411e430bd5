import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(8, 16))
        self.b = torch.nn.Parameter(torch.randn(16))

    def forward(self, x):
        h = torch.relu(x @ self.w + self.b)
        torch._dynamo.graph_break()
        return torch.softmax(h, -1) * 2


torch.compile(Block())(torch.randn(4, 8)).sum().backward()


@torch.compile
def scaled(x, y, scale):
    z = x @ y
    return (z * scale + 1).sum(1)


with torch.no_grad():
    scaled(torch.randn(4, 8), torch.randn(8, 4), 2)
    scaled(torch.randn(4, 8), torch.randn(8, 4), 3)
