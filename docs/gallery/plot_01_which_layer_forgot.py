"""
Which layer forgot?
===================

A network learns ten digits in five tasks of two, one after the other. At the end its accuracy is
that of the last task alone. The accuracy does not say *where* the first four tasks were lost.

We save the weights after each task, with three seeds, and let :func:`probe.analyze` read every
layer: a linear classifier is fitted to the layer's values on all ten digits.
"""

# %%
# Train as usual
# --------------
# Nothing here knows of forgetting-probe.

from collections import OrderedDict
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

import figures
import probe

images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images).float().view(-1, 1, 8, 8) / 16, torch.tensor(labels)
train, test = probe.Examples(x[:1400], y[:1400]), probe.Examples(x[1400:], y[1400:])
tasks = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


def build():
    conv1 = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU())
    conv2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
    hidden = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU())
    stages = {"conv1": conv1, "conv2": conv2, "hidden": hidden, "output": nn.Linear(32, 10)}
    return nn.Sequential(OrderedDict(stages))


def learn(model, data, epochs=10):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(epochs):
        for rows in torch.randperm(len(data)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()


folder = TemporaryDirectory()
for seed in range(3):
    torch.manual_seed(seed)
    model = build()
    for k, classes in enumerate(tasks, 1):
        learn(model, train.of_classes(classes))
        torch.save(model.state_dict(), f"{folder.name}/seed{seed}-task{k}.pt")
    offline = build()
    learn(offline, train)
    torch.save(offline.state_dict(), f"{folder.name}/offline-{seed}.pt")

# %%
# Read every layer
# ----------------
result = probe.analyze(
    probe.Model(f"{folder.name}/seed{{seed}}-task{{task}}.pt", fresh=build),
    train,
    test,
    tasks,
    offline=f"{folder.name}/offline-{{seed}}.pt",
    readouts=["linear"],
)

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
figures.layers(result, ax=ax)

# %%
print(result)
