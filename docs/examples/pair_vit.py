"""Fine-tune a small vision transformer: MNIST upright, then turned by 90 degrees.

The network is made from its configuration and trained here on upright digits first.

    pip install torchvision transformers
    python docs/examples/pair_vit.py --data FOLDER --seed 0    # two minutes on one core
"""

import argparse
from copy import deepcopy

import torch
from torch import nn
from torchvision.datasets import MNIST
from transformers import ViTConfig, ViTForImageClassification

import probe

SIZES = {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4}
IMAGES = {"image_size": 28, "patch_size": 7, "num_channels": 1}


def build():
    """Make the network."""
    return ViTForImageClassification(
        ViTConfig(**SIZES, **IMAGES, intermediate_size=128, num_labels=10)
    )


def digits(folder, train, n):
    """Return the first n images of MNIST, upright, and their classes."""
    data = MNIST(folder, train=train, download=False)
    return data.data[:n, None] / 255, data.targets[:n]


def turned(x):
    """Turn images by 90 degrees."""
    return x.rot90(1, (2, 3))


def logits(model, x):
    """Return the scores of the classes."""
    return model(pixel_values=x).logits


def learn(model, x, y, epochs):
    """Train everything."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits(model, x[rows]), y[rows]).backward()
            optimizer.step()
    model.eval()


def pair(seed, folder):
    """Return the networks before and after, old and new tests, and examples to train on."""
    x, y = digits(folder, train=True, n=10_000)
    x_test, y_test = digits(folder, train=False, n=1_000)
    torch.manual_seed(seed)
    before = build()
    learn(before, x, y, epochs=8)
    after = deepcopy(before)
    learn(after, turned(x), y, epochs=4)
    train = {"old": (x, y), "new": (turned(x), y)}
    return before, after, (x_test, y_test), (turned(x_test), y_test), train


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=".")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    before, after, old, new, train = pair(arguments.seed, arguments.data)
    print(probe.diff(before, after, old, new, train=train, call=logits))
