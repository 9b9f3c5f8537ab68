"""Three pairs of networks on scikit-learn's digits: a fault, a new domain, and new classes."""

from copy import deepcopy

import torch
from sklearn.datasets import load_digits
from torch import nn

import probe

images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16).float().view(-1, 1, 8, 8), torch.tensor(labels)
train, test = (x[:1000], y[:1000]), (x[1000:], y[1000:])


def conv(inputs, outputs):
    """Return a convolution with batch norm."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()
    )


class CNN(nn.Module):
    """Two convolutions and two dense layers."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = conv(1, 16), conv(16, 16)
        self.hidden = nn.Sequential(
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 32), nn.ReLU()
        )
        self.output = nn.Linear(32, 10)

    def forward(self, x):
        """Return the logits of images."""
        return self.output(self.hidden(self.conv2(self.conv1(x))))


def learn(network, data, epochs):  # your training
    """Train a copy of a network."""
    network = deepcopy(network).train()
    optimizer = torch.optim.Adam(network.parameters())
    for _ in range(epochs):
        for rows in torch.randperm(len(data[1])).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(
                network(data[0][rows]), data[1][rows]
            ).backward()
            optimizer.step()
    return network.eval()


def turned(data):
    """Turn the images by 90 degrees."""
    return data[0].rot90(1, (2, 3)), data[1]


def classes(data, chosen):
    """Return the examples of some classes."""
    rows = torch.isin(data[1], torch.tensor(chosen))
    return data[0][rows], data[1][rows]


torch.manual_seed(0)
before = learn(CNN(), train, 10)

print(
    "# a fault: batch norm's statistics of conv2 are those of other data (old 0 to 4, "
    "new 5 to 9)"
)
after = learn(before, train, 1)
after.conv2[1].running_mean += 1.5
print(
    probe.diff(
        before, after, classes(test, [*range(5)]), classes(test, [*range(5, 10)])
    )
)

print("\n# a new domain: fine-tuned on digits that are turned")
after = learn(before, turned(train), 5)
stored = {"old": train, "new": turned(train)}
print(probe.diff(before, after, test, turned(test), train=stored))

print("\n# new classes: fine-tuned on 5 to 9 after 0 to 4")
old, new = range(5), range(5, 10)
before = learn(CNN(), classes(train, [*old]), 10)
after = learn(before, classes(train, [*new]), 10)
stored = {"old": classes(train, [*old]), "new": classes(train, [*new])}
print(
    probe.diff(
        before, after, classes(test, [*old]), classes(test, [*new]), train=stored
    )
)
