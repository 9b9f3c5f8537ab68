"""
Where can a model be cut?
=========================

Cut it at any module whose output reaches the logits. :func:`probe.split` gives a prefix
and a tail with ``tail(prefix(x)) == model(x)``.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import probe


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.conv2(torch.relu(self.norm(self.conv1(x)))))


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, stride=2),
    Block(8),
    nn.MaxPool2d(2),
    Block(8),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 10),
).eval()
x = torch.randn(16, 3, 32, 32)

# %%
# List possible cuts, with bytes kept of each example.

found = probe.candidates(model, x)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.barh(
    [f"{each.feature} ({each.kind})" for each in found], [each.bytes for each in found]
)
ax.invert_yaxis()
ax.set(xlabel="Bytes kept of each example", xscale="log")

# %%
# Check the identity at each of them, bit for bit.

for each in found:
    if each.left:
        cut = probe.split(model, each.feature, x)
        with torch.no_grad():
            same = torch.equal(cut.tail.eval()(cut.prefix(x)), model(x))
        print(
            f"{each.feature:9} {len(cut.frozen):2} tensors frozen, the same logits: "
            f"{same}"
        )

# %%
# Control: other weights downstream change the logits, not the prefix.

cut = probe.split(model, "3.norm", x)
with torch.no_grad():
    before = model(x), cut.prefix(x)
    for parameter in cut.tail.parameters():
        parameter.mul_(1.5)
    print("the same logits:", torch.equal(cut.tail.eval()(cut.prefix(x)), before[0]))
    kept = [torch.equal(*pair) for pair in zip(cut.prefix(x), before[1], strict=True)]
    print("the same values of the prefix:", all(kept))
