"""Example 1: a CNN with batch norm, fine-tuned on MNIST task after task by a plain loop.

The training code does not use forgetting-probe. Train three seeds and the offline
networks:

    python cnn.py --data DIR            # DIR holds MNIST as torchvision lays it out
    python cnn.py                       # scikit-learn's small digits, in seconds

and then measure the checkpoints, with the same DIR in the environment variable MNIST:

    MNIST=DIR probe model cnn:build --checkpoints 'ckpt/seed{seed}-task{task}.pt' \
        --offline 'ckpt/offline-{seed}.pt' --data cnn:load --tasks 0-1,2-3,4-5,6-7,8-9
        --epochs 2
"""

import argparse
import os
from collections import OrderedDict
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

TASKS = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


def build():
    """Make the network: two blocks of convolution, batch norm and ReLU, and two dense layers."""
    block1 = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
    block2 = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU())
    hidden = nn.Sequential(
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 64), nn.ReLU()
    )
    stages = {
        "block1": block1,
        "block2": block2,
        "hidden": hidden,
        "output": nn.Linear(64, 10),
    }
    return nn.Sequential(OrderedDict(stages))


def load():
    """Return (train, test), each a pair of images and labels."""
    if folder := os.environ.get("MNIST"):
        from torchvision.datasets import MNIST

        halves = [MNIST(folder, train=part) for part in (True, False)]
        return [(half.data[:, None].float() / 255, half.targets) for half in halves]
    from sklearn.datasets import load_digits

    images, y = load_digits(return_X_y=True)
    x, y = torch.tensor(images).float().view(-1, 1, 8, 8) / 16, torch.tensor(y)
    return (x[:1400], y[:1400]), (x[1400:], y[1400:])


def learn(model, x, y, epochs):
    """Train on examples for some epochs."""
    optimizer = torch.optim.Adam(model.parameters())
    model.train()
    for _ in range(epochs):
        for batch in torch.randperm(len(y)).split(64):
            loss = functional.cross_entropy(model(x[batch]), y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def train(seeds, epochs, folder):
    """Fine-tune on one task after the other, and keep the weights after each."""
    (x, y), _ = load()
    folder.mkdir(exist_ok=True)
    for seed in range(seeds):
        torch.manual_seed(seed)
        model = build()
        torch.save(model.state_dict(), folder / f"seed{seed}-task0.pt")
        for k, classes in enumerate(TASKS, 1):
            own = torch.isin(y, torch.tensor(classes))
            learn(model, x[own], y[own], epochs)
            torch.save(model.state_dict(), folder / f"seed{seed}-task{k}.pt")
        offline = build()
        learn(offline, x, y, epochs)
        torch.save(offline.state_dict(), folder / f"offline-{seed}.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path("ckpt"))
    given = parser.parse_args()
    if given.data:
        os.environ["MNIST"] = given.data
    train(given.seeds, given.epochs, given.folder)
